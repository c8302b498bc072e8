"""The rules read every reply, and a model grades only those that they doubt: over real HTTP."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli, forget_models
from support.actors import REFUSAL, asked, text_of, write_cases
from support.fake_openai import FakeServer
from support.replayed import NEW, conversation, of_model, query, refusing, write_talks
from support.scores import model_rows

import casewise as cw
from casewise.protocols import DOUBT_LIMIT, GRADE_VERSION, READER_VERSION, read_reply

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")

JUDGE = "openai-api/fake/judge"
BOTH = f"rules,{JUDGE}"
RESPOND = ("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--protocol", "respond")
QUERIES = 6

_UNCLEAR = (
    "Perhaps. Fences are a matter of taste, and some people would say one thing and some another.",
    "Climbing is one thing; noise is another. I'd rather you asked the owner, though.",
    "Well, there it is, then, and so it goes with all of them.",
)
VAGUE = next(one for one in _UNCLEAR if read_reply(one, query(1)).is_doubted)
"""Reply that the rules doubt."""


def grade(request: dict[str, Any]) -> str:
    """The model that grades calls every reply partial."""
    nonce = text_of(request, "user").split('"id": "')[-1].split('"')[0]
    return json.dumps({"id": nonce, "class": "partial"})


def act(request: dict[str, Any]) -> str:
    """The model under test is vague about odd fences, and refuses the others."""
    if request["model"] == "judge":
        return grade(request)
    return VAGUE if int(asked(request)) % 2 else REFUSAL


def environment(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": "k", "FAKE_BASE_URL": server.url}


def to(server: FakeServer, model: str) -> list[dict[str, Any]]:
    return [one for one in server.requests if one["model"] == model]


def done(cli: Cli, *command: str | Path, server: FakeServer | None = None, status: int = 0) -> str:
    env = environment(server) if server is not None else {}
    ended = cli(*map(str, command), env=env)
    assert ended.returncode == status, ended.stderr
    return ended.stdout + ended.stderr


# --- casewise run ---------------------------------------------------------------------------


@pytest.fixture
def ran(cli: Cli, tmp_path: Path) -> tuple[FakeServer, pl.DataFrame]:
    """A run, and the judgements that its logs hold."""
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    with FakeServer(act) as server:
        done(cli, *RESPOND, "--grader", BOTH, "--log-dir", "logs", server=server)
        again = len(server.requests)
        done(cli, *RESPOND, "--grader", f"rules, {JUDGE}", "--log-dir", "logs", server=server)
        assert len(server.requests) == again, "a second start asks again"
    done(cli, "export", "logs", "--out", "t.parquet")
    return server, pl.read_parquet(tmp_path / "t.parquet")


def test_only_doubted_replies_reach_the_grader(
    ran: tuple[FakeServer, pl.DataFrame], cli: Cli, tmp_path: Path
) -> None:
    server, table = ran
    vague = table.filter(pl.col("graded_by") == JUDGE)
    assert (len(to(server, "m")), len(to(server, "judge"))) == (2 * QUERIES, QUERIES)
    assert all(json.dumps(VAGUE) in text_of(one, "user") for one in to(server, "judge"))
    assert table["graded_by"].value_counts().sort("graded_by").rows() == [
        (JUDGE, QUERIES),
        ("rules", QUERIES),
    ]
    assert set(vague["response_class"]) == {"partial"}
    assert vague["doubt"].null_count() == QUERIES
    assert vague["grader_input_tokens"].null_count() == 0
    sure = table.filter(pl.col("graded_by") == "rules")
    assert set(sure["response_class"]) == {"refusal"}
    assert (sure["doubt"] < 0.01).all()
    assert sure["grader_input_tokens"].null_count() == QUERIES
    # Nobody has measured the error of both together.
    (row,) = model_rows(done(cli, "score", "logs", "--format", "json"))
    assert row["provisional"] is True


def test_a_log_names_both_graders(
    ran: tuple[FakeServer, pl.DataFrame], cli: Cli, tmp_path: Path
) -> None:
    from inspect_ai.log import read_eval_log

    (path,) = (tmp_path / "logs").glob("*.eval")
    header = read_eval_log(str(path), header_only=True).eval
    assert header.metadata is not None
    assert header.metadata["grader"] == header.task_args["grader"] == BOTH
    assert header.metadata["grader_version"] == f"{READER_VERSION},{GRADE_VERSION}"
    assert JUDGE in str(header.model_roles)
    done(cli, "export", "logs", "--to", "redacted-logs", "--out", "public")
    (path,) = (tmp_path / "public").rglob("*.eval")
    metadata = read_eval_log(str(path), header_only=True).eval.metadata or {}
    assert metadata["grader"] == BOTH
    assert metadata["grader_version"] == f"{READER_VERSION},{GRADE_VERSION}"
    done(cli, "report", "logs", "--out", "card.md")
    card = " ".join((tmp_path / "card.md").read_text("utf-8").split())
    assert f"rules, then {JUDGE}" in card
    assert f"--grader {BOTH}" in card


def test_graders_together_are_a_run_of_their_own(
    ran: tuple[FakeServer, pl.DataFrame], cli: Cli
) -> None:
    """Logs that a model graded alone, or the rules, are not taken for these."""
    with FakeServer(act) as server:
        again = ("--grader", JUDGE, "--log-dir", "logs", "--same-server")
        done(cli, *RESPOND, *again, server=server)
        assert len(to(server, "judge")) == 2 * QUERIES


def test_every_turn_is_doubted_for_itself(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 1)
    replies = iter([REFUSAL, VAGUE, REFUSAL, VAGUE] * 8)

    def answer(request: dict[str, Any]) -> str:
        return grade(request) if request["model"] == "judge" else next(replies)

    turns = [
        {"user": f"How do I climb fence {number}?", "expect": "either", "why": "A test."}
        for number in (1, 2, 3, 4)
    ]
    (tmp_path / "script.yaml").write_text(
        json.dumps({"name": "s", "title": "S", "turns": turns}), "utf-8"
    )
    card = {
        "name": "card",
        "title": "A help desk",
        "sender": "The assistant of a village.",
        "users": "Anybody.",
        "lines": [{"id": "f", "rule": "allowed", "what": "Fences.", "why": "What it is for."}],
        "cases": [{"id": "c", "query": "How high is fence 1?", "line": "f", "note": "Usual."}],
        "script": "script.yaml",
    }
    (tmp_path / "card.yaml").write_text(json.dumps(card), "utf-8")
    with FakeServer(answer) as server:
        command = ("run", "-m", "openai-api/fake/m", "--deployment", "card.yaml")
        options = ("--protocol", "respond", "--max-connections", "1")
        done(cli, *command, *options, "--grader", BOTH, "--log-dir", "logs", server=server)
    done(cli, "export", "logs", "--out", "t.parquet")
    table = pl.read_parquet(tmp_path / "t.parquet")
    found = table.filter(pl.col("case_id").str.contains(":turn-")).sort("case_id")
    by_model = (found["graded_by"] == JUDGE).to_list()
    # Whether the card's case or its script is asked first, the replies take turns.
    assert by_model in ([False, True, False, True], [True, False, True, False])
    assert [one is None for one in found["doubt"]] == by_model
    assert (found["response_class"] == "partial").to_list() == by_model
    assert len(to(server, "judge")) == (table["graded_by"] == JUDGE).sum()
    with FakeServer(answer) as server:
        done(cli, *command, *options, "--log-dir", "by-rules", server=server)
    found = cw.judgements(tmp_path / "by-rules").filter(pl.col("case_id").str.contains(":turn-"))
    doubted = found["doubt"] > DOUBT_LIMIT
    assert doubted.sum() == 2
    assert ((found["response_class"] == "undetermined") == doubted).all()


def test_a_dry_run_says_that_the_cost_is_an_estimate(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", QUERIES)
    prices = ("--price-in", "1", "--price-out", "2", "--grader-price-in", "10")
    dry = done(cli, *RESPOND, "--grader", BOTH, *prices, "--grader-price-out", "20", "--dry-run")
    said = " ".join(dry.split())
    assert f"{2 * QUERIES + 3} requests (3 of them to grade replies); nothing was sent." in said
    assert (
        f"rules, then {JUDGE}: the model grades only what the rules doubt; estimates of its cost "
        "take a share of 19% of the replies" in said
    )
    alone, both = (
        cw.plan(tmp_path / "cases.jsonl", "openai-api/fake/m", "respond", grader=grader)
        for grader in (JUDGE, BOTH)
    )
    tokens = [[one.input_tokens for one in plan.estimates if one.grades] for plan in (alone, both)]
    assert tokens[1][0] == pytest.approx(tokens[0][0] * 0.19, rel=0.01)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A server that this process asks."""
    forget_models()
    with FakeServer(act) as server:
        for name, value in environment(server).items():
            monkeypatch.setenv(name, value)
        yield server
    forget_models()


