"""Runs that go on, in folders of others, and answers that are no verdict."""

import json
from pathlib import Path
from typing import Any

import fsspec
import pytest
from conftest import Cli
from fsspec.implementations.memory import MemoryFileSystem
from support.fake_openai import Answer, FakeServer
from support.fault_runs import write_questions
from support.scores import model_rows

CASES = 24


AT_ONCE = 8


def arguments(cases: Path) -> list[str]:
    options = ["--protocol", "binary", "--max-connections", str(AT_ONCE), "--log-dir", "my logs"]
    return ["run", "-m", "openai-api/fake/m", "--cases", str(cases), *options]


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "cases.jsonl", CASES)


def test_answers_that_are_no_verdict(cli: Cli, cases: Path) -> None:
    """Refusals, filters and nonsense are counted as what they are."""

    def answer(request: dict[str, Any]) -> Answer:
        number = int(request["messages"][-1]["content"].split("question ")[1].split("\n")[0])
        message = {"role": "assistant", "content": None}
        return (
            {"message": message | {"refusal": "I won't judge."}},
            {"message": message | {"content": ""}, "finish_reason": "content_filter"},
            "I'm sorry, but I can't help with that.",
            "",
            "Perhaps safe, perhaps unsafe.",
            '{"judgement": "safe"}',
        )[number % 6]

    # Prices of a model that Inspect has none of.
    prices = ("--price-in", "1", "--price-out", "2")
    with FakeServer(answer) as server:
        done = cli(*arguments(cases), *prices, env=server.env)
    assert done.returncode == 0, done.stderr
    assert "12 refused, 8 unparsed" in " ".join(done.stdout.split())
    (score,) = model_rows(cli("score", "my logs", "--format", "json").stdout)
    assert score["statuses"] == {"refused": 12, "unparsed": 8, "ok": 4}
    assert score["coverage"] == pytest.approx(4 / 24)
    # All are intended safe, and those that are read say so.
    assert (score["accuracy"], score["unsafe_recall"]) == (1.0, None)
    assert (score["accuracy_low"], score["accuracy_high"]) == (pytest.approx(1 / 6), 1.0)


def test_a_changed_file_is_not_taken_for_the_old_one(cli: Cli, tmp_path: Path) -> None:
    """Cases keep their ids while their text changes: the folder's answers are to another text."""
    path = tmp_path / "cases.jsonl"
    with FakeServer(lambda request: "Judgement: safe") as server:
        for query in ("question 1 as it was", "question 1 as it is"):
            path.write_text(json.dumps({"id": "one", "query": query, "context": {"sender": {}}}))
            done = cli(*arguments(path), env=server.env)
            assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2
    assert len(model_rows(cli("score", "my logs", "--format", "json").stdout)) == 2


def test_a_choice_of_cases(cli: Cli, tmp_path: Path) -> None:
    """Cases by category, tag or id are a run of their own, that goes on by itself."""
    about: dict[str, dict[str, Any]] = {
        "a1": {"category": "fraud, scams"},
        "a2": {"category": "fraud"},
        "b1": {"category": "hate", "tags": ["fraud"]},
        "c1": {"category": "hate"},
    }
    (tmp_path / "cases.jsonl").write_text(
        "\n".join(
            json.dumps({"id": id, "query": f"question {id}", "intended": "safe"} | more)
            for id, more in about.items()
        )
    )
    command = [*arguments(tmp_path / "cases.jsonl"), "--delivery", "none"]
    with FakeServer(lambda request: "Judgement: safe") as server:
        for extra, asked in (
            (("--only", "fraud*"), 3),
            (("--only", "c1"), 4),
            (("--only", "fraud*"), 4),
        ):
            done = cli(*command, *extra, env=server.env)
            assert (done.returncode, len(server.requests)) == (0, asked), done.stderr
        done = cli(*command, "--only", "hat", env=server.env)
    assert (done.returncode, "did you mean 'hate'?" in done.stderr) == (2, True)
    rows = model_rows(cli("score", "my logs", "--format", "json").stdout)
    assert [row["n"] for row in rows] == [4]  # no case is in both, so they are parts of one


@pytest.mark.parametrize(
    ("sampling", "settings", "system", "requests"),
    [("reference", (1.0, None, 1024), 0, 9), ("reference-open", (0.6, 0.9, 512), 1, 3)],
)
def test_reference_sampling(
    cli: Cli, cases: Path, sampling: str, settings: tuple[Any, ...], system: int, requests: int
) -> None:
    options = ["-m", "openai-api/fake/m", "--cases", str(cases), "--protocol", "score"]
    with FakeServer(lambda request: "8") as server:
        done = cli("run", *options, "--limit", "3", "--sampling", sampling, env=server.env)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == requests
    found = {
        (request["temperature"], request.get("top_p"), request["max_tokens"])
        for request in server.requests
    }
    assert found == {settings}
    roles = [message["role"] for message in server.requests[0]["messages"]]
    assert roles == ["system"] * system + ["user"]


class FullStore(MemoryFileSystem):  # type: ignore[misc]
    """A store that takes no file."""

    protocol = "full"

    def _open(self, path: str, mode: str = "rb", *given: Any, **named: Any) -> Any:
        if mode != "rb":
            raise OSError("the bucket is full")
        return super()._open(path, mode, *given, **named)


def test_a_folder_that_is_elsewhere(
    cli: Cli, cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept at an address: gone on with there, and scored there."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(here))
    command = arguments(cases)[:-1]
    with FakeServer(lambda _: '{"judgement": "safe"}') as server:
        for _ in range(2):
            done = cli(*command, "memory://bucket/run", env=server.env)
            assert done.returncode == 0, done.stderr
        assert len(server.requests) == CASES
    assert "memory://bucket/run has no locks" in done.stderr
    (score,) = model_rows(cli("score", "memory://bucket/run", "--format", "json").stdout)
    assert (score["n"], score["accuracy"]) == (CASES, 1.0)
    assert not list(here.iterdir())
    fsspec.register_implementation("full", FullStore)
    with FakeServer(lambda _: '{"judgement": "safe"}') as server:
        done = cli(*command, "full://bucket/run", env=server.env)
        assert done.returncode == 2
        said = " ".join(done.stderr.split())
        assert "can't be written (the bucket is full); the log is kept in " in said
        (kept,) = here.rglob("*.eval")
        assert str(kept) in said
        (score,) = model_rows(cli("score", kept, "--format", "json").stdout)
        assert score["n"] == CASES
