"""Keys stay out of logs, errors, process listings and files; and the search for them finds."""

import base64
import gzip
import json
import zipfile
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY, found_in

import casewise as cw
from casewise.errors import UsageError

NEEDLE = "sk-needle-0f9d31c77a"
"""Not the planted key: that may not be written, not even here."""


def test_the_search_finds(tmp_path: Path) -> None:
    (tmp_path / "plain.log").write_text(f"Authorization: Bearer {NEEDLE}")
    (tmp_path / f"{NEEDLE}.txt").write_text("")
    (tmp_path / "wide.txt").write_bytes(f"a {NEEDLE}".encode("utf-16-le"))
    (tmp_path / "page.html").write_bytes(base64.b64encode(f"xy{NEEDLE}z".encode()))
    (tmp_path / "old.gz").write_bytes(gzip.compress(NEEDLE.encode()))
    pl.DataFrame({"error": [f"key {NEEDLE}"]}).write_parquet(tmp_path / "table.parquet")
    with zipfile.ZipFile(tmp_path / "run.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples/1.json", json.dumps({"error": NEEDLE}))
    (tmp_path / "clean.txt").write_text("nothing here")
    found = {one.removeprefix(f"{tmp_path}/") for one in found_in(tmp_path, NEEDLE)}
    assert found == {
        "plain.log",
        f"{NEEDLE}.txt: its name",
        "wide.txt",
        "page.html",
        "old.gz!",
        "table.parquet",
        "table.parquet!values",
        "run.eval!samples/1.json",
    }


def echoing(request: dict[str, Any]) -> Answer:
    """A server that repeats the key it was sent, as some do."""
    told = {"error": {"message": f"Incorrect API key provided: {KEY}. Find yours at ..."}}
    number = request["messages"][-1]["content"].split("question ")[1].split("\n")[0]
    status = 400 if int(number) % 2 else 401
    return Raw(status, json.dumps(told).encode(), {"Content-Type": "application/json"})


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_a_key_in_an_error(cli: Cli, tmp_path: Path, client: str) -> None:
    cases = write_questions(tmp_path / "cases.jsonl", 8)
    with FakeServer(echoing) as server:
        done = cli(
            *("run", "-m", "openai-api/fake/m", "--cases", cases, "--protocol", "binary"),
            *("--client", client, "--log-dir", "logs"),
            env={"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url},
        )
        assert server.requests
    assert done.returncode in (1, 2)
    # What a provider says of an error is in the log alone.
    assert "Incorrect API key provided" not in done.stderr
    assert list((tmp_path / "logs").glob("*.eval"))
    assert found_in(tmp_path, "Incorrect API key provided: [key]") != []
    assert found_in(tmp_path) == []


SAID: dict[str, Any] = {"role": "assistant", "content": "Judgement: safe"}
CHOICE: dict[str, Any] = {"index": 0, "finish_reason": "stop", "message": SAID}
WHOLE: dict[str, Any] = {
    **{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]},
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


def saying(**message: Any) -> dict[str, Any]:
    return WHOLE | {"choices": [CHOICE | {"message": SAID | message}]}


REPEATED: list[dict[str, Any]] = [
    {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "busy"}},
    {"error": f"bad key {KEY}"},
    {"detail": f"bad key {KEY}"},
    saying(content=f"Judgement: safe. By the way, your key is {KEY}."),
    saying(content=None, refusal=f"The key {KEY} may not ask this."),
    saying(reasoning_content=f"I was sent {KEY}."),
    saying(
        tool_calls=[{"id": KEY, "type": "function", "function": {"name": KEY, "arguments": ""}}]
    ),
    WHOLE | {"id": KEY},
    WHOLE | {"model": f"m-{KEY}"},
    WHOLE | {"system_fingerprint": KEY, "debug": {"authorization": f"Bearer {KEY}"}},
    WHOLE | {"choices": [CHOICE | {"finish_reason": KEY}]},
    WHOLE | {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "key": KEY}},
]
"""Bodies under a status of success in which a gateway repeats the key that it was sent."""


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_a_key_under_a_status_of_success(cli: Cli, tmp_path: Path, client: str) -> None:
    """Twelve forms, one a case; what is no answer is asked again."""
    cases = write_questions(tmp_path / "cases.jsonl", len(REPEATED))

    def answer(request: dict[str, Any]) -> Answer:
        number = request["messages"][-1]["content"].split("question ")[1].split("\n")[0]
        body = json.dumps(REPEATED[int(number) % len(REPEATED)]).encode()
        return Raw(200, body, {"Content-Type": "application/json", "X-Debug": KEY})

    with FakeServer(answer) as server:
        done = cli(
            *("run", "-m", "openai-api/fake/m", "--cases", cases, "--protocol", "binary"),
            *("--client", client, "--log-dir", "logs"),
            env={"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url},
        )
        assert len(server.requests) >= len(REPEATED)
    assert KEY not in done.stdout + done.stderr
    assert found_in(tmp_path, "your key is [key]") != []
    assert found_in(tmp_path) == []


@pytest.mark.parametrize("name", ["api_key", "hf_token", "aws_secret_access_key", "client-secret"])
def test_a_key_on_the_command_line(cli_inside: Cli, name: str) -> None:
    done = cli_inside("run", "-m", "openai-api/fake/m", "-M", f"{name}={NEEDLE}")
    assert done.returncode == 2
    assert NEEDLE not in done.stdout + done.stderr
    told = " ".join(done.stderr.split())
    assert f"--model-arg {name}: a key that stands there can be read by others" in told
    assert "OPENAI_API_KEY" in told


def test_a_key_without_a_name(cli_inside: Cli) -> None:
    done = cli_inside("run", "-m", "openai-api/fake/m", "-M", NEEDLE)
    assert done.returncode == 2
    assert NEEDLE not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"model_arg": {"api_key": NEEDLE}}, "model_arg"),
        ({"model_base_url": f"https://me:{NEEDLE}@x"}, "model_base_url"),
    ],
)
def test_a_key_in_a_sweep(
    cli_inside: Cli, tmp_path: Path, entry: dict[str, Any], field: str
) -> None:
    sweep = {"model": [{"model": "openai-api/fake/m"} | entry], "grid": [{}]}
    (tmp_path / "sweep.yaml").write_text(json.dumps(sweep))
    done = cli_inside("run", "sweep.yaml", "--dry-run")
    assert done.returncode == 2
    assert NEEDLE not in done.stdout + done.stderr
    assert f"model, record 1, field '{field}'" in " ".join(done.stderr.split())


