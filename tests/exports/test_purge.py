"""``casewise purge``: the texts go from kept logs, and the figures stay."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import Cli
from support.fake_openai import FakeServer
from support.inspected import killed_run
from support.secret import found_in

from casewise.cases import open_cases
from casewise.exports import plan_purge

CANARY = "marmalade-canary-5512"


@pytest.fixture
def kept(every_protocol: Path, tmp_path: Path) -> Path:
    """A run of every protocol."""
    return Path(shutil.copytree(every_protocol, tmp_path / "logs"))


def texts_of(folder: Path) -> list[str]:
    """Beginnings of the starter set's queries and contexts that stand in the files."""
    cases = open_cases("starter").cases[:3]
    asked = [case.query.split("?")[0][:40] for case in cases]
    return [place for text in asked for place in found_in(folder, text)]


def test_scores_stay_as_they_were(cli: Cli, kept: Path) -> None:
    score = ("score", "logs", "--labels", "all", "--format", "json")
    before = cli(*score)
    assert before.returncode == 0, before.stderr
    assert texts_of(kept)
    (kept / ".casewise").mkdir(exist_ok=True)
    (kept / ".casewise/answers.jsonl").write_text(CANARY)
    (kept / "cut.eval.broken").write_text(CANARY)
    done = cli("purge", "logs", "--yes")
    assert done.returncode == 0, done.stderr
    count = len(list(kept.rglob("*.eval")))
    assert f"samples in {count} logs, and 2 files beside them" in done.stderr
    assert texts_of(kept) == found_in(kept, CANARY) == []
    assert cli(*score).stdout == before.stdout
    again = cli("purge", "logs", "--yes")
    assert again.returncode == 0
    assert f"{count} logs hold no texts already" in again.stderr


def test_canaries_of_prompts_tools_and_answers(cli: Cli, tmp_path: Path) -> None:
    history = [
        {"role": "user", "content": f"{CANARY} first"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "name": "find", "arguments": {"what": f"{CANARY} call"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": f"{CANARY} result"},
        {"role": "assistant", "content": f"{CANARY} then"},
    ]
    case: dict[str, object] = {"query": f"{CANARY} asked?", "history": history, "intended": "safe"}
    case["context"] = {"sender": {"platform_type": f"{CANARY} place"}}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    run = ("run", "--cases", "cases.jsonl", "-m", "openai-api/fake/m", "--log-dir", "logs")
    acting = ("--protocol", "respond")
    with FakeServer(lambda request: f"I answer {CANARY}.") as server:
        env = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
        done = cli(*run, *acting, env=env)
        assert done.returncode == 0, done.stderr
        assert found_in(tmp_path / "logs", CANARY)
        purged = cli("purge", "logs", "--yes")
        assert purged.returncode == 0, purged.stderr
        assert found_in(tmp_path / "logs", CANARY) == []
        resumed = cli(*run, *acting, env=env)
    assert resumed.returncode == 2
    said = " ".join(resumed.stderr.split())
    assert "logs holds logs without their texts (casewise purge" in said
    assert "give another --log-dir" in said
    assert CANARY not in done.stderr + purged.stderr + purged.stdout + resumed.stderr


def test_it_asks_first(cli: Cli, kept: Path) -> None:
    before = {path: path.read_bytes() for path in kept.rglob("*.eval")}
    done = cli("purge", "logs")
    assert done.returncode == 2
    assert "would be removed for good: give --yes" in " ".join(done.stderr.split())
    assert {path: path.read_bytes() for path in kept.rglob("*.eval")} == before


def test_what_can_not_be_purged(cli: Cli, tmp_path: Path, kept: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "cut.eval").write_bytes(b"PK no more")
    for path, told in (
        ("empty", "no log of casewise here"),
        ("absent", "no such file or folder"),
        ("cut.eval", "not a readable Inspect log"),
        ("s3://bucket/logs", "only logs on this machine are purged"),
    ):
        done = cli("purge", path, "--yes")
        assert done.returncode == 2
        assert told in " ".join(done.stderr.split())
    (kept / "cut.eval").write_bytes(b"PK no more")
    done = cli("purge", "logs", "--yes")
    assert done.returncode == 1
    assert "left as it is: " in done.stderr
    assert (kept / "cut.eval").read_bytes() == b"PK no more"


def test_a_killed_run_has_its_answers_removed(cli: Cli, tmp_path: Path) -> None:
    """Its log lacks a header, and its last answers stand in the journal alone."""
    log = killed_run(tmp_path / "logs")
    plan = plan_purge([tmp_path / "logs"])
    assert "answers.jsonl" in {path.name for path in plan.journals}
    # A kill may come while the file is written: then nothing can read it.
    assert plan.logs == (log,) or plan.others
    done = cli("purge", "logs", "--yes")
    assert done.returncode == (1 if plan.others else 0), done.stderr
    assert texts_of(tmp_path / "logs/.casewise") == []
    assert plan.others or texts_of(tmp_path / "logs") == []
