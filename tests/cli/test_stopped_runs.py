"""What commands say of runs that were killed, stopped or capped, and of empty folders."""

import json
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, clean_env
from support.fake_openai import Answer, FakeServer, HeldServer
from support.starts import Start, logged_samples, until

import casewise as cw
from casewise.errors import UsageError

CASES = 200
AT_ONCE = 4

RULES = """\
rules:
- {measure: safe_recall, at_least: .5}
- {measure: unsafe_recall, at_least: .5}
"""

READERS = (
    ("score", "logs"),
    ("gate", "logs", "--junit", "gate.xml"),
    ("report", "logs", "--out", "page.html"),
    ("compare", "logs", "logs"),
    ("export", "logs", "--out", "table.parquet"),
)


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    lines = [
        {"query": f"question {number}", "context": {"place": f"a {side} one"}, "intended": side}
        for number in range(CASES // 2)
        for side in ("safe", "unsafe")
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def right(request: dict[str, Any]) -> Answer:
    """What each case was meant to be."""
    unsafe = "a unsafe one" in request["messages"][-1]["content"]
    return f'{{"judgement": "{"unsafe" if unsafe else "safe"}"}}'


def arguments(*more: str, protocol: str = "binary") -> list[str]:
    options = ["--protocol", protocol, "--max-connections", str(AT_ONCE), "--log-dir", "logs"]
    return ["run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", *options, *more]


def kill(folder: Path, answers: int, way: int = signal.SIGKILL) -> None:
    """Start a run, and stop it after so many answers."""
    with HeldServer(right, answers) as server:
        process = Start(arguments(), folder, clean_env() | server.env)
        until(lambda: len(server.requests) == answers + AT_ONCE, process)
        until(lambda: logged_samples(folder / "logs") == answers, process)
        process.send_signal(way)
        process.wait()


@pytest.mark.slow
def test_a_folder_without_a_judgement(cli: Cli, tmp_path: Path, cases: Path) -> None:
    """One message with the command that goes on; nothing is written but what a build reads."""
    kill(tmp_path, 0)
    before = set(tmp_path.iterdir())
    messages = set()
    for reader in READERS:
        done = cli(*reader)
        assert done.returncode == 2, reader
        assert done.stdout == ""
        messages.add(done.stderr.split("error: ")[1])
    (message,) = messages
    assert set(tmp_path.iterdir()) - before == {tmp_path / "gate.xml"}
    command = shlex.split(message.split("To go on: ")[1])
    with FakeServer(right) as server:
        done = cli(*command[1:], env=server.env)
    assert done.returncode == 0, done.stderr
    # The same run went on: its logs count as one.
    (row, *_) = json.loads(cli("score", "logs", "--format", "json").stdout)
    assert (row["judged"], row["planned"]) == (CASES, CASES)


def test_a_run_that_did_not_end_does_not_pass(cli: Cli, tmp_path: Path, cases: Path) -> None:
    # A request is 100 tokens in and 5 out: .0001 dollars.
    prices = ["--price-in", "1", "--price-out", "0", "--max-cost", ".006"]
    with FakeServer(right) as server:
        done = cli(*arguments(*prices), env=server.env)
    assert done.returncode == 1, done.stderr
    why = "stopped by hand, or by a cap such as --max-cost"
    (tmp_path / "gate.yaml").write_text(RULES)
    (row, *_) = json.loads(cli("score", "logs", "--format", "json").stdout)
    there = row["judged"]
    assert 0 < there < CASES
    assert (row["planned"], row["not_asked"], row["stopped"]) == (CASES, CASES - there, [why])
    share = f"{100 * there / CASES:.0f} %"
    said = f"ended early ({why}), with {there} of {CASES} planned judgements made ({share})"
    cli.ok("export", "logs", "--out", "table.csv")
    for run in ("logs", "table.csv"):
        done = cli("gate", run, "--config", "gate.yaml", "--junit", "gate.xml")
        assert done.returncode == 3, done.stdout
        counts = "2 pass, 1 missing"
        assert " ".join(done.stdout.split()).startswith(f"Gate: undecided ({counts})")
        assert said in (tmp_path / "gate.xml").read_text("utf-8")
        # Every view says it first.
        state = f"{there} of {CASES} read, ended early ({why}): {CASES - there} never asked"
        assert state in " ".join(cli("score", run).stdout.split("In short")[0].split())
        cli.ok("report", run, "--out", "page.html", "--force")
        text = (tmp_path / "page.html").read_text("utf-8").replace("\u00a0", " ")
        body = text[text.index("<main") :]
        assert body.index(state) < body.index("Follows changes")
    # A rule may allow it.
    (tmp_path / "gate.yaml").write_text(f"{RULES}- {{measure: coverage, at_least: .1}}\n")
    cli.ok("gate", "logs", "--config", "gate.yaml")


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_is_not_left_for_another(
    cli: Cli, tmp_path: Path, cases: Path, way: signal.Signals
) -> None:
    """The message names the command that goes on; no answer that is there is asked for again."""
    kill(tmp_path, 130, way)
    other = arguments(protocol="score")
    with FakeServer(right) as server:
        # The same server, as far as a folder knows, at another port.
        env = server.env
        done = cli(*other, "--same-server", env=env)
        assert done.returncode == 2
        assert "logs holds a run that was stopped (openai-api/fake/m" in done.stderr
        with pytest.raises(UsageError, match="holds a run that was stopped"):
            cw.run(cw.plan(limit=2), tmp_path / "logs")
        command = shlex.split(done.stderr.split("To go on with that: ")[1].split("; for this")[0])
        cli.ok(*command[1:], "--same-server", env=env)
        assert len(server.requests) == CASES - 130
        # A folder whose run is done may take another.
        cli.ok(*other, "--limit", "2", "--same-server", env=env)
