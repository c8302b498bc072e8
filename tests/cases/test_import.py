"""Mappings, and what becomes of each row of somebody's table."""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.cases import (
    EXAMPLE,
    MAPPINGS,
    Case,
    Imported,
    example_mapping,
    import_cases,
    load_mapping,
)
from casewise.cases._mapping import CaseMapping
from casewise.errors import InputError

BASE = "query: q\nsource: {constant: desk}\nlicence: {constant: CC0-1.0}\n"


def mapping(folder: Path, text: str = "", base: str = BASE) -> CaseMapping:
    path = folder / "map.yaml"
    path.write_text(base + text, "utf-8")
    return load_mapping(path)


def rows(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    return path


def imported(folder: Path, text: str, *records: dict[str, Any]) -> Imported:
    return import_cases(rows(folder, *records), mapping(folder, text))


def the_problem(found: Imported) -> str:
    (problem,) = found.problems
    return str(problem)


# --- mappings -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [EXAMPLE, *MAPPINGS])
def test_shipped_mappings_load(name: str, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(example_mapping(name), "utf-8")
    loaded = load_mapping(tmp_path / "m.yaml")
    assert loaded.source
    assert loaded.licence
    if name in MAPPINGS:
        assert load_mapping(name) == loaded


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query: q\nlicence: l\n", "field 'source': the mapping must name it"),
        ("query: q\nsource: s\n", "field 'licence': the mapping must name it"),
        (BASE + "kategory: c\n", "unknown key (expected did you mean 'category'?"),
        (BASE + "context: {recipient: {type: x}}\n", "the name of a column"),
        (BASE + "context.recipient.: x\n", "for example context.recipient.type"),
        (BASE + "context.a: x\ncontext.a.b: y\n", "'context.a': is a value and holds others"),
        (BASE + "parameters: {a: x}\n", "unknown key"),
        (BASE + "turns: t\n", "which column is the query?"),
        (BASE.replace("query: q\n", ""), "which column is the query?"),
        (BASE + "votes_safe: n\n", "field 'votes_unsafe': counts of votes come in pairs"),
        (BASE + "rater: r\n", "a rater without a vote"),
        (BASE + "context: c\ncontext.a.b: x\n", "does not go with"),
        (BASE + "id: {constant: one}\n", "field 'id': wrong value"),
        (BASE + "intended: label\n", "{column: NAME, safe: [VALUES], unsafe: [VALUES]}"),
        (BASE + "intended: {column: l, safe: [1], unsafe: ['1']}\n", "stands under two"),
        (BASE + "intended: {column: l, save: [1]}\n", "safe: [VALUES]"),
        (BASE + "language: {constant: no}\n", "quote dates, yes and no"),
        (BASE + "language: [en]\n", "{constant: TEXT} for one value in every row"),
        (BASE + "tags: one\n", "a list; each entry is"),
        (BASE + "tags: [{column: a, prefix: 3}]\n", "wrong value"),
        (BASE + "where: {}\n", "{COLUMN: VALUE}"),
        (BASE + "where: {a: [[1]]}\n", "{COLUMN: VALUE}"),
        (BASE + "join: 3\n", "expected true or false"),
        ("- query\n", "not a mapping file"),
        ("query: [\n", "not valid YAML"),
        (BASE + "query: r\n", "stands twice"),
    ],
)
def test_mappings_that_can_not_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        mapping(tmp_path, base=text)
    assert message in str(caught.value)
    assert "map.yaml" in str(caught.value)


def test_a_mapping_that_is_absent() -> None:
    with pytest.raises(InputError, match=r"or one of cat, confaide-2a, .*, xstest"):
        load_mapping("nope.yaml")


@given(st.dictionaries(st.text(max_size=8), st.text(max_size=8) | st.integers(), max_size=4))
def test_no_mapping_crashes(data: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder, suppress(InputError):
        assert mapping(Path(folder), base=json.dumps(data)).source


# --- rows -----------------------------------------------------------------------------------


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        "where: {kind: [a, 1]}\ncategory: topic\n",
        {"q": "One?", "kind": "A", "note": "x"},
        {"q": " ", "kind": 1},
        {"q": "Two?", "kind": "b", "note": "y"},
        {"q": "One?", "kind": "a"},
        {"q": "One?", "kind": "a", "topic": "t"},
        {"q": "Three?"},
        {"q": 7, "kind": 1.0},
    )
    assert [case.query for case in found.cases] == ["One?"]
    counts = (found.filtered, found.without_query, found.repeated, found.joined)
    assert counts == (2, 1, 1, 0)
    assert len(found.problems) == 2
    assert len(found.cases) + sum(counts) + len(found.problems) == found.rows == 7
    assert found.untaken == {"note": 2}
    assert "contradicts line 1, a row of the same case" in str(found.problems[0])
    assert "line 7, field 'query': wrong value in column 'q' (found 7" in str(found.problems[1])


