"""Ten shapes of public sets, each through a mapping of at most fifteen lines."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.shapes import NESTED, ORIGIN, RATERS, SHAPES, TWICE, WIDE, Shape

from casewise.cases import Case, Imported, Vote, import_cases, load_mapping
from casewise.errors import InputError


def imported(folder: Path, shape: Shape) -> Imported:
    source, mapping = shape.write(folder)
    return import_cases(source, load_mapping(mapping))


def told(case: Case, name: str) -> Any:
    """A field of a case, as the shapes write it."""
    match name:
        case "context":
            return case.context and case.context.root
        case "ratings":
            return case.ratings and case.ratings.values
        case "raters":
            votes = case.votes if isinstance(case.votes, tuple) else ()
            return [(vote.rater, vote.verdict) for vote in votes if isinstance(vote, Vote)]
    return getattr(case, name)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_comes_in_whole(tmp_path: Path, shape: Shape) -> None:
    found = imported(tmp_path, shape)
    assert not found.problems, found.problems[0]
    assert len((tmp_path / "map.yaml").read_text().splitlines()) <= 15
    assert len(found.cases) == len(shape.cases)
    for case, wanted in zip(found.cases, shape.cases, strict=True):
        assert {name: told(case, name) for name in wanted if name != "votes_safe"} == {
            name: value for name, value in wanted.items() if name != "votes_safe"
        }
        assert (case.votes_safe or None) == wanted.get("votes_safe", case.votes_safe or None)


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "parquet", "arrow"])
def test_lists_in_cells_are_found_in_every_form(tmp_path: Path, form: str) -> None:
    rows = [{"question": "May I sing?", "place": "a bus"}] * 1
    rated = [{"rater": "ann", "rating": "1"}, {"rater": "bob", "rating": "5"}]
    path = tmp_path / f"t.{form}"
    whole: list[dict[str, Any]] = [{**row, "ratings": rated} for row in rows]
    match form:
        case "json":
            path.write_text(json.dumps(whole))
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in whole))
        case "csv":
            flat = [{**row, "ratings": json.dumps(rated)} for row in rows]
            pl.DataFrame(flat).write_csv(path)
        case "parquet":
            pl.DataFrame(whole).write_parquet(path)
        case "arrow":
            pl.DataFrame(whole).write_ipc_stream(path)
    (tmp_path / "m.yaml").write_text(NESTED.mapping + ORIGIN)
    (case,) = import_cases(path, load_mapping(tmp_path / "m.yaml")).cases
    assert told(case, "raters") == [("ann", "unsafe"), ("bob", "safe")]


def test_what_is_left_out_or_renamed_is_told(tmp_path: Path) -> None:
    notes = imported(tmp_path, TWICE).notes
    assert "columns of the same name are told apart: label (2)" in notes
    assert "the row of the columns' names stands again, 1 times: left out" in notes
    assert "each: 1 empty cells of wide.csv make no row" in imported(tmp_path, WIDE).notes
    found = imported(tmp_path, RATERS)
    # Five rows: two begin a case, two are another person's vote (one of them unsure), one repeats.
    assert (found.rows, len(found.cases), found.joined, found.repeated) == (5, 2, 1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query: seed.tpye\n", "did you mean 'seed.type'? one of seed.type, seed.words[].text"),
        ("query: sead.type\n", "no such column (found 'sead.type'"),
        ("query: length(seed.type.more)\n", "what the path can be applied to"),
        ("query: a\neach: {columns: 'x {y}', value: z}\n", "each: no such column"),
        ("query: a\neach: {columns: [a]}\n", "{columns: [NAMES], name: NEW COLUMN"),
        ("query: a\nvotes: {columns: '{who} x', safe: [1]}\n", "with {rater}, {value} or both"),
        ("query: a\nratings: {column: a, scale: [bad, bad]}\n", "all words of a scale"),
        ("query: a\nratings: {column: a, scale: [bad, good]}\n", "expected one of 'bad', 'good'"),
        (
            "query: a\nvotes: {columns: 'x{rater}.{value}', safe: [1]}\n",
            "one set column of a rater",
        ),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, text: str, message: str) -> None:
    row = {"a": "Why?", "seed": {"type": "May I?", "words": [{"text": "x"}]}, "x1.1": 1, "x1.2": 1}
    (tmp_path / "t.json").write_text(json.dumps([row]))
    (tmp_path / "m.yaml").write_text(text + ORIGIN)
    try:
        found = import_cases(tmp_path / "t.json", load_mapping(tmp_path / "m.yaml"))
        said = str(found.problems[0])
    except InputError as error:
        said = str(error)
    assert message in said.replace("field 'each'", "each")


def test_rows_that_repeat_a_case_are_merged_or_counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("q,topic,ok\nWhy?,a,yes\nWhy?,b,yes\nWhy?,b,no\n")
    text = "query: q\ncategory: topic\nintended: {column: ok, safe: [yes], unsafe: [no]}\n"
    text = text.replace("[yes]", "['yes']").replace("[no]", "['no']") + ORIGIN
    (tmp_path / "m.yaml").write_text(text)
    found = import_cases(tmp_path / "t.csv", load_mapping(tmp_path / "m.yaml"))
    assert (len(found.cases), len(found.problems)) == (1, 2)
    assert found.differing == {"category": 2, "intended": 1}
    (tmp_path / "m.yaml").write_text(text + "join: true\n")
    found = import_cases(tmp_path / "t.csv", load_mapping(tmp_path / "m.yaml"))
    # The label is never joined: who contradicts it is a bad row.
    assert (len(found.cases), found.joined, len(found.problems)) == (1, 1, 1)
    assert "field 'intended'" in str(found.problems[0])


def test_a_rater_rates_a_case_once(tmp_path: Path) -> None:
    rows = ["q,who,r", "Why?,ann,1", "Why?,bob,5", "Why?,ann,1", "Why?,bob,4"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    text = "query: q\nratings: {column: r, scale: [1, 5], rule: position}\nrater: who\n" + ORIGIN
    (tmp_path / "m.yaml").write_text(text)
    found = import_cases(tmp_path / "t.csv", load_mapping(tmp_path / "m.yaml"))
    (case,) = found.cases
    assert (told(case, "ratings"), case.published_safe_rate) == ((1.0, 5.0), 0.5)
    assert found.repeated == 1
    assert "the rater rated otherwise before (found 'bob'" in str(found.problems[0])
