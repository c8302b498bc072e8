"""The lean client does in every case what the provider's own does."""

import asyncio
import hashlib
import json
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import GenerateConfig, Model, ResponseSchema, get_model
from inspect_ai.util import JSONSchema
from polars.testing import assert_frame_equal
from support.fake_openai import Answer, FakeServer, Raw
from support.secret import KEY

from casewise.choices import Client
from casewise.errors import UsageError
from casewise.evaluation import RunRequest, make_plan, run_cells
from casewise.evaluation.models import open_model
from casewise.evaluation.models._lean_client import send_leanly
from casewise.evaluation.models._seam import in_own_loop
from casewise.scores import read_paths

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


TEXT = {"Content-Type": "text/html"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAN_API_KEY", KEY)


def digit(request: dict[str, Any]) -> int:
    """The same for the same request, whoever sends it and when."""
    return int(hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest(), 16) % 7


def answer(request: dict[str, Any]) -> Answer:
    message = {"role": "assistant", "content": "Verdict: safe"}
    if request.get("logprobs"):
        return {"safe": -0.1 * (1 + digit(request)), "unsafe": -2.0, "Safe": -4.0}
    return (
        '{"explanation": "The platform asks for it – and the recipient too.", "verdict": "safe"}',
        {"message": message | {"content": None, "refusal": "I won't judge."}},
        {"message": message | {"content": ""}, "finish_reason": "content_filter"},
        {"message": message | {"content": "Unsafe, as"}, "finish_reason": "length"},
        {"message": message | {"content": "8", "reasoning_content": "It is a forum."}},
        Raw(400, b'{"error": {"message": "flagged", "code": "content_filter"}}', JSON),
        "I'm sorry, but I can't help with that.",
    )[digit(request)]


def judged(client: str, url: str, folder: Path) -> list[EvalLog]:
    request = RunRequest(
        model=("openai-api/lean/m",),
        protocol=("binary", "score", "probability", "respond"),
        limit=9,
        max_connections=9,
        model_base_url=url,
        client=client,
    )
    result = run_cells(make_plan(request).cells, folder / client)
    return [read_eval_log(str(path)) for path in result.logs]


def test_both_clients_give_the_same_table_and_logs(tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        lean, sent = judged("auto", server.url, tmp_path), list(server.requests)
        server.requests.clear()
        own = judged("inspect", server.url, tmp_path)
        assert Counter(map(written, sent)) == Counter(map(written, server.requests))
    tables = [
        read_paths([tmp_path / client], texts=True)
        .table.drop("run_id", "latency_s")
        .sort("protocol", "case_id")
        for client in ("auto", "inspect")
    ]
    assert_frame_equal(*tables)
    assert len(tables[0]) == 36
    assert set(tables[0]["status"]) == {"ok", "refused", "unparsed"}
    for one, other in zip(lean, own, strict=True):
        assert one.eval.model == other.eval.model == "openai-api/lean/m"
        assert one.eval.model_base_url == other.eval.model_base_url
        assert samples_of(one) == samples_of(other)
        assert KEY not in one.model_dump_json() + other.model_dump_json()


def written(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)


PASSING = {"id", "uuid", "time", "working_time", "timestamp", "completed", "working_start"}


def samples_of(log: EvalLog) -> list[Any]:
    """What a log's samples say, without times and running numbers."""
    told = [
        {
            "id": sample.id,
            "messages": plain([one.model_dump() for one in sample.messages]),
            "output": plain(sample.output.model_dump()),
            "usage": plain({name: one.model_dump() for name, one in sample.model_usage.items()}),
            "asked": [
                plain({"output": event.output.model_dump(), "config": event.config.model_dump()})
                for event in sample.events
                if event.event == "model"
            ],
            "events": [event.event for event in sample.events],
        }
        for sample in log.samples or []
    ]
    return sorted(told, key=lambda one: str(one["id"]))


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in PASSING}
    return [plain(one) for one in value] if isinstance(value, list) else value


FAILURES: dict[str, Answer] = {
    "no such model": 404,
    "too many": Raw(429, b'{"error": {"message": "slow down"}}', JSON | {"Retry-After": "0.01"}),
    "broken": Raw(500, b"<html>", TEXT | {"retry-after-ms": "5"}),
    "hung up": Raw(None),
    "a filter": Raw(400, b'{"error": {"message": "no", "code": "content_filter"}}', JSON),
    "no schema": Raw(422, b'{"detail": ["response_format"]}', JSON),
    "a page": Raw(200, b"<html>busy</html>", TEXT),
    "no choices": Raw(200, b'{"id": "x", "model": "m", "choices": []}', JSON),
}
SCHEMA = GenerateConfig(
    max_retries=0,
    temperature=0.0,
    seed=3,
    extra_body={"top_k": 5},
    extra_headers={"X-Team": "a"},
    response_schema=ResponseSchema(
        name="verdict", json_schema=JSONSchema(type="object", properties={}), strict=True
    ),
)


def model_of(server: FakeServer, lean: bool) -> Model:
    client = Client.AUTO if lean else Client.INSPECT
    return open_model("openai-api/lean/m", base_url=server.url, client=client)


async def outcomes(model: Model, config: GenerateConfig) -> dict[str, Any]:
    """What comes of each failing request: an output, or an error in its own words."""

    async def one(prompt: str) -> Any:
        try:
            return (await model.generate(prompt, config=config)).model_dump()
        except Exception as error:
            told.append("".join(traceback.format_exception(error)))
            said = error.__cause__ or error
            status = getattr(said, "status_code", None)
            return type(error).__name__, type(said).__name__, status, str(said)

    told: list[str] = []
    found = await asyncio.gather(*map(one, FAILURES))
    assert KEY not in "".join(told)
    await model.api.aclose()
    return {name: plain(result) for name, result in zip(FAILURES, found, strict=True)}


def test_both_clients_fail_alike() -> None:
    """One attempt, the same errors, and the same answers made of errors."""
    seen = []
    for lean in (True, False):
        with FakeServer(lambda request: FAILURES[request["messages"][-1]["content"]]) as server:
            found = in_own_loop(outcomes(model_of(server, lean), SCHEMA))
            bodies = Counter(map(written, server.requests))
            seen.append((found, Counter(server.prompts), bodies))
    (lean_found, attempts, bodies), (own_found, own_attempts, own_bodies) = seen
    for name in FAILURES:
        assert lean_found[name] == own_found[name], name
    assert attempts == own_attempts == Counter(list(FAILURES))
    assert bodies == own_bodies


def test_what_only_the_provider_s_client_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(**arguments: Any) -> Model:
        return get_model("openai-api/lean/m", base_url="http://x/v1", memoize=False, **arguments)

    assert send_leanly(opened())
    assert not send_leanly(opened(stream=True))
    for name, value in (("https_proxy", "http://p:1"), ("INSPECT_HTTP_REQUEST_TIMEOUT", "5")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert not send_leanly(opened())
    with monkeypatch.context() as patch:
        patch.setenv("http_proxy", "http://p:1")
        patch.setenv("no_proxy", "x")
        assert send_leanly(opened())


def test_no_such_client() -> None:
    with pytest.raises(UsageError, match="unknown client 'fast': choose from auto, inspect"):
        make_plan(RunRequest(model=("openai-api/lean/m",), client="fast"))
