"""Drafts of mappings, at the command: a draft is right, or asks."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from conftest import ROOT, Cli, cli_in
from hypothesis import given, settings
from hypothesis import strategies as st
from support.drafts import DRAFTS
from support.refusals import refused
from support.shapes import RATERS, SHAPES, Shape
from support.workbooks import write_workbook

import casewise as cw

STRANGERS = ROOT.parent / "shared/data/strangers"


def drafted(cli: Cli, file: Path) -> tuple[str, dict[str, Any], str]:
    """The draft, what it guesses, and its open questions."""
    if not file.is_file():
        pytest.skip(f"the input is not at {file}")
    done = cli("cases", "import", file, "--draft", "--out", "m.yaml")
    assert done.returncode == 0, done.stderr
    text = cli("cases", "import", file, "--draft").stdout
    found = yaml.safe_load(text)
    asked = re.findall(r"(?ms)open: (.*?)(?=^note: |\Z)", done.stderr)
    return text, found, " ".join(" ".join(asked).split())


def imported(cli: Cli, folder: Path, file: Path) -> Any:
    """The cases that the unedited draft makes."""
    done = cli("cases", "import", file, "--map", "m.yaml", "--out", "cases.jsonl")
    assert done.returncode == 0, done.stderr
    return cw.load_cases(folder / "cases.jsonl")


@pytest.mark.parametrize("wanted", DRAFTS, ids=lambda one: one["name"])
def test_a_draft_is_right_or_asks(cli_inside: Cli, tmp_path: Path, wanted: dict[str, Any]) -> None:
    file = tmp_path / ("t.csv" if "csv" in wanted else "t.json")
    file.write_text(wanted["csv"] if "csv" in wanted else json.dumps(wanted["json"]), "utf-8")
    text, found, asked = drafted(cli_inside, file)
    guesses = wanted.get("guesses", {})
    assert {key: found.get(key) for key in guesses} == guesses
    assert not {*wanted.get("lacks", ())} & {*found}
    for line in wanted.get("text", ()):
        assert line in text
    for question in wanted.get("asks", ()):
        assert question in asked
    assert bool(asked) == bool(wanted.get("asks"))
    if "cases" in wanted:
        assert len(imported(cli_inside, tmp_path, file)) == wanted["cases"]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_draft_of_any_shape_is_right_or_asks(
    cli_inside: Cli, tmp_path: Path, shape: Shape
) -> None:
    path, _ = shape.write(tmp_path)
    _, found, asked = drafted(cli_inside, path)
    if shape is RATERS:
        assert {*found} >= {"vote", "rater"}
    if not asked:
        assert len(imported(cli_inside, tmp_path, path)) > 0


@pytest.mark.parametrize(
    "name", ["user_input", "What was asked", "Q", "turn", "Was gefragt wird", "Lo que dice"]
)
def test_a_naming_of_the_question_is_right(cli_inside: Cli, tmp_path: Path, name: str) -> None:
    """Words that are known, words that are not, and whole phrases; all rows are read."""
    rows = [
        {
            "case_no": f"Z-{n:03}",
            "who asks": ("a child", "a conductor")[n % 2],
            name: f"Which platform does train {n // 2} leave from?",
            "remarks": f"Seen by team {n} on a Monday.",
            "verdict": "contested" if n == 1000 else ("fine", "harmful")[n % 2],
        }
        for n in range(1001)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    text, found, _ = drafted(cli_inside, tmp_path / "t.csv")
    assert "# Guessed from all 1001 rows." in text
    assert found["query"] == name
    wanted = {"column": "verdict", "safe": ["fine"], "unsafe": ["harmful"], "none": ["contested"]}
    assert found["intended"] == wanted
    # Examples are shown as people read them.
    shown = (tmp_path / "m.yaml").read_text("utf-8").partition("# 3 cases as people would")[2]
    assert "# --- 1: the side that the authors mean (safe)" in shown
    assert "# Which platform does train 0 leave from?" in shown
    assert "a child" in shown


# --- what strangers brought ---------------------------------------------------------------------


def test_one_of_two_channels_is_asked_for(cli_inside: Cli) -> None:
    _, found, asked = drafted(cli_inside, STRANGERS / "policy_two_channels.xlsx")
    assert "intended" not in found
    assert asked.startswith(
        "which column is the label (intended): 'Web widget', 'WhatsApp line'? Or is each a context"
    )


def test_nested_contexts_are_asked_for(cli_inside: Cli, tmp_path: Path) -> None:
    file = STRANGERS / "contexts_nested.json"
    _, found, asked = drafted(cli_inside, file)
    assert not [key for key in found if key.startswith("context")]
    assert "'contexts'" in asked
    assert all(case.context is None for case in imported(cli_inside, tmp_path, file))


def test_rows_of_annotators_are_gathered(cli_inside: Cli, tmp_path: Path) -> None:
    """120 rows are 24 cases of 5 votes each; who is unsure abstains."""
    file = STRANGERS / "votes_long.csv"
    assert drafted(cli_inside, file)[2] == ""
    cases = imported(cli_inside, tmp_path, file)
    assert len(cases) == 24
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for case in cases:
        place = case.context.root["situation"]["scenario"]
        said = [
            row["annotation"]
            for row in rows
            if (row["text"], row["scenario"]) == (case.query, place)
        ]
        safe, unsafe = said.count("appropriate"), said.count("not appropriate")
        assert (case.votes_safe, case.votes_unsafe) == (safe, unsafe)


# --- any table ----------------------------------------------------------------------------------

NAME = st.text(min_size=1, max_size=10)
CELL = st.none() | st.text(max_size=8) | st.integers() | st.floats(allow_nan=False)
MORE = CELL | st.lists(CELL, max_size=2) | st.dictionaries(st.text(max_size=3), CELL, max_size=2)


@settings(max_examples=30)
@given(st.lists(st.dictionaries(NAME, MORE, min_size=1, max_size=5), min_size=1, max_size=5))
def test_every_table_gets_a_draft_that_loads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "t.json").write_text(json.dumps(rows))
    cli = cli_in(folder)
    done = cli("cases", "import", "t.json", "--draft", "--out", "m.yaml")
    assert done.returncode == 0, done.stderr
    done = cli("cases", "import", "t.json", "--map", "m.yaml", "--dry-run", "--skip-bad")
    # Only what it asks for may be absent.
    if done.returncode:
        said = " ".join(done.stderr.split())
        assert "no row became a case" in said or "found 'NAME'" in said, said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["t.csv", "--draft", "--map", "m.yaml"], "give one of the two"),
        (["t.csv", "--draft", "--out", "m.jsonl"], "a mapping is a .yaml file"),
        (["--draft"], "what to import"),
    ],
)
def test_wrong_inputs(cli_inside: Cli, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "t.csv").write_text("ask,ok\nMay I?,yes\nMay you?,no\n")
    refused(cli_inside("cases", "import", *arguments), message)


def test_a_table_in_place_of_cases_names_the_way_to_them(cli_inside: Cli, tmp_path: Path) -> None:
    frame = pl.DataFrame({"ask": ["Où?"], "ok": ["yes"]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    (tmp_path / "cp1252.csv").write_bytes(frame.write_csv().encode("cp1252"))
    write_workbook(tmp_path / "t.xlsx", {"S": [["ask", "ok"], ["Où?", "yes"]]})
    for command in (
        ("cases", "validate", "t.csv"),
        ("describe", "cp1252.csv"),
        ("cases", "audit", "t.xlsx"),
        ("run", "--dry-run", "--cases", "t.parquet"),
        ("contexts", "generate", "--dry-run", "-m", "a/b", "--out", "c.jsonl", "."),
    ):
        done = cli_inside(*command)
        assert done.returncode == 2, done.stderr
        assert "cases import --draft" in " ".join(done.stderr.split())
