"""What Inspect finds by entry point: the tasks, and the models that are casewise's own."""

from inspect_ai.model import ModelAPI, modelapi

from casewise.evaluation.tasks._judge import judge
from casewise.evaluation.tasks._respond import respond
from casewise.logs import TARGETS


@modelapi(name="casewise")
def casewise() -> type[ModelAPI]:
    """The provider of ``casewise/smollm2``."""
    from casewise.evaluation.models._smollm2 import SmolLM2

    return SmolLM2


@modelapi(name="casewise-hf")
def casewise_hf() -> type[ModelAPI]:
    """The provider of ``casewise-hf/PATH``: Hugging Face models."""
    from casewise.evaluation.models._hf_provider import HuggingFace

    return HuggingFace


@modelapi(name=TARGETS)
def casewise_target() -> type[ModelAPI]:
    """The provider of ``casewise-target/NAME``: bots behind addresses of their own, functions."""
    from casewise.evaluation.models._target import TargetModel

    return TargetModel


__all__ = ["casewise", "casewise_hf", "casewise_target", "judge", "respond"]
