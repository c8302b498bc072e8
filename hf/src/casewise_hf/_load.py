"""Load a Hugging Face model and its tokenizer: a folder, a GGUF file, or a name on the hub.

On a CPU in fp32, its linear layers are laid out once for oneDNN, where that is quicker and the
model then says the same: PyTorch would do so for every pass.
"""

import platform
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
import transformers
from tqdm import tqdm
from transformers import modeling_gguf_pytorch_utils

from casewise.errors import ModelError, first_line
from casewise.protocols import TRANSLATED, surface_forms

TOKENS = 256
"""Number of rows that weights are laid out for; others are computed as well."""

TOLERANCE = 1e-4
"""Largest distance of log-probabilities from those of the model as it was loaded."""

QUICKER = 1.2
"""Least speed of the layers, as a multiple of PyTorch's own: they take private operations."""

_WIDTH, _ROWS, _TIMES = 1024, 64, 9

_TRIED = 8
"""Tokens with which a model is tried."""


class _Linear(torch.nn.Module):  # type: ignore[misc] # where torch is absent, it is Any
    """``torch.nn.Linear`` for inference, by oneDNN."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        # An opaque tensor: some models ask it for its type and device.
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), TOKENS)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            rows, self.weight, self.bias, "none", [], ""
        )
        return product


def with_fast_layers(load: Callable[[], Any]) -> Any:
    """A model with its linear layers replaced, if its numbers stay the same, else as it was loaded.

    Each layer's own weights are dropped when its new ones are there, so that the memory never holds
    two models. A model whose numbers change is therefore loaded once more.
    """
    model = load()
    if model.dtype != torch.float32 or not _is_quicker():
        return model
    try:
        expected = _try(model)
    except Exception:  # a model that takes more than tokens raises whatever it likes
        return model
    if _stays_same(model, expected):
        return model
    del model
    return load()


def _is_quicker() -> bool:
    """Tell whether this PyTorch has the operations, and they are quicker on this processor."""
    usual = torch.nn.Linear(_WIDTH, _WIDTH)
    try:
        other = _Linear(usual)
        return _seconds(usual) >= QUICKER * _seconds(other)
    except Exception:  # whatever it lacks
        return False


def _seconds(layer: torch.nn.Module) -> float:
    """Least seconds that a layer takes for a short prompt."""
    rows, took = torch.ones(_ROWS, _WIDTH), []
    with torch.inference_mode():
        for _ in range(_TIMES):
            begun = perf_counter()
            layer(rows)
            took.append(perf_counter() - begun)
    return min(took)


def _stays_same(model: Any, expected: torch.Tensor) -> bool:
    """Replace a model's layers, and tell whether its log-probabilities are as expected."""
    try:
        # A list with linear layers in it would hold their weights.
        for module in [module for module in model.modules() if type(module) is not torch.nn.Linear]:
            for name, layer in list(module.named_children()):
                # Layers of other kinds that are made of this one do more than it.
                if type(layer) is torch.nn.Linear:
                    setattr(module, name, _Linear(layer))
        return bool((_try(model) - expected).abs().max() <= TOLERANCE)
    except Exception:  # a model that reads its layers' weights
        return False


def _try(model: Any) -> torch.Tensor:
    """Log-probabilities of the next token after a few tokens."""
    size = model.config.get_text_config().vocab_size
    tokens = torch.arange(1, _TRIED + 1) * (size // (_TRIED + 1))
    with torch.inference_mode():
        logits: torch.Tensor = model(input_ids=tokens[None], use_cache=False).logits
        return logits[0, -1].log_softmax(-1)


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

            def loaded() -> Any:
                model = transformers.AutoModelForCausalLM.from_pretrained(
                    source, dtype=dtype, **given
                )
                return model.to(device).eval()

            model = with_fast_layers(loaded) if device.type == "cpu" else loaded()
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
