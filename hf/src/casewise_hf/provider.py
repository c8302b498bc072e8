"""Inspect's provider ``casewise-hf``."""

from collections.abc import Mapping
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo
from pydantic import ValidationError

from casewise.errors import ModelError
from casewise.models import InProcess, plain_turns, to_output, too_long
from casewise_hf.engine import Engine, Request, open_engine
from casewise_hf.weights import Options

MAX_TOKENS = 2048
"""Longest answer, in tokens, where no other is asked for."""

TOP_LOGPROBS = 200
"""Candidates kept of each token, besides those of verdicts: a small model leaves much of its mass
on other words."""


class HuggingFace(InProcess):
    """A model of Hugging Face's transformers: a folder, or a name on the hub."""

    _engine: Engine

    def prepare(self, model_args: Mapping[str, Any]) -> None:
        """Load the model, once a process.

        Raises:
            ModelError: An argument is unknown or wrong, or the model can't be loaded.
        """
        try:
            self._engine = open_engine(self.model_name, _options(model_args))
        except ModelError as error:
            raise ModelError(f"casewise-hf/{self.model_name}: {error}") from None

    @property
    def made_with(self) -> Mapping[str, str]:
        """``dtype``, ``device``, ``torch`` and ``transformers``."""
        return self._engine.made_with

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Answer when it is the prompt's turn, off the event loop."""
        engine = self._engine
        tokens = engine.tokens.prompt(plain_turns(input))
        room = MAX_TOKENS if engine.window is None else engine.window - len(tokens)
        if room < 0 or not tokens:
            return too_long(self.model_name, len(tokens), engine.window)
        replied = await engine.ask(_request(tokens, config, room))
        return to_output(self.model_name, replied, self.made_with)

    async def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text under the model's tokenizer, and whether it is the only one."""
        return self._engine.tokens.first_piece(text)


def _options(arguments: Mapping[str, Any]) -> Options:
    """The provider's arguments, checked.

    Raises:
        ModelError: One is unknown, or can't be used.
    """
    try:
        return Options.model_validate(arguments, strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
        known = f"arguments: {', '.join(Options.model_fields)}"
        raise ModelError(f"{fault['loc'][0]}: {fault['msg']} ({known})") from None


def _request(tokens: tuple[int, ...], config: GenerateConfig, room: int) -> Request:
    """A request in the engine's terms; an answer never leaves the model's window."""
    return Request(
        tokens=tokens,
        max_tokens=max(1, min(config.max_tokens or MAX_TOKENS, room)),
        # The model's own distribution, where no temperature is asked for.
        temperature=1.0 if config.temperature is None else config.temperature,
        top_p=config.top_p,
        seed=config.seed,
        candidates=max(config.top_logprobs or 1, TOP_LOGPROBS) if config.logprobs else 0,
    )
