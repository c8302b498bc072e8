"""Every command of the README and of the first pages is run, as it stands.

But for addresses and paths of one's own; those of the other pages under Start have tests of their
own.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT, Cli, clean_env, cli_in
from support.fake_openai import Answer, FakeServer
from support.scripts import load_script
from support.starts import inspect_eval

README = (ROOT / "README.md").read_text("utf-8")
INDEX = (ROOT / "docs/index.md").read_text("utf-8")
FIRST, OWN, TUNED = (
    (ROOT / f"docs/start/{name}.md").read_text("utf-8")
    for name in ("first-run", "own-model", "fine-tuning")
)


def blocks(page: str) -> list[str]:
    return re.findall(r"```bash\n(.*?)```", page, re.DOTALL)


def answer(request: dict[str, Any]) -> Answer:
    return '{"explanation": "x", "judgement": "safe"}'


def shell(command: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=clean_env() | {"PATH": path} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def inside(block: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run commands as ``shell`` does, but in this process, where no start takes two seconds."""
    done = subprocess.CompletedProcess(block, 0, "", "")
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        if program == "export":
            env |= dict(one.split("=", 1) for one in arguments)
            continue
        if program == "cp":
            shutil.copytree(folder / arguments[1], folder / arguments[2])
            continue
        if program == "inspect":
            assert arguments.pop(0) == "eval"
            done.stdout += inspect_eval(arguments, folder, clean_env() | env)
            continue
        assert program == "casewise"
        one = cli_in(folder)(*arguments, env=env)
        done.stdout += one.stdout
        done.stderr += one.stderr
        done.returncode = one.returncode
        if one.returncode:
            break
    return done


WAYS = [inside, pytest.param(shell, marks=pytest.mark.slow)]
"""Of four long blocks; the others are always run by a shell."""

Run = Callable[..., subprocess.CompletedProcess[str]]


def block_with(text: str, page: str) -> str:
    (block,) = [one for one in blocks(page) if text in one]
    return block


def test_no_command_is_left_out() -> None:
    """Whoever adds a block of commands adds a test that runs it."""
    assert [
        block.split("\n")[0] for page in (README, FIRST, OWN, TUNED) for block in blocks(page)
    ] == [
        'pip install ".[local]"                   # in a checkout; of a wheel: '
        "casewise-0.1.0-py3-none-any.whl[local]",
        "export LOCAL_API_KEY=none LOCAL_BASE_URL=http://localhost:8000/v1",
        "make demo",
        'pip install ".[local]"',
        "casewise score logs",
        "export LOCAL_API_KEY=none LOCAL_BASE_URL=http://localhost:8000/v1",
        "casewise cases fetch casebench",
        "inspect eval casewise/judge -T protocol=binary -T cases=starter "
        "--model openai-api/local/my-model",
        # The first way of tests/cli/test_four_ways.py.
        "pip install .",
        "casewise compare logs/last-week logs/mine",
    ]


def test_the_readme_is_one_screen() -> None:
    """One picture, no wall of options; the warnings stay, in two lines."""
    assert len(README.split()) < 700
    assert README.count("![") == 1
    warnings = [line for line in README.splitlines() if line.startswith(">")]
    assert [line[:6] for line in warnings] == ["> **Co", "> **No"]


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/start").glob("*.md")), ids=lambda page: page.stem
)
def test_a_first_page_is_short(page: Path) -> None:
    assert len(page.read_text("utf-8").split()) <= 400


@pytest.fixture(scope="module")
def published() -> ModuleType:
    return load_script(ROOT / "docs/make_published.py")


def test_the_first_tables_are_of_published_outputs(casebench: Path, published: ModuleType) -> None:
    for needed in (casebench.parent / "reproductions", ROOT / "benchmarks/reproduce"):
        if not needed.is_dir():
            pytest.skip(f"{needed} is not there")
    for name in published.PAGES:
        page = (ROOT / name).read_text("utf-8")
        assert "<!-- published: " in page
        assert page == published.with_tables(page, casebench.parent), "make published"
    # The sentence below the index's table has one protocol of each model.
    table = published.verdicts(casebench.parent)
    rates = {row.split("|")[1].strip(): row for row in table.splitlines() if "| binary |" in row}
    sentence = " ".join(INDEX.split("<!-- end -->")[1].split("!")[0].split())
    for name, model in (("gpt-4o", "GPT-4o"), ("llama370B", "Llama 3 70B")):
        over, under = (cell.split()[0] for cell in rates[name].split("|")[5:7])
        said = rf"{model} calls {over}\b[^;.]* unsafe[^;.]* {under}\b[^;.]* safe"
        assert re.search(said, sentence)


