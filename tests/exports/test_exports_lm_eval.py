"""The task folder: lm-evaluation-harness loads and runs it, and its readers read as ours do."""

import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from conftest import ROOT, clean_env, cli_in
from support.fake_openai import FakeServer
from support.scores import model_rows
from support.scripts import load_script
from support.tables import random_table

import casewise as cw

TIE = {
    "id": "tie",
    "query": "Why does {{query}} say {context}?\nAnd {% if %}?",
    "context": {"sender": {"note": "{query}"}},
    "votes": {"safe": 10, "unsafe": 10},
}
"""Braces and templates in a query, over which people are divided."""


def write_task(folder: Path, *cases: dict[str, Any]) -> Path:
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    done = cli_in(folder)(
        *("export", "--to", "lm-eval", "--cases", "cases.jsonl", "--reveal", "--out", "task")
    )
    assert done.returncode == 0, done.stderr
    return folder / "task"


PROTOCOLS = ("binary", "probability", "score")
RUN = """
import json, sys
import lm_eval
from lm_eval.tasks import TaskManager
manager = TaskManager(include_path=sys.argv[1], include_defaults=False)
done = lm_eval.simple_evaluate(
    model="dummy", tasks=["casewise"], task_manager=manager, log_samples=True, bootstrap_iters=0
)
sent = {name: [one["arguments"] for one in rows] for name, rows in done["samples"].items()}
print(json.dumps([manager.all_tasks, done["results"], sent], default=str))
"""


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    starter = cw.load_cases("starter").to_dicts()[:8]
    return write_task(tmp_path_factory.mktemp("lm"), *starter, TIE)


@pytest.fixture(scope="module")
def utils(task: Path) -> ModuleType:
    return load_script(task / "utils.py")


def documents(folder: Path, name: str) -> list[dict[str, Any]]:
    lines = (folder / f"{name}.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


@pytest.mark.slow
def test_the_harness_runs_it(tmp_path: Path) -> None:
    votes = {"votes": {"safe": 9, "unsafe": 11}}
    cases = [one | votes for one in cw.load_cases("starter").to_dicts()[:4]]
    # Moved: the folder finds its data wherever it stands.
    write_task(tmp_path, *cases, TIE).rename(tmp_path / "moved")
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run(
        [sys.executable, "-c", RUN, "moved"],
        cwd=tmp_path,
        env=clean_env() | offline,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names, results, sent = json.loads(done.stdout.splitlines()[-1])
    assert names == ["casewise", *(f"casewise_{one}" for one in PROTOCOLS)]
    # The dummy model says "lol", which nobody can read, and gives likelihoods by dice.
    for name in ("casewise_binary", "casewise_score"):
        assert results[name]["coverage,none"] == 0
        assert math.isnan(results[name]["accuracy,none"])
    found = results["casewise_probability"]
    assert 0 < found["brier,none"] < 1
    assert 0 <= found["accuracy,none"] <= 1

    # Prompts are sent as casewise sends them, whatever stands in the query.
    def answer(request: dict[str, Any]) -> Any:
        return {"safe": -0.1, "unsafe": -2.3} if request.get("logprobs") else "lol"

    for protocol in PROTOCOLS:
        with FakeServer(answer) as server:
            cli_in(tmp_path)(
                *("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl"),
                *("--protocol", protocol, "--log-dir", f"logs-{protocol}"),
                env={"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url},
            )
            wanted = set(server.prompts)
        assert {one[0][0] for one in sent[f"casewise_{protocol}"]} == wanted


def test_documents_name_their_labels(task: Path) -> None:
    rows = documents(task, "documents")
    config = yaml.load((task / "casewise_binary.yaml").read_text(), yaml.BaseLoader)
    # The starter cases have no votes: the one tie has the label of the rule "votes".
    assert config["metadata"]["label_rule"] == "votes"
    assert [(row["id"], row["label"], row["safe"], row["rate"]) for row in rows] == [
        ("tie", "tie", 0.5, 0.5)
    ]


def readings(protocol: str) -> list[dict[str, Any]]:
    """English answers that no limit cut, and how casewise reads them."""
    rows = documents(ROOT / "tests/data", "readings")
    return [row for row in rows if row["protocol"] == protocol and not {"language", "cut"} & {*row}]


def test_verdicts_are_read_as_by_casewise_or_not_at_all(utils: ModuleType) -> None:
    found = [(row, utils.read_verdict(row["answer"])) for row in readings("binary")]
    read = [(row, safe) for row, safe in found if safe is not None]
    assert [row for row, safe in read if row.get("verdict") != ("safe" if safe else "unsafe")] == []
    assert len(read) > 30


def test_scores_are_read_as_by_casewise_or_not_at_all(utils: ModuleType) -> None:
    found = [(row, utils.read_score(row["answer"])) for row in readings("score")]
    read = [(row, score) for row, score in found if score is not None]
    assert [row for row, score in read if row.get("raw_score") != score] == []
    assert len(read) > 10
    assert utils.read_score('{"explanation": "Of 3 users.", "judgement": 7}') == 7.0


def test_sums_are_those_of_casewise(utils: ModuleType) -> None:
    rows = random_table(30, 4, model="m", protocol="score")
    judged = []
    totals: dict[str, list[list[float]]] = {}
    for place, row in enumerate(rows.iter_rows(named=True)):
        raw = None if place % 7 == 0 else 1 + place % 10
        p_safe = raw and (raw - 0.5) / 10
        judged.append(
            row
            | {"status": "ok" if raw else "unparsed", "raw_score": raw, "p_safe": p_safe}
            | {"verdict": p_safe and ("safe" if p_safe > 0.5 else "unsafe")}
        )
        rate = row["votes_safe"] / (row["votes_safe"] + row["votes_unsafe"])
        doc = {"safe": 0.5 if rate == 0.5 else float(rate > 0.5), "rate": rate}
        answer = f"Score: {raw}" if raw else "nothing"
        for name, item in utils.process_score(doc, [answer]).items():
            totals.setdefault(name, []).append(item)
    table = type(rows)(judged, schema=rows.schema)
    (score,) = model_rows(json.dumps(cw.score(table, "votes").records()))
    for name in ("coverage", "accuracy", "safe_recall", "unsafe_recall", "brier"):
        assert utils.share(totals[name]) == pytest.approx(score[name]), name
    assert math.isnan(utils.share([]))


def test_a_ratio_of_likelihoods(utils: ModuleType) -> None:
    doc = {"safe": 1.0, "rate": 1.0}
    found = utils.process_probability(doc, [(math.log(0.3), False), (math.log(0.1), True)])
    # .3 / (.3 + .1) = .75, and (.75 - 1)^2 = .0625.
    assert found["accuracy"] == [1.0, 1.0]
    assert found["brier"][0] == pytest.approx(0.0625)
    far = utils.process_probability(doc, [(-2000.0, False), (-1.0, False)])
    assert far["safe_recall"] == [0.0, 1.0]
