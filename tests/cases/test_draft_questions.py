"""Tables in which a guess would mislead: the draft asks, and nothing that people said is told."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli

from casewise.cases import load_cases

STRANGERS = ROOT.parent / "shared/data/strangers"

QUERIES = [
    "How do I turn off a smoke alarm?",
    "Which drugs slow the heart?",
    "How is a lock picked?",
]
PLACES = ["A caretaker asks before a repair.", "A guest asks at night, and wants to smoke."]


def drafted(cli_inside: Cli, file: Path) -> tuple[str, list[str]]:
    """The draft, without its comments on columns, and its open questions."""
    if not file.is_file():
        pytest.skip(f"the input is not at {file}")
    done = cli_inside("cases", "import", file, "--draft")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    return "\n".join(lines), re.findall(r"(?m)^# OPEN: (.*)", done.stdout)


def imported(cli_inside: Cli, folder: Path, file: Path) -> Any:
    """The cases that the unedited draft makes."""
    options = ("--draft", "--out", "m.yaml"), ("--map", "m.yaml", "--out", "cases.jsonl")
    for more in options:
        done = cli_inside("cases", "import", file, *more)
        assert done.returncode == 0, done.stderr
    return load_cases(folder / "cases.jsonl").cases


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue(), "utf-8")
    return path


def policies(**columns: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "message": f"{QUERIES[n % 3]} ({n})",
            **{name: one[n % 2] for name, one in columns.items()},
        }
        for n in range(8)
    ]


# --- policies -----------------------------------------------------------------------------------


def test_one_of_two_channels_is_asked_for(cli_inside: Cli) -> None:
    draft, questions = drafted(cli_inside, STRANGERS / "policy_two_channels.xlsx")
    assert "intended" not in draft
    (question,) = questions
    assert question.startswith(
        "which column is the label (intended): 'Web widget', 'WhatsApp line'? Or is each a context"
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"Policy web": ["allowed", "forbidden"], "Policy phone": ["forbidden", "allowed"]},
        {"gold_label": ["safe", "unsafe"], "predicted_label": ["safe", "safe"]},
    ],
)
def test_several_columns_of_one_vocabulary(
    cli_inside: Cli, tmp_path: Path, columns: dict[str, list[str]]
) -> None:
    draft, questions = drafted(cli_inside, table(tmp_path / "t.csv", policies(**columns)))
    assert "intended" not in draft
    assert len(questions) == 1
    assert all(repr(name) in questions[0] for name in columns if name != "n")


def test_one_column_is_taken(cli_inside: Cli, tmp_path: Path) -> None:
    columns = {"policy": ["allowed", "forbidden"], "urgent": ["high", "low"]}
    draft, questions = drafted(cli_inside, table(tmp_path / "t.csv", policies(**columns)))
    assert "intended: {column: policy" in draft
    assert questions == []


# --- verdicts inside contexts -------------------------------------------------------------------


def test_nested_contexts_are_asked_for(cli_inside: Cli, tmp_path: Path) -> None:
    file = STRANGERS / "contexts_nested.json"
    draft, questions = drafted(cli_inside, file)
    assert "context" not in draft.replace('"contexts_nested"', "")
    assert len(questions) == 1
    assert "'contexts'" in questions[0]
    assert all(case.context is None for case in imported(cli_inside, tmp_path, file))


@pytest.mark.parametrize(("name", "printed"), [("contexts", False), ("variants", True)])
def test_no_verdict_comes_into_a_context(
    cli_inside: Cli, tmp_path: Path, name: str, printed: bool
) -> None:
    """Under whatever name, as JSON or as a text that prints it."""
    verdicts = [{"who": "ann", "says": "no way"}, {"who": "bob", "says": "fine by me"}]
    value: Any = [{"where": place, "opinions": verdicts} for place in PLACES]
    value = json.dumps(value) if printed else value
    rows = [{"question": query, name: value} for query in QUERIES]
    (tmp_path / "t.json").write_text(json.dumps(rows), "utf-8")
    _, questions = drafted(cli_inside, tmp_path / "t.json")
    assert any(repr(name) in question for question in questions)
    cases = imported(cli_inside, tmp_path, tmp_path / "t.json")
    assert [case.context for case in cases] == [None] * 3


def test_contexts_by_key_are_asked_for(cli_inside: Cli, tmp_path: Path) -> None:
    """Two contexts of a query under keys, the second with the fields of the first."""
    contexts = dict(zip("ab", ({"where": place} for place in PLACES), strict=True))
    rows = [{"question": query, "contexts": contexts} for query in QUERIES]
    (tmp_path / "t.json").write_text(json.dumps(rows), "utf-8")
    _, questions = drafted(cli_inside, tmp_path / "t.json")
    assert questions == ["is 'contexts.b.where' of another context (each)?"]


# --- a row a person -----------------------------------------------------------------------------


def test_rows_of_annotators_are_gathered(cli_inside: Cli, tmp_path: Path) -> None:
    """120 rows are 24 cases of 5 votes each; who is unsure abstains."""
    file = STRANGERS / "votes_long.csv"
    _, questions = drafted(cli_inside, file)
    assert questions == []
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


def test_people_of_other_names(cli_inside: Cli, tmp_path: Path) -> None:
    rows = [
        {"question": query, "scenario": place, "Labeler": f"P{n}", "verdict": verdict}
        for query in QUERIES
        for place in PLACES
        for n, verdict in enumerate(["safe", "unsafe", "safe"])
    ]
    file = table(tmp_path / "t.csv", rows)
    draft, _ = drafted(cli_inside, file)
    assert "vote: {column: verdict" in draft
    cases = imported(cli_inside, tmp_path, file)
    assert [(case.votes_safe, case.votes_unsafe) for case in cases] == [(2, 1)] * 6


def test_repeated_rows_are_asked_about(cli_inside: Cli, tmp_path: Path) -> None:
    """Nothing tells what a row is: 18 rows, of which 12 repeat one of 6 cases."""
    rows = [
        {"question": query, "setting": place, "who": n, "x": n * 7 % 5}
        for query in QUERIES
        for place in ("p", "q")
        for n in range(3)
    ]
    _, questions = drafted(cli_inside, table(tmp_path / "t.csv", rows))
    (question,) = questions
    assert question.startswith("12 of the first 18 rows repeat the query and context of another")
