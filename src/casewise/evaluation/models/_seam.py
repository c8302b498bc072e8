"""Private names of Inspect that casewise uses, each checked when it is imported.

Nothing else in casewise imports a private name of Inspect. Where a release of Inspect has moved or
changed one, what stands here in its place is slower or shows less, and gives the same table;
``MOVED`` says what is lost.
"""

import asyncio
import inspect
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

Result = TypeVar("Result")

SENDS = "_generate_completion"
"""Method of ``OpenAICompatibleAPI`` that sends a request and returns its completion."""

_HOOKS = "_http_hooks"
"""Attribute of a provider that is told of each attempt, and of its answer."""

TOOLS = "tools_to_openai"
"""Method of ``OpenAICompatibleAPI`` that writes tools in the form that is sent."""

MOVED: dict[str, str] = {}
"""Names that this release of Inspect has moved or changed, with what a run does without each."""


def _taken(place: str, fits: Callable[[Any], bool], instead: Any, lost: str) -> Any:
    """A private name of Inspect, or what stands in its place where it isn't as expected."""
    try:
        found = resolve_name(f"inspect_ai.{place}")
        if fits(found):
            return found
    except (ImportError, AttributeError, TypeError, ValueError):
        pass
    MOVED[place.rpartition(".")[2]] = lost
    return instead


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def _shows_a_message(error: Any) -> bool:
    return isinstance(error("why"), Exception) and error("why").message == "why"


def _sends(provider: Any) -> bool:
    return (
        inspect.iscoroutinefunction(getattr(provider, SENDS))
        and _parameters(getattr(provider, SENDS)) == ["self", "request", "config"]
        and _parameters(getattr(provider, TOOLS)) == ["self", "tools"]
        and callable(provider.resolve_stream)
    )


def _is_collected(batch: Any) -> bool:
    watched = (batch.emit_batch_status, batch.log_batch, batch.run_in_background)
    return all(map(callable, watched))


@contextmanager
def _no_sink(_: object) -> Iterator[None]:
    yield


class _NoProvider:
    """No model's provider: each of Inspect's sends its requests itself."""


if TYPE_CHECKING:
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model._model import use_model_event_sink
    from inspect_ai.model._providers.openai_compatible import OpenAICompatibleAPI
    from inspect_ai.model._providers.util import batch as batcher
    from inspect_ai.util._concurrency import init_concurrency
else:
    PrerequisiteError = _taken(
        "_util.error.PrerequisiteError",
        _shows_a_message,
        Exception,
        "a missing key or package is told at greater length",
    )
    use_model_event_sink = _taken(
        "model._model.use_model_event_sink",
        lambda sink: _parameters(sink) == ["sink"],
        _no_sink,
        "logs hold no events",
    )
    batcher = _taken(
        "model._providers.util.batch",
        _is_collected,
        None,
        "--batch is refused",
    )
    init_concurrency = _taken(
        "util._concurrency.init_concurrency",
        lambda begin: (
            not any(
                one.default is one.empty for one in inspect.signature(begin).parameters.values()
            )
        ),
        lambda: None,
        "several runs of one Python process share the limits of the first",
    )


_COMPATIBLE = "model._providers.openai_compatible"


@cache
def openai_compatible() -> "type[OpenAICompatibleAPI]":
    """Provider of OpenAI's chat format; whoever needs no such model does without its import.

    It takes half as long as that of Inspect.
    """
    found: type[OpenAICompatibleAPI] = _taken(
        f"{_COMPATIBLE}.OpenAICompatibleAPI",
        _sends,
        _NoProvider,
        "requests go out by Inspect's own client, which takes longer",
    )
    return found


def is_openai_compatible(api: Any) -> bool:
    """Tell whether a model's provider is one of OpenAI's chat format."""
    return f"inspect_ai.{_COMPATIBLE}" in sys.modules and isinstance(api, openai_compatible())


def hooks_of(api: Any) -> Any:
    """What a provider tells of its attempts; None where it has no such attribute, or another."""
    hooks = getattr(api, _HOOKS, None)
    names = ("update_request_time", "record_response")
    return hooks if all(hasattr(hooks, name) for name in names) else None


def moved_note() -> str | None:
    """Note on what this release of Inspect has moved; None where everything is as expected."""
    openai_compatible()
    if not MOVED:
        return None
    return (
        f"inspect-ai {version('inspect-ai')} has moved or changed {', '.join(MOVED)}: "
        f"{'; '.join(MOVED.values())}"
    )


def in_own_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Do work in an event loop that is closed after it, and its clients with it.

    ``asyncio.run`` does so until ``nest_asyncio`` replaces it, as Inspect does when it is called
    within a running loop: from then on one loop stays open, and so do the connections of each run.
    """
    with asyncio.Runner() as runner:
        return runner.run(work)


__all__ = [
    "MOVED",
    "PrerequisiteError",
    "SENDS",
    "TOOLS",
    "batcher",
    "hooks_of",
    "in_own_loop",
    "init_concurrency",
    "is_openai_compatible",
    "moved_note",
    "openai_compatible",
    "use_model_event_sink",
]
