"""Entry points for Inspect: tasks, and models of our own."""

from inspect_ai.model import modelapi

from casewise.evaluation.models._smollm2 import SmolLM2
from casewise.evaluation.models._target import TargetModel
from casewise.evaluation.models.open import OURS
from casewise.evaluation.models.provider import ChatCompletions
from casewise.evaluation.tasks._tasks import judge, respond
from casewise.logs import TARGETS

casewise = modelapi(name="casewise")(SmolLM2)
"""The provider of ``casewise/smollm2``."""

casewise_target = modelapi(name=TARGETS)(TargetModel)
"""The provider of ``casewise-target/NAME``: bots behind addresses of their own, functions."""


casewise_openai = modelapi(name=OURS)(ChatCompletions)
"""The provider of ``openai-api/SERVICE/MODEL``: servers that speak OpenAI's protocol."""


__all__ = ["casewise_openai", "casewise", "casewise_target", "judge", "respond"]
