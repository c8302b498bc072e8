"""Load a Hugging Face model and its tokenizer: a folder, or a name on the hub."""

import platform
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import transformers
from pydantic import BaseModel, Field

from casewise.errors import ModelError, first_line
from casewise.protocols import TRANSLATED, surface_forms

_SPACE = "\u2581"
"""Space as SentencePiece writes it."""


PLAIN = "{% for one in messages %}{{ one.role }}: {{ one.content }}\n\n{% endfor %}assistant:"
"""Template of a model that has none."""


class Tokens:
    """A tokenizer of transformers, for one thread at a time."""

    def __init__(self, tokenizer: Any) -> None:
        self._raw = tokenizer
        self._has_template = bool(tokenizer.chat_template)
        self._texts: dict[int, str] = {}
        # A fast tokenizer can't be used by two threads at once.
        self._lock = threading.RLock()

    def prompt(self, turns: Sequence[Mapping[str, str]]) -> tuple[int, ...]:
        """A conversation as its model reads it, up to the beginning of the answer.

        It is written by the tokenizer's chat template, thinking switched off where it can be. Where
        the template takes no system message, that goes before the user's first. Without a template,
        each message is ``role: text`` with an empty line after it, and ``assistant:`` stands at the
        end.

        Raises:
            ModelError: The template takes no such conversation.
        """
        with self._lock:
            try:
                try:
                    text = self._render(turns)
                except Exception:  # a template raises what its author wrote
                    if turns[0]["role"] != "system":
                        raise
                    system, first, *later = turns
                    content = f"{system['content']}\n\n{first['content']}"
                    text = self._render([{"role": first["role"], "content": content}, *later])
            except Exception as error:
                raise ModelError(f"the chat template fails: {first_line(error)}") from None
            # A template writes the tokens that a text begins with.
            return tuple(self._raw.encode(text, add_special_tokens=not self._has_template))

    def _render(self, turns: Sequence[Mapping[str, str]]) -> str:
        return str(
            self._raw.apply_chat_template(
                list(map(dict, turns)),
                chat_template=None if self._has_template else PLAIN,
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
        )

    def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text, and whether it is the only one.

        A piece that is a space alone is left out: an answer may begin with the piece after it.
        """
        pieces = self._pieces(text)
        return (self.text(pieces[0]) if pieces else ""), len(pieces) == 1

    def openings(self) -> tuple[int, ...]:
        """The first tokens of all spellings of a verdict, in the languages that ship."""
        languages = (None, *TRANSLATED)
        forms = dict.fromkeys(form for language in languages for form in surface_forms(language))
        return tuple(dict.fromkeys(piece for form in forms for piece in self._pieces(form)[:1]))

    def text(self, token: int) -> str:
        """One token as text, its leading space kept."""
        with self._lock:
            if token not in self._texts:
                piece = self._raw.convert_ids_to_tokens(token)
                spaced = isinstance(piece, str) and _SPACE in piece
                text = piece.replace(_SPACE, " ") if spaced else self._raw.decode([token])
                self._texts[token] = str(text)
            return self._texts[token]

    def answer(self, tokens: Iterable[int]) -> str:
        """An answer as text, without marks of its end."""
        with self._lock:
            return str(self._raw.decode(list(tokens), skip_special_tokens=True))

    def _pieces(self, text: str) -> list[int]:
        with self._lock:
            pieces = list(self._raw.encode(text, add_special_tokens=False))
        while len(pieces) > 1 and not self.text(pieces[0]).strip():
            del pieces[0]
        return pieces


class Options(BaseModel, frozen=True, extra="forbid"):
    """Options of loading and running a model."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """``auto`` is fp32 on a CPU and bf16 elsewhere."""
    device: str = "auto"
    """As torch names it; ``auto`` is CUDA where there is one, else the CPU."""
    batch_size: Annotated[int, Field(ge=1)] | None = None
    """Prompts of one forward pass; with 1, each starts from its neighbour's cache. None is 1 on a
    CPU and ``BATCH`` elsewhere."""


def load(name: str, options: Options) -> tuple[Any, Any]:
    """Load a model and its tokenizer: a folder, or a name on the hub.

    Raises:
        ModelError: There is no such model, device or type of numbers, or it doesn't fit.
    """
    path = Path(name).expanduser()
    if path.exists() and not (path / "config.json").is_file():
        raise ModelError("no folder with a config.json: give the one that save_pretrained wrote")
    source = str(path) if path.exists() else name
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            auto = "cuda" if torch.cuda.is_available() else "cpu"
            device = torch.device(auto if options.device == "auto" else options.device)
            automatic = "float32" if device.type == "cpu" else "bfloat16"
            tokenizer = transformers.AutoTokenizer.from_pretrained(source)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                source, dtype=automatic if options.dtype == "auto" else options.dtype
            )
            return model.to(device).eval(), tokenizer
    except ImportError:
        raise
    except Exception as error:  # a broken file raises whatever its reader raises
        raise ModelError(f"can't be loaded: {first_line(error)}") from None


def describe(model: Any) -> dict[str, str]:
    """``dtype``, ``device``, ``torch`` and ``transformers`` that figures depend on."""
    kind = model.device.type
    name = torch.cuda.get_device_name(model.device) if kind == "cuda" else platform.machine()
    return {
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": f"{kind} ({name or 'cpu'})",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
