"""Runs that are sent in batches, against OpenAI's Files and Batches interface on loopback."""

import asyncio
import hashlib
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli, clean_env
from inspect_ai.log import read_eval_log
from inspect_ai.model import get_model
from polars.testing import assert_frame_equal
from support.fake_batches import BatchServer, End, FakeBatch, cancel, complete
from support.fake_openai import Answer, Raw
from support.fault_runs import write_questions
from support.secret import KEY
from support.starts import PATIENCE_S, Start
from tenacity import wait_exponential_jitter

import casewise as cw
from casewise.errors import ModelError, UsageError
from casewise.evaluation import (
    Observers,
    Prices,
    RunRequest,
    make_budget,
    make_plan,
    read_done,
    run_cells,
)
from casewise.evaluation.models._batches import TICK, BatchCounts, BatchLedger, check_batches
from casewise.evaluation.plan._plan import Cell
from casewise.scores import read_paths

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = 12
MODEL = "openai/gpt-4o"
LEDGER = ".casewise/batches.jsonl"
LOOK = "GET /v1/batches/batch_1"

SOON_AGAIN = """
import casewise.evaluation.models._standing as standing
standing.FIRST_S = 0.1
"""
"""What the fixture ``soon_again`` does, for a process of its own."""


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch, soon_again: None) -> None:
    monkeypatch.setenv(TICK, "0.05")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "cases.jsonl", CASES)


def number_of(line: dict[str, Any]) -> int:
    """The case that a line of a batch asks about."""
    text = str(line["body"]["messages"][-1]["content"])
    return int(text.split("question ")[1].split("\n")[0].strip('"'))


def safe(_: dict[str, Any]) -> Answer:
    return '{"judgement": "safe"}'


def mixed(request: dict[str, Any]) -> Answer:
    """The same for the same request, whoever sends it and when."""
    digit = int(hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest(), 16) % 7
    message = {"role": "assistant", "content": None}
    return (
        '{"explanation": "The platform asks for it – and more.", "verdict": "safe"}',
        '{"verdict": "unsafe"}',
        {"message": message | {"refusal": "I won't judge."}},
        {"message": message | {"content": ""}, "finish_reason": "content_filter"},
        {"message": message | {"content": "Unsafe, as"}, "finish_reason": "length"},
        Raw(
            400,
            b'{"error": {"message": "flagged", "code": "content_filter"}}',
            {"Content-Type": "application/json"},
        ),
        "Perhaps safe, perhaps unsafe.",
    )[digit]


def cells(server: BatchServer, cases: str | Path, **more: Any) -> tuple[Cell, ...]:
    options: dict[str, Any] = {"batch": True, "protocols": ("binary",)} | more
    request = RunRequest(models=(MODEL,), cases=str(cases), model_base_url=server.url, **options)
    return make_plan(request).cells


def run_in(folder: Path, server: BatchServer, cases: str | Path, **more: Any) -> pl.DataFrame:
    """Run to the end, and give the table."""
    request = cells(server, cases, **more)[0].request
    result = run_cells(make_plan(request).cells, folder)
    assert result.complete, result.failures
    return read_paths([folder]).table


def statuses(table: pl.DataFrame) -> dict[str, int]:
    return dict(table["status"].value_counts().iter_rows())


@pytest.mark.parametrize("cases", [100, pytest.param(900, marks=pytest.mark.slow)])
def test_all_cases_as_live(
    tmp_path: Path, casebench: Path, monkeypatch: pytest.MonkeyPatch, cases: int
) -> None:
    """Row for row, refusals and filters among them; and no live request."""
    monkeypatch.setenv(TICK, "0.5")
    data = casebench / "CASEBench_data.json"
    with BatchServer(mixed) as server:
        live = run_in(tmp_path / "live", server, data, batch=False, limit=cases)
        assert len(server.requests) == cases
        assert not server.batches
    with BatchServer(mixed) as server:
        batched = run_in(tmp_path / "batched", server, data, limit=cases)
        assert server.requests == []
        assert len(server.sent) == cases
        assert all(one.status == "completed" for one in server.batches.values())
        assert len(server.batches) < 20
    assert len(live) == cases
    assert set(live["status"].unique()) == {"ok", "refused", "unparsed"}
    # Of this run alone; and what it cost.
    own = ["run_id", "latency_s", "cost_usd"]
    order = ["case_id"]
    assert_frame_equal(live.drop(own).sort(order), batched.drop(own).sort(order))
    assert batched["cost_usd"].sum() == pytest.approx(live["cost_usd"].sum() / 2)
    assert not (tmp_path / "batched" / LEDGER).exists()


