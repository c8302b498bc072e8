"""Sampling of a model, and the settings of its generation that a person adds."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import GenerateConfig
from pydantic import ValidationError

from casewise.cases import digest
from casewise.choices import HF, IN_PROCESS, SMOLLM2, TARGETS, Sampling
from casewise.errors import UsageError, choose_from, shorten
from casewise.models.keys import redacted, refuse_secret, refuse_secrets_within
from casewise.options import ConditionOptions
from casewise.protocols import find_protocol

LOCAL_PROVIDERS = frozenset({*IN_PROCESS, "hf", "vllm", "sglang", "ollama", "llama-cpp-python"})
"""Providers that serve open models; the published runs sample those in another way."""

NO_LOGPROBS = frozenset({"anthropic", "bedrock", TARGETS})
"""Providers that return no log-probabilities, known beforehand; others are found out at the first
answer."""


SYSTEM_MESSAGE = "You are a helpful assistant."
"""The system message of the published runs of open models."""


@dataclass(frozen=True, slots=True)
class DrawSettings:
    """Settings of a sampling for one protocol and model."""

    sampling: Sampling
    config: GenerateConfig
    samples: int
    """Requests for each case."""
    system: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """A person's own settings of the model's generation; a part of ``config``."""


def resolve_sampling(sampling: Sampling, model: str) -> Sampling:
    """Settle ``reference`` for a model, by its provider."""
    if sampling is not Sampling.REFERENCE:
        return sampling
    local = model.split("/")[0] in LOCAL_PROVIDERS
    return Sampling.REFERENCE_OPEN if local else Sampling.REFERENCE_API


def make_draw(
    options: ConditionOptions, model: str, settings: Mapping[str, Any] | None = None
) -> DrawSettings:
    """Settings of a run's sampling.

    Args:
        options: What is asked.
        model: Its name matters to ``reference``, and to replies of the embedded model.
        settings: A person's own settings, which come before those of the sampling.
    """
    protocol = find_protocol(options.protocol)
    sampling = resolve_sampling(Sampling(options.sampling), model)
    open_model = sampling is Sampling.REFERENCE_OPEN
    longest = protocol.longest(sampling, embedded=model == SMOLLM2)
    drawn = protocol.drawn and sampling is not Sampling.GREEDY
    config = GenerateConfig(
        temperature=1.0 if drawn else 0.0, max_tokens=options.max_tokens or longest
    )
    if drawn and open_model:
        if any(name in model.lower() for name in ("mixtral", "dolphin")):
            config.top_k = 50
        else:
            config.temperature, config.top_p = 0.6, 0.9
    if protocol.candidates:
        config.logprobs, config.top_logprobs = True, protocol.candidates
    usual = 1 if open_model else protocol.samples
    return DrawSettings(
        sampling,
        config.merge(GenerateConfig.model_validate(settings or {})),
        (options.samples or usual) if protocol.samples > 1 else 1,
        SYSTEM_MESSAGE if open_model and protocol.takes_system else None,
        settings or {},
    )


_OTHERS = (
    "which the protocol 'probability' reads; "
    "the protocols that work are binary and score (--protocol binary)"
)
WITHOUT_LOGPROBS = f"gives no log-probabilities, {_OTHERS}"
WITHOUT_ALTERNATIVES = f"gives no alternatives to its first token (top_logprobs), {_OTHERS}"

REFUSED = {
    *("temperature", "seed", "max_tokens", "max_completion_tokens", "num_choices", "n", "logprobs"),
    *("top_logprobs", "system_message", "messages", "model", "max_connections", "batch"),
    *("adaptive_connections", "attempt_timeout", "timeout", "stream_idle_timeout", "max_retries"),
    *("cache", "prompt_logprobs", "fail_on_refusal", "parallel_tool_calls", "internal_tools"),
    *("max_tool_output", "tools", "tool_choice", "fallback_models", "modalities", "metadata"),
    "stream",
}
"""Settings, and members of a request's body, that options set, or casewise, or that mean nothing
here: repetitions are its own, an answer is a text of the model that was asked, and taken whole."""

SETTINGS = tuple(name for name in sorted(GenerateConfig.model_fields) if name not in REFUSED)
"""Settings that can be given."""

_OF_A_BODY = ("frequency_penalty", "logit_bias", "presence_penalty", "reasoning_effort", "top_p")

TAKEN: Mapping[str, tuple[str, ...]] = {
    "casewise": ("stop_seqs", "top_k", "top_p"),
    HF: ("top_p",),
    TARGETS: ("top_p",),
    "openai-api": (
        *_OF_A_BODY,
        *("extra_body", "extra_headers", "reasoning_history", "response_schema", "stop_seqs"),
    ),
}
"""Settings that a provider takes; those of other providers are not checked, and may be ignored
there."""


def check_settings(where: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they are sent and recorded: each of its own type, sorted by name.

    Args:
        where: Beginning of messages.
        settings: Settings as a person wrote them; a text is read as a number where one is wanted.

    Raises:
        UsageError: An unknown setting, one of ``REFUSED``, a wrong value, or a secret.
    """
    return {name: _checked(where, name, settings[name]) for name in sorted(settings)}


def check_taken(
    where: str, model: str, settings: Mapping[str, Any], model_args: Mapping[str, Any]
) -> None:
    """Refuse settings that a model's provider ignores, so that no log records one without effect.

    Raises:
        UsageError: There is one.
    """
    provider = model.partition("/")[0]
    names = TAKEN.get(provider)
    if names is None or (provider == "openai-api" and model_args.get("responses_api")):
        return
    for name in settings:
        if name not in names:
            hint = "; what a server knows goes into extra_body" if "extra_body" in names else ""
            raise UsageError(
                f"{where} {name}: models of {provider} ({model}) do not get it: "
                f"choose from {', '.join(sorted(names))}{hint}"
            )


def setting_parts(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Settings as parts of a variant: ``reasoning_effort=high``; mappings and lists by a hash."""
    return tuple(f"{name}={_word(value)}" for name, value in sorted(settings.items()))


def _word(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if re.fullmatch(r"[\w.+-]{1,40}", text) else f"#{digest(text)[:8]}"


def _checked(where: str, name: str, value: Any) -> Any:
    """A setting of its own type, as JSON has it."""
    refuse_secret(where, name)
    _refuse(f"{where} {name}", name)
    if name not in SETTINGS:
        raise UsageError(f"{where} {name}: no such setting: {choose_from(name, SETTINGS)}")
    try:
        text = json.dumps({name: value}, allow_nan=False)
        refuse_secrets_within(f"{where} {name}", value)
        # A command's .9 is a text, and so are the keys of biases in JSON.
        strict = not isinstance(value, str) and name != "logit_bias"
        config = GenerateConfig.model_validate_json(text, strict=strict)
        typed = json.loads(config.model_dump_json(include={name}, exclude_none=True)).get(name)
        expected = "a value" if typed is None else None
    except ValidationError as error:
        expected = error.errors()[0]["msg"].removeprefix("Input should be ")
    except (TypeError, ValueError, RecursionError):
        expected = "what JSON can hold, and no NaN"
    if expected is not None:
        # What stands in a header or a body may be a key.
        actual = "" if name.startswith("extra_") else f"found {redacted(shorten(value))}, "
        raise UsageError(f"{where} {name}: {actual}expected {expected}")
    for inner in typed if name == "extra_body" else ():
        _refuse(f"{where} {name}: {inner}", inner)
    return typed


def _refuse(where: str, name: str) -> None:
    if name in REFUSED:
        raise UsageError(f"{where}: can't be given: casewise or an option of its own sets it")
