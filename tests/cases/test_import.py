"""Tables of any kind, through a mapping, to cases: at the front door and the command."""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import cli_in
from support.shapes import ORIGIN, RATERS, SHAPES, TWICE, WIDE, Shape

import casewise as cw
from casewise.errors import InputError

BASE = "query: q\n" + ORIGIN
VOTES = "votes_safe: s\nvotes_unsafe: u\n"


def imported(folder: Path, text: str, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Fields of the cases that a mapping makes of rows."""
    (folder / "map.yaml").write_text(text, "utf-8")
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return cw.load_cases(folder / "rows.jsonl", folder / "map.yaml").to_dicts()


def problem(folder: Path, text: str, *rows: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        imported(folder, text, *rows)
    return str(caught.value)


def counted(folder: Path, text: str, *rows: dict[str, Any]) -> str:
    """What the command says of the same, bad rows left out."""
    with suppress(InputError):
        imported(folder, text, *rows)
    done = cli_in(folder)(
        *("cases", "import", "rows.jsonl", "--map", "map.yaml", "--out", "out.jsonl", "--skip-bad")
    )
    assert done.returncode == 0, done.stderr
    return " ".join(done.stderr.split())


@pytest.mark.filterwarnings("ignore:each|columns of the same|the row of the")
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_comes_in_whole(tmp_path: Path, shape: Shape) -> None:
    found = cw.load_cases(*shape.write(tmp_path)).to_dicts()
    assert len(found) == len(shape.cases)
    for case, wanted in zip(found, shape.cases, strict=True):
        assert {name: case.get(name) or None for name in wanted} == {
            name: value or None for name, value in wanted.items()
        }


SHARE, SIDES, ONE, COUNTS = (
    "published_safe_rate: {column: c, scale: [%s]}\n",
    "intended: {column: c, safe: [ok, 1], unsafe: [bad]}\n",
    "votes: {column: c, safe: [0, ok], unsafe: [1]}\n",
    "votes_safe: c\nvotes_unsafe: c\n",
)


@pytest.mark.parametrize(
    ("text", "cell", "value"),
    [
        (SHARE % "0, 1", "0,25", 0.25),
        (SHARE % "0, 100", 25, 0.25),
        (SHARE % "1, 0", 0.25, 0.75),
        ("published_safe_rate: c\n", "25 %", 0.25),
        (SHARE % "7, 1", 4, 0.5),
        (SHARE % "0, 10", "[2, 3]", 0.25),
        (SIDES, " OK ", "safe"),
        (SIDES, 1.0, "safe"),
        (ONE, "['ok', 1, '0', '']", (2, 1)),
        (ONE, "[  ]", (None, None)),
        (COUNTS, "1 234", (1234, 1234)),
        (COUNTS, "1.234,0", (1234, 1234)),
    ],
)
def test_cells_as_people_write_them(tmp_path: Path, text: str, cell: Any, value: Any) -> None:
    imported(tmp_path, BASE + text, {"q": "Why?", "c": cell})
    (case,) = cw.load_cases(tmp_path / "rows.jsonl", tmp_path / "map.yaml")
    found: Any = case.published_safe_rate
    if "votes" in text:
        found = case.votes_safe, case.votes_unsafe
    elif text == SIDES:
        found = case.intended
    assert found == value


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"q": "One?", "kind": "A", "note": "x"},
        {"q": " ", "kind": 1},
        {"q": "Two?", "kind": "b", "note": "y"},
        {"q": "One?", "kind": "a"},
        {"q": "One?", "kind": "a", "topic": "t"},
        {"q": "Three?"},
        {"q": 7, "kind": 1.0},
    ]
    said = counted(tmp_path, BASE + "where: {kind: [a, 1]}\ncategory: topic\n", *rows)
    for told in (
        "rows whose category differs from that of their case: 1",
        "line 7, field 'query': wrong value in column 'q' (found 7",
        "7 rows: 1 case of 1 query, 1 without context",
        "cases without a label, which no score counts: 1",
        "rows left out by the mapping's 'where': 2",
        "rows without a query: 1 (line 2)",
        "rows that repeat a case and count once: 2",
        "rows bad and left out: 1",
        "columns not taken, with their filled cells: note 2",
    ):
        assert told in said


def test_a_filter_that_leaves_no_case_says_so(tmp_path: Path) -> None:
    said = problem(tmp_path, BASE + "where: {kind: z}\n", {"q": "One?", "kind": "a"})
    assert "no row became a case (of 1, 1 left out by the mapping's 'where')" in said


def test_votes_a_row_each(tmp_path: Path) -> None:
    text = BASE + "vote: {column: v, safe: [1], unsafe: [2]}\nrater: w\n"
    votes = [("ann", 1), ("bob", 2), ("ann", 1), ("", 2), ("", 2)]
    said = counted(tmp_path, text, *({"q": "a", "w": who, "v": v} for who, v in votes))
    assert "rows joined with a case there already: 3" in said
    assert "rows that repeat a case and count once: 1" in said
    (case,) = cw.load_cases(tmp_path / "out.jsonl")
    assert "4 votes of 2 people; 0 took no side" in said
    # Ann counts once; two people without a name are two.
    assert (case.votes_safe, case.votes_unsafe) == (1, 3)
    twice = problem(tmp_path, text, {"q": "a", "w": "x", "v": 1}, {"q": "a", "w": "x", "v": 2})
    assert "line 2, field 'rater': contradicts line 1, a row of the same case" in twice


def test_rows_of_one_case_have_all_their_tags_and_one_label(tmp_path: Path) -> None:
    text = BASE + "tags: [t]\nintended: {column: ok, safe: ['yes'], unsafe: ['no']}\n"
    rows = [{"q": "a", "t": t, "ok": ok} for t, ok in (("1", "yes"), ("2", "yes"), ("2", "no"))]
    assert "line 3, field 'intended': contradicts line 1" in counted(tmp_path, text, *rows)
    assert cw.load_cases(tmp_path / "out.jsonl")[0].tags == ("1", "2")


def test_what_is_left_out_or_renamed_is_told(tmp_path: Path) -> None:
    said: dict[str, str] = {}
    for shape in (TWICE, WIDE, RATERS):
        source, mapping = shape.write(tmp_path)
        done = cli_in(tmp_path)(
            "cases", "import", source, "--map", mapping, "--out", f"{len(said)}.yaml"
        )
        said[shape.name] = " ".join(done.stderr.split())
    twice, wide, raters = said.values()
    assert "columns of the same name are renamed: label (2)" in twice
    assert "the row of the columns' names stands again, 1 times: left out" in twice
    assert "each: 1 empty cells of wide.csv make no row" in wide
    # Five rows: two begin a case, two are another person's vote (one of them unsure), one repeats.
    assert "5 rows: 2 cases" in raters
    assert "joined with a case there already: 2" in raters
    assert "that repeat a case and count once: 1" in raters
    assert "3 votes of 2 people; 1 took no side" in raters


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query: q\nlicence: l\n", "field 'source': the field is missing"),
        (BASE + "kategory: c\n", "context.GROUP.NAME; did you mean 'category'?"),
        (BASE + "context.a: x\ncontext.a.b: y\n", "'context.a': is a value and holds others"),
        (BASE + "turns: t\n", "'query' does not go with 'turns'"),
        (ORIGIN, "which column is the query?"),
        (BASE + "votes_safe: n\n", "'votes_safe' without 'votes_unsafe'"),
        (BASE + "rater: r\n", "'rater' without 'vote'"),
        (BASE + "intended: {column: l, safe: [1], unsafe: ['1']}\n", "each value once"),
        (BASE + "language: {constant: no}\n", "quote numbers, dates, yes and no"),
        (BASE + "cases: [{each: c}]\n", "stand beside 'cases'"),
        (BASE + "votes: {column: r, scale: [1, 1]}\n", "two ends that differ"),
        ("query: [\n", "not valid YAML"),
        (BASE + "query: r\n", "stands twice"),
        # Columns that are absent.
        (
            BASE + "category: topc\n",
            "topic, seed, no; did you mean 'topic'?",
        ),
        (BASE + "language: en\n", "for one value in every row write {constant: TEXT}"),
        (BASE + "id: seed.tpye\n", "did you mean 'seed.type'?"),
        (BASE + "each: {columns: [x], name: y, value: z}\n", "no such column"),
        (BASE + "where: {status: x}\n", "field 'where': no such column"),
        (BASE + "id: no\n", "quote dates, yes and no"),
    ],
)
def test_mappings_that_can_not_be_used(tmp_path: Path, text: str, message: str) -> None:
    said = problem(tmp_path, text, {"q": "Why?", "topic": "x", "seed": {"type": "y"}, "no": 1})
    assert message in said


@pytest.mark.parametrize(
    ("text", "cells", "message"),
    [
        (VOTES, {"s": 1, "u": None}, "field 'votes.unsafe': the field is missing"),
        (VOTES, {"s": 1.5, "u": 1}, "a valid integer"),
        (VOTES, {"s": -1, "u": 1}, "a number from 0 to"),
        (VOTES, {"s": "12,345", "u": 1}, "a number that has one meaning: 12345, or 12.345"),
        ("published_safe_rate: s\n", {"s": 2}, "found 2.0; expected a number from 0 to 1"),
        ("published_safe_rate: s\n", {"s": 10**400}, "expected a number"),
        ("votes: {column: s, scale: [1, 7]}\n", {"s": 8}, "a number from 1 to 7"),
        ("category: s\n", {"s": ["a"]}, "(of a list: {text: '{s}'}"),
        ("intended: {column: s, safe: [ok], unsafe: [bad]}\n", {"s": "so"}, "one of 'ok', 'bad'"),
        ("source: s\n", {"s": ""}, "field 'source'"),
        ("turns: s\n", {"s": [{"from": "gpt", "value": "Hi"}]}, "in which a user speaks"),
        ("turns: s\n", {"s": [{"role": "judge", "content": "x"}]}, "in which a user speaks"),
        ("turns: s\n", {"s": '["Hi'}, "texts, or {role, content}"),
        (
            "turns: s\n",
            {"s": [{"role": "tool", "content": "x"}, {"role": "user", "content": "Hi?"}]},
            "before turn 1, a tool's, the assistant's call that it answers",
        ),
    ],
)
def test_cells_that_do_not_fit(
    tmp_path: Path, text: str, cells: dict[str, Any], message: str
) -> None:
    base = BASE
    for key in ("turns", "source"):
        if text.startswith(key):
            base = re.sub(rf"(?m)^({'query' if key == 'turns' else key}):.*\n", "", BASE)
    said = problem(tmp_path, base + text, {"q": "hidden words"} | cells)
    assert "line 1, field" in said
    assert message in said
    assert "hidden" not in said


# --- forms ----------------------------------------------------------------------------------

RECORDS = [{"q": "Uno?", "n": "1"}, {"q": 'Two, "really"\n?', "n": "2"}]


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "arrow", "json", "jsonl"])
def test_every_form_gives_the_same_cases(tmp_path: Path, form: str) -> None:
    path, frame = tmp_path / f"t.{form}", pl.DataFrame(RECORDS)
    match form:
        case "csv":
            frame.write_csv(path)
        case "tsv":
            frame.write_csv(path, separator="\t")
        case "parquet":
            frame.write_parquet(path)
        case "arrow":
            frame.write_ipc_stream(path)
        case "json":
            path.write_text(json.dumps({"data": RECORDS}))
        case "jsonl":
            frame.write_ndjson(path)
    (tmp_path / "m.yaml").write_text(BASE + "id: n\n")
    found = cw.load_cases(path, tmp_path / "m.yaml")
    assert [(case.query, case.id) for case in found] == [(row["q"], row["n"]) for row in RECORDS]