def test_the_first_lines_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    with FakeServer(answer) as server:
        monkeypatch.setenv("LOCAL_API_KEY", "none")
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        code = code.replace('"openai/gpt-4o"', '"openai-api/local/my-model"')
        names: dict[str, Any] = {}
        exec(compile(code, "README.md", "exec"), names)
    assert names["scores"][0].accuracy.value == 0.5
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize("target", ["demo", "test", "docs"])
def test_make_has_the_targets(target: str) -> None:
    """What they do is what this suite does: it runs under one, and runs the other's command."""
    done = shell(f"make --dry-run {target}", ROOT)
    assert done.returncode == 0, done.stderr
    runs = {"demo": "casewise run", "test": "pytest", "docs": "mkdocs build --strict"}
    assert runs[target] in done.stdout


def test_make_demo_is_short_and_says_so_first(tmp_path: Path) -> None:
    """At up to six seconds of two cores a judgement, a minute holds twelve, with the start."""
    lines = shell("make --dry-run demo", ROOT).stdout.splitlines()
    (place,) = (n for n, line in enumerate(lines) if "/casewise run" in line)
    assert re.search(r"^echo .* minute", lines[place - 1])
    planned = cli_in(tmp_path)(*shlex.split(lines[place])[1:], "--dry-run")
    (requests,) = re.findall(r"(\d+) requests; nothing was sent", planned.stdout + planned.stderr)
    assert 2 <= int(requests) <= 12


def test_the_readme_names_the_targets() -> None:
    assert {"make demo", "make test", "make docs"} <= set(re.findall(r"`(make \w+)`", README))
    # Each block of commands stands right below the sentence that tells of it.
    assert "of these lines" not in README


def test_pip_install(tmp_path: Path) -> None:
    # The extra's requirements are in the environment already: --dry-run checks that they resolve.
    command = block_with("pip install", FIRST).splitlines()[0]
    command = command.replace("pip install", "python -m pip install --dry-run --no-build-isolation")
    done = shell(command.replace(".[local]", f"{ROOT}[local]"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Would install casewise" in done.stdout


@pytest.mark.parametrize("page", [README, OWN], ids=["README", "own-model"])
@pytest.mark.parametrize("run", WAYS)
def test_ones_own_model(run: Run, page: str, tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        block = block_with("LOCAL_API_KEY", page).replace("http://localhost:8000/v1", server.url)
        # Last week's logs are a copy of today's.
        block = block.replace(
            "casewise compare", "cp -r logs/mine logs/last-week\ncasewise compare"
        )
        done = run(block, tmp_path)
        assert len(server.requests) == 56
    assert done.returncode == 0, done.stderr
    if page is README:
        assert (tmp_path / "report.html").is_file()
        assert "No verdict changed." in done.stdout
    else:
        assert (tmp_path / "judgements.parquet").is_file()


def test_looking_at_the_first_run(tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        env = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": server.url}
        command = "casewise run --model openai-api/local/my-model --protocol binary --limit 4"
        done = inside(command, tmp_path, **env)
    assert done.returncode == 0, done.stderr
    done = inside(block_with("casewise score logs", FIRST), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\nFinished, with " in done.stdout
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize("run", WAYS)
def test_reports_and_the_gate(run: Run, tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        env = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": server.url}
        command = "casewise run --model openai-api/local/my-model --protocol binary --limit 8"
        done = run(f"{command} --log-dir logs/mine", tmp_path, **env)
    assert done.returncode == 0, done.stderr
    shutil.copytree(tmp_path / "logs/mine", tmp_path / "logs/last-week")
    done = run(block_with("casewise gate", TUNED), tmp_path)
    # Two runs alike in all of 4 queries don't show that they are within .05 of each other.
    assert done.returncode == 3, done.stderr + done.stdout
    assert "undecided" in done.stdout
    made = {"report.html", "card.md", "what-changed.html", "gate.yaml", "gate.xml"}
    assert made <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.parametrize("run", WAYS)
def test_inspect(run: Run, tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        env = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": server.url}
        done = run(block_with("inspect eval", OWN), tmp_path, **env)
        assert len(server.requests) == 56
    assert done.returncode == 0, done.stderr + done.stdout
    assert "coverage" in done.stdout


@pytest.mark.parametrize("run", WAYS)
def test_casebench(run: Run, tmp_path: Path, casebench: Path) -> None:
    block = block_with("fetch casebench", OWN).replace(
        "fetch casebench", f"fetch casebench --accept-terms --from {casebench}"
    )
    (tmp_path / "exp").symlink_to(casebench / "exp")
    done = run(block, tmp_path, CASEWISE_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert "SORRY-Bench" in done.stderr
    assert "900" in done.stdout
    assert '"accuracy": 0.77,' in done.stdout
    assert "Krippen" in done.stdout
    assert "519 (1038 cases)" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        *("", "run", "score", "compare", "report", "gate", "describe", "power", "export", "cases"),
        *(f"cases {n}" for n in ("show", "fetch", "convert", "split", "sample", "merge", "diff")),
        "graders check",
        "target check",
        "doctor",
    ],
)
def test_help_fits_and_has_examples(cli: Cli, command: str) -> None:
    done = cli(*command.split(), "--help", env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    if command not in ("cases",):
        assert "casewise " in done.stdout.split("Usage:")[1].split("\n", 1)[1]
