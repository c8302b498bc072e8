"""Private names of Inspect that casewise uses.

Each name has a test that says what changed where a release of Inspect moves or alters it
(tests/evaluation/test_seam.py). Nothing else in casewise imports a private name of Inspect.
"""

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model._model import use_model_event_sink
from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI
from inspect_ai.model._providers.util import batch as batcher
from inspect_ai.util._concurrency import init_concurrency

SENDS = "_generate_completion"
"""Method of ``OpenAICompatibleAPI`` that sends a request and returns its completion."""

HOOKS = "_http_hooks"
"""Attribute of ``OpenAICompatibleAPI`` that is told of each attempt, and of its answer."""

TOOLS = "tools_to_openai"
"""Method of ``OpenAICompatibleAPI`` that writes tools in the form that is sent."""

__all__ = [
    "HOOKS",
    "OpenAICompatibleAPI",
    "PrerequisiteError",
    "SENDS",
    "TOOLS",
    "batcher",
    "init_concurrency",
    "use_model_event_sink",
]
