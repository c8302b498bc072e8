"""Keys stay out of logs, errors, process listings and files; and the search for them finds."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import found_in

import casewise as cw
from casewise.errors import UsageError

NEEDLE = "sk-needle-0f9d31c77a"
"""Not the planted key: that may not be written, not even here."""


ADDRESS = f"http://127.0.0.1:9/v1?api-key={NEEDLE}"
MODEL = ("-m", "openai-api/fake/m")
RUN = ("run", *MODEL, "--log-dir", "logs")
GENERATE = ("contexts", "generate", "queries.csv", "--out", "cases.jsonl", *MODEL)
GRADER = ("--grader", "openai-api/fake/judge")
SWEEPS: dict[str, dict[str, Any]] = {
    "arguments": {"model_arg": {"api_key": NEEDLE}},
    "address": {"model_base_url": f"https://me:{NEEDLE}@x"},
    "header": {"generate": {"extra_headers": {"X-Api-Key": NEEDLE}}},
}

REFUSED: list[tuple[str, ...]] = [
    *((*RUN, "-M", f"{name}={NEEDLE}") for name in ("hf_token", "client-secret")),
    (*RUN, "-M", NEEDLE),
    (*RUN, "--generate", NEEDLE),
    (*RUN, "--generate", f"api_key={NEEDLE}"),
    (*RUN, "--generate", f'extra_headers={{"Authorization": "Bearer {NEEDLE}"}}'),
    # Its name says nothing; that it is a key is known from the environment.
    (*RUN, "--generate", f'extra_body={{"a": "see {NEEDLE}"}}'),
    *(("run", f"{name}.yaml", "--dry-run") for name in SWEEPS),
    *(
        (*RUN, "--model-base-url", address)
        for address in (
            ADDRESS,
            f"http://127.0.0.1:9/v1?access%5Ftoken=n{NEEDLE}",
            f"http://me:{NEEDLE}@127.0.0.1:9/v1",
            f"http://127.0.0.1:9/v1/{NEEDLE.replace('sk-', 's%6B-')}",
            f"http://127.0.0.1:9/v1;key={NEEDLE}",
            f"http://127.0.0.1:9/gsk_{NEEDLE.replace('-', '')}/v1",
        )
    ),
    (*GENERATE, "--model-base-url", ADDRESS),
    ("grade", "talks.jsonl", *GRADER, "--model-base-url", ADDRESS),
    ("run", "--model", "bot.yaml", "--protocol", "respond", "--log-dir", "logs"),
    ("target", "check", "header.target.yaml"),
]
OF_ENVIRONMENT = [
    RUN,
    GENERATE,
    ("run", "-m", "mockllm/model", "--protocol", "respond", *GRADER, "--log-dir", "logs"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = {"name": "bot", "url": ADDRESS, "reply": "r", "body": {"q": "{last}"}}
    (tmp_path / "bot.yaml").write_text(json.dumps(target))
    header = {"url": "http://localhost/x", "headers": {"X-Api-Key": NEEDLE}}
    (tmp_path / "header.target.yaml").write_text(json.dumps(target | header))
    (tmp_path / "queries.csv").write_text("query\nhow do I paint a wall\n")
    (tmp_path / "talks.jsonl").write_text('{"messages": []}\n')
    for name, entry in SWEEPS.items():
        sweep = [{"model": MODEL[1]} | entry]
        (tmp_path / f"{name}.yaml").write_text(json.dumps(sweep))
    return tmp_path


@pytest.mark.parametrize("command", REFUSED, ids=range(len(REFUSED)))
def test_a_key_where_others_can_read_it(
    cli_inside: Cli, folder: Path, command: tuple[str, ...]
) -> None:
    check_refused(cli_inside, folder, command, {"FAKE_API_KEY": "none", "OTHER_API_KEY": NEEDLE})


@pytest.mark.parametrize("command", OF_ENVIRONMENT, ids=range(len(OF_ENVIRONMENT)))
def test_a_key_in_an_address_of_the_environment(
    cli_inside: Cli, folder: Path, command: tuple[str, ...]
) -> None:
    check_refused(cli_inside, folder, command, {"FAKE_API_KEY": "none", "FAKE_BASE_URL": ADDRESS})


def check_refused(cli: Cli, folder: Path, command: tuple[str, ...], env: dict[str, str]) -> None:
    before = sorted(folder.iterdir())
    done = cli(*command, env=env)
    told = done.stdout + done.stderr
    assert done.returncode == 2, told
    assert NEEDLE.removeprefix("sk-") not in told
    assert "Traceback" not in told
    assert sorted(folder.iterdir()) == before


def test_python_refuses_it_too() -> None:
    with pytest.raises(UsageError, match="--model-base-url: the address holds a secret"):
        cw.plan("starter", model=MODEL[1], protocol="binary", model_base_url=ADDRESS)


CANARY = "marmalade-canary-7731"


def quoting(request: dict[str, Any]) -> Answer:
    """Refuses half of the requests, and repeats what was asked; judges the others."""
    said = str(request["messages"][-1]["content"])
    if "question 1" not in said:
        return '{"explanation": "fine", "judgement": "safe"}'
    told = {"error": {"message": f"{CANARY}: can't take this prompt: {said}", "type": "invalid"}}
    return Raw(400, json.dumps(told).encode(), {"Content-Type": "application/json"})


def test_a_query_that_an_error_quotes(cli: Cli, tmp_path: Path) -> None:
    """It is in the log, where the answers are, and is printed nowhere."""
    cases = write_questions(tmp_path / "cases.jsonl", 4)
    with FakeServer(quoting) as server:
        run = ("run", *MODEL, "--cases", cases, "--protocol", "binary", "--log-dir", "logs")
        done = cli(*run, env=server.env)
    assert done.returncode == 1, done.stderr
    assert f"HTTP 400 (request refused) from 127.0.0.1:{server.port}" in done.stderr
    assert "inspect view --log-dir logs" in " ".join(done.stderr.split())
    printed = [done.stdout + done.stderr]
    (tmp_path / "gate.yaml").write_text("rules: [{measure: coverage, at_least: 0.1}]\n")
    made = {
        "page.html": ("report", "logs", "--out"),
        "card.md": ("report", "logs", "--out"),
        "redacted": ("export", "logs", "--to", "redacted-logs", "--out"),
        "junit.xml": ("gate", "logs", "--config", "gate.yaml", "--junit"),
    }
    for name, command in made.items():
        later = cli(*command, name)
        printed.append(later.stdout + later.stderr)
        assert (tmp_path / name).exists(), later.stderr
    assert not [text for text in printed if CANARY in text or "question 1" in text]
    places = [Path(place.split("!")[0]) for place in found_in(tmp_path, CANARY)]
    assert {place.relative_to(tmp_path).parts[0] for place in places} == {"logs"}
    assert any(place.suffix == ".eval" for place in places)
