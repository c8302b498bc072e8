"""Names of models: ``PROVIDER/NAME``, the file of a target, or ``MODULE:FUNCTION``."""

import functools
import importlib.util
import pathlib
import re
from importlib import metadata

from casewise import errors

HF = "casewise-hf"
"""Provider of the distribution casewise-hf."""

IN_PROCESS = ("casewise", HF)
"""Providers of the models that run in this process."""

SMOLLM2 = "casewise/smollm2"
"""The embedded model."""

TARGETS = "casewise-target"
"""Provider of targets."""

OPENAI_API = "openai-api/"
"""Prefix of models of any OpenAI-compatible server."""

FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""Form of a target that is a function."""


def is_in_process(model: str) -> bool:
    """Tell whether a model, by its name, runs in this process."""
    return model.partition("/")[0] in IN_PROCESS


def is_target(model: str) -> bool:
    """Tell whether a model is named as a target: a YAML file, or MODULE:FUNCTION."""
    is_file = pathlib.Path(model).suffix in (".yaml", ".yml")
    return is_file or FUNCTION.fullmatch(model) is not None


def check_name(model: str) -> None:
    """Refuse the name of a model without its provider, or with one that nobody has registered.

    Raises:
        ModelError: There is no such provider; the message says how to write it.
    """
    provider, slash, name = model.partition("/")
    if model.startswith(OPENAI_API) and not all(name.partition("/")):
        raise errors.ModelError(
            f"{model}: write {OPENAI_API}SERVICE/MODEL; SERVICE_BASE_URL and SERVICE_API_KEY are "
            "its address and key"
        )
    if provider == IN_PROCESS[0] and model != SMOLLM2:
        raise errors.ModelError(f"{model}: the only embedded model is {SMOLLM2}")
    if provider and name:
        known = (*_inspects_providers(), TARGETS, *IN_PROCESS)
        plugins = set(metadata.entry_points(group="inspect_ai").names)
        # What others may have registered, Inspect refuses when the model is opened.
        if provider in known or not _inspects_providers() or plugins - {"casewise", "casewise_hf"}:
            return
        # Whoever runs a server often writes its name as the provider.
        raise errors.ModelError(
            f"{model}: no provider {provider!r}: {errors.did_you_mean(provider, known)}a server "
            f"that speaks OpenAI's protocol is {OPENAI_API}{model}"
        )
    if slash or not model:
        raise errors.ModelError(
            f"{model!r}: no name of a model: write PROVIDER/NAME, such as openai/gpt-4o"
        )
    raise errors.ModelError(
        f"{model}: which provider? Write PROVIDER/{model}, such as openai/{model}; "
        f"{OPENAI_API}SERVICE/{model} for a server that speaks OpenAI's protocol, "
        f"{HF}/./{model} for a folder"
    )


@functools.cache
def _inspects_providers() -> tuple[str, ...]:
    """Names of Inspect's own providers, out of a private file of its source.

    It has no public list, and takes two seconds to import. Empty, were the file another.
    """
    spec = importlib.util.find_spec("inspect_ai")
    folder = pathlib.Path(str(spec and spec.origin)).parent
    path = folder / "model" / "_providers" / "providers.py"
    text = path.read_text("utf-8") if path.is_file() else ""
    return tuple(re.findall(r'@modelapi\(name="([^"]+)"', text))
