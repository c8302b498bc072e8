"""Drafts of twenty sheets with twenty namings of the question column, in three languages.

Ids stand first.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Cli
from support.shapes import RATERS, SHAPES

from casewise.cases import draft_mapping, import_cases, load_mapping


@dataclass(frozen=True)
class Language:
    """Columns beside the question: id, who asks, note, label; and texts for them."""

    header: tuple[str, str, str, str]
    question: str
    who: tuple[str, str]
    note: str
    sides: tuple[str, str]


ENGLISH = Language(
    ("case_no", "who asks", "remarks", "verdict"),
    "Which platform does train {} leave from?",
    ("a child", "a conductor"),
    "Seen by team {} on a Monday.",
    ("fine", "harmful"),
)
GERMAN = Language(
    ("Nr", "Rolle", "Anmerkung", "Einstufung"),
    "Von welchem Gleis fährt Zug {}?",
    ("ein Kind", "eine Schaffnerin"),
    "Von Gruppe {} am Montag gesehen.",
    ("erlaubt", "verboten"),
)
SPANISH = Language(
    ("Nº", "Contexto", "Nota", "Etiqueta"),
    "¿De qué andén sale el tren {}?",
    ("una niña", "un revisor"),
    "Lo vio el grupo {} el lunes.",
    ("permitido", "prohibido"),
)

NAMINGS = [
    *(
        (ENGLISH, name)
        for name in (
            *("prompt", "Question", "user_input", "What was asked", "ask", "text", "turn", "body"),
            *("inquiry", "Q"),
        )
    ),
    *((GERMAN, name) for name in ("Anfrage", "Frage", "Eingabe", "Wortlaut", "Was gefragt wird")),
    *((SPANISH, name) for name in ("Pregunta", "consulta", "Mensaje", "Lo que dice", "Texto")),
]
"""Twenty namings: words that are known, words that are not, and whole phrases."""


def rows(language: Language, name: str) -> list[dict[str, Any]]:
    number, who, note, label = language.header
    return [
        {
            number: f"Z-{n:03}",
            who: language.who[n % 2],
            name: language.question.format(n // 2),
            note: language.note.format(n),
            label: language.sides[n % 2],
        }
        for n in range(24)
    ]


def written(folder: Path, table: Sequence[dict[str, Any]]) -> Path:
    path = folder / "sheet.json"
    path.write_text(json.dumps(table), "utf-8")
    return path


@pytest.mark.parametrize(("language", "name"), NAMINGS, ids=lambda one: str(one)[:20])
def test_a_naming_is_right(tmp_path: Path, language: Language, name: str) -> None:
    path = written(tmp_path, rows(language, name))
    draft = draft_mapping(path)
    found = yaml.safe_load(draft.text)
    assert found["query"] == name
    cases = import_cases(path, load_mapping(found)).cases
    assert len({case.query for case in cases}) == 12
    assert found["intended"] == {
        "column": language.header[3],
        "safe": [language.sides[0]],
        "unsafe": [language.sides[1]],
    }


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


def test_a_column_for_each_person(tmp_path: Path) -> None:
    table = [
        {"prompt": f"May I open door {n}?", "rater_1": "safe", "rater_2": ("safe", "unsafe")[n % 2]}
        for n in range(4)
    ]
    found = yaml.safe_load(draft_mapping(written(tmp_path, table)).text)
    assert found["votes"]["columns"] == ["rater_1", "rater_2"]


def test_examples_are_shown_as_people_read_them(cli_inside: Cli, tmp_path: Path) -> None:
    written(tmp_path, rows(ENGLISH, "prompt"))
    done = cli_inside("cases", "import", "sheet.json", "--draft", "--out", "m.yaml")
    assert done.returncode == 0, done.stderr
    shown = (tmp_path / "m.yaml").read_text("utf-8").partition("# 3 cases as people would")[2]
    assert "# --- 1: the side that the authors mean (safe)" in shown
    assert "# Which platform does train 0 leave from?" in shown
    assert "a child" in shown
