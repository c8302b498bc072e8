"""Ask models, once for each request: what was answered before is read from the journal."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from inspect_ai.model import GenerateConfig, Model, ModelOutput, ResponseSchema
from inspect_ai.util import JSONSchema

from casewise.cases import digest
from casewise.errors import CasewiseError, ModelError
from casewise.evaluation._address import with_address
from casewise.evaluation._answers import provider_refused
from casewise.evaluation._faults import FailedRequestError, FaultKind, failed, failure_reason
from casewise.evaluation._models import MAX_RETRIES, attempt_timeout, open_models
from casewise.evaluation._reach import UnreachableError
from casewise.evaluation.generate._journal import Reply, ReplyJournal

GIVE_UP = 5
"""So many failed requests, and no answer among them: the model can't be used."""

_UNSUPPORTED = (400, 404, 405, 415, 422, 501)
"""What servers answer that take no schema."""


class Structured(StrEnum):
    """Whether providers are told the form of an answer as a JSON schema."""

    AUTO = "auto"
    """Yes; a server that refuses it is asked without."""
    ON = "on"
    OFF = "off"


@dataclass(slots=True)
class Asker:
    """One model, asked through the journal."""

    model: Model
    journal: ReplyJournal
    structured: Structured
    asked: int = 0
    """Requests sent."""
    failures: list[str] = field(default_factory=list)
    """Why requests failed, in words of ours alone."""
    _answered: int = 0
    _takes_schema: bool = True

    async def ask(
        self,
        prompt: str,
        *,
        seed: int,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """The reply to a prompt, from the journal or the model; an error is a reply too.

        Raises:
            ModelError: Nothing but errors has come from the model, or it can't be reached.
        """
        schema = None if self.structured is Structured.OFF else schema
        key = digest(str(self.model), prompt, seed, temperature, max_tokens, dict(schema or {}))
        known = self.journal.get(key)
        if known is not None:
            return known
        config = GenerateConfig(seed=seed, temperature=temperature, max_tokens=max_tokens)
        try:
            output = await self._generate(prompt, config, schema)
        except Exception as error:
            return self._failed(error)
        self._answered += 1
        reply = _reply(output)
        self.journal.keep(key, reply)
        return reply

    async def _generate(
        self, prompt: str, config: GenerateConfig, schema: Mapping[str, Any] | None
    ) -> ModelOutput:
        self.asked += 1
        # What a person set for the model itself goes before what is usual here.
        plain = config.merge(self.model.config)
        if schema is None or not self._takes_schema:
            return _checked(await self.model.generate(prompt, config=plain))
        form = ResponseSchema(
            name="context", json_schema=JSONSchema.model_validate(schema), strict=True
        )
        told = plain.merge(GenerateConfig(response_schema=form))
        try:
            return _checked(await self.model.generate(prompt, config=told))
        except Exception as error:
            if self.structured is Structured.ON or not _is_unsupported(error):
                raise
        self.asked += 1
        output = _checked(await self.model.generate(prompt, config=plain))
        # The answer without a schema shows that the schema was what the server refused.
        self._takes_schema = False
        return output

    def _failed(self, error: Exception) -> Reply:
        if isinstance(error, UnreachableError):
            raise error
        request = failed(error)
        self.journal.keep_failure(str(self.model), request.message)
        reason = str(error) if isinstance(error, CasewiseError) else request.plain
        self.failures.append(reason)
        if not self._answered and len(self.failures) >= GIVE_UP:
            raise self.useless()
        return Reply(error=reason)

    def useless(self) -> ModelError:
        """What is said of a model that gives nothing but errors."""
        return ModelError(
            f"{with_address(self.model, self.failures[0])} "
            f"(what the provider said is in {self.journal.failed})"
        )


def open_askers(
    names: tuple[str, ...],
    journal: ReplyJournal,
    *,
    structured: Structured,
    max_connections: int | None,
    base_url: str | None,
    model_args: Mapping[str, Any],
) -> dict[str, Asker]:
    """One asker a model, by name.

    Raises:
        ModelError: A model can't be opened.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    limits = GenerateConfig(
        attempt_timeout=attempt_timeout(), max_retries=MAX_RETRIES, max_connections=max_connections
    )
    askers = {}
    for name in dict.fromkeys(names):
        (model,) = open_models([name], base_url=base_url, model_args=model_args, memoize=False)
        model.config = limits.merge(model.config)
        askers[name] = Asker(model, journal, structured)
    return askers


def _is_unsupported(error: Exception) -> bool:
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    return isinstance(error, NotImplementedError) or status in _UNSUPPORTED


def _checked(output: ModelOutput) -> ModelOutput:
    """The output, where it is an answer.

    Raises:
        FailedRequestError: The provider reports an error in place of one.
    """
    if output.error and not output.completion and not provider_refused(output):
        raise FailedRequestError(FaultKind.OTHER, failure_reason(RuntimeError(output.error)), None)
    return output


def _reply(output: ModelOutput) -> Reply:
    usage = output.usage
    read = usage.input_tokens if usage else 0
    if usage:
        read += (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return Reply(
        text=output.completion,
        refused=provider_refused(output),
        cut=output.stop_reason in ("max_tokens", "model_length"),
        input_tokens=read,
        output_tokens=usage.output_tokens if usage else 0,
    )
