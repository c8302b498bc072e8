"""How a model is sampled: greedily, or as in the published runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from inspect_ai.model import GenerateConfig

from casewise.protocols import Protocol

SAMPLES = 3
"""Answers that the protocol ``score`` averages by default, as in the published runs of APIs."""

MAX_TOKENS = 2048
"""Longest answer of the protocols that explain; reasoning counts too."""

TOP_LOGPROBS = 20
"""Candidates asked for at the first token: the most that common APIs give."""

REPLY_TOKENS = 1024
"""Longest reply of the protocol ``respond``."""

EMBEDDED_REPLY_TOKENS = 48
"""The same of the embedded model, which takes a second for six and says little in more."""

GUARD_TOKENS = 64
"""Longest answer of a moderation model: a word, and codes."""

LOCAL_PROVIDERS = frozenset(
    {"casewise", "casewise-hf", "hf", "vllm", "sglang", "ollama", "llama-cpp-python"}
)
"""Providers that serve open models; the published runs sample those in another way."""

NO_LOGPROBS = frozenset({"anthropic", "bedrock"})
"""Providers that return no log-probabilities, known beforehand; others are found out at the first
answer."""


class Sampling(StrEnum):
    """How answers are drawn."""

    GREEDY = "greedy"
    """Temperature 0."""
    REFERENCE = "reference"
    """As the published runs: ``reference-open`` for local providers, else ``reference-api``."""
    REFERENCE_API = "reference-api"
    """Temperature 1, at most 1024 tokens, no system message, score = mean of 3."""
    REFERENCE_OPEN = "reference-open"
    """A system message, temperature .6, top-p .9, at most 512 tokens, score from 1 sample;
    Mixtral and Dolphin at their library's defaults (temperature 1, top-k 50)."""


SYSTEM_MESSAGE = "You are a helpful assistant."
"""The system message of the published runs of open models."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Everything that a sampling means for one protocol and model."""

    config: GenerateConfig
    samples: int
    """Requests for each case."""
    system: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What a person set of the model's generation besides; a part of ``config``."""

    def with_settings(self, settings: Mapping[str, Any]) -> "Draw":
        """The same with a person's own settings, which come before the sampling's."""
        own = GenerateConfig.model_validate(settings)
        return replace(self, config=self.config.merge(own), settings=settings)


def resolve_sampling(sampling: Sampling, model: str) -> Sampling:
    """Settle ``reference`` for a model, by its provider."""
    if sampling is not Sampling.REFERENCE:
        return sampling
    local = model.split("/")[0] in LOCAL_PROVIDERS
    return Sampling.REFERENCE_OPEN if local else Sampling.REFERENCE_API


def make_draw(
    protocol: Protocol,
    sampling: Sampling,
    *,
    model: str = "",
    samples: int | None = None,
    max_tokens: int | None = None,
) -> Draw:
    """Sampling settings of a protocol under a settled sampling.

    The model's name matters to ``reference-open`` only.
    """
    system = SYSTEM_MESSAGE if sampling is Sampling.REFERENCE_OPEN else None
    if protocol is Protocol.PROBABILITY:
        config = GenerateConfig(
            temperature=0.0,
            max_tokens=max_tokens or 1,
            logprobs=True,
            top_logprobs=TOP_LOGPROBS,
        )
        return Draw(config, 1, system)
    if protocol is Protocol.RESPOND:
        samples, max_tokens = 1, max_tokens or _reply_tokens(model)
    if protocol is Protocol.GUARD:
        # A moderation model has one way to answer; a system message would be a part of what it
        # judges.
        return Draw(GenerateConfig(temperature=0.0, max_tokens=max_tokens or GUARD_TOKENS), 1, None)
    usual = 1 if protocol is Protocol.BINARY else SAMPLES
    if sampling is Sampling.REFERENCE_API:
        config = GenerateConfig(temperature=1.0, max_tokens=max_tokens or 1024)
    elif sampling is Sampling.REFERENCE_OPEN:
        usual = 1
        defaults = any(name in model.lower() for name in ("mixtral", "dolphin"))
        config = GenerateConfig(
            temperature=1.0 if defaults else 0.6,
            top_p=None if defaults else 0.9,
            top_k=50 if defaults else None,
            max_tokens=max_tokens or 512,
        )
    else:
        config = GenerateConfig(temperature=0.0, max_tokens=max_tokens or MAX_TOKENS)
    return Draw(config, samples or usual, system)


def _reply_tokens(model: str) -> int:
    return EMBEDDED_REPLY_TOKENS if model.startswith("casewise/") else REPLY_TOKENS
