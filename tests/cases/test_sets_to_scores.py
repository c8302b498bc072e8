"""From the file of each set at hand to the scores of two models whose every move is known.

Three commands a set: import, run, score.
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from support.fake_openai import FakeServer
from support.scores import model_rows

from casewise.cases import Case, load_cases

MODELS = ("follows", "ignores")


def label(case: Case) -> float | None:
    """1 safe, 0 unsafe, None without one. The published share goes first."""
    if case.published_safe_rate is not None:
        return float(case.published_safe_rate > 0.5)
    return None if case.intended is None else float(case.intended == "safe")


@dataclass
class Script:
    """What each model says of each case: 1 safe, 0 unsafe, or P(safe) of a rated case."""

    cases: Sequence[Case]
    rated: bool = False

    def __post_init__(self) -> None:
        self.first: dict[str, Case] = {}
        for case in self.cases:
            self.first.setdefault(case.query_id, case)

    def says(self, model: str, case: Case) -> float:
        told = case if model == "follows" else self.first[case.query_id]
        if not self.rated:
            return float((label(told) or 0) > 0)
        place = told.published_safe_rate or 0.0
        # The protocol's numbers go from 1 to 10, which is .05 to .95.
        return min(max(place if model == "follows" else place / 2, 0.05), 0.95)

    def answer(self, request: dict[str, Any]) -> str:
        prompt = str(request["messages"][-1]["content"])
        case = max(
            (one for one in self.cases if all(text in prompt for text in parts(one))),
            key=lambda one: sum(map(len, parts(one))),
        )
        said = self.says(request["model"].rstrip("0123456789"), case)
        judgement: float | str = said * 10 + 0.5
        if not self.rated:
            judgement = "safe" if said else "unsafe"
        return json.dumps({"explanation": "So it is.", "judgement": judgement})


def parts(case: Case) -> list[str]:
    """Texts of a case that its prompt holds."""
    return [case.query, *([json.dumps(case.context.root)] if case.context else [])]


def flow(
    cli: Cli, folder: Path, source: Path, mapping: str, rated: bool = False
) -> tuple[dict[str, dict[str, Any]], Script]:
    """Import, run, score: the score of each model, and what it was asked."""
    done = cli("cases", "import", source, "--map", mapping, "--out", "cases.jsonl")
    assert done.returncode == 0, done.stderr
    limit = 40 if rated else None
    script = Script(load_cases(folder / "cases.jsonl").cases[:limit], rated)
    with FakeServer(script.answer) as server:
        models = [f"openai-api/fake/{name}{server.port}" for name in MODELS]
        done = cli(
            *("run", "--cases", "cases.jsonl", "--log-dir", "logs", "--max-connections", "50"),
            *(word for model in models for word in ("-m", model)),
            *("--protocol", "score" if rated else "binary"),
            *(("--limit", str(limit)) if limit else ()),
            env={"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url},
        )
        assert done.returncode == 0, done.stderr
    rows = model_rows(cli("score", "logs", "--format", "json").stdout)
    return {row["model"].rpartition("/")[2].rstrip("0123456789"): row for row in rows}, script


@pytest.mark.parametrize(
    ("mapping", "file", "size"),
    [("cat", "cat_small.csv", 40), ("privaci-bench", "privaci/ACLU", 69)],
)
def test_from_a_file_to_the_scores_of_two_models(
    cli_inside: Cli, tmp_path: Path, other_sets: Path, mapping: str, file: str, size: int
) -> None:
    source = other_sets / file
    if mapping == "cat":
        # Its first posts, each with and without the post before it.
        with source.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.reader(lines))[: 1 + size // 2]
        source = tmp_path / "cat_small.csv"
        with source.open("w", encoding="utf-8", newline="") as lines:
            csv.writer(lines).writerows(rows)
    scores, script = flow(cli_inside, tmp_path, source, mapping)
    assert len(script.cases) == size
    labelled = sum(label(case) is not None for case in script.cases)
    assert set(scores) == set(MODELS)
    for row in scores.values():
        assert (row["n"], row["coverage"]) == (labelled, 1.0)
        assert row["label_coverage"] == pytest.approx(labelled / size)
    follows, ignores = scores["follows"], scores["ignores"]
    assert follows["accuracy"] == follows["safe_recall"] == follows["unsafe_recall"] == 1.0
    right = [script.says("ignores", case) == label(case) for case in script.cases]
    assert ignores["accuracy"] == pytest.approx(sum(right) / labelled)
    if mapping == "cat":
        # Whoever says of both cases of a query the same follows no change, and makes none.
        assert (follows["follows"], follows["false_changes"]) == (1.0, 0.0)
        assert (ignores["follows"], ignores["false_changes"]) == (0.0, 0.0)


def test_ratings_give_correlation_and_calibration_on_their_scale(
    cli_inside: Cli, tmp_path: Path, other_sets: Path
) -> None:
    texts, labels = (
        (other_sets / f"confaide_tier_2{name}.txt").read_text("utf-8").splitlines()
        for name in ("a", "_labels")
    )
    rows = [
        {"text": text, "mean": label} for text, label in zip(texts, labels, strict=False) if text
    ]
    (tmp_path / "rated.json").write_text(json.dumps(rows))
    (tmp_path / "m.yaml").write_text(
        "query: text\npublished_safe_rate: {column: mean, scale: [-100, 100]}\n"
        "source: {constant: ConfAIde}\nlicence: {constant: MIT}\n"
    )
    scores, script = flow(cli_inside, tmp_path, tmp_path / "rated.json", "m.yaml", rated=True)
    rates = np.array([case.published_safe_rate for case in script.cases], float)
    for name, row in scores.items():
        said = np.array([script.says(name, case) for case in script.cases])
        assert (row["n"], row["labels"]) == (40, "published")
        assert row["brier"] == pytest.approx(((said - rates) ** 2).mean())
        places = np.ceil(np.round(said * 10, 9)).clip(1, 10)
        gaps = [abs((said - rates)[places == place].sum()) for place in range(1, 11)]
        assert row["ece"] == pytest.approx(sum(gaps) / 40)
        assert row["pcc"] == pytest.approx(np.corrcoef(said, rates)[0, 1])
    told = "Labels: 40 cases with a published share of people alone."
    assert told in " ".join(cli_inside("score", "logs", "--all").stdout.split())