def test_fields(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        "id: n\nquery_id: g\ncategory: c\nlanguage: l\n"
        "tags: [{column: f, prefix: 'focus:'}, {constant: mine}, e]\n"
        "votes_safe: s\nvotes_unsafe: u\npublished_safe_rate: r\n",
        {"q": " Why? ", "n": 3, "g": "g1", "c": "law", "l": "es-MX", "f": "key", "e": None}
        | {"s": 3.0, "u": "1", "r": ".75"},
        {"q": "How?", "n": 4, "f": "", "s": "", "u": None},
    )
    assert not found.problems
    one, two = found.cases
    assert one == Case.model_validate(
        {"query": " Why? ", "id": "3", "query_id": "g1", "category": "law", "language": "es-MX"}
        | {"tags": ["focus:key", "mine"], "votes": {"safe": 3, "unsafe": 1}}
        | {"published_safe_rate": 0.75, "source": "desk", "licence": "CC0-1.0"}
    )
    assert (two.id, two.tags, two.votes, two.category) == ("4", ("mine",), None, None)


INTENDED = "intended: {column: label, safe: [safe, 1], unsafe: [bad, 2.0], none: ['?']}\n"


@pytest.mark.parametrize(
    ("label", "side"), [("Safe", "safe"), (1, "safe"), ("2", "unsafe"), (" bad ", "unsafe")]
)
def test_the_authors_mean_a_side_with_a_context_or_without(
    tmp_path: Path, label: Any, side: str
) -> None:
    text = INTENDED + "context.recipient.type: who\n"
    found = imported(tmp_path, text, {"q": "a", "label": label, "who": "nurse"})
    (case,) = found.cases
    assert (case.intended, case.tags) == (side, ())
    assert case.context is not None
    assert case.context.root == {"recipient": {"type": "nurse"}}
    (bare,) = imported(tmp_path, text, {"q": "a", "label": label, "who": ""}).cases
    assert (bare.context, bare.intended, bare.tags) == (None, side, ())


def test_labels_that_mean_neither_or_nothing_known(tmp_path: Path) -> None:
    found = imported(tmp_path, INTENDED, {"q": "a", "label": "?"}, {"q": "b", "label": None})
    assert [case.tags for case in found.cases] == [("label:?",), ()]
    problem = the_problem(imported(tmp_path, INTENDED, {"q": "a", "label": "maybe"}))
    assert "line 1, field 'intended': wrong value in column 'label' (found 'maybe'" in problem
    assert "one of 'safe', '1', 'bad', '2', '?'" in problem


def test_contexts_from_columns_and_constants(tmp_path: Path) -> None:
    text = (
        "context.sender.platform_type: p\ncontext.transmission_principle.urgency: {constant: low}"
    )
    (case,) = imported(tmp_path, text, {"q": "a", "p": "forum"}).cases
    assert case.context is not None
    assert case.context.root == {
        "sender": {"platform_type": "forum"},
        "transmission_principle": {"urgency": "low"},
    }


def test_whole_contexts_and_twins_of_one_query(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        "context: c\nintended: {column: l, safe: [s], unsafe: [u]}\n",
        {"q": "a", "c": {"sender": {"x": "y"}}, "l": "s"},
        {"q": "a", "c": '{"sender": {"x": "z"}}', "l": "u"},
        {"q": "a", "c": None, "l": "u"},
        {"q": "a", "c": "a forum", "l": "u"},
    )
    assert [case.intended for case in found.cases] == ["safe", "unsafe", "unsafe"]
    assert len({case.query_id for case in found.cases}) == 1
    assert "a mapping, or JSON of one" in the_problem(found)


