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
        ("query: a\neach: {columns: [x], name: y, value: z}\n", "each: no such column"),
        ("query: a\neach: {columns: [a]}\n", "{columns: [NAMES], name: NEW COLUMN"),
        ("query: a\nratings: {column: a, scale: [bad, bad]}\n", "all words of a scale"),
        ("query: a\nratings: {column: a, scale: [bad, good]}\n", "expected one of 'bad', 'good'"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, text: str, message: str) -> None:
    row = {"a": "Why?", "seed": {"type": "May I?", "words": [{"text": "x"}]}}
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


def made(folder: Path, text: str, name: str, content: str) -> list[Case]:
    (folder / name).write_text(content)
    (folder / "m.yaml").write_text(text + ORIGIN)
    found = import_cases(folder / name, load_mapping(folder / "m.yaml"))
    assert not found.problems, found.problems[0]
    return list(found.cases)


def test_a_mapping_in_a_cell_by_its_keys(tmp_path: Path) -> None:
    said = {"ann": {"label": "ok"}, "bob": {"label": "bad"}}
    text = "query: q\neach: said\nvote: {column: said.label, safe: [ok], unsafe: [bad]}\n"
    rows = json.dumps([{"q": "Why?", "said": said}])
    (case,) = made(tmp_path, text + 'rater: "@each"\n', "t.json", rows)
    assert told(case, "raters") == [("ann", "safe"), ("bob", "unsafe")]


def test_lists_and_flags_are_tags(tmp_path: Path) -> None:
    rows = json.dumps([{"q": "Why?", "kinds": ["a", "b"], "flags": {"c": True, "d": False}}])
    rows = rows.replace("}}]", '}, "note": "[draft]"}]')
    text = "query: q\ntags: [{column: kinds, prefix: 'kind:'}, flags, note]\n"
    assert made(tmp_path, text, "t.json", rows)[0].tags == (*("kind:a", "kind:b", "c", "[draft]"),)


def test_a_conversation_in_one_text(tmp_path: Path) -> None:
    rows = json.dumps([{"t": "\n\nHuman: May I?\n\nAssistant: Yes.\n\nHuman: Sure?"}])
    (case,) = made(tmp_path, "turns: t\n", "t.json", rows)
    assert case.query == "Sure?"
    assert [turn.content for turn in case.history] == ["May I?", "Yes."]
    (case,) = made(tmp_path, "turns: t\n", "t.json", json.dumps([{"t": "Read:\nUser: no"}]))
    assert (case.query, case.history) == ("Read:\nUser: no", ())


def test_a_column_named_no_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="quote it: YAML reads yes, no"):
        made(tmp_path, "query: q\nid: no\n", "t.csv", "no,q\n1,Why?\n")
