"""Cases of any shape: several of a row, lists, ratings, shares, votes, files side by side."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.workbooks import write_workbook

from casewise.cases import Case, Imported, import_cases, load_cases, load_mapping, write_cases
from casewise.cases._case import Ratings
from casewise.cases._mapping import CaseMapping
from casewise.errors import InputError

BASE = "source: {constant: desk}\nlicence: {constant: CC0-1.0}\n"
QUERY = "query: q\n" + BASE


def mapping(folder: Path, text: str) -> CaseMapping:
    (folder / "map.yaml").write_text(text, "utf-8")
    return load_mapping(folder / "map.yaml")


def imported(folder: Path, text: str, *records: dict[str, Any]) -> Imported:
    (folder / "rows.json").write_text(json.dumps(records), "utf-8")
    return import_cases(folder / "rows.json", mapping(folder, text))


def the_case(folder: Path, text: str, **cells: Any) -> Case:
    found = imported(folder, QUERY + text, {"q": "Why?"} | cells)
    assert not found.problems, found.problems[0]
    (case,) = found.cases
    return case


def the_problem(folder: Path, text: str, **cells: Any) -> str:
    (problem,) = imported(folder, QUERY + text, {"q": "Why?"} | cells).problems
    return str(problem)


# --- labels ---------------------------------------------------------------------------------


def test_one_side_for_every_row(tmp_path: Path) -> None:
    case = the_case(tmp_path, "intended: {constant: unsafe}\n")
    assert (case.intended, case.context, case.votes) == ("unsafe", None, None)


def test_an_import_says_which_cases_have_no_label(tmp_path: Path) -> None:
    text = QUERY + "intended: {column: l, safe: [a], unsafe: [b], none: [c]}\n"
    labels = ["a", "b", "c", "c", None]
    found = imported(tmp_path, text, *({"q": str(n), "l": one} for n, one in enumerate(labels)))
    assert found.unlabelled == {"l says neither side": 2, "l is empty": 1}
    found = imported(tmp_path, QUERY, {"q": "a"})
    assert list(found.unlabelled.values()) == [1]
    assert "the mapping names none" in next(iter(found.unlabelled))
    found = imported(tmp_path, QUERY + "ratings: {column: r, scale: [1, 7]}\n", {"q": "a", "r": 3})
    assert found.unlabelled == {
        "the mapping names no rule for the ratings (rule: sides or position)": 1
    }


VOTES = "safe: [0, ok], unsafe: [1], none: [0.5]}\n"


@pytest.mark.parametrize(
    ("cell", "counts"),
    [
        ([0, 1, 1], (1, 2)),
        ("[0. 1. 0.5]", (1, 1)),
        ("[0, 1, 1]", (1, 2)),
        ("['ok', 'OK ']", (2, 0)),
        ("ok", (1, 0)),
        (0, (1, 0)),
        ("[  ]", (None, None)),
        (None, (None, None)),
    ],
)
def test_votes_of_one_cell(tmp_path: Path, cell: Any, counts: tuple[int | None, ...]) -> None:
    case = the_case(tmp_path, "votes: {column: v, " + VOTES, v=cell)
    assert (case.votes_safe, case.votes_unsafe) == counts


def test_votes_of_one_cell_with_separators(tmp_path: Path) -> None:
    case = the_case(tmp_path, "votes: {column: v, list: ';', " + VOTES, v="ok; 1;1; ")
    assert (case.votes_safe, case.votes_unsafe) == (1, 2)
    assert "column 'v' (found 'x'" in the_problem(tmp_path, "votes: {column: v, " + VOTES, v="x")


def test_a_column_for_each_person(tmp_path: Path) -> None:
    text = "votes: {columns: [ann, bob, eve], " + VOTES
    case = the_case(tmp_path, text, ann=0, bob=1, eve="")
    assert isinstance(case.votes, tuple)
    assert [(vote.rater, vote.verdict) for vote in case.votes] == [
        ("ann", "safe"),
        ("bob", "unsafe"),
    ]


# --- ratings and shares ---------------------------------------------------------------------


def test_ratings_are_kept_and_become_votes_by_a_rule(tmp_path: Path) -> None:
    text = "ratings: {columns: [a, b, c], scale: [1, 7], rule: sides}\n"
    case = the_case(tmp_path, text, a=2, b=4, c="6,5")
    assert case.ratings is not None
    assert (case.ratings.values, case.ratings.scale) == ((2, 4, 6.5), (1, 7))
    assert isinstance(case.votes, tuple)
    # Four is the middle of the scale, and no vote.
    assert [(vote.rater, vote.verdict) for vote in case.votes] == [("a", "unsafe"), ("c", "safe")]
    write_cases([case], tmp_path / "out.csv")
    assert load_cases(tmp_path / "out.csv").cases == (case,)


@pytest.mark.parametrize(
    ("scale", "cell", "share"),
    [("[-100, 100]", -50, 0.25), ("[7, 1]", [2, 4], 2 / 3), ("[0, 10]", "2;3", 0.25)],
)
def test_a_mean_rating_becomes_a_share_by_a_rule(
    tmp_path: Path, scale: str, cell: Any, share: float
) -> None:
    text = f"ratings: {{column: r, scale: {scale}, rule: position, list: ';'}}\n"
    case = the_case(tmp_path, text, r=cell)
    assert case.published_safe_rate == pytest.approx(share)
    assert case.votes is None


def test_ratings_without_a_rule_are_only_kept(tmp_path: Path) -> None:
    case = the_case(tmp_path, "ratings: {column: r, scale: [1, 7]}\n", r=3)
    assert case.ratings == Ratings(values=(3,), scale=(1, 7))
    assert (case.votes, case.published_safe_rate) == (None, None)


def test_a_rating_beyond_its_scale(tmp_path: Path) -> None:
    problem = the_problem(tmp_path, "ratings: {column: r, scale: [1, 7]}\n", r=8)
    assert "row 1, field 'ratings'" in problem
    assert "the rating 8 is not on the scale from 1 to 7" in problem


@pytest.mark.parametrize(
    ("text", "cell", "share"),
    [
        ("published_safe_rate: s\n", "0,25", 0.25),
        ("published_safe_rate: s\n", "25 %", 0.25),
        ("published_safe_rate: {column: s, scale: [0, 100]}\n", 25, 0.25),
        ("published_safe_rate: {column: s, scale: [100, 0]}\n", "25%", 0.75),
        ("published_safe_rate: {column: s, scale: [1, 0]}\n", 0.25, 0.75),
    ],
)
def test_shares_of_people(tmp_path: Path, text: str, cell: Any, share: float) -> None:
    assert the_case(tmp_path, text, s=cell).published_safe_rate == pytest.approx(share)


@pytest.mark.parametrize(
    ("cell", "number", "text"),
    [
        ("1.234", 1, ""),
        ("1 234", 1234, ""),
        ("1.234,0", 1234, ""),
        ("1,234.0", 1234, ""),
        ("1,234", 1234, "decimal: '.'\n"),
        ("\u22123", -3, ""),
    ],
)
def test_numbers_as_people_write_them(tmp_path: Path, cell: str, number: int, text: str) -> None:
    rated = "ratings: {column: r, scale: [-5000, 5000]}\n"
    case = the_case(tmp_path, text + rated, r=cell)
    assert case.ratings is not None
    assert int(case.ratings.values[0]) == number


def test_a_number_of_two_meanings_is_refused(tmp_path: Path) -> None:
    problem = the_problem(tmp_path, "votes_safe: s\nvotes_unsafe: s\n", s="12,345")
    assert "a number that has one meaning (decimal: ',' or decimal: '.' in the mapping)" in problem


# --- texts, lists and contexts --------------------------------------------------------------


def test_fixed_text_is_cut(tmp_path: Path) -> None:
    text = BASE + "query: {column: q, cut: ['Rate this: ', '<end>']}\n"
    found = imported(tmp_path, text, {"q": "Rate this:  May I? <end>"}, {"q": "Rate this: <end>"})
    assert [case.query for case in found.cases] == ["May I?"]
    assert found.without_query == 1


def test_lists_are_kept_in_contexts_and_joined_in_texts(tmp_path: Path) -> None:
    text = (
        "category: {column: kinds, join: ' + '}\n"
        "context.sender.roles: roles\n"
        "context.sender.aims: {column: aims, list: ';'}\n"
        "context.recipient.names: {column: names, list: true}\n"
        "context.recipient.note: {column: roles, join: ', '}\n"
        "context.turns: turns\n"
        "context.policy: {constant: {allow: [questions], refuse: [orders]}}\n"
    )
    turns = [{"role": "user", "content": "Hi", "name": None}]
    case = the_case(
        tmp_path,
        text,
        **{"kinds": ["a", "b"], "roles": ["x", "y"], "aims": "p; q", "names": "['Ann', 'Bob']"},
        turns=turns,
    )
    assert case.category == "a + b"
    assert case.context is not None
    assert case.context.root == {
        "sender": {"roles": ["x", "y"], "aims": ["p", "q"]},
        "recipient": {"names": ["Ann", "Bob"], "note": "x, y"},
        "turns": [{"role": "user", "content": "Hi"}],
        "policy": {"allow": ["questions"], "refuse": ["orders"]},
    }
    assert "{column: kinds, join: ', '}" in the_problem(tmp_path, "category: kinds\n", kinds=["a"])


def test_a_text_with_columns_in_it(tmp_path: Path) -> None:
    text = BASE + "query: {text: 'May {who} tell {whom} of {what}?'}\nid: {text: 'flow-{@row}'}\n"
    row = {"who": "a doctor", "whom": ["a nurse", "a friend"], "what": "an illness"}
    found = imported(tmp_path, text, row, row | {"what": ""})
    (case,) = found.cases
    assert case.query == "May a doctor tell a nurse, a friend of an illness?"
    assert (case.id, found.without_query) == ("flow-1", 1)


def test_several_cases_of_a_row(tmp_path: Path) -> None:
    text = QUERY + (
        "id: n\ncategory: c\ncases:\n"
        "- {votes_safe: a, votes_unsafe: b}\n"
        "- {context.post: p, votes_safe: d, votes_unsafe: e, category: null}\n"
    )
    row = {"q": "Why?", "n": 1, "c": "k", "p": "before", "a": 3, "b": 0, "d": 1, "e": 2}
    found = imported(tmp_path, text, row, row | {"n": 2, "q": None})
    assert (found.rows, found.without_query, len(found.problems)) == (2, 2, 0)
    bare, beside = found.cases
    assert (bare.id, bare.context, bare.category, bare.votes_safe) == ("1", None, "k", 3)
    assert (beside.id, beside.category, beside.votes_safe) == ("1:2", None, 1)
    assert bare.query_id == beside.query_id
    assert not found.untaken


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: [q]\n", "each entry holds the keys of one case of a row"),
        ("cases: [{query: null}]\n", "which column is the query?"),
        ("cases: [{join: true}]\n", "this key for the whole table, beside 'cases'"),
        ("cases: [{qury: a}]\n", "did you mean 'query'?"),
        ("votes: {columns: [], safe: [1]}\n", "columns: [NAMES]"),
        ("votes: {column: a, safe: [1]}\nvote: {column: a, safe: [1]}\n", "does not go with"),
        ("ratings: {column: r}\n", "two numbers that differ"),
        ("ratings: {column: r, scale: [1, 1]}\n", "two numbers that differ"),
        ("ratings: {column: r, scale: [1, 7], rule: half}\n", "rule: sides or position"),
        (
            "ratings: {column: r, scale: [1, 7], rule: position}\npublished_safe_rate: s\n",
            "the rule 'position' makes what 'published_safe_rate' gives",
        ),
        ("intended: {constant: maybe}\n", "{constant: safe} or {constant: unsafe}"),
        ("category: {text: none}\n", "a text that names columns"),
        ("category: {column: a, cut: 3}\n", "cut: TEXT or [TEXTS]"),
        ("beside: {a: {by: id}}\n", "{NAME: FILE}"),
        ("beside: {a: /etc/passwd}\n", "by its place beside the first"),
        ("header: 0\n", "greater than or equal to 1"),
    ],
)
def test_mappings_that_can_not_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        mapping(tmp_path, QUERY + text)
    assert message in str(caught.value)


# --- files side by side ---------------------------------------------------------------------

RATED = BASE + "query: text\nratings: {column: r, scale: [-1, 1], rule: position}\n"


def test_files_side_by_side_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("One?\nTwo?\n")
    (tmp_path / "labels.txt").write_text("-.5\n.5")
    found = import_cases(
        tmp_path / "texts.txt", mapping(tmp_path, RATED + "beside: {r: labels.txt}\n")
    )
    assert [case.published_safe_rate for case in found.cases] == [0.25, 0.75]
    (tmp_path / "labels.txt").write_text("-.5\n.5\n.1\n")
    with pytest.raises(InputError, match=r"3 rows beside 2 of texts\.txt"):
        import_cases(tmp_path / "texts.txt", mapping(tmp_path, RATED + "beside: {r: labels.txt}\n"))
    with pytest.raises(InputError, match=r"none\.txt: no such file"):
        import_cases(tmp_path / "texts.txt", mapping(tmp_path, RATED + "beside: {r: none.txt}\n"))


def test_files_side_by_side_by_a_column(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("id,text\n1,One?\n2,Two?\n3,Three?\n")
    (tmp_path / "labels.csv").write_text("id,mean,n\n2,1,20\n1,-1,19\n")
    text = RATED.replace("column: r,", "column: l.mean,") + "tags: [l.n]\n"
    text += "beside: {l: {file: labels.csv, by: id}}\n"
    for source in (tmp_path / "texts.csv", tmp_path):
        found = import_cases(source, mapping(tmp_path, text))
        assert [case.published_safe_rate for case in found.cases] == [0.0, 1.0, None]
        assert [case.tags for case in found.cases] == [("19",), ("20",), ()]
        assert found.unlabelled == {"l.mean is empty": 1}
    (tmp_path / "labels.csv").write_text("id,mean,n\n2,1,20\n2,-1,19\n")
    with pytest.raises(InputError, match="the value stands twice"):
        import_cases(tmp_path / "texts.csv", mapping(tmp_path, text))


# --- a set that was never seen --------------------------------------------------------------

CELL = (
    st.none() | st.text(max_size=6) | st.integers(-9, 9) | st.lists(st.integers(0, 3), max_size=3)
)
HEADER = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=9).filter(
    lambda name: not name.startswith(("@", "extra", "row"))
)
ASKED = st.none() | st.sampled_from(["Why?", "May I?"]) | st.text(max_size=4)


@settings(max_examples=60)
@given(
    headers=st.lists(HEADER, min_size=4, max_size=4, unique_by=str.casefold),
    rows=st.lists(st.tuples(ASKED, CELL, CELL, CELL), min_size=1, max_size=6),
    gaps=st.sets(st.integers(1, 3)),
    form=st.sampled_from(["jsonl", "json", "csv", "xlsx"]),
)
def test_every_row_of_an_unseen_set_is_accounted_for(
    tmp_path_factory: pytest.TempPathFactory,
    headers: list[str],
    rows: list[tuple[Any, ...]],
    gaps: set[int],
    form: str,
) -> None:
    """Lists, ratings, any number of contexts a query, and a second file, under any headers."""
    # In a workbook of write_workbook these are a formula and a date.
    assume(form != "xlsx" or not any(one.startswith(("=", "date:")) for one in headers))
    folder = tmp_path_factory.mktemp("unseen")
    path = folder / f"t.{form}"
    # A column that is a gap is empty in every row.
    rows = [tuple(None if n in gaps else cell for n, cell in enumerate(row)) for row in rows]
    records = [dict(zip(headers, row, strict=True)) for row in rows]
    if form == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif form == "json":
        path.write_text(json.dumps(records))
    else:
        # The last column keeps rows from being empty, which tables by hand pass over.
        grid = [[*headers, "row"], *([*map(printed_cell, row), n] for n, row in enumerate(rows))]
        if form == "csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(grid)
        else:
            write_workbook(path, {"S": grid})
    (folder / "more.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n, _ in enumerate(rows)))
    ask, roles, mean, who = (json.dumps(name, ensure_ascii=False) for name in headers)
    text = BASE + (
        f"query: {{column: {ask}}}\nid: {{text: 'r{{@row}}'}}\n"
        f"context.sender.roles: {{column: {roles}}}\n"
        f"context.recipient.who: {{column: {who}, list: true}}\n"
        f"ratings: {{column: {mean}, scale: [-9, 9], rule: sides}}\n"
        "tags: [{column: extra, prefix: 'n:'}]\nbeside: {extra: more.jsonl}\n"
    )
    assert len(text.splitlines()) <= 15
    found = import_cases(path, mapping(folder, text))
    assert found.rows == len(rows) == len(found.cases) + found.without_query + len(found.problems)
    voted = sum(bool(case.votes) for case in found.cases)
    assert sum(found.unlabelled.values()) == len(found.cases) - voted
    assert len({case.query for case in found.cases}) == len({one.query_id for one in found.cases})
    write_cases(found.cases, folder / "out.jsonl")
    if found.cases:
        assert load_cases(folder / "out.jsonl").cases == found.cases


def printed_cell(cell: Any) -> Any:
    """A cell as a table by hand has it: a list is printed, and nothing is invisible."""
    if isinstance(cell, str):
        return "".join(char for char in cell if char.isprintable())
    return str(cell) if isinstance(cell, list) else cell