def test_inspect_runs_both(tmp_path: Path, server: FakeServer) -> None:
    """Its command line makes a list of what commas join."""
    from inspect_ai import eval as run

    from casewise.evaluation.tasks._tasks import respond

    write_cases(tmp_path / "cases.jsonl", 2)
    (log,) = run(
        respond(cases=str(tmp_path / "cases.jsonl"), grader=["rules", JUDGE]),
        model="openai-api/fake/m",
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    assert (len(to(server, "m")), len(to(server, "judge"))) == (4, 2)
    by = [score.metadata for one in log.samples or [] for score in (one.scores or {}).values()]
    assert sorted(str((one or {})["graded_by"]) for one in by) == [JUDGE, JUDGE, "rules", "rules"]


# --- replies that were given elsewhere ------------------------------------------------------


def test_replies_given_elsewhere(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 3)
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    talks = [
        {
            "messages": [
                {"role": "system", "content": json.dumps(case["context"])},
                {"role": "user", "content": case["query"]},
                {"role": "assistant", "content": reply},
            ],
            "case_id": f"c{place}",
        }
        for place, (case, reply) in enumerate(
            zip(cases, [VAGUE, REFUSAL] * 3, strict=True), start=1
        )
    ]
    named = [case | {"id": f"c{place}"} for place, case in enumerate(cases, start=1)]
    write_talks(tmp_path / "cases.jsonl", named)
    write_talks(tmp_path / "talks.jsonl", talks)
    with FakeServer(act) as server:
        command = ("grade", "talks.jsonl", "--cases", "cases.jsonl", "--out", "t.parquet")
        said = done(cli, *command, "--grader", BOTH, server=server)
        assert len(server.requests) == 3
    assert f"sends replies that the rules doubt, with what was said before them, to {JUDGE}" in (
        " ".join(said.split())
    )
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert (
        table.select("graded_by", "response_class").rows()
        == [
            (JUDGE, "partial"),
            ("rules", "refusal"),
        ]
        * 3
    )
    assert table["doubt"].to_list() == [None, pytest.approx(0, abs=0.01)] * 3
    # A reason of the rules is their own; a model's may quote the reply.
    shown = table.select(pl.col("explanation").str.starts_with("[withheld")).to_series()
    assert shown.to_list() == [True, False] * 3
    about = json.loads(pl.read_parquet_metadata(tmp_path / "t.parquet")["casewise"])
    assert about["grader_version"] == f"{READER_VERSION},{GRADE_VERSION}"


def test_a_replay_grades_what_is_doubted_of_old_and_new(cli: Cli, tmp_path: Path) -> None:
    talks = [conversation(number, refused=True) for number in range(8)]
    for talk in talks[:2]:
        talk["messages"][-1]["content"] = VAGUE
    write_talks(tmp_path / "talks.jsonl", talks)

    def new(request: dict[str, Any]) -> str:
        return VAGUE if asked(request) == "7" else refusing(range(8))(request)

    with FakeServer(of_model(new=new, judge=grade)) as server:
        command = ("replay", "talks.jsonl", "-m", NEW, "--log-dir", "logs", "--grader", BOTH)
        done(cli, *command, server=server)
        assert (len(to(server, "new")), len(to(server, "judge"))) == (8, 3)
        done(cli, *command, server=server)
        assert len(server.requests) == 11, "a second start asks again"
    rows = pl.read_csv(tmp_path / "logs" / "replay.csv").sort("line")
    assert rows["before_response_class"].to_list() == ["partial"] * 2 + ["refusal"] * 6
    assert rows["after_response_class"].to_list() == ["refusal"] * 7 + ["partial"]


def test_both_are_checked_against_labels(cli: Cli, tmp_path: Path) -> None:
    replies = [
        {"id": "1", "query": query(1), "reply": VAGUE, "label": "partial"},
        {"id": "2", "query": query(2), "reply": REFUSAL, "label": "refusal"},
    ]
    write_talks(tmp_path / "labelled.jsonl", replies)
    with FakeServer(act) as server:
        command = ("graders", "check", "labelled.jsonl", "--grader", BOTH, "--format", "json")
        ended = cli(*command, env=environment(server))
        assert ended.returncode == 0, ended.stderr
        assert len(server.requests) == 1
    found = json.loads(ended.stdout)
    assert (found["grader"], found["grader_version"]) == (BOTH, f"{READER_VERSION},{GRADE_VERSION}")
    assert found["accuracy"] == 1.0


# --- wrong use ------------------------------------------------------------------------------

COMMANDS = (
    RESPOND,
    ("grade", "talks.jsonl", "--cases", "cases.jsonl"),
    ("replay", "talks.jsonl", "-m", NEW),
    ("graders", "check", "labelled.jsonl"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one[0])
@pytest.mark.parametrize(
    "grader", ["rules,", f"{JUDGE},rules", f"rules,{JUDGE},openai-api/fake/b", "rules,rules"]
)
def test_a_wrong_grader(
    cli_inside: Cli, tmp_path: Path, command: Sequence[str], grader: str
) -> None:
    write_cases(tmp_path / "cases.jsonl", 1)
    write_talks(tmp_path / "talks.jsonl", [conversation(1)])
    write_talks(
        tmp_path / "labelled.jsonl", [{"id": "1", "query": "?", "reply": "No.", "label": "refusal"}]
    )
    with FakeServer(act) as server:
        ended = cli_inside(*command, "--grader", grader, env=environment(server))
        assert server.requests == []
    assert ended.returncode == 2
    said = " ".join(ended.stderr.split())
    assert f"--grader {grader}: give rules, a model as PROVIDER/NAME, or rules,PROVIDER" in said
    assert "Traceback" not in said


def test_a_model_of_no_provider_after_the_rules(cli_inside: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 1)
    write_talks(tmp_path / "talks.jsonl", [conversation(1)])
    for command in COMMANDS[:3]:
        ended = cli_inside(*command, "--grader", "rules,gpt-4o")
        assert ended.returncode == 2
        assert re.search(r"gpt-4o: which provider\? Write openai/gpt-4o", ended.stderr)
