"""Inspect's provider ``casewise-hf``: Hugging Face models in this process."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from casewise.errors import ModelError, first_line, install_hint
from casewise.evaluation.models import _in_process as in_process

if TYPE_CHECKING:
    from casewise.evaluation.models._hf_engine import Engine


PROVIDER = "casewise-hf"

MAX_TOKENS = 2048
"""Longest answer, in tokens, where no other is asked for."""

TOP_LOGPROBS = 200
"""Candidates kept of each token, besides those of verdicts: a small model leaves much of its mass
on other words."""

BFLOAT16 = {
    "amx_bf16": "this processor computes in bfloat16, too: -M dtype=bfloat16 takes about half the "
    "time, and moves P(safe) by up to .06 (docs/how-to/local-models.md)",
    "avx512_bf16": "this processor computes in bfloat16, too, but without AMX -M dtype=bfloat16 "
    "gains nothing: it took half as long again (docs/how-to/local-models.md)",
}
"""Advice on bfloat16 by the first flag that the processor has: told where a model is computed in
fp32 by default."""

_CPU = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Options:
    """Options of loading and running a model."""

    dtype: str = "auto"
    """``float32``, ``bfloat16``, ``float16``, or ``auto``: fp32 on a CPU, bf16 elsewhere."""
    device: str = "auto"
    """As torch names it; ``auto`` is CUDA where there is one, else the CPU."""
    batch_size: int | None = None
    """Prompts of one forward pass; with 1, each starts from its neighbour's cache. None is 1 on a
    CPU and ``BATCH`` elsewhere."""
    revision: str | None = None
    """Revision of a model on the hub."""


class HuggingFace(in_process.InProcess):
    """A model of Hugging Face's transformers: a folder, a ``.gguf`` file, or a name on the hub."""

    def prepare(self, model_args: Mapping[str, Any]) -> None:
        """Load the model, once a process.

        Raises:
            ModelError: An argument is unknown or wrong, a package is missing, or the model can't
                be loaded.
        """
        options = _options(self.model_name, model_args)
        self._engine = _open(self.model_name, options)
        if options.dtype == "auto" and self.made_with["dtype"] == "float32":
            _tell_of_bfloat16()

    @property
    def line(self) -> in_process.TextOrder[in_process.TokenRequest, in_process.Replied]:
        """Queue of the requests of all tasks."""
        return self._engine.line

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
        tokens = engine.tokens.prompt(in_process.plain_turns(input))
        room = MAX_TOKENS if engine.window is None else engine.window - len(tokens)
        if room < 0 or not tokens:
            return in_process.too_long(self.model_name, len(tokens), engine.window)
        asked = _asked(tokens, config, room)
        replied = await engine.line.ask(tokens, asked, self.asker)
        return in_process.to_output(self.model_name, replied, self.made_with)

    async def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text under the model's tokenizer, and whether it is the only one."""
        return self._engine.tokens.first_piece(text)


def _open(name: str, options: Options) -> "Engine":
    """The engine of a model.

    Raises:
        ModelError: A package is missing, or the model can't be loaded.
    """
    try:
        from casewise.evaluation.models._hf_engine import open_engine

        return open_engine(name, options)
    except ImportError as error:
        raise ModelError(
            f"{PROVIDER}/{name} needs packages that are not installed ({first_line(error)}): "
            f"{install_hint('hf')}"
        ) from None
    except ModelError as error:
        raise ModelError(f"{PROVIDER}/{name}: {error}") from None


@cache
def _tell_of_bfloat16() -> None:
    """Tell of bfloat16, once a process: each condition of a run opens the model anew."""
    if (gain := _bfloat16_gain()) is not None:
        in_process.tell(gain)


def _bfloat16_gain(cpu: Path = _CPU) -> str | None:
    """Advice on bfloat16 by the flags that Linux lists; None where the processor has none."""
    try:
        lines = cpu.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return None
    listed = (line.split(":", 1)[1].split() for line in lines if line.lower().startswith("flags"))
    flags = next(listed, [])
    return next((gain for flag, gain in BFLOAT16.items() if flag in flags), None)


def _options(name: str, given: Mapping[str, Any]) -> Options:
    """The provider's arguments, checked.

    Raises:
        ModelError: One is unknown, or of another type.
    """
    known = [field.name for field in fields(Options)]
    for key, value in given.items():
        if key not in known:
            listed = ", ".join(known)
            raise ModelError(f"{PROVIDER}/{name}: unknown argument {key!r}: choose from {listed}")
        fits = type(value) is int and value > 0 if key == "batch_size" else isinstance(value, str)
        if not fits:
            raise ModelError(f"{PROVIDER}/{name}: {key}={value!r} can't be used")
    return Options(**given)


def _asked(tokens: tuple[int, ...], config: GenerateConfig, room: int) -> in_process.TokenRequest:
    """A request in the engine's terms; an answer never leaves the model's window."""
    return in_process.TokenRequest(
        tokens=tokens,
        max_tokens=max(1, min(config.max_tokens or MAX_TOKENS, room)),
        # The model's own distribution, where no temperature is asked for.
        temperature=1.0 if config.temperature is None else config.temperature,
        top_p=config.top_p,
        top_k=config.top_k,
        seed=config.seed,
        stop=tuple(config.stop_seqs or ()),
        candidates=max(config.top_logprobs or 1, TOP_LOGPROBS) if config.logprobs else 0,
    )
