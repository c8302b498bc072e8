"""Bad input gets one clear message on standard error, exit status 2, and no traceback."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import Cli, clean_env
from support.fake_openai import FakeServer
from support.scores import model_rows
from support.secret import KEY
from support.starts import inspect_eval

CASE = {"query": "q", "context": {"sender": {"platform_type": "forum"}}}


def assert_refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    said = " ".join(done.stderr.split())
    for part in parts:
        assert part in said
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (
            ["--protocol", "binery"],
            ["unknown protocol 'binery'", "binary, guard, probability, rank"],
        ),
        (["--delivery", "sysetm"], ["unknown delivery 'sysetm'", "system, claimed, history"]),
        (["--sampling", "hot"], ["unknown sampling 'hot'", "greedy"]),
        (["--ablate", "recipeint"], ["has 'recipeint'", "recipient"]),
        (["--ablate", "recipient", "--delivery", "none"], ["there is none"]),
        (["--prompt", "absent.txt"], ["absent.txt", "no such template"]),
        (["--prompt", "noquery.txt"], ["noquery.txt", "lacks {query}"]),
        (["--prompt", "field.txt"], ["field.txt", "unknown field {question}"]),
        (["--prompt", "upstream"], ["casewise cases fetch casebench"]),
        (["--price-in", "nan"], ["--price-in nan"]),
        (["--model-arg", "x"], ["KEY=VALUE"]),
        (["--model", "openai/gpt-4o"], ["OPENAI_API_KEY"]),
        (["--model", "openai-api/fake/m"], ["FAKE_API_KEY"]),
        (["--model", "casewise/other"], ["the only embedded model is casewise/smollm2"]),
        (
            ["--model", "anthropic/claude-sonnet-4-0"],
            ["gives no log-probabilities", "binary and score"],
        ),
    ],
)
def test_run_options(cli_inside: Cli, tmp_path: Path, options: list[str], parts: list[str]) -> None:
    (tmp_path / "nocontext.txt").write_text("Query: {query}")
    (tmp_path / "noquery.txt").write_text("Situation: {context}")
    (tmp_path / "field.txt").write_text("{question} {query} {context}")
    empty = {"CASEWISE_CACHE": str(tmp_path / "cache")}
    assert_refused(cli_inside("run", *options, env=empty), *parts)
    assert not (tmp_path / "logs").exists()


def test_a_log_of_another_task(cli: Cli, tmp_path: Path, casebench: Path) -> None:
    (tmp_path / "other.py").write_text(
        "from inspect_ai import Task, task\n"
        "from inspect_ai.dataset import Sample\n"
        "@task\n"
        "def greeting():\n"
        "    return Task(dataset=[Sample(input='Hello')])\n"
    )
    with FakeServer(lambda request: "Hi") as server:
        inspect_eval(
            ["other.py", "--model", "openai-api/fake/m", "--log-dir", "logs", "--display", "none"],
            tmp_path,
            clean_env() | {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url},
        )
    assert_refused(cli("score", "logs"), "a log of another task", "greeting")
    (log,) = (tmp_path / "logs").glob("*.eval")
    assert_refused(cli("score", log), "a log of another task", "greeting")
    # Beside something that can be scored, it is passed over with a note.
    (tmp_path / "logs/output_binary.json").symlink_to(
        casebench / "exp/safety_gpt-4o/output_binary.json"
    )
    done = cli("score", "logs", "--format", "json")
    assert done.returncode == 0
    assert "passed over" in done.stderr
    assert "another task" in done.stderr
    assert len(model_rows(done.stdout)) == 1


def test_a_provider_without_log_probabilities(cli: Cli, tmp_path: Path) -> None:
    lines = [json.dumps(CASE | {"query": f"q{n}"}) for n in range(200)]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines))
    with FakeServer(lambda request: "safe") as server:
        done = cli(
            *("run", "--model", "openai-api/fake/m", "--cases", "cases.jsonl"),
            env={"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url},
        )
        # Found out at the first answers, not after asking all 200.
        assert len(server.requests) <= 40
    assert_refused(done, "gives no log-probabilities", "binary and score")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["score", ""], "PATH..."),
        (["gate", ""], "RUN"),
        (["compare", "logs", ""], "BEFORE AFTER..."),
        (["run", "--log-dir="], "--log-dir"),
        (["run", "--cases", ""], "--cases"),
        (["cases", "validate", ""], "FILE"),
    ],
)
def test_an_empty_path_is_no_folder(cli_inside: Cli, command: list[str], name: str) -> None:
    """A variable of the shell that is not set gives it; Python takes it for the current folder."""
    assert_refused(cli_inside(*command), f"{name} is empty", "Is a variable of the shell not set?")