def test_a_log_says_that_it_was_sent_in_batches(tmp_path: Path, cases: Path) -> None:
    with BatchServer(safe) as server:
        (batched,) = cells(server, cases)
        (live,) = cells(server, cases, batch=False)
        assert batched.identity == live.identity
        run_in(tmp_path / "logs", server, cases)
        # What is judged is not asked again, in whatever way.
        run_in(tmp_path / "logs", server, cases, batch=False)
        assert server.requests == []
    (path,) = (tmp_path / "logs").glob("*.eval")
    config = read_eval_log(str(path), header_only=True).plan.config
    assert config.batch
    assert config.attempt_timeout is None


def test_the_attempt_timeout_ends_no_batch(tmp_path: Path, cases: Path) -> None:
    with BatchServer(safe, looks=30) as server:
        table = run_in(tmp_path / "logs", server, cases, attempt_timeout=1)
        assert statuses(table) == {"ok": CASES}
        assert len(server.batches) == 1
        assert server.seen["batch_1"] > 30


def test_log_probabilities(tmp_path: Path, cases: Path) -> None:
    """Log-probabilities come back from a batch as well."""

    def first_token(request: dict[str, Any]) -> Answer:
        assert request["logprobs"]
        return {"safe": -0.2, "unsafe": -2.0}

    with BatchServer(first_token) as server:
        table = run_in(tmp_path / "logs", server, cases, protocols=("probability",))
    assert table["p_safe"].is_between(0.8, 0.9).all()


def some_fail(server: BatchServer, batch: FakeBatch) -> None:
    """A third has answers; the others failed in every way that there is."""
    for line in batch.lines:
        match number_of(line) % 6:
            case 0:
                batch.fail(line, "batch_expired", "not executed before the window expired")
            case 1:
                batch.answer(line, {"error": {"message": "overloaded"}}, 500)
            case 2:
                batch.results.append("{ no JSON")
            case 3:
                batch.answer(line, {"id": "of another form"})
            case _:
                batch.answer(line, server.completion(line["body"])[1])
    batch.status = "completed"


def expire(server: BatchServer, batch: FakeBatch) -> None:
    """Nothing was answered, and there are no files."""
    batch.status = "expired"


def expire_late(server: BatchServer, batch: FakeBatch) -> None:
    """Half was answered before the end."""
    for place, line in enumerate(batch.lines):
        if place % 2:
            batch.answer(line, server.completion(line["body"])[1])
        else:
            batch.fail(line, "batch_expired", "not executed before the window expired")
    batch.status = "expired"


def not_taken(server: BatchServer, batch: FakeBatch) -> None:
    """More waits already than the account may have."""
    batch.status = "failed"
    batch.reasons = [{"code": "token_limit_exceeded", "message": "too many tokens enqueued"}]


