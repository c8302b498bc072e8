"""Judgements in CASE-Bench's format: read back, they score as they did."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.actors import SAFE, write_cases
from support.fake_openai import FakeServer
from support.tables import judgement, table

LLAMA = "safety_llama370B"
FILES = ("output_logits.json", "output_logits_recipient.json")
UNLIKE = ("run_id", "dataset_hash", "variant", "prompt_version", "faithfulness", "mass", "cut")
"""What upstream's format has no place for."""


def scores(cli: Cli, *arguments: str | Path) -> dict[tuple[str, ...], dict[str, Any]]:
    done = cli("score", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    for row in rows:
        row["verdict"] = row.get("verdict", [])[1:]  # The first sentence is of the plan.
    return {
        tuple(str(row.get(name)) for name in ("model", "protocol", "ablation", "of")): {
            name: value for name, value in row.items() if name not in UNLIKE
        }
        for row in rows
    }


@pytest.mark.slow
def test_published_files_come_back_as_they_were(
    cli_inside: Cli, tmp_path: Path, casebench: Path
) -> None:
    source = tmp_path / "exp" / LLAMA
    source.mkdir(parents=True)
    for name in FILES:
        (source / name).symlink_to(casebench / "exp" / LLAMA / name)
    done = cli_inside("export", "exp", "--to", "casebench", "--out", "again", "--reveal")
    assert done.returncode == 0, done.stderr
    for name in FILES:
        old = json.loads((source / name).read_text("utf-8"))
        assert json.loads((tmp_path / "again" / LLAMA / name).read_text("utf-8")) == old


def test_own_runs_score_alike_to_the_last_digit(cli: Cli, tmp_path: Path) -> None:
    write_cases(tmp_path / "cases.jsonl", 6)

    def answer(request: dict[str, Any]) -> Any:
        text = str(request["messages"][-1]["content"])
        sure = -0.1 * (1 + text.count("2")) if SAFE in text else -2.3
        if request.get("logprobs"):
            return {"safe": sure, "unsafe": -1.1}
        if "fence 4 " in text:
            return "Who can say?"
        if "scale of 1 to 10" in text:
            return f"Judgement: {7.5 if SAFE in text else 3}"
        return "Judgement: safe" if SAFE in text else "Judgement: unsafe"

    command = ["run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--log-dir", "logs"]
    with FakeServer(answer) as server:
        env = {"FAKE_API_KEY": "k", "FAKE_BASE_URL": server.url}
        done = cli(*command, "--protocol", "binary,score,probability", env=env)
        assert done.returncode == 0, done.stderr
        done = cli(*command, "--protocol", "probability", "--ablate", "recipient", env=env)
        assert done.returncode == 0, done.stderr
    done = cli("export", "logs", "--to", "casebench", "--out", "exp", "--reveal")
    assert done.returncode == 0, done.stderr
    files = sorted(file.name for file in (tmp_path / "exp").rglob("*.json") if file.name[0] != ".")
    modes = ["binary", "logits", "logits_recipient", "score"]
    assert files == [f"output_{mode}.json" for mode in modes]
    # A parameter that was removed stands in no context.
    removed = (tmp_path / "exp/safety_openai-api-fake-m/output_logits_recipient.json").read_text()
    assert [record["context"].keys() for record in json.loads(removed)] == [
        {"sender", "transmission_principle"}
    ] * 12
    found, wanted = scores(cli, "exp"), scores(cli, "logs")
    assert found == wanted
    assert ("openai-api/fake/m", "probability", "recipient", "None") in found


CONTEXT = {"sender": {"platform_type": "a help desk"}}


def case(query: str = "q", side: Any = "safe", **fields: Any) -> dict[str, Any]:
    given = {"query": query, "context": CONTEXT, "intended": side, "id": f"{query}-{side}"}
    return given | fields


def exported(
    cli: Cli, folder: Path, rows: list[dict[str, Any]], cases: list[dict[str, Any]]
) -> tuple[int, str, list[Any]]:
    """The status, what was told, and the records of each file."""
    table(*rows).write_parquet(folder / "t.parquet")
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    options = ("--to", "casebench", "--out", "exp", "--reveal")
    done = cli("export", "t.parquet", "--cases", "cases.jsonl", *options)
    files = sorted((folder / "exp").glob("*/*.json"))
    told = " ".join(done.stderr.split())
    return done.returncode, told, [json.loads(file.read_text("utf-8")) for file in files]


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": "respond", "status": "ok", "response_class": "refusal"},
        {"delivery": "none"},
        {"variant": "greedy;swap=recipient"},
        {"ablation": "a/b"},
    ],
)
def test_conditions_without_a_place_are_named(
    cli_inside: Cli, tmp_path: Path, change: dict[str, Any]
) -> None:
    reason = "with the context in the prompt and nothing else changed"
    status, told, files = exported(cli_inside, tmp_path, [judgement() | change], [case()])
    assert (status, files) == (2, [])
    assert reason in told
    rows = [judgement(), judgement() | change]
    status, told, (records,) = exported(cli_inside, tmp_path, rows, [case()])
    assert (status, len(records)) == (0, 1)
    assert reason in told


def test_cases_without_a_place_are_counted(cli_inside: Cli, tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"context": None, "intended": None},
        {"votes": {"safe": 15, "unsafe": 6}},
        {"query_id": "mine"},
        {"id": "elsewhere"},
    ]
    names = "bcde"
    cases = [case(name, **fields) for name, fields in zip(names, wrong, strict=True)]
    rows = [judgement("a"), *map(judgement, names)]
    _, told, (records,) = exported(cli_inside, tmp_path, rows, [case("a"), *cases])
    assert [record["query"] for record in records] == ["a"]
    assert "left out 3 cases: upstream's format has one case a query" in told
    assert "left out 1 case: their whole text is not among the paths" in told


def test_a_run_that_its_file_could_not_tell_apart_is_left_out(
    cli_inside: Cli, tmp_path: Path
) -> None:
    ways = [{"run_id": "1"}, {"run_id": "2", "variant": "reference"}]
    rows = [judgement(p_safe=0.9 - n / 10) | way for n, way in enumerate(ways)]
    cases = [case(votes={"safe": 15, "unsafe": 5})]
    _, told, files = exported(cli_inside, tmp_path, rows, cases)
    assert [record for (record,) in files] == [
        {
            "scores": [1] * 15 + [2] * 5,
            "query": "q",
            "context": CONTEXT,
            "context_intended_to_be_safe": True,
            "safe_rate": None,
            "category": None,
            "m": 0.9,
        }
    ]
    assert "export it by itself" in told
