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
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
import transformers
from tqdm import tqdm
from transformers import modeling_gguf_pytorch_utils

from casewise.errors import ModelError
from casewise.evaluation.models._hf_provider import Options
from casewise.protocols import TRANSLATED, find_lexicon, surface_forms

TOKENS = 256
"""The number of rows that weights are laid out for; others are computed as well."""

TOLERANCE = 1e-4
"""Largest distance of log-probabilities from those of the model as it was loaded."""

QUICKER = 1.2
"""Least speed of the layers, as a multiple of PyTorch's own: they take private operations."""

_WIDTH, _ROWS, _TIMES = 1024, 64, 9

_TRIED = 8
"""Tokens with which a model is tried."""


class _Linear(torch.nn.Module):  # type: ignore[misc] # where torch is absent, it is Any
    """As ``torch.nn.Linear``, for inference."""

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
    """A model with its linear layers replaced, where it then says the same, and else as it was.

    Each layer's own weights go when its new ones are there: at no time are there two models. One
    that doesn't bear it is therefore loaded once more.
    """
    model = load()
    if model.dtype != torch.float32 or not _is_quicker():
        return model
    try:
        expected = _try(model)
    except Exception:  # a model that takes more than tokens raises whatever it likes
        return model
    if _bears_it(model, expected):
        return model
    del model
    return load()


def _is_quicker() -> bool:
    """Tell whether this PyTorch has the operations, and they pay on this processor."""
    usual = torch.nn.Linear(_WIDTH, _WIDTH)
    try:
        other = _Linear(usual)
        return _seconds(usual) >= QUICKER * _seconds(other)
    except Exception:  # whatever it lacks
        return False


def _seconds(layer: torch.nn.Module) -> float:
    """Seconds that a layer takes for the rest of a short prompt, at best."""
    rows, took = torch.ones(_ROWS, _WIDTH), []
    with torch.inference_mode():
        for _ in range(_TIMES):
            begun = perf_counter()
            layer(rows)
            took.append(perf_counter() - begun)
    return min(took)


def _bears_it(model: Any, expected: torch.Tensor) -> bool:
    """Replace a model's layers, and tell whether it says what is expected."""
    try:
        # Who held a linear layer here would hold its weights, too.
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
    most = model.config.get_text_config().vocab_size
    tokens = torch.arange(1, _TRIED + 1) * (most // (_TRIED + 1))
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
        """The tokenizer itself, for the engine's thread alone."""
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}
        # A fast tokenizer can't be used by two threads at once.
        self._lock = threading.Lock()

    def prompt(self, turns: Sequence[Turn]) -> tuple[int, ...]:
        """A conversation as its model reads it, up to where the answer begins.

        By the tokenizer's own chat template, thinking switched off where it can be. A system
        message goes before the first of the user's, where the template takes none. Without a
        template, each message is ``role: text`` with an empty line after it, and ``assistant:``
        stands at the end.

        Raises:
            ModelError: The template takes no such conversation.
        """
        with self._lock:
            if not getattr(self._tokenizer, "chat_template", None):
                return self._encode(plain(turns), special=True)
            try:
                text = self._render(turns)
            except Exception as error:  # a template raises what its author wrote
                if turns[0]["role"] != "system":
                    raise ModelError(f"the chat template fails: {_first(error)}") from None
                text = self._without_system(turns)
            return self._encode(text, special=False)

    def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text, and whether it is the only one.

        A space that is a piece of its own is none: what follows it begins an answer, too.
        """
        pieces = self._pieces(text)
        return (self.text(pieces[0]) if pieces else ""), len(pieces) == 1

    def openings(self) -> tuple[int, ...]:
        """The first tokens of all spellings of a verdict, in the languages that ship."""
        lexicons = [find_lexicon(language) for language in (None, *TRANSLATED)]
        forms = dict.fromkeys(form for lexicon in lexicons for form in surface_forms(lexicon))
        return tuple(dict.fromkeys(piece for form in forms for piece in self._pieces(form)[:1]))

    def text(self, token: int) -> str:
        """One token as text, its leading space kept."""
        text = self._texts.get(token)
        if text is None:
            with self._lock:
                piece = self._tokenizer.convert_ids_to_tokens(token)
                if isinstance(piece, str) and _SPACE in piece:
                    text = piece.replace(_SPACE, " ")
                else:
                    text = str(self._tokenizer.decode([token]))
            self._texts[token] = text
        return text

    def answer(self, tokens: Iterable[int]) -> str:
        """An answer as text, without marks of its end."""
        with self._lock:
            return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    @cached_property
    def ends(self) -> frozenset[int]:
        """The tokenizer's own end of a text; a model may name more."""
        end = self._tokenizer.eos_token_id
        return frozenset() if end is None else frozenset({end})

    def _pieces(self, text: str) -> tuple[int, ...]:
        with self._lock:
            pieces = self._encode(text, special=False)
        while len(pieces) > 1 and not self.text(pieces[0]).strip():
            pieces = pieces[1:]
        return pieces

    def _encode(self, text: str, *, special: bool) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=special))

    def _render(self, turns: Sequence[Turn]) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                [dict(turn) for turn in turns],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
        )

    def _without_system(self, turns: Sequence[Turn]) -> str:
        system, first, *later = turns
        joined = {"role": first["role"], "content": f"{system['content']}\n\n{first['content']}"}
        try:
            return self._render([joined, *later])
        except Exception as error:
            raise ModelError(f"the chat template fails: {_first(error)}") from None


def plain(turns: Sequence[Turn]) -> str:
    """A conversation for a model without a chat template."""
    said = "".join(f"{turn['role']}: {turn['content']}\n\n" for turn in turns)
    return f"{said}assistant:"


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
"""A name on the hub, alone or after its owner's."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model, ready to compute."""

    model: Any
    tokenizer: Any
    device: torch.device
    window: int | None
    """The longest prompt, in tokens; None where the model sets no bound."""
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
    if options.revision is not None:
        given["revision"] = options.revision
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
        raise ModelError(f"can't be loaded: {_reason(error)}") from None
    return Loaded(model, tokenizer, device, _window(model.config), _made_with(dtype, device))


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
        raise ModelError(f"device {asked!r} can't be used: {_reason(error)}") from None
    return device


def _dtype(asked: str, device: torch.device) -> torch.dtype:
    if asked == "auto":
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    try:
        return DTYPES[asked]
    except KeyError:
        known = ", ".join(("auto", *DTYPES))
        raise ModelError(f"unknown dtype {asked!r}: choose from {known}") from None


def _window(config: Any) -> int | None:
    text = config.get_text_config()
    window = getattr(text, "max_position_embeddings", None)
    return window if isinstance(window, int) and window > 0 else None


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


def _reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
