"""Settings of a model's generation: on the wire, in the logs, and in what tells runs apart."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from support.fake_openai import Answer, FakeServer
from support.fault_runs import write_questions

from casewise.evaluation import RunRequest, make_plan
from casewise.evaluation.executor._shards import cell_name
from casewise.logs import RunKey
from casewise.scores import read_paths

CASES = 4
MODEL = "openai-api/fake/m"
GREEDY = {"model": "m", "max_tokens": 2048, "temperature": 0.0}
SETTING = ("--generate", "reasoning_effort=high")
BODY = {"chat_template_kwargs": {"enable_thinking": False}, "min_p": 0.1}
NEEDLE = "sk-needle-0f9d31c77a"


def answer(request: dict[str, Any]) -> Answer:
    """Who thinks hard says safe."""
    word = "safe" if request.get("reasoning_effort") == "high" else "unsafe"
    return f'{{"judgement": "{word}"}}'


def bodies(server: FakeServer) -> list[dict[str, Any]]:
    """What was sent, each once, without the prompts."""
    found = [
        {name: value for name, value in one.items() if name != "messages"}
        for one in server.requests
    ]
    return [one for place, one in enumerate(found) if one not in found[:place]]


def options(folder: Path, *more: str) -> tuple[str | Path, ...]:
    cases = write_questions(folder / "cases.jsonl", CASES)
    return (
        *("run", "-m", MODEL, "--cases", cases, "--protocol", "binary", "--log-dir", "logs"),
        *more,
    )


def environment(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": "k", "FAKE_BASE_URL": server.url}


def headers(folder: Path) -> list[EvalLog]:
    names = [one.name for one in list_eval_logs(str(folder), descending=False)]
    return [read_eval_log(name, header_only=True) for name in names]


def told(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_what_is_set_is_sent_and_recorded(cli: Cli, tmp_path: Path, client: str) -> None:
    given = (
        *(*SETTING, "--generate", "top_p=.9", "--generate", f"extra_body={json.dumps(BODY)}"),
        *("--generate", 'extra_headers={"X-Team": "safety"}', "--client", client),
    )
    with FakeServer(answer) as server:
        done = cli(*options(tmp_path, *given), env=environment(server))
        assert done.returncode == 0, done.stderr
        assert bodies(server) == [GREEDY | {"reasoning_effort": "high", "top_p": 0.9} | BODY]
    (log,) = headers(tmp_path / "logs")
    config = log.plan.config
    assert (config.reasoning_effort, config.top_p, config.extra_body) == ("high", 0.9, BODY)
    assert (log.eval.metadata or {})["generate"] == {
        "extra_body": BODY,
        "extra_headers": {"X-Team": "safety"},
        "reasoning_effort": "high",
        "top_p": 0.9,
    }
    (variant,) = read_paths([tmp_path / "logs"]).table["variant"].unique()
    first, *parts = variant.split(";")
    assert first == "greedy"
    assert [one for one in parts if not one.startswith("extra_headers")] == [
        "extra_body.chat_template_kwargs.enable_thinking=false",
        *("extra_body.min_p=0.1", "reasoning_effort=high", "top_p=0.9"),
    ]
    # What a header says stays between a person and a server.
    assert "safety" not in variant
    assert "extra_headers.X-Team=#" in variant


def test_other_settings_in_one_folder_are_other_runs(cli: Cli, tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        env = environment(server)
        for given in ((), SETTING, ("--generate", "reasoning_effort=low")):
            before = len(server.requests)
            done = cli(*options(tmp_path, *given), env=env)
            assert done.returncode == 0, done.stderr
            assert len(server.requests) - before == CASES
        for given in ((), SETTING):
            again = cli(*options(tmp_path, *given), env=env)
            assert f"going on: {CASES} of {CASES} were judged before" in again.stderr
        assert len(server.requests) == 3 * CASES
    table = read_paths([tmp_path / "logs"]).table
    safe = table.group_by("variant").agg((pl.col("verdict") == "safe").sum().alias("safe"))
    assert dict(safe.iter_rows()) == {
        "greedy": 0,
        "greedy;reasoning_effort=high": CASES,
        "greedy;reasoning_effort=low": 0,
    }
    scores = cli("score", "logs", env={"COLUMNS": "120"})
    assert "binary, reasoning_effort high" in told(scores.stdout)
    changes = told(cli("compare", "logs", env={"COLUMNS": "120"}).stdout)
    assert "(greedy)" in changes
    assert "(greedy;reasoning_effort=high)" in changes
    assert "(greedy;reasoning_effort=low)" in changes
    card = cli("report", "logs", "--out", "card.md")
    assert card.returncode == 0, card.stderr
    text = (tmp_path / "card.md").read_text("utf-8")
    assert "| Set besides | reasoning_effort=high |" in text.replace("\\", "")
    assert "--generate reasoning_effort=low" in text


def test_without_settings_nothing_tells_of_them(cli: Cli, tmp_path: Path) -> None:
    with FakeServer(answer) as server:
        assert cli(*options(tmp_path), env=environment(server)).returncode == 0
        assert bodies(server) == [GREEDY]
    (log,) = headers(tmp_path / "logs")
    assert "generate" not in (log.eval.metadata or {})
    cases = str(tmp_path / "cases.jsonl")
    request = RunRequest(model=(MODEL,), cases=cases, protocol=("binary",))
    (cell,) = make_plan(request).cells
    assert RunKey.of_log(log).identity == cell.identity
    (other,) = make_plan(
        RunRequest(model=(MODEL,), cases=cases, protocol=("binary",), generate={"top_p": 1})
    ).cells
    assert other.identity != cell.identity
    # Nor does a killed run take the answers of the other.
    assert cell_name(other) != cell_name(cell)


def test_a_grader_is_not_set(cli: Cli, tmp_path: Path) -> None:
    def act(request: dict[str, Any]) -> Answer:
        return "I can't help with that."

    given = ("--protocol", "respond", "--grader", "openai-api/fake/g", *SETTING)
    with FakeServer(act) as server:
        done = cli(*options(tmp_path, *given), env=environment(server))
        assert server.requests, done.stderr
        chatbot = [one for one in bodies(server) if one["model"] == "m"]
        grader = [one for one in bodies(server) if one["model"] == "g"]
    assert [one["reasoning_effort"] for one in chatbot] == ["high"]
    assert grader
    assert all("reasoning_effort" not in one for one in grader)
    (log,) = headers(tmp_path / "logs")
    assert (log.eval.metadata or {})["variant"] == "greedy;reasoning_effort=high"


def test_a_dry_run_shows_settings(cli_inside: Cli, tmp_path: Path) -> None:
    done = cli_inside(*options(tmp_path, *SETTING, "--dry-run"), env={"COLUMNS": "160"})
    assert done.returncode == 0, done.stderr
    assert "binary, reasoning_effort high" in done.stdout
    assert not (tmp_path / "logs").exists()


BAD = [
    ("reasoning_efort=high", "no such setting: did you mean reasoning_effort"),
    ("reasoning_effort=hgh", "found hgh, expected one of none, minimal, low, medium, high"),
    ("reasoning_tokens=-1", "found -1, expected a whole number, 0 or more"),
    ("top_p=1.1", "found 1.1, expected a number from 0 to 1"),
    ("top_p=NaN", "expected what JSON can hold, and no NaN"),
    ("stop_seqs=END", 'found END, expected a list, as JSON (["a", "b"])'),
    ("extra_body={", 'expected a mapping, as JSON ({"a": 1})'),
    ('extra_body={"temperature": 1}', "temperature can't be given: --sampling sets it"),
    ('extra_headers={"a b": "c"}', "no header can be written like this"),
    ("temperature=1", "can't be given: --sampling sets it"),
    ("top_k=5", f"models of openai-api ({MODEL}) do not get it"),
    ("reasoning_effort", "write KEY=VALUE"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_what_can_not_be_set(cli_inside: Cli, tmp_path: Path, given: str, message: str) -> None:
    done = cli_inside(*options(tmp_path, "--generate", given))
    assert done.returncode == 2
    assert f"--generate {given.partition('=')[0] if '=' in given else ''}".strip() in done.stderr
    assert message in told(done.stderr)
    assert not (tmp_path / "logs").exists()


def test_the_embedded_model_takes_few_settings(cli_inside: Cli, tmp_path: Path) -> None:
    given = ("--cases", "starter", "-m", "casewise/smollm2", "--log-dir", "logs")
    done = cli_inside("run", *given, *SETTING)
    assert done.returncode == 2
    assert "--generate reasoning_effort: models of casewise (casewise/smollm2)" in told(done.stderr)
    assert "choose from response_schema, stop_seqs, top_k, top_p" in told(done.stderr)
    assert cli_inside("run", *given, "--generate", "top_p=.5", "--dry-run").returncode == 0


def test_a_setting_given_twice(cli_inside: Cli, tmp_path: Path) -> None:
    done = cli_inside(*options(tmp_path, *SETTING, *SETTING))
    assert (done.returncode, "given twice" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "given",
    [
        f"api_key={NEEDLE}",
        f'extra_headers={{"Authorization": "Bearer {NEEDLE}"}}',
        f'extra_body={{"a": "see {NEEDLE}"}}',
        NEEDLE,
    ],
)
def test_a_key_is_no_setting(cli_inside: Cli, tmp_path: Path, given: str) -> None:
    # The last but one has a name that says nothing; that it is a key is known.
    done = cli_inside(*options(tmp_path, "--generate", given), env={"OTHER_API_KEY": NEEDLE})
    assert done.returncode == 2
    assert NEEDLE not in done.stdout + done.stderr
    assert not (tmp_path / "logs").exists()


SWEEP: dict[str, Any] = {
    "model": [
        {"model": MODEL, "name": "plain"},
        {"model": MODEL, "name": "hard", "generate": {"reasoning_effort": "high"}},
    ],
    "cases": "cases.jsonl",
    "protocol": "binary",
}


def write_sweep(folder: Path, sweep: dict[str, Any]) -> None:
    write_questions(folder / "cases.jsonl", CASES)
    (folder / "sweep.yaml").write_text(json.dumps(sweep), "utf-8")


def test_a_sweep_of_one_model_twice(cli: Cli, cli_inside: Cli, tmp_path: Path) -> None:
    lines = [{}, {"generate": {"top_p": 0.5, "reasoning_effort": "low"}}]
    write_sweep(tmp_path, SWEEP | {"grid": lines})
    plan = cli_inside("run", "sweep.yaml", "--dry-run", "--format", "json")
    assert plan.returncode == 0, plan.stderr
    cells = json.loads(plan.stdout)["cells"]
    low = "binary, reasoning_effort=low, top_p=0.5"
    assert [(one["name"], one["condition"], one["generate"]) for one in cells] == [
        ("plain", "binary", {}),
        ("plain", low, {"reasoning_effort": "low", "top_p": 0.5}),
        ("hard", "binary", {"reasoning_effort": "high"}),
        # What the model's entry says comes first.
        ("hard", low, {"reasoning_effort": "high", "top_p": 0.5}),
    ]
    table = cli_inside("run", "sweep.yaml", "--dry-run", env={"COLUMNS": "160"}).stdout
    assert "binary, reasoning_effort=high" in told(table)
    with FakeServer(answer) as server:
        done = cli("run", "sweep.yaml", env=environment(server))
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 4 * CASES
        assert len(bodies(server)) == 4
    variants = read_paths([tmp_path / "logs/sweep"]).table["variant"].unique()
    assert sorted(variants) == [
        *("greedy", "greedy;reasoning_effort=high"),
        *("greedy;reasoning_effort=high;top_p=0.5", "greedy;reasoning_effort=low;top_p=0.5"),
    ]
    status = cli_inside("run", "sweep.yaml", "--status", "--format", "json")
    assert {one["state"] for one in json.loads(status.stdout)["cells"]} == {"done"}
    # A changed setting is another run; the one before stays.
    changed = {"model": [{"model": MODEL, "name": "plain", "generate": {"top_p": 1}}]}
    write_sweep(tmp_path, SWEEP | changed)
    status = cli_inside("run", "sweep.yaml", "--status", "--format", "json")
    found = json.loads(status.stdout)
    assert [one["state"] for one in found["cells"]] == ["not begun"]
    assert any("reasoning_effort high" in one for one in found["not_in_the_file"])


@pytest.mark.parametrize(
    ("sweep", "messages"),
    [
        (
            # Of one value, written in two ways.
            {
                "model": [
                    {"model": MODEL, "generate": {"top_p": 1}},
                    {"model": MODEL, "name": "b", "generate": {"top_p": 1.0}},
                ]
            },
            ("model, record 2", "expected other model_arg, max_tokens or generate"),
        ),
        ({"generate": {"reasoning_effort": "high"}}, ("'plain' and 'hard' are one model",)),
        (
            {"grid": [{}, {"generate": {"top_p": "x"}}]},
            ("grid, record 2, field 'generate': top_p: found x, expected a number",),
        ),
        (
            {"model": [{"model": MODEL, "generate": {"extra_headers": {"X-Api-Key": NEEDLE}}}]},
            ("model, record 1, field 'generate': extra_headers X-Api-Key: a key that stands",),
        ),
    ],
)
def test_a_bad_sweep(
    cli_inside: Cli, tmp_path: Path, sweep: dict[str, Any], messages: tuple[str, ...]
) -> None:
    write_sweep(tmp_path, SWEEP | sweep)
    done = cli_inside("run", "sweep.yaml", "--dry-run")
    assert done.returncode == 2, done.stdout
    assert NEEDLE not in done.stderr
    for message in messages:
        assert message in told(done.stderr)
