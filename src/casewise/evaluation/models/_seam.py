"""All that casewise uses of Inspect that Inspect keeps to itself.

Each name has a test that says what changed where a release of Inspect moves or alters it
(tests/evaluation/test_seam.py). Nothing else in casewise imports a private name of Inspect.
"""

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model._model import use_model_event_sink
from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI
from inspect_ai.model._providers.util import batch as batcher
from inspect_ai.util._concurrency import init_concurrency

SENDS = "_generate_completion"
"""The method of ``OpenAICompatibleAPI`` that sends a request and gives back its completion."""

HOOKS = "_http_hooks"
"""Its attribute that is told of each attempt at a request, and of its answer."""

TOOLS = "tools_to_openai"
"""Its method that writes tools in the form in which they are sent."""

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
