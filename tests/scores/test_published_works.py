"""The script that recomputes published figures: what it prints, and files that it doesn't take.

That the figures are equal stands in the README's table, which ``tests/cli/test_readme.py`` makes.
"""

from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT
from support.scripts import load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script(ROOT / "benchmarks/reproduce/reproduce.py")


def test_an_altered_file_is_not_taken(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "all_predictions.csv").write_text("model,proba_1\n", "utf-8")
    with pytest.raises(SystemExit, match=r"outputs_final/all_predictions\.csv with .*MoralCoT"):
        script.recompute("moralexceptqa", tmp_path)


def test_a_figure_that_differs_is_marked(script: ModuleType) -> None:
    figures = [
        script.Figure("table 1", "m", "refused", published, 50.3, 0.5) for published in (50, 49)
    ]
    lines = list(script.section("legal", figures))
    assert lines[-2:] == ["| m | refused | 50 | 50.3 | 0.5 |", "| m | refused | 49 | 50.3 | no |"]
    assert any("Differences: " in line for line in lines)
    assert script.summary({"legal": figures}).endswith("| legal | 2 | 1 |")