ADDRESSES = (
    *(f"http://127.0.0.1:9/v1?{name}={NEEDLE}" for name in ("key", "api-key", "api_key", "apiKey")),
    *(f"http://127.0.0.1:9/v1?a=b&{name}={NEEDLE}" for name in ("code", "sig", "token", "auth")),
    *(f"http://127.0.0.1:9/v1?{name}=n{NEEDLE}" for name in ("X-Amz-Signature", "access%5Ftoken")),
    f"http://me:{NEEDLE}@127.0.0.1:9/v1",
    f"http://{NEEDLE}@127.0.0.1:9/v1",
    f"http://127.0.0.1:9/{NEEDLE}/v1",
    f"http://127.0.0.1:9/v1/{NEEDLE.replace('sk-', 's%6B-')}",
    f"http://127.0.0.1:9/v1;key={NEEDLE}",
    f"http://127.0.0.1:9/v1#token={NEEDLE}",
    f"127.0.0.1:9/v1?key={NEEDLE}",
    f"http://127.0.0.1:9/gsk_{NEEDLE.replace('-', '')}/v1",
)
"""Addresses with a key in them."""


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_key_in_an_address(cli_inside: Cli, tmp_path: Path, address: str) -> None:
    """One rule for a model's and a target's; nothing is written."""
    target = {"name": "bot", "url": address, "reply": "r", "body": {"q": "{last}"}}
    (tmp_path / "bot.yaml").write_text(json.dumps(target))
    options = ("run", "--log-dir", "logs", "--limit", "1")
    for more in (
        ("-m", "openai-api/fake/m", "--model-base-url", address),
        ("--target", "bot.yaml", "--protocol", "respond"),
    ):
        done = cli_inside(*options, *more, env={"FAKE_API_KEY": "none"})
        check_refused(done)
    assert [path.name for path in tmp_path.iterdir()] == ["bot.yaml"]


def check_refused(done: CompletedProcess[str]) -> None:
    told = done.stdout + done.stderr
    assert done.returncode == 2, told
    assert NEEDLE.removeprefix("sk-") not in told
    assert "Traceback" not in told


def test_a_key_in_an_address_wherever_it_stands(cli_inside: Cli, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:9/v1?api-key={NEEDLE}"
    model = ("-m", "openai-api/fake/m")
    (tmp_path / "queries.csv").write_text("query\nhow do I paint a wall\n")
    (tmp_path / "talks.jsonl").write_text('{"messages": []}\n')
    sweep = {"model": [{"model": model[1], "model_base_url": address}], "grid": [{}]}
    (tmp_path / "sweep.yaml").write_text(json.dumps(sweep))
    before = sorted(tmp_path.iterdir())
    by_option = ("--model-base-url", address)
    of_environment = {"FAKE_BASE_URL": address, "OPENAI_BASE_URL": address}
    generate = ("contexts", "generate", "queries.csv", "--out", "cases.jsonl")
    grader = ("--grader", "openai-api/fake/judge")
    for command, env in (
        ((*generate, *model, *by_option), {}),
        (("grade", "talks.jsonl", *grader, *by_option), {}),
        (("run", "sweep.yaml"), {}),
        (("run", *model, "--log-dir", "logs"), of_environment),
        (("run", "-m", "openai/gpt-4o", "--log-dir", "logs"), of_environment),
        (("run", "--protocol", "respond", *grader, "--log-dir", "logs"), of_environment),
        ((*generate, *model), of_environment),
    ):
        keys = {"FAKE_API_KEY": "none", "OPENAI_API_KEY": "none"}
        check_refused(cli_inside(*command, env=keys | env))
    with pytest.raises(UsageError, match="model_base_url: the address holds a secret"):
        cw.plan("starter", model=model[1], protocol="binary", model_base_url=address)
    assert sorted(tmp_path.iterdir()) == before
