"""Intervals of published outputs beside those of a script that has nothing of casewise."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli

pytestmark = pytest.mark.slow
SCRIPT = ROOT / "tests/statistics/independent.py"
CHANGED = ("accuracy", "safe_recall", "unsafe_recall", "pcc")


@pytest.mark.parametrize(("queries", "least"), [(450, 20), (28, 8)])
def test_published_intervals_are_recomputed(
    cli: Cli, casebench: Path, tmp_path: Path, queries: int, least: int
) -> None:
    paths = []
    for model in ("safety_gpt-4o", "safety_llama370B"):
        records = json.loads((casebench / "exp" / model / "output_score.json").read_text("utf-8"))
        path = tmp_path / model / "output_score.json"
        path.parent.mkdir()
        path.write_text(json.dumps(records[: 2 * queries]), "utf-8")
        paths.append(path)
    done = subprocess.run(
        [sys.executable, SCRIPT, *paths], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    checked = 0
    for name, path in zip(("before", "after"), paths, strict=True):
        (score, *_) = json.loads(cli("score", path, "--format", "json").stdout)
        for metric, expected in found[name].items():
            checked += agrees(expected, *figure(score, metric))
    pairs = json.loads(cli("compare", *paths, "--format", "json").stdout)["pairs"]
    for metric, expected in found["change"].items():
        (change,) = (pair for pair in pairs if pair["metric"] == metric)
        checked += agrees(expected, change["difference"], change["ci"])
    assert checked >= least


def figure(score: dict[str, Any], metric: str) -> tuple[float, Any]:
    if score[f"{metric}_ci"] is None:
        assert score["withheld"][metric]
    return score[metric], score[f"{metric}_ci"]


def agrees(expected: Any, value: float, ends: Any) -> bool:
    """Hold a figure, and its interval if one is printed, to what was recomputed."""
    assert value == pytest.approx(expected[0], abs=1e-9)
    if ends is not None:
        assert ends == pytest.approx(expected[1], abs=1e-6)
    return ends is not None
