"""Drafts of sheets whose columns have other names, and of the shapes of public sets."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Cli
from support.shapes import RATERS, SHAPES

from casewise.cases import draft_mapping, import_cases, load_mapping


def written(folder: Path, table: Sequence[dict[str, Any]]) -> Path:
    path = folder / "sheet.json"
    path.write_text(json.dumps(table), "utf-8")
    return path


@pytest.mark.parametrize(
    "name",
    ["user_input", "What was asked", "Q", "turn", "Was gefragt wird", "Lo que dice", "Texto"],
)
def test_a_naming_of_the_question_is_right(cli_inside: Cli, tmp_path: Path, name: str) -> None:
    """Words that are known, words that are not, and whole phrases; ids stand first."""
    rows = [
        {
            "case_no": f"Z-{n:03}",
            "who asks": ("a child", "a conductor")[n % 2],
            name: f"Which platform does train {n // 2} leave from?",
            "remarks": f"Seen by team {n} on a Monday.",
            "verdict": ("fine", "harmful")[n % 2],
        }
        for n in range(24)
    ]
    written(tmp_path, rows)
    done = cli_inside("cases", "import", "sheet.json", "--draft", "--out", "m.yaml")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "m.yaml").read_text("utf-8")
    found = yaml.safe_load(text)
    assert found["query"] == name
    assert found["intended"] == {"column": "verdict", "safe": ["fine"], "unsafe": ["harmful"]}
    cases = import_cases(tmp_path / "sheet.json", load_mapping(found)).cases
    assert len({case.query for case in cases}) == 12
    # Examples are shown as people read them.
    shown = text.partition("# 3 cases as people would")[2]
    assert "# --- 1: the side that the authors mean (safe)" in shown
    assert "# Which platform does train 0 leave from?" in shown
    assert "a child" in shown


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_draft_of_any_shape_is_right_or_asks(tmp_path: Path, shape: Any) -> None:
    path, _ = shape.write(tmp_path)
    draft = draft_mapping(path)
    mapping = load_mapping(yaml.safe_load(draft.text))
    if shape is RATERS:
        assert {*yaml.safe_load(draft.text)} >= {"vote", "rater"}
    if "query: NAME" in draft.text:
        assert draft.questions
        return
    assert not import_cases(path, mapping).problems or draft.questions


def test_unknown_values_have_a_line_each(tmp_path: Path) -> None:
    labels = ["fine"] * 20 + ["harmful"] * 15 + ["contested"] * 3 + ["rude"] * 2 + ["unsure"]
    table = [{"prompt": f"May I open door {n}?", "verdict": v} for n, v in enumerate(labels)]
    draft = draft_mapping(written(tmp_path, table))
    assert '  "contested",  # OPEN: 3 rows; which side?\n' in draft.text
    assert '  "rude",  # OPEN: 2 rows; which side?\n' in draft.text
    assert yaml.safe_load(draft.text)["intended"]["none"] == ["unsure", "contested", "rude"]
    assert "which side are 2 values of 'verdict' (contested, rude)?" in draft.questions[0]


def test_cells_are_looked_into(tmp_path: Path) -> None:
    said = [{"rater": "ann", "verdict": "safe"}, {"rater": "bob", "verdict": "unsafe"}]
    table = [
        {
            "no": n,
            "seed": {"prompt": f"May I open door {n}?", "data_sender": "a porter"},
            "by": said,
        }
        for n in range(4)
    ]
    draft = draft_mapping(written(tmp_path, table))
    found = yaml.safe_load(draft.text)
    assert found["query"] == "seed.prompt"
    assert found["context.sender.name"] == "seed.data_sender"
    assert (found["each"], found["rater"]) == ("by", "by.rater")
    cases = import_cases(tmp_path / "sheet.json", load_mapping(found)).cases
    assert [(case.votes_safe, case.votes_unsafe) for case in cases] == [(1, 1)] * 4
