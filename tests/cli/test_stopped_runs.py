"""What commands say of runs that were killed, stopped or capped, and of empty folders."""

import json
import re
import shlex
import shutil
import signal
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, clean_env
from support.fake_openai import Answer, FakeServer, HeldServer
from support.secret import KEY
from support.starts import Start, logged_samples, until

from casewise.logs._write import BUFFER
from casewise.scores import read_paths
from casewise.sheets import rounded

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
    ("report", "logs", "logs", "--compare", "--out", "page.html"),
    ("report", "logs", "--trend", "--out", "page.html"),
    ("trend", "logs"),
    ("report", "logs", "--out", "card.md"),
    ("compare", "logs", "logs"),
    ("export", "logs", "--out", "table.parquet"),
    ("export", "logs", "--to", "redacted-logs", "--out", "redacted"),
)


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    lines = [
        {
            "query": f"question {number // 2}",
            "context": {"sender": {"platform_type": f"a {side} place"}},
            "intended": side,
        }
        for number in range(CASES)
        for side in ("safe" if number % 2 else "unsafe",)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def right(request: dict[str, Any]) -> Answer:
    """What each case was meant to be."""
    unsafe = "a unsafe place" in request["messages"][-1]["content"]
    return f'{{"judgement": "{"unsafe" if unsafe else "safe"}"}}'


def arguments(*more: str) -> list[str]:
    options = ["--protocol", "binary", "--max-connections", str(AT_ONCE), "--log-dir", "logs"]
    return ["run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", *options, *more]


def environment(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url}


def stop(folder: Path, answers: int, way: signal.Signals, *more: str) -> None:
    """Start a run, and send it a signal after so many answers."""
    with HeldServer(right, answers) as server:
        process = Start(arguments(*more), folder, clean_env() | environment(server))
        until(lambda: len(server.requests) == answers + AT_ONCE, process)
        if answers:
            until(lambda: logged_samples(folder / "logs") == BUFFER, process)
        process.send_signal(way)
        assert process.wait() == (130 if way is signal.SIGINT else -way)


def killed_at_once(folder: Path, *more: str) -> None:
    """Kill a run whose first answers never come."""
    stop(folder, 0, signal.SIGKILL, *more)


@pytest.mark.parametrize("told_by", ["folder", "logs"])
def test_a_folder_without_a_judgement(cli: Cli, tmp_path: Path, cases: Path, told_by: str) -> None:
    """One message with the command that goes on, exit status 2, and nothing else is written."""
    killed_at_once(tmp_path)
    if told_by == "logs":
        # As a folder is that came from elsewhere: the logs alone.
        shutil.rmtree(tmp_path / "logs/.casewise")
    before = set(tmp_path.iterdir())
    messages = set()
    for reader in READERS:
        done = cli(*reader)
        assert done.returncode == 2, reader
        assert done.stdout == ""
        assert done.stderr.count("error:") == 1
        assert "Traceback" not in done.stderr
        messages.add(done.stderr.split("error: ")[1])
    (message,) = messages
    # A build reads of it in JUnit's file.
    assert set(tmp_path.iterdir()) - before == {tmp_path / "gate.xml"}
    case = ElementTree.parse(tmp_path / "gate.xml").getroot()[0][0]
    assert (case[0].get("type"), case[0].text) == ("bad input", message.strip())
    assert message.startswith("logs: nothing was judged yet: the run was stopped before")
    command = shlex.split(message.split("To go on: ")[1])
    assert command[:2] == ["casewise", "run"]
    assert command[-2:] == ["--log-dir", "logs"]
    with FakeServer(right) as server:
        done = cli(*command[1:], env=environment(server))
    assert done.returncode == 0, done.stderr
    # The same run went on: its logs count as one.
    table = read_paths([tmp_path / "logs"]).table
    assert (len(table), set(table["planned"])) == (CASES, {CASES})


def test_a_table_without_a_judgement(cli: Cli, tmp_path: Path, cases: Path) -> None:
    with FakeServer(right) as server:
        done = cli(*arguments("--limit", "2"), env=environment(server))
        assert done.returncode == 0, done.stderr
    read_paths([tmp_path / "logs"]).table.clear().write_parquet(tmp_path / "none.parquet")
    for command in ("score", "gate", "report"):
        done = cli(command, "none.parquet")
        assert done.returncode == 2
        assert "none.parquet: no judgement is in it" in " ".join(done.stderr.split())


def by_signal(way: signal.Signals) -> Callable[[Cli, Path], None]:
    return lambda cli, folder: stop(folder, 130, way)


def by_cap(cli: Cli, folder: Path) -> None:
    # A request is 100 tokens in and 5 out: .0001 dollars.
    prices = ["--price-in", "1", "--price-out", "0", "--max-cost", ".006"]
    with FakeServer(right) as server:
        done = cli(*arguments(*prices), env=environment(server))
    assert done.returncode == 1, done.stderr


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (by_signal(signal.SIGKILL), "killed, or still running"),
        (by_cap, "stopped by hand, or by a cap such as --max-cost"),
    ],
    ids=["kill", "cap"],
)
def test_a_run_that_did_not_end_does_not_pass(
    cli: Cli, tmp_path: Path, cases: Path, end: Callable[[Cli, Path], None], why: str
) -> None:
    (tmp_path / "gate.yaml").write_text(RULES)
    (tmp_path / "allows.yaml").write_text(f"{RULES}- {{measure: coverage, at_least: .1}}\n")
    end(cli, tmp_path)
    there = len(read_paths([tmp_path / "logs"]).table)
    assert 0 < there < CASES
    share = f"{100 * there / CASES:.0f} %"
    said = f"ended early ({why}), with {there} of {CASES} planned judgements made ({share})"
    for name in ("table.parquet", "table.csv"):
        assert cli("export", "logs", "--out", name).returncode == 0
    assert cli("export", "logs", "--to", "redacted-logs", "--out", "redacted").returncode == 0
    for run in ("logs", "table.parquet", "table.csv", "redacted"):
        files = ["--junit", "gate.xml", "--markdown", "gate.md"]
        done = cli("gate", run, "--config", "gate.yaml", *files)
        assert done.returncode == 3, done.stdout
        printed = " ".join(done.stdout.split())
        assert printed.startswith(
            f"Gate: undecided (2 pass, 1 missing; {there} of {CASES} judgements)"
        )
        assert said in printed
        for file in ("gate.xml", "gate.md"):
            assert said in (tmp_path / file).read_text("utf-8")
    record = json.loads(cli("gate", "logs", "--json").stdout)
    # The rules that ship want nearly all.
    assert (record["exit_status"], record["rules"][0]["value"]) == (1, there / CASES)
    assert any(said in note for note in record["notes"])
    # Every view says it first, in the same words.
    for run in ("logs", "table.parquet"):
        scored = cli("score", run).stdout
        assert said in " ".join(scored.split("In short")[0].split())
        assert said in cli("score", run, "--format", "markdown").stdout.split("##")[0]
        (row, *_) = json.loads(cli("score", run, "--format", "json").stdout)
        assert (row["planned"], row["judged"], row["not_asked"]) == (CASES, there, CASES - there)
        assert row["stopped"] == [why]
        for page in ("page.html", "card.md"):
            assert cli("report", run, "--out", page, "--force").returncode == 0
            text = (tmp_path / page).read_text("utf-8").replace("\u00a0", " ")
            assert said in text
            assert text.index(said) < text.index("Follows changes")
    done = cli("gate", "logs", "--config", "allows.yaml")
    assert done.returncode == 0, done.stdout
    assert said in " ".join(done.stdout.split())


