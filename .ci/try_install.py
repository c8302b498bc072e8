"""Install the wheel as people do, in empty environments, and see that it works and goes.

python .ci/try_install.py [--seconds 240] [--newest]

Builds the wheels, installs casewise (extra local) with uv into each Python that is found, with pip
and with pipx into one each, and there: casewise --version, casewise doctor, a run, its score and
its page offline, no study and no casewise-hf; with pip then casewise-study too, which plans one.
Uninstalls all, and holds what remains against docs/how-to/your-machine.md. What is not at hand, or
doesn't fit into the time, is skipped, and the reason printed. Ends with 1 if any part failed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
SCRIPTS, EXE = ("Scripts", ".exe") if os.name == "nt" else ("bin", "")
DEAD = "http://127.0.0.1:9"
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "HTTP_PROXY": DEAD, "HTTPS_PROXY": DEAD}


class FailedError(Exception):
    """A command ended otherwise than expected, or something remained."""


class Clock:
    """When all has to be over."""

    ends = float("inf")

    @classmethod
    def left(cls) -> float | None:
        """Seconds, for a command; None is no limit."""
        return None if cls.ends == float("inf") else max(0.01, cls.ends - time.monotonic())


@dataclass(frozen=True)
class Tools:
    """What installs, by path; None is not at hand."""

    uv: str | None
    pipx: str | None


def main() -> None:
    """Try each way, and say what became of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=240, help="the time for all of it")
    parser.add_argument("--newest", action="store_true", help="only pip, and the newest Python")
    options = parser.parse_args()
    Clock.ends = time.monotonic() + options.seconds
    bad = False
    with tempfile.TemporaryDirectory(prefix="casewise-install-") as name:
        place = Path(name)
        if not has_index(place):
            print("skipped: pip reaches no package index")
            return
        try:
            tools = find_tools(place)
            wheel = build(place / "dist", ROOT, tools)
            study = build(place / "study", ROOT / "study", tools)
            tries = list(ways(wheel, study, tools, newest=options.newest))
        except (FailedError, subprocess.TimeoutExpired) as error:
            sys.exit(f"FAILED before anything was installed: {error}")
        for way, attempt in tries:
            began = time.monotonic()
            said = f"skipped: {attempt}" if isinstance(attempt, str) else tried(place, attempt)
            bad = bad or said.startswith("FAILED")
            print(f"{way}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    sys.exit(bad)


def tried(place: Path, attempt: "Try") -> str:
    """Try one way in a folder of its own, and say what became of it."""
    with tempfile.TemporaryDirectory(dir=place) as here:
        try:
            attempt(Path(here))
        except FailedError as error:
            return f"FAILED: {error}"
        except subprocess.TimeoutExpired:
            return "skipped: the time is over"
    return "ok"


def has_index(place: Path) -> bool:
    """Whether pip reaches an index: nothing can be installed without one."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--retries", "1", "--no-deps"]
    return not run([*command, "--dest", place / "probe", "packaging"], check=False).returncode


def find_tools(place: Path) -> Tools:
    """Find uv and pipx on PATH, or get them out of the package index."""
    found = {name: shutil.which(name) for name in ("uv", "pipx")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        run([sys.executable, "-m", "venv", place / "tools"])
        scripts = place / "tools" / SCRIPTS
        for name in missing:
            done = run([scripts / "python", "-m", "pip", "install", "-q", name], check=False)
            found[name] = None if done.returncode else str(scripts / f"{name}{EXE}")
    return Tools(**found)


def build(out: Path, source: Path, tools: Tools) -> Path:
    """The wheel of one of the distributions of this checkout."""
    if tools.uv:
        run([tools.uv, "build", "--quiet", "--wheel", "--out-dir", out, source])
    else:
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
        run([*command, "--wheel-dir", out, source])
    (wheel,) = out.glob("*.whl")
    return wheel


def pythons(tools: Tools) -> dict[str, str]:
    """An interpreter of each version: by name on PATH, of pyenv, or that uv knows."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = {}
    for version in VERSIONS:
        maybe = [shutil.which(f"python{version}")]
        maybe += [str(one) for one in root.glob(f"versions/{version}.*/{SCRIPTS}/python{EXE}")]
        if tools.uv:
            asked = [tools.uv, "python", "find", "--no-python-downloads", "--system", version]
            maybe.append(run(asked, check=False).stdout.strip() or None)
        for one in filter(None, maybe):
            code = f"import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
            # A shim of pyenv's is there for versions that it was not told to use.
            if not run([one, "-c", code], check=False).returncode:
                found[version] = one
                break
    return found


Try = Callable[[Path], None]


def ways(
    wheel: Path, study: Path, tools: Tools, *, newest: bool
) -> Iterator[tuple[str, Try | str]]:
    """Each way to install, as a person would name it, and how it is tried, or why it can't be."""
    found = pythons(tools)
    for version in VERSIONS:
        if version not in found:
            yield f"Python {version}", "no such interpreter on PATH, of pyenv, or that uv knows"
    # Each installer at first, with a Python of its own where there are several.
    installers = {
        "uv": (with_uv, tools.uv),
        "pip": (partial(with_pip, study=study), "pip"),
        "pipx": (with_pipx, tools.pipx),
    }
    latest = [*reversed(found)]
    pairs = [(name, latest[place % len(latest)]) for place, name in enumerate(installers) if found]
    pairs += [("uv", version) for version in latest[1:]]
    if newest:
        pairs = [("pip", latest[0])] if found else []
    for name, version in pairs:
        way, tool = installers[name]
        absent = f"{name} is not on PATH, and no index has it"
        tries = partial(way, wheel=wheel, python=found[version], tool=tool)
        yield f"{name}, Python {version}", tries if tool else absent


def with_uv(here: Path, wheel: Path, python: str, tool: str) -> None:
    """``uv tool install``, into a folder of its own."""
    places = {"UV_TOOL_DIR": str(here / "tools"), "UV_TOOL_BIN_DIR": str(here / "bin")}
    named = f"casewise[local] @ {wheel.as_uri()}"
    offered = os.environ.get("UV_INDEX_STRATEGY", "unsafe-best-match")
    command = [tool, "tool", "install", "--quiet", "--no-python-downloads", "--python", python]
    run([*command, "--index-strategy", offered, named], env=places)
    use(here, here / "bin" / f"casewise{EXE}")
    run([tool, "tool", "uninstall", "--quiet", "casewise"], env=places)
    see_what_remains(here, here / "tools", here / "bin")


def with_pip(here: Path, wheel: Path, python: str, tool: str, study: Path) -> None:
    """``pip install`` into an environment, by its own pip; then the study beside it."""
    run([python, "-m", "venv", here / "environment"])
    scripts = here / "environment" / SCRIPTS
    pip = [scripts / "python", "-m", tool, "--disable-pip-version-check"]
    run([*pip, "install", "--quiet", f"{wheel}[local]"])
    use(here, scripts / f"casewise{EXE}")
    run([*pip, "install", "--quiet", study])
    plan_study(here, scripts / f"casewise{EXE}")
    run([*pip, "uninstall", "--quiet", "--yes", "casewise", "casewise-study"])
    see_what_remains(here, here / "environment")


def with_pipx(here: Path, wheel: Path, python: str, tool: str) -> None:
    """``pipx install``, into a folder of its own."""
    home = {"PIPX_HOME": str(here / "pipx"), "PIPX_BIN_DIR": str(here / "bin")}
    home |= {"PIPX_MAN_DIR": str(here / "man"), "PIPX_DEFAULT_PYTHON": python}
    run([tool, "install", "--quiet", f"{wheel}[local]"], env=home)
    use(here, here / "bin" / f"casewise{EXE}")
    run([tool, "uninstall", "--quiet", "casewise"], env=home)
    see_what_remains(here, here / "pipx", here / "bin")


def use(here: Path, casewise: Path) -> None:
    """Look at the machine, run the embedded model on two cases offline, and score them."""
    home, work = here / "home", here / "work"
    work.mkdir()
    seed_weights(home)
    env = {"HOME": str(home), "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "CASEWISE_CACHE": ""}
    said = run([casewise, "--version"], cwd=work, env=env).stdout
    if not re.fullmatch(r"casewise \d+\.\d+\.\d+\s*", said):
        raise FailedError(f"--version: {said}")
    looked = run([casewise, "doctor", "--format", "json"], cwd=work, env=env, check=False)
    report = json.loads(looked.stdout)
    wrong = [one for one in report["facts"] if one["needed"] and one["todo"]]
    without = {one["name"] for one in wrong} == {"casewise/smollm2"}
    if looked.returncode != (1 if wrong else 0) or (wrong and not without):
        raise FailedError(f"doctor ended with {looked.returncode}: {wrong}")
    for name in ("your-machine.md", "CHANGELOG.md"):
        if not any("share/doc/casewise" in one.as_posix() for one in here.rglob(name)):
            raise FailedError(f"{name} is not installed")
    # Without weights at hand they are fetched, which needs the index.
    line = {} if without else OFFLINE
    run([casewise, "run", "--limit", "2", "--log-dir", "logs"], cwd=work, env=env | line)
    scored = run([casewise, "score", "logs", "--format", "json"], cwd=work, env=env | OFFLINE)
    if not any(row["model"] == "casewise/smollm2" for row in json.loads(scored.stdout)):
        raise FailedError("the score lacks the model")
    run([casewise, "report", "logs", "--out", "report.html"], cwd=work, env=env | OFFLINE)
    alone = run([casewise, "annotate", "plan"], cwd=work, env=env, check=False)
    if alone.returncode != 2 or "pip install './study'" not in alone.stderr:
        raise FailedError(f"without casewise-study: status {alone.returncode}: {alone.stderr}")
    alone = run([casewise, "run", "-m", "casewise-hf/x"], cwd=work, env=env | OFFLINE, check=False)
    if alone.returncode != 2 or "pip install './hf'" not in alone.stderr:
        raise FailedError(f"without casewise-hf: status {alone.returncode}: {alone.stderr}")


def plan_study(here: Path, casewise: Path) -> None:
    """Plan a study of the starter cases, and translate it, which needs Babel."""
    work = here / "work"
    options = ["--out", "study.yaml", "--language", "de", "--format", "json"]
    planned = run([casewise, "annotate", "plan", "starter", *options], cwd=work, env=OFFLINE)
    plan = (work / "study.yaml").read_text("utf-8")
    if not json.loads(planned.stdout)["designs"] or "\nvotes: 21\n" not in plan:
        raise FailedError("no study was planned")
    run([casewise, "annotate", "simulate", "study.yaml"], cwd=work, env=OFFLINE)
    run([casewise, "annotate", "serve", "--help"], cwd=work, env=OFFLINE)


def seed_weights(home: Path) -> None:
    """Put weights that this machine has already where a person's are, by a link."""
    given = os.environ.get("CASEWISE_CACHE")
    cache = Path(given) if given else Path.home() / ".cache/casewise"
    for file in cache.glob("models/*.gguf"):
        place = home / ".cache/casewise/models" / file.name
        place.parent.mkdir(parents=True)
        place.symlink_to(file)


def see_what_remains(here: Path, *installed: Path) -> None:
    """Nothing of ours in the environment; of a home, what the page says, and no more.

    Raises:
        FailedError: Something else remains.
    """
    left = [
        path
        for folder in installed
        for path in folder.rglob("*")
        if re.search(
            r"(^|/)(casewise|share/doc/casewise)([-_]study)?(-[\d.]+\.dist-info)?(/|\.exe$|$)",
            path.relative_to(here).as_posix(),
        )
        and (path.is_file() or path.is_symlink())
        and "__pycache__" not in path.parts
    ]
    if left:
        raise FailedError(f"remains after uninstalling: {left[:5]}")
    (page,) = ROOT.glob("docs/**/your-machine.md")
    named = re.findall(r"`~/([^`]+)`", page.read_text("utf-8"))
    home = here / "home"
    files = [one.relative_to(home).as_posix() for one in home.rglob("*") if not one.is_dir()]
    unnamed = [one for one in files if not one.startswith(tuple(f"{place}/" for place in named))]
    if unnamed:
        raise FailedError(f"{page.name} doesn't name what is in the home: {unnamed[:5]}")


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run a command with the environment of this process, without its keys and its Python.

    Raises:
        FailedError: It ended with another status than 0, and ``check`` is set.
        subprocess.TimeoutExpired: The time is over.
    """
    apart = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_API_KEY", "_BASE_URL")) and name not in apart
    }
    # pip compiles what is installed, nearly all for nothing here.
    whole = {"PIP_NO_COMPILE": "1"} | kept | dict(env or {})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # Files, since of a process that is killed children may hold a pipe.
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env=whole,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        try:
            status = process.wait(Clock.left())
        finally:
            end(process)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode("utf-8", "replace"))
    ended = subprocess.CompletedProcess(process.args, status, *said)
    if check and ended.returncode:
        last = " / ".join(ended.stderr.strip().splitlines()[-4:])
        raise FailedError(f"{' '.join(map(str, command))}: status {ended.returncode}: {last}")
    return ended


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a process, with its children: pipx's pip would go on writing."""
    if process.poll() is None:
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                child.kill()
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