def test_votes_a_row_each(tmp_path: Path) -> None:
    text = "vote: {column: v, safe: [1], unsafe: [2]}\nrater: w\n"
    votes = [("ann", 1), ("bob", 2), ("ann", 1), ("", 2), ("", 2)]
    found = imported(tmp_path, text, *({"q": "a", "w": who, "v": v} for who, v in votes))
    (case,) = found.cases
    # Ann counts once; two people without a name are two.
    assert (case.votes_safe, case.votes_unsafe) == (1, 3)
    assert (found.joined, found.repeated) == (3, 1)
    found = imported(tmp_path, text, {"q": "a", "w": "x", "v": 1}, {"q": "a", "w": "x", "v": 2})
    assert "line 2, field 'rater': the rater voted otherwise before" in the_problem(found)


def test_tags_are_joined_where_that_is_asked(tmp_path: Path) -> None:
    records = ({"q": "a", "t": "one"}, {"q": "a", "t": "two"})
    assert "'join: true'" in the_problem(imported(tmp_path, "tags: [t]\n", *records))
    found = imported(tmp_path, "tags: [t]\njoin: true\n", *records)
    assert [case.tags for case in found.cases] == [("one", "two")]
    assert found.joined == 1


@pytest.mark.parametrize(
    ("cell", "query", "roles"),
    [
        (["Hi?"], "Hi?", []),
        (["Hi", "Hello", "And?"], "And?", ["user", "assistant"]),
        ('["Hi", "Hello", "And?"]', "And?", ["user", "assistant"]),
        ("Hi?", "Hi?", []),
        (
            [{"role": "system", "content": "s"}, {"role": "user", "content": "Hi?"}],
            "Hi?",
            ["system"],
        ),
        ([{"from": "human", "value": "Hi?"}], "Hi?", []),
        (
            [
                {"role": "user", "content": [{"type": "text", "text": "Order A1?"}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "function": {"name": "find", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c", "name": "find", "content": "on its way"},
                {"role": "assistant", "content": "It is on its way."},
                {"role": "user", "content": "Hi?"},
            ],
            "Hi?",
            ["user", "assistant", "tool", "assistant"],
        ),
    ],
)
def test_conversations(tmp_path: Path, cell: Any, query: str, roles: list[str]) -> None:
    text = BASE.replace("query: q", "turns: q")
    found = import_cases(rows(tmp_path, {"q": cell}), mapping(tmp_path, base=text))
    (case,) = found.cases
    assert case.query == query
    assert [turn.role for turn in case.history] == roles


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (["Hi", "Hello"], "a conversation that a user ends"),
        ([{"role": "judge", "content": "x"}], "of known roles"),
        ([3], "texts, or {role, content}"),
        (
            [{"role": "tool", "content": "x"}, {"role": "user", "content": "Hi?"}],
            "before turn 1, a tool's, the assistant's call that it answers",
        ),
        (
            [{"role": "user", "content": "Hi?", "tool_call_id": "c"}],
            "'tool_call_id' with the role 'tool' alone",
        ),
        ({"a": 1}, "a list of texts"),
        ('["Hi', "truncated JSON"),
        (
            [{"role": "user", "content": "a"}] * 2,
            "then 'user' and 'assistant' in turn",
        ),
    ],
)
def test_conversations_that_are_none(tmp_path: Path, cell: Any, message: str) -> None:
    text = BASE.replace("query: q", "turns: q")
    found = import_cases(rows(tmp_path, {"q": cell}), mapping(tmp_path, base=text))
    assert message in the_problem(found)
    assert "line 1" in the_problem(found)


def test_history_beside_the_query(tmp_path: Path) -> None:
    (case,) = imported(tmp_path, "history: h\n", {"q": "And?", "h": ["Hi", "Hello"]}).cases
    assert [turn.content for turn in case.history] == ["Hi", "Hello"]


@pytest.mark.parametrize(
    ("text", "record", "message"),
    [
        ("votes_safe: s\nvotes_unsafe: u\n", {"s": 1}, "both counts, or neither"),
        ("votes_safe: s\nvotes_unsafe: u\n", {"s": 1.5, "u": 1}, "a whole number"),
        ("votes_safe: s\nvotes_unsafe: u\n", {"s": "two", "u": 1}, "a number"),
        ("votes_safe: s\nvotes_unsafe: u\n", {"s": -1, "u": 1}, "0 or more"),
        ("published_safe_rate: s\n", {"s": 2, "u": 0}, "a share from 0 (nobody) to 1"),
        ("category: s\n", {"s": ["a"], "u": 0}, "expected text"),
    ],
)
def test_cells_that_do_not_fit(
    tmp_path: Path, text: str, record: dict[str, Any], message: str
) -> None:
    cells = {"s": None, "u": None} | record
    problem = the_problem(imported(tmp_path, text, {"q": "hidden words"} | cells))
    assert "line 1, field" in problem
    assert message in problem
    assert "hidden" not in problem


def test_source_and_licence_stay_on_every_case(tmp_path: Path) -> None:
    text = BASE.replace("{constant: desk}", "origin")
    path = rows(tmp_path, {"q": "a", "origin": "x"}, {"q": "b", "origin": ""})
    found = import_cases(path, mapping(tmp_path, base=text))
    assert [case.source for case in found.cases] == ["x"]
    assert "line 2, field 'source'" in the_problem(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("category: topc\n", "field 'category': no such column (found 'topc'; expected did you"),
        ("language: en\n", "for one value in every row write {constant: TEXT}"),
        ("where: {status: x}\n", "field 'where': no such column"),
        ("context.a.b: zzz\n", "field 'context.a.b': no such column"),
    ],
)
def test_columns_that_are_absent(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        imported(tmp_path, text, {"q": "a", "topic": "x"})
    assert message in str(caught.value)


# --- forms ----------------------------------------------------------------------------------

RECORDS = [{"q": "Uno?", "n": "1"}, {"q": 'Two, "really"\n?', "n": "2"}]


def write_form(folder: Path, form: str) -> Path:
    path = folder / f"t.{form}"
    frame = pl.DataFrame(RECORDS)
    match form:
        case "csv":
            frame.write_csv(path)
        case "tsv":
            frame.write_csv(path, separator="\t")
        case "parquet":
            frame.write_parquet(path)
        case "arrow":
            frame.write_ipc(path)
        case "json":
            path.write_text(json.dumps({"data": RECORDS}))
        case "jsonl":
            frame.write_ndjson(path)
    return path


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "arrow", "json", "jsonl"])
def test_every_form_gives_the_same_cases(tmp_path: Path, form: str) -> None:
    found = import_cases(write_form(tmp_path, form), mapping(tmp_path, "id: n\n"))
    assert [(case.id, case.query) for case in found.cases] == [
        ("1", "Uno?"),
        ("2", RECORDS[1]["q"]),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b'q\n"a', "not valid CSV"),
        ("t.csv", b"q\n\x81\n", "wrong encoding"),
        ("t.parquet", b"PAR1 nothing", "can't be read as Parquet"),
        ("t.arrow", b"nothing at all", "can't be read as Arrow"),
        ("t.json", b"{}", "not a list of rows"),
        ("t.json", b"[", "truncated JSON"),
        ("t.xlsx", b"x", "can't be read as a workbook"),
        ("t.docx", b"x", "a file that ends in one of .parquet"),
    ],
)
def test_files_that_can_not_be_read(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        import_cases(path, mapping(tmp_path))
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_bad_rows_are_named_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"q": "a"}\n{"q": \n[1]\n{"q": "b"}\n')
    found = import_cases(path, mapping(tmp_path))
    assert [case.query for case in found.cases] == ["a", "b"]
    first, second = map(str, found.problems)
    assert "t.jsonl, line 2: truncated JSON" in first
    assert "t.jsonl, line 3: not a row (found [1]" in second
    path = tmp_path / "t.csv"
    path.write_text("q;n\na;1\nb\n")
    found = import_cases(path, mapping(tmp_path))
    assert "t.csv, row 2: wrong number of cells (found 1; expected 2" in the_problem(found)


def test_class_labels_of_parquet_are_names(tmp_path: Path) -> None:
    features = {"l": {"names": ["safe", "bad"], "_type": "ClassLabel"}}
    frame = pl.DataFrame({"q": ["a", "b", "c"], "l": [0, 1, -1]})
    about = json.dumps({"info": {"features": features}})
    frame.write_parquet(tmp_path / "t.parquet", metadata={"huggingface": about})
    found = import_cases(tmp_path / "t.parquet", mapping(tmp_path, "category: l\n"))
    assert [case.category for case in found.cases] == ["safe", "bad", None]
