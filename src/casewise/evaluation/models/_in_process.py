"""Models that run in this process: what Inspect asks of them, and their answers in its form."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any, Literal

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    TopLogprob,
)

from casewise.logs import message_text

_observers: list[Callable[[str], None]] = []


@contextmanager
def told_of_local_models(told: Callable[[str], None]) -> Iterator[None]:
    """Pass messages of this process's models to a person, while the block runs."""
    _observers.append(told)
    try:
        yield
    finally:
        _observers.remove(told)


def tell(line: str) -> None:
    """Send a message on a model: that its weights are fetched."""
    for told in _observers[-1:]:
        told(line)


WINDOW = 64
"""Cases of a task in flight. They cost memory only, as one is answered at a time."""

PROVIDERS = frozenset({"casewise", "casewise-hf"})
"""Providers of the models that run in this process."""

_numbers = count(1)


def is_in_process(model: str) -> bool:
    """Tell whether a model, by its name, runs in this process."""
    return model.partition("/")[0] in PROVIDERS


class InProcess(ModelAPI):
    """A model of this process.

    Each task has its own client, so that none keeps the others' requests waiting.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, config=config)
        self.asker = next(_numbers)
        """Number of this client among those of its model."""
        self.prepare(model_args)

    def prepare(self, model_args: Mapping[str, Any]) -> None:
        """Check the model's arguments, and load it."""
        raise NotImplementedError

    def expect(self, askers: set[int]) -> None:
        """Prepare for the clients that will ask together; an engine that batches waits for all."""

    @property
    def made_with(self) -> Mapping[str, str]:
        """Settings that its numbers depend on: ``dtype``, ``device``, versions."""
        return {}

    def connection_key(self) -> str:
        """Name under which Inspect counts connections: another for each client, and so task."""
        return f"{self.model_name}#{self.asker}"

    def max_connections(self) -> int:
        """Most requests of a task that wait."""
        return WINDOW

    async def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text under the model's tokenizer, and whether it is the only one."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """One token of an answer, and its candidates."""

    text: str
    logprob: float
    candidates: tuple[tuple[str, float], ...]
    """Tokens that might have stood there, with natural-log probabilities over the whole
    vocabulary, the most probable first."""


@dataclass(frozen=True, slots=True)
class Replied:
    """An answer, and its cost in tokens and time."""

    text: str
    places: tuple[TokenPlace, ...]
    """Empty where no log-probabilities were asked for."""
    written: int
    """Tokens of the answer, its end included."""
    computed: int
    """Tokens of the prompt that went through the model."""
    reused: int
    """Tokens of the prompt that the last prompt's cache held."""
    stop: Literal["stop", "max_tokens"]
    seconds: float


def to_output(
    model: str, replied: Replied, made_with: Mapping[str, str] | None = None
) -> ModelOutput:
    """An engine's answer as Inspect's output."""
    logprobs = [
        Logprob(
            token=place.text,
            logprob=place.logprob,
            top_logprobs=[
                TopLogprob(token=text, logprob=logprob) for text, logprob in place.candidates
            ],
        )
        for place in replied.places
    ]
    choice = ChatCompletionChoice(
        message=ChatMessageAssistant(content=replied.text, model=model, source="generate"),
        stop_reason=replied.stop,
        logprobs=Logprobs(content=logprobs) if logprobs else None,
    )
    usage = ModelUsage(
        input_tokens=replied.computed,
        input_tokens_cache_read=replied.reused,
        output_tokens=replied.written,
        total_tokens=replied.computed + replied.reused + replied.written,
    )
    return ModelOutput(
        model=model,
        choices=[choice],
        usage=usage,
        time=replied.seconds,
        metadata=dict(made_with) if made_with else None,
    )


def too_long(model: str, tokens: int, window: int | None) -> ModelOutput:
    """Output for a prompt that a model's window has no room for."""
    message = ChatMessageAssistant(content="")
    return ModelOutput(
        model=model,
        choices=[ChatCompletionChoice(message=message, stop_reason="model_length")],
        error=f"the prompt has {tokens} tokens; {model} takes {window}",
    )


def plain_turns(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
    """Messages for chat templates, few of which know tools: their results become the user's."""
    turns: list[dict[str, str]] = []
    for returned, group in groupby(messages, lambda one: one.role == "tool"):
        if returned:
            results = "\n".join(f"[tool result: {one.text}]" for one in group)
            turns.append({"role": "user", "content": results})
        else:
            turns += [{"role": one.role, "content": message_text(one)} for one in group]
    return turns