@pytest.mark.parametrize(
    ("end", "again"),
    [(some_fail, 8), (expire, CASES), (not_taken, CASES)],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_what_a_batch_ends_without_is_asked_again(
    tmp_path: Path, cases: Path, end: End, again: int
) -> None:
    with BatchServer(safe, ends=[end]) as server:
        table = run_in(tmp_path / "logs", server, cases)
        assert statuses(table) == {"ok": CASES}
        assert server.requests == []
        assert len(server.sent) == CASES + again


def one_missing(server: BatchServer, batch: FakeBatch) -> None:
    """All but question 7 have answers."""
    for line in batch.lines:
        if number_of(line) == 7:
            batch.fail(line, "batch_expired", "not executed before the window expired")
        else:
            batch.answer(line, server.completion(line["body"])[1])
    batch.status = "completed"


def test_what_no_batch_has_is_asked_three_times_more(tmp_path: Path, cases: Path) -> None:
    with BatchServer(safe, ends=[one_missing] * 9) as server:
        (cell,) = cells(server, cases)
        run_cells(make_plan(cell.request).cells, tmp_path / "logs")
        table = read_paths([tmp_path / "logs"]).table
        assert statuses(table) == {"ok": CASES - 1, "error": 1}
        assert len(server.sent) == CASES + 3


def test_a_batch_that_is_refused_costs_each_request_alike(tmp_path: Path, cases: Path) -> None:
    """Its one error tells a request's own way alone, and not those of all before it."""
    with BatchServer(safe, ends=[not_taken]) as server:
        run_in(tmp_path / "logs", server, cases)
    (log,) = (tmp_path / "logs").glob("*.eval")
    events = [event for one in read_eval_log(str(log)).samples or () for event in one.events]
    ways = [event.traceback for event in events if event.event == "model" and event.error]
    assert len(ways) == CASES
    assert len(set(ways)) == 1


def test_what_is_never_answered_becomes_a_status(tmp_path: Path, cases: Path) -> None:
    """One request fails in every batch: it is an error, and all the others are judged."""

    def answer(request: dict[str, Any]) -> Answer:
        return 400 if "question 7" in request["messages"][-1]["content"] else safe(request)

    with BatchServer(answer) as server:
        (cell,) = cells(server, cases)
        run_cells(make_plan(cell.request).cells, tmp_path / "logs")
        table = read_paths([tmp_path / "logs"]).table
        assert statuses(table) == {"ok": CASES - 1, "error": 1}
        assert len(server.sent) == CASES


def test_a_wrong_key_is_told_at_once(cli_inside: Cli, cases: Path) -> None:
    with BatchServer(safe, statuses={"POST /v1/files": 401}) as server:
        done = cli_inside(*arguments(cases), env=environment(server))
    assert done.returncode == 2
    assert "HTTP 401" in done.stderr
    assert not server.batches


def test_a_batch_taken_whose_answer_was_cut(tmp_path: Path, cases: Path) -> None:
    """The provider took it, and the connection broke: it is found, and not sent twice."""
    with BatchServer(safe, swallowed={"POST /v1/batches"}) as server:
        table = run_in(tmp_path / "logs", server, cases)
        assert statuses(table) == {"ok": CASES}
        answered = [one for one in server.batches if server.seen.get(one)]
        assert len(answered) == 1
        assert "GET /v1/batches" in server.calls


JSON = {"Content-Type": "application/json"}
MISTAKEN: dict[str, Raw] = {
    **{
        str(status): Raw(status, b'{"error": {"message": "no"}}', JSON)
        for status in (400, 401, 403)
    },
    **{
        str(status): Raw(status, b'{"error": {"message": "no"}}', JSON)
        for status in (404, 408, 409)
    },
    **{str(status): Raw(status, b"<html>", {}) for status in (429, 500, 502, 503, 504, 529)},
    "page": Raw(200, b"<html>busy</html>", {"Content-Type": "text/html"}),
    "half": Raw(200, b'{"id": "batch_1", ', JSON),
    "list": Raw(200, b"[1]", JSON),
    "empty": Raw(200, b"", JSON),
    "error": Raw(200, b'{"error": {"message": "no", "type": "server_error"}}', JSON),
    "no credit": Raw(429, b'{"error": {"message": "no", "code": "insufficient_quota"}}', JSON),
    "cut": Raw(None),
}
"""Answers to the creation of a batch that was taken."""


@pytest.mark.parametrize("answered", MISTAKEN)
def test_a_batch_is_created_once(tmp_path: Path, cases: Path, answered: str) -> None:
    wrong = {"POST /v1/batches": MISTAKEN[answered]}
    with BatchServer(safe, misanswered=wrong) as server:
        table = run_in(tmp_path / "logs", server, cases)
        assert len(server.batches) == server.calls.count("POST /v1/batches") == 1
        assert len(server.sent) == CASES
    assert statuses(table) == {"ok": CASES}


def test_a_batch_whose_look_up_fails(tmp_path: Path, cases: Path) -> None:
    """It is not sent again until the provider says that it has none."""
    wrong = {"POST /v1/batches": Raw(500, b"{}", JSON)}
    failing = Passing(5, **{"GET /v1/batches": 503})
    with BatchServer(safe, misanswered=wrong, statuses=failing) as server:
        run_in(tmp_path / "logs", server, cases)
        assert len(server.batches) == 1
        assert server.calls.count("GET /v1/batches") == 6


def test_a_cancelled_batch(cli_inside: Cli, tmp_path: Path, cases: Path) -> None:
    """It is told, and not sent again until somebody asks for it; what it answered is kept."""
    with BatchServer(safe, ends=[cancel]) as server:
        for status in (1, 2):
            done = cli_inside(*arguments(cases), env=environment(server))
            said = " ".join(done.stderr.split())
            # A start that judges nothing ends as one whose model can't be used.
            assert done.returncode == status, said
            assert ": openai/gpt-4o: batch cancelled: somebody cancelled the batch" in said
            assert "HTTP" not in said
            assert len(server.sent) == CASES
        again = cli_inside(*arguments(cases, "--resume-cancelled"), env=environment(server))
        assert again.returncode == 0, again.stderr
        assert len(server.sent) == CASES + CASES // 2
    assert statuses(read_paths([tmp_path / "logs"]).table) == {"ok": CASES}


def test_a_cancelled_batch_from_python(tmp_path: Path, cases: Path) -> None:
    with BatchServer(safe, ends=[cancel]) as server:
        plan = cw.plan(cases, MODEL, "binary", batch=True, model_base_url=server.url)
        assert not cw.run(plan, tmp_path / "logs").complete
        assert len(server.sent) == CASES
        assert cw.run(plan, tmp_path / "logs", resume_cancelled=True).complete
        assert len(server.sent) == CASES + CASES // 2


def test_results_that_contradict_each_other(cli_inside: Cli, tmp_path: Path, cases: Path) -> None:
    """They are named, and the first of each request is kept."""

    def twice(server: BatchServer, batch: FakeBatch) -> None:
        complete(server, batch)
        first, second = batch.lines[:2]
        batch.answer(first, server.completion(first["body"])[1])
        batch.answer(second, server.completion({"unsafe": True} | second["body"])[1])
        batch.fail(second, "batch_expired", "not executed")
        batch.answer({"custom_id": "strange"}, {})

    def answer(request: dict[str, Any]) -> Answer:
        return '{"judgement": "unsafe"}' if request.get("unsafe") else '{"judgement": "safe"}'

    with BatchServer(answer, ends=[twice]) as server:
        done = cli_inside(*arguments(cases), env=environment(server))
    said = " ".join(done.stderr.split())
    assert done.returncode == 0, said
    assert (
        "batch batch_1: 2 requests have more than one result, which differ for 1 of them; "
        "the first of each is kept" in said
    )
    assert "batch batch_1: 1 results are of no request in it, and left out" in said
    table = read_paths([tmp_path / "logs"]).table
    assert set(table["verdict"]) == {"safe"}
    assert statuses(table) == {"ok": CASES}


class Passing(dict[str, int]):
    """Statuses that a server fails with so many times."""

    def __init__(self, times: int, **statuses: int) -> None:
        super().__init__(statuses)
        self.left = times

    def get(self, call: str, default: Any = None) -> Any:
        """The status of a call, while it lasts."""
        found = super().get(call, default)
        if found is not None:
            self.left -= 1
        return found if self.left >= 0 else default


def test_a_provider_that_does_not_say_how_a_batch_is(tmp_path: Path, cases: Path) -> None:
    """Failed looks end nothing."""
    with BatchServer(safe, statuses=Passing(6, **{LOOK: 500})) as server:
        result = run_cells(cells(server, cases), tmp_path / "logs")
        assert result.complete
        assert len(server.sent) == CASES
        assert result.summary.faults[MODEL]["server_error"] >= 1


@pytest.mark.parametrize("call", ["POST /v1/files", "POST /v1/batches"])
def test_a_batch_that_is_not_taken_at_first(tmp_path: Path, cases: Path, call: str) -> None:
    """Its requests are asked again, by a worker that has not ended with it."""
    with BatchServer(safe, statuses=Passing(3, **{call: 500})) as server:
        table = run_in(tmp_path / "logs", server, cases)
        assert len(server.sent) == CASES
    assert statuses(table) == {"ok": CASES}


def test_a_server_that_can_not_be_reached(
    tmp_path: Path, cases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Giving up cuts one long pause short, and not each of many short ones.
    usual = "inspect_ai.model._retry.wait_exponential_jitter"
    monkeypatch.setattr(usual, wait_exponential_jitter)
    with BatchServer(safe) as server:
        found = cells(server, cases)
    with pytest.raises(ModelError, match="given up after 1 s without any answer"):
        run_cells(found, tmp_path / "logs", unreachable_s=1)


def test_reasoning_models_are_not_asked_live_beforehand(tmp_path: Path, cases: Path) -> None:
    """Theirs is the interface of responses."""

    def respond(server: BatchServer, batch: FakeBatch) -> None:
        assert batch.endpoint == "/v1/responses"
        for line in batch.lines:
            text = {"type": "output_text", "text": '{"judgement": "safe"}', "annotations": []}
            said = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
            body = {"id": "r", "object": "response", "created_at": 0, "model": "gpt-5"} | {
                "output": [said | {"content": [text]}],
                "parallel_tool_calls": False,
                "tool_choice": "auto",
                "tools": [],
                "usage": {
                    "input_tokens": 100,
                    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                    "output_tokens": 5,
                    "output_tokens_details": {"reasoning_tokens": 0},
                    "total_tokens": 105,
                },
            }
            batch.answer(line, body)
        batch.status = "completed"

    with BatchServer(safe, ends=[respond]) as server:
        (cell,) = cells(server, cases)
        request = replace(cell.request, models=("openai/gpt-5",))
        result = run_cells(make_plan(request).cells, tmp_path / "logs")
        assert result.complete, result.failures
        assert server.requests == []
    assert statuses(read_paths([tmp_path / "logs"]).table) == {"ok": CASES}


def test_progress_of_a_batch_that_expires_half_done(tmp_path: Path, cases: Path) -> None:
    seen: list[BatchCounts] = []
    with BatchServer(safe, ends=[expire_late]) as server:
        observers = Observers(batches=seen.append)
        run_cells(cells(server, cases), tmp_path / "logs", observers=observers)
        assert len(server.sent) == CASES + CASES // 2
    assert statuses(read_paths([tmp_path / "logs"]).table) == {"ok": CASES}
    assert seen[0] == BatchCounts(CASES, 0, 0)
    assert seen[-1] == BatchCounts(CASES + CASES // 2, CASES, CASES // 2)
    assert all(one.submitted >= one.done + one.failed for one in seen)


def test_two_conditions_killed_while_their_batches_were_unnamed(tmp_path: Path) -> None:
    """Each asks for its own, at the same time; what another model's file was is left alone."""
    path = tmp_path / "batches.jsonl"
    before = BatchLedger(path, None)
    for number in "ab":
        before.sending(MODEL, f"file-{number}", [number])
    before.sending("openai/other", "file-c", ["c"])
    ledger = BatchLedger(path, None)

    async def find(file: str) -> tuple[str, ...]:
        await asyncio.sleep(0.01)
        return (f"batch of {file}",)

    async def both() -> list[dict[str, set[str]]]:
        ledger.sending(MODEL, "file-new", ["n"])

        async def one(number: str) -> dict[str, set[str]]:
            await ledger.claim(MODEL, find)
            return ledger.take([number, "n", "c"])

        return list(await asyncio.gather(one("a"), one("b")))

    assert asyncio.run(both()) == [{f"batch of file-{one}": {one}} for one in "ab"]
    ledger.close()
    assert BatchLedger(path, None).take("abnc") == {f"batch of file-{one}": {one} for one in "ab"}
    assert "4 requests" in BatchLedger(path, None).words[0]


def arguments(cases: Path, *more: str) -> list[str]:
    options = ["--protocol", "binary", "--batch", "--log-dir", "logs"]
    return ["run", "-m", MODEL, "--cases", str(cases), *options, *more]


def environment(server: BatchServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, TICK: "0.05"}


def start(server: BatchServer, cases: Path) -> Start:
    """In a process of its own."""
    command = arguments(cases, "--model-base-url", server.url)
    env = clean_env() | {"OPENAI_API_KEY": KEY, TICK: "0.05"}
    return Start(command, cases.parent, env, first=SOON_AGAIN)


def killed_at(call: str, server: BatchServer, cases: Path) -> None:
    """Start, and kill -9 once it has made a call."""
    process = start(server, cases)
    latest = time.monotonic() + PATIENCE_S
    while call not in server.calls and time.monotonic() < latest:
        assert process.poll() is None, process.stderr
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert server.requests == []


def go_on(server: BatchServer, cases: Path) -> str:
    """Start once more, to the end; what it said."""
    process = start(server, cases)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert server.requests == []
    assert statuses(read_paths([cases.parent / "logs"]).table) == {"ok": CASES}
    assert not (cases.parent / "logs" / LEDGER).exists()
    return " ".join(err.split())


def test_a_killed_run_collects_its_batch(cases: Path) -> None:
    with BatchServer(safe) as server:
        server.open.clear()
        killed_at(LOOK, server, cases)
        # The provider goes on meanwhile.
        server.open.set()
        said = go_on(server, cases)
        assert f"{CASES} requests went out in batches before" in said
        assert f"{CASES} answers were collected from batches sent before" in said
        assert len(server.sent) == CASES


def test_a_batch_that_is_still_out_is_waited_for(cases: Path) -> None:
    """Killed twice, and collected by the third start."""
    with BatchServer(safe) as server:
        server.open.clear()
        killed_at(LOOK, server, cases)
        server.calls.clear()
        killed_at(LOOK, server, cases)
        server.open.set()
        go_on(server, cases)
        assert len(server.sent) == CASES


def test_killed_before_the_provider_named_the_batch(cases: Path) -> None:
    """It took the batch, and no answer said so: the next start finds it among all batches."""
    with BatchServer(safe, swallowed={"POST /v1/batches"}) as server:
        server.open.clear()
        killed_at("POST /v1/batches", server, cases)
        server.swallowed.clear()
        server.open.set()
        before = len(server.batches)
        go_on(server, cases)
        assert len(server.batches) == before


def test_more_cases_than_were_out(cases: Path) -> None:
    """What a batch of an earlier start holds is waited for, and only the rest is sent."""
    with BatchServer(safe) as server:
        server.open.clear()
        killed_at(LOOK, server, cases)
        ledger = cases.parent / "logs" / LEDGER
        out, sent = map(json.loads, ledger.read_text("utf-8").splitlines())
        # Half of it as if it had never been noted; and a line that a kill tore.
        out["numbers"] = out["numbers"][: CASES // 2]
        ledger.write_text(f"{json.dumps(out)}\n{json.dumps(sent)}\n{{torn", "utf-8")
        server.open.set()
        said = go_on(server, cases)
        assert f"{CASES // 2} answers were collected" in said
        assert [len(one.lines) for one in server.batches.values()] == [CASES, CASES // 2]


def test_a_ledger_of_an_earlier_edition(cases: Path) -> None:
    """It named one batch of a file, and models whose batches were lost."""
    with BatchServer(safe) as server:
        server.open.clear()
        killed_at(LOOK, server, cases)
        ledger = cases.parent / "logs" / LEDGER
        out, sent = map(json.loads, ledger.read_text("utf-8").splitlines())
        (batch,) = sent["batches"]
        earlier = [out, {"file": sent["file"], "batch": batch}, {"lost": "grok/x"}]
        ledger.write_text("".join(f"{json.dumps(line)}\n" for line in earlier), "utf-8")
        server.open.set()
        said = go_on(server, cases)
        assert f"{CASES} answers were collected" in said
        assert "grok/x: batches that were out when the run stopped can't be collected" in said
        assert len(server.sent) == CASES


def test_a_ledger_of_a_later_edition(cases: Path) -> None:
    with BatchServer(safe) as server:
        server.open.clear()
        killed_at(LOOK, server, cases)
        ledger = cases.parent / "logs" / LEDGER
        with ledger.open("a", encoding="utf-8") as file:
            file.write('{"file": "f", "parts": 3}\n')
        before = ledger.read_bytes(), len(server.sent)
        process = start(server, cases)
        _, err = process.communicate()
        assert process.returncode == 2
        said = " ".join(err.split())
        assert "batches.jsonl, line 3: a batch is noted with file, parts, a form" in said
        assert "Traceback" not in err
        assert (ledger.read_bytes(), len(server.sent)) == before


def test_a_batch_that_the_provider_forgot_is_sent_again(cases: Path) -> None:
    with BatchServer(safe) as server:
        server.open.clear()
        killed_at(LOOK, server, cases)
        server.open.set()
        server.statuses[LOOK] = 404
        go_on(server, cases)
        assert len(server.sent) == 2 * CASES


def test_a_batch_whose_key_was_refused_stays_noted(cases: Path) -> None:
    """Another key may fetch it: nothing that is out is forgotten."""
    with BatchServer(safe) as server:
        server.open.clear()
        killed_at(LOOK, server, cases)
        server.statuses[LOOK] = 401
        assert start(server, cases).wait() > 0
        server.statuses.clear()
        server.open.set()
        go_on(server, cases)
        assert len(server.sent) == CASES


def test_the_dry_run_halves_the_price(cli_inside: Cli, cases: Path) -> None:
    def cost(*more: str) -> float:
        options = ("--dry-run", "--price-in", "1000", "--price-out", "2000", *more)
        done = cli_inside(*[one for one in arguments(cases) if one != "--batch"], *options)
        assert done.returncode == 0, done.stderr
        return float(done.stdout.split("About $")[1].split()[0].rstrip("."))

    assert cost("--batch") == pytest.approx(cost() / 2, abs=0.01)


def test_several_batches_a_case_are_said(cli_inside: Cli, cases: Path) -> None:
    options = ["--protocol", "score", "--batch", "--dry-run"]
    done = cli_inside("run", "-m", MODEL, "--cases", str(cases), *options)
    assert done.returncode == 0, done.stderr
    assert "score: a case takes up to 3 batches" in " ".join(done.stderr.split())


def test_a_cap_holds_the_first_batch_to_what_it_allows(tmp_path: Path, cases: Path) -> None:
    """Nothing has told yet what a judgement costs: its estimate says how many may go out."""
    with BatchServer(safe) as server:
        found = cells(server, cases, prices=Prices(1000.0, 1000.0))
        (cell,) = found
        each = (cell.estimate.cost_usd or 0.0) / CASES
        budget = make_budget(found, read_done(found, tmp_path / "logs"), each * 3.5)
        result = run_cells(found, tmp_path / "logs", budget=budget)
        assert result.capped
        assert len(server.batches["batch_1"].lines) == 4
        # Each took 105 tokens at half of a thousandth.
        assert budget.spent == pytest.approx(len(server.sent) * 105 * 0.0005)


@pytest.mark.parametrize(
    "model",
    [
        *("casewise/smollm2", "casewise-hf/x", "mockllm/model", "openai-api/fake/m", "vllm/x"),
        *("openai/azure/gpt-4o", "anthropic/bedrock/claude", "google/vertex/gemini"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_models_without_a_batch_interface(
    cli_inside: Cli, cases: Path, model: str, more: tuple[str, ...]
) -> None:
    done = cli_inside(
        *("run", "-m", model, "--cases", str(cases), "--protocol", "binary", "--batch", *more)
    )
    assert done.returncode == 2
    assert f"no batch interface is known for {model}" in " ".join(done.stderr.split())
    assert not (cases.parent / "logs").exists()


def test_other_refusals(cli_inside: Cli, tmp_path: Path, cases: Path) -> None:
    done = cli_inside(*arguments(cases, "--engine", "ray"))
    assert done.returncode == 2
    assert "a cluster has none to share" in " ".join(done.stderr.split())
    done = cli_inside(
        *("run", "-m", MODEL, "--protocol", "respond", "--grader", "mockllm/model"),
        *("--batch", "--dry-run"),
    )
    assert done.returncode == 2
    assert "for mockllm/model" in " ".join(done.stderr.split())
    done = cli_inside(*arguments(cases, "--generate", "batch=true"))
    assert done.returncode == 2
    assert "--batch sets it" in " ".join(done.stderr.split())
    for given in ("no", "0", "-1", "inf"):
        with BatchServer(safe) as server:
            done = cli_inside(*arguments(cases), env=environment(server) | {TICK: given})
        assert done.returncode == 2
        assert f"{TICK} {given}: give seconds, above 0" in done.stderr
    assert not (tmp_path / "logs").exists()


def test_sweeps(cli_inside: Cli, tmp_path: Path, cases: Path) -> None:
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(
        "cases: cases.jsonl\nprotocols: binary\nbatch: true\nmodels:\n"
        f"- {{model: {MODEL}, name: a}}\n- {{model: openai/gpt-4.1, batch: false}}\n"
    )
    with BatchServer(safe) as server:
        done = cli_inside("run", str(sweep), "--log-dir", "logs", env=environment(server))
        assert done.returncode == 0, done.stderr
        assert {one["model"] for one in server.requests} == {"gpt-4.1"}
        assert len(server.sent) == len(server.requests) == CASES
    sweep.write_text("cases: cases.jsonl\nprotocols: binary\nbatch: true\nmodels: mockllm/model\n")
    done = cli_inside("run", str(sweep), "--dry-run")
    assert done.returncode == 2
    assert "no batch interface is known for mockllm/model" in " ".join(done.stderr.split())


def test_a_chatbot_and_its_grader(tmp_path: Path) -> None:
    """Each turn is a batch; the grader's requests go in batches as well."""

    def answer(request: dict[str, Any]) -> Answer:
        return '{"response_class": "full_compliance"}' if request["model"] == "gpt-4.1" else "Sure."

    with BatchServer(answer) as server:
        request = RunRequest(
            models=(MODEL,),
            protocols=("respond",),
            limit=4,
            grader="openai/gpt-4.1",
            batch=True,
        )
        os.environ["OPENAI_BASE_URL"] = server.url
        try:
            run_cells(make_plan(request).cells, tmp_path / "logs")
        finally:
            del os.environ["OPENAI_BASE_URL"]
        assert server.requests == []
        asked = {line["body"]["model"] for one in server.batches.values() for line in one.lines}
        assert asked == {"gpt-4o", "gpt-4.1"}


def test_check_batches() -> None:
    check_batches("openai/gpt-4o", "anthropic/claude", None)
    with pytest.raises(UsageError, match="for groq/x"):
        check_batches("openai/gpt-4o", "groq/x")


def test_a_shared_client_is_left_alone(tmp_path: Path, cases: Path) -> None:
    """A batch's client is its run's own."""
    with BatchServer(safe) as server:
        run_in(tmp_path / "logs", server, cases)
        model = get_model(MODEL, base_url=server.url)
        assert vars(model.api).get("_batcher") is None


def test_what_is_complete_needs_no_server(tmp_path: Path, cases: Path) -> None:
    with BatchServer(safe, ends=[complete]) as server:
        run_in(tmp_path / "logs", server, cases)
        before = len(server.calls)
        run_in(tmp_path / "logs", server, cases)
        assert len(server.calls) == before
