"""Load a model: a folder, a GGUF file, or a name on the Hugging Face hub."""

import platform
import re
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from tqdm import tqdm
from transformers import modeling_gguf_pytorch_utils

from casewise.errors import ModelError
from casewise.evaluation.local.hf._linear import with_fast_layers
from casewise.evaluation.local.hf._types import Options

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
    """What transformers loads, and with which arguments.

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
    found = getattr(text, "max_position_embeddings", None)
    return found if isinstance(found, int) and found > 0 else None


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