def test_a_condition_without_a_judgement(cli: Cli, tmp_path: Path, cases: Path) -> None:
    """Beside one that was judged whole, in one folder."""
    (tmp_path / "gate.yaml").write_text(RULES)
    with FakeServer(right) as server:
        done = cli(*arguments("--limit", "40"), env=environment(server))
        assert done.returncode == 0, done.stderr
    assert cli("gate", "logs", "--config", "gate.yaml").returncode == 0
    killed_at_once(tmp_path, "--delivery", "none", "--limit", "30", "--same-server")
    done = cli("gate", "logs", "--config", "gate.yaml")
    assert done.returncode == 3, done.stdout
    said = "openai-api/fake/m (binary, none): none of its 30 planned judgements is there"
    assert said in " ".join(done.stdout.split())


def answers_some(share: int) -> Callable[[dict[str, Any]], Answer]:
    """A server that refuses the requests of one query in ``share``, and one answer isn't read."""

    def answer(request: dict[str, Any]) -> Answer:
        prompt = request["messages"][-1]["content"]
        number = int(re.search(r"question (\d+)", prompt)[1])  # type: ignore[index]
        if number % share == 5:
            return 400
        return "As you wish." if number == 3 else right(request)

    return answer


@pytest.mark.parametrize(("share", "failed"), [(6, None), (40, 6)], ids=["left", "few"])
def test_errors_unread_and_unasked_are_told_apart(
    cli: Cli, tmp_path: Path, cases: Path, share: int, failed: int | None
) -> None:
    """A model is left once a twentieth of its cases failed; a run with fewer comes to its end."""
    with FakeServer(answers_some(share)) as server:
        done = cli(*arguments(), env=environment(server))
    assert done.returncode == (1 if failed is None else 0), done.stderr
    counts = Counter(read_paths([tmp_path / "logs"]).table["status"])
    there, errors = sum(counts.values()), counts["error"]
    assert counts["unparsed"] == 2
    made = f"{there - errors} of {CASES} planned judgements made"
    share_made = f"({rounded(100 * (there - errors) / CASES):.0f} %): "
    apart = f"{share_made}2 could not be read, {errors} failed with an error"
    if failed is None:
        said = f"ended early (requests failed: request refused), with {made} {apart}, "
        said += f"{CASES - there} never asked."
    else:
        assert (there, errors) == (CASES, failed)
        said = f"(binary): {made} {apart}."
    assert said in " ".join(cli("score", "logs").stdout.split("In short")[0].split())
    for page in ("page.html", "card.md"):
        assert cli("report", "logs", "--out", page).returncode == 0
        text = (tmp_path / page).read_text("utf-8").replace("\u00a0", " ")
        assert said in text
