"""What an engine is asked, and what it replies, in its own terms."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is loaded and run."""

    dtype: str = "auto"
    """``float32``, ``bfloat16``, ``float16``, or ``auto``: fp32 on a CPU, bf16 elsewhere."""
    device: str = "auto"
    """As torch names it; ``auto`` is CUDA where there is one, else the CPU."""
    batch_size: int | None = None
    """Prompts of one forward pass; with 1, each starts from its neighbour's cache. None is 1 on a
    CPU and ``BATCH`` elsewhere."""
    revision: str | None = None
    """Of a model on the hub."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, in tokens."""

    tokens: tuple[int, ...]
    max_tokens: int
    temperature: float = 0.0
    """0 is the most probable token, always."""
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    candidates: int = 0
    """Tokens whose log-probabilities are wanted at each place of the answer; 0 for none."""

    @property
    def is_one_pass(self) -> bool:
        """Whether the next token's distribution is all that is asked for."""
        return self.max_tokens == 1 and self.temperature == 0 and self.candidates > 0


@dataclass(frozen=True, slots=True)
class Place:
    """One token of an answer, and what else might have stood there."""

    text: str
    logprob: float
    candidates: tuple[tuple[str, float], ...]
    """Texts with natural-log probabilities over the whole vocabulary, the most probable first."""


@dataclass(frozen=True, slots=True)
class Replied:
    """An answer, and what it took."""

    text: str
    places: tuple[Place, ...]
    """Empty where no log-probabilities were asked for."""
    written: int
    """Tokens of the answer, its end included."""
    computed: int
    """Tokens of the prompt that went through the model."""
    reused: int
    """Tokens of the prompt that the cache of the last one held."""
    stop: Literal["stop", "max_tokens"]
    seconds: float
