"""Load a Hugging Face model and its tokenizer: a folder, a GGUF file, or a name on the hub."""

import platform
import re
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from tqdm import tqdm
from transformers import modeling_gguf_pytorch_utils

from casewise.errors import ModelError, first_line
from casewise.protocols import TRANSLATED, surface_forms

Turn = Mapping[str, str]
"""``role`` and ``content`` of a message."""

_SPACE = "\u2581"
"""Space as SentencePiece writes it."""


class Tokens:
    """A tokenizer of transformers, for one thread at a time."""

    def __init__(self, tokenizer: Any) -> None:
        self.raw = tokenizer
        """The tokenizer itself, for the engine's thread: it takes no lock."""
        self._texts: dict[int, str] = {}
        # A fast tokenizer can't be used by two threads at once.
        self._lock = threading.Lock()

    def prompt(self, turns: Sequence[Turn]) -> tuple[int, ...]:
        """A conversation as its model reads it, up to the beginning of the answer.

        It is written by the tokenizer's chat template, thinking switched off where it can be. Where
        the template takes no system message, that goes before the user's first. Without a template,
        each message is ``role: text`` with an empty line after it, and ``assistant:`` stands at the
        end.

        Raises:
            ModelError: The template takes no such conversation.
        """
        with self._lock:
            if not getattr(self.raw, "chat_template", None):
                return self._encode(plain(turns), special=True)
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
            return self._encode(text, special=False)

    def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text, and whether it is the only one.

        A piece that is a space alone is left out: an answer may begin with the piece after it.
        """
        pieces = self._pieces(text)
        return (self.text(pieces[0]) if pieces else ""), len(pieces) == 1

    def openings(self) -> tuple[int, ...]:
        """The first tokens of all spellings of a verdict, in the languages that ship."""
        languages = (None, *TRANSLATED)
        forms = dict.fromkeys(form for one in languages for form in surface_forms(one))
        return tuple(dict.fromkeys(piece for form in forms for piece in self._pieces(form)[:1]))

    def text(self, token: int) -> str:
        """One token as text, its leading space kept."""
        if token not in self._texts:
            with self._lock:
                piece = self.raw.convert_ids_to_tokens(token)
                if isinstance(piece, str) and _SPACE in piece:
                    self._texts[token] = piece.replace(_SPACE, " ")
                else:
                    self._texts[token] = str(self.raw.decode([token]))
        return self._texts[token]

    def answer(self, tokens: Iterable[int]) -> str:
        """An answer as text, without marks of its end."""
        with self._lock:
            return str(self.raw.decode(list(tokens), skip_special_tokens=True))

    def _pieces(self, text: str) -> tuple[int, ...]:
        with self._lock:
            pieces = self._encode(text, special=False)
        while len(pieces) > 1 and not self.text(pieces[0]).strip():
            pieces = pieces[1:]
        return pieces

    def _encode(self, text: str, *, special: bool) -> tuple[int, ...]:
        return tuple(self.raw.encode(text, add_special_tokens=special))

    def _render(self, turns: Sequence[Turn]) -> str:
        return str(
            self.raw.apply_chat_template(
                [dict(turn) for turn in turns],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
        )


def plain(turns: Sequence[Turn]) -> str:
    """A conversation for a model without a chat template."""
    said = "".join(f"{turn['role']}: {turn['content']}\n\n" for turn in turns)
    return f"{said}assistant:"


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
"""A name on the hub, alone or after its owner's."""


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


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model, ready to compute."""

    model: Any
    tokenizer: Any
    device: torch.device
    window: int | None
    """Longest prompt, in tokens; None where the model sets no bound."""
    made_with: dict[str, str]
    """``dtype``, ``device``, ``torch`` and ``transformers``."""


def load(name: str, options: Options) -> Loaded:
    """Load a model and its tokenizer.

    Raises:
        ModelError: There is no such model, device or type of numbers, or it doesn't fit.
    """
    device = _device(options.device)
    dtype = _dtype(options.dtype, device)
    source, given = _source(name)
    given |= {"revision": options.revision} if options.revision is not None else {}
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    modeling_gguf_pytorch_utils.tqdm = partial(tqdm, disable=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **given)
            model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=dtype, **given)
            model = model.to(device).eval()
    except ImportError:
        raise
    except Exception as error:  # a broken file raises whatever its reader raises
        raise ModelError(f"can't be loaded: {first_line(error)}") from None
    window = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return Loaded(
        model,
        tokenizer,
        device,
        window if isinstance(window, int) and window > 0 else None,
        _made_with(dtype, device),
    )


def _source(name: str) -> tuple[str, dict[str, str]]:
    """Name that transformers loads, and its arguments.

    Raises:
        ModelError: A path at which there is nothing, or no model.
    """
    path = Path(name).expanduser()
    if path.suffix.lower() == ".gguf":
        if not path.is_file():
            raise ModelError("no such file")
        return str(path.parent), {"gguf_file": path.name}
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(
                "the folder holds no config.json: give the folder that save_pretrained wrote, "
                "or a .gguf file"
            )
        return str(path), {}
    if path.exists():
        raise ModelError("neither a folder nor a .gguf file")
    if not _HUB.fullmatch(name):
        raise ModelError("no such folder or file")
    return name, {}


def _device(asked: str) -> torch.device:
    if asked == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(asked)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(f"device {asked!r} can't be used: {first_line(error)}") from None
    return device


def _dtype(asked: str, device: torch.device) -> torch.dtype:
    auto = torch.float32 if device.type == "cpu" else torch.bfloat16
    known = {"auto": auto, **DTYPES}
    if asked not in known:
        raise ModelError(f"unknown dtype {asked!r}: choose from {', '.join(known)}")
    return known[asked]


def _made_with(dtype: torch.dtype, device: torch.device) -> dict[str, str]:
    name = platform.machine() or "cpu"
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "device": f"{device.type} ({name})",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
