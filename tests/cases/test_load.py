"""Loading: every form, what is kept, and what is said of bad input."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from casewise.cases import (
    Case,
    Context,
    Turn,
    find_problems,
    is_output,
    load_cases,
    load_output,
    write_cases,
)
from casewise.errors import InputError

PLAIN = {"query": "May I repaint a rented flat?", "context": {"sender": {"platform_type": "forum"}}}


def write(path: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, "utf-8")
    return path


def upstream_record(**changes: Any) -> dict[str, Any]:
    record = {
        "scores": [1] * 12 + [2] * 8,
        "query": "q",
        "context": {"sender": {"platform_type": "forum", "open": True, "ages": [18, 99]}},
        "context_intended_to_be_safe": True,
        "safe_rate": 13 / 21,
        "category": "c",
    }
    return record | changes


FORMS = {
    "lines.json": json.dumps(PLAIN) + "\n\n" + json.dumps(PLAIN | {"query": "b"}),
    "list.jsonl": json.dumps([PLAIN, PLAIN | {"query": "b"}], indent=1),
    "cases.txt": json.dumps({"cases": [PLAIN, PLAIN | {"query": "b"}]}, indent=1),
    "comment.yaml": "# mine, query, context\n"
    "- query: May I repaint a rented flat?\n  context: {sender: {platform_type: forum}}\n"
    "- query: b\n  context: {sender: {platform_type: forum}}\n",
    "crlf.csv": "\ufeffquery,sender.platform_type\r\n"
    "May I repaint a rented flat?,forum\r\nb,forum\r\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_are_told_by_content_whatever_the_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FORMS[name].encode())
    loaded = load_cases(tmp_path / name)
    assert [case.query for case in loaded.cases] == ["May I repaint a rented flat?", "b"]
    assert loaded.cases[0].context == Context(PLAIN["context"])
    assert len({case.id for case in loaded.cases}) == 2


def test_twins_written_once(tmp_path: Path) -> None:
    text = """
licence: CC0-1.0
cases:
- query: q
  category: law
  contexts:
    safe: {sender: {a: x}}
    unsafe: {sender: {a: y}}
    none:
"""
    cases = load_cases(write(tmp_path / "a.yaml", text)).cases
    assert [case.intended for case in cases] == ["safe", "unsafe", None]
    assert [case.context is None for case in cases] == [False, False, True]
    assert {case.licence for case in cases} == {"CC0-1.0"}
    assert len({case.query_id for case in cases}) == 1
    assert len({case.id for case in cases}) == 3


def test_ids_given_are_kept_and_others_are_hashes() -> None:
    given_id = Case.model_validate(PLAIN | {"id": "mine", "query_id": "theirs"})
    assert (given_id.id, given_id.query_id) == ("mine", "theirs")
    one, same = Case.model_validate(PLAIN), Case.model_validate(PLAIN | {"category": "law"})
    assert one.id == same.id
    earlier = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    with_history = Case.model_validate(PLAIN | {"history": earlier})
    assert with_history.id != one.id
    assert with_history.history[0] == Turn(role="user", content="Hi")
    assert with_history.query_id == one.query_id


def test_votes_as_counts_rows_and_short_forms() -> None:
    counts = Case.model_validate(PLAIN | {"votes": {"safe": 3, "unsafe": 1}})
    rows = Case.model_validate(
        PLAIN | {"votes": [{"rater": "r1", "verdict": "safe", "time": "2026-01-01"}, 2, "safe", 1]}
    )
    assert (counts.votes_safe, counts.votes_unsafe) == (3, 1)
    assert (rows.votes_safe, rows.votes_unsafe) == (3, 1)
    assert Case.model_validate(PLAIN).votes_safe is None


def test_output_files_keep_the_21st_vote_apart(tmp_path: Path) -> None:
    record = upstream_record(scores=[1] * 12 + [2] * 8 + [1]) | {"m": "safe"}
    path = write(tmp_path / "output_binary_recipient,urgency.json", [record])
    (output,) = load_output(path)
    assert is_output(path)
    assert (output.model, output.mode, output.ablation) == ("m", "binary", "recipient,urgency")
    assert (output.cases[0].votes_safe, output.cases[0].author_vote) == (12, "safe")
    loaded = load_cases(path)
    assert "answers of m" in loaded.notes[0]


BAD = {
    "no case": ("a.json", "[]", "holds no case"),
    "truncated line": (
        "a.jsonl",
        '{"query": "q"}\n{"query": "r", "con',
        "line 2: truncated JSON: Unterminated string starting at column 16",
    ),
    "line cut in two": ("a.jsonl", '{"query": "r\n}', "line 1: truncated JSON: cut off at column"),
    "no query": ("a.jsonl", '{"id": "x"}\n', "line 1, field 'query': the field is missing"),
    "blank query": ("a.jsonl", '{"query": "  "}\n', "the query is blank"),
    "vote of 3": (
        "a.jsonl",
        '{"query": "q", "votes": [1, 2, 3]}\n',
        "line 1, field 'votes[2]': wrong value (found 3; expected 'safe' or 'unsafe')",
    ),
    "upstream vote of 3": (
        "a.json",
        [upstream_record(scores=[1, 3])],
        "record 1, field 'scores[1]': wrong value (found 3; expected 1 or 2)",
    ),
    "duplicate id": (
        "a.jsonl",
        '{"query": "q", "id": "x"}\n{"query": "r", "id": "x"}\n',
        "line 2, field 'id': duplicate id, first used at line 1 (found 'x'",
    ),
    "unknown field": ("a.jsonl", '{"query": "q", "contxt": {}}\n', "field 'contxt': unknown field"),
    "a key twice": ("a.jsonl", '{"query": "q", "query": "r"}\n', "the key stands twice"),
    "YAML date": ("a.yaml", "- query: q\n  context: {a: 2026-01-01}\n", "(quote dates)"),
    "NaN": (
        "a.jsonl",
        '{"query": "q", "context": {"a": NaN}}\n',
        "field 'context.a': wrong value (found nan; expected a finite",
    ),
    "CSV text": (
        "a.csv",
        "query,context\nq,a clerk asks\n",
        "row 2, field 'context': not valid JSON: Expecting value at column 1 (found 'a clerk "
        "asks'; expected JSON, as casewise writes it; other tables take casewise cases import)",
    ),
    "CSV column": ("a.csv", "query,colour\nq,red\n", "field 'colour': unknown field"),
    "CSV count": ("a.csv", "query,votes_safe,votes_unsafe\nq,x,1\n", "field 'votes.safe'"),
    "deep nesting": ("a.json", "[" * 100_000, "nested too deeply"),
    "nested surrogate": (
        "a.jsonl",
        '{"query": "q", "context": {"a": "\\udfff"}}\n',
        "line 1, field 'context': half of a character",
    ),
    "a number without end": (
        "a.jsonl",
        f'{{"query": "q", "context": {{"a": {"1" * 5000}}}}}\n',
        "line 1: not valid JSON",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_the_place(tmp_path: Path, name: str) -> None:
    file, content, message = BAD[name]
    path = tmp_path / str(file)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        write(path, content)
    with pytest.raises(InputError) as caught:
        load_cases(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_every_problem_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"query": ""}\n{"query": "q"}\n{"id": "x"}\n')
    loaded, problems = find_problems(path)
    assert [case.query for case in loaded.cases] == ["q"]
    assert [problem.record for problem in problems] == ["line 1", "line 3"]
    with pytest.raises(InputError, match="and 1 more: casewise cases validate"):
        load_cases(path)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def conversation(system: bool, exchanges: list[tuple[str, str]]) -> tuple[Turn, ...]:
    turns = [Turn(role="system", content="s")] if system else []
    for asked, answered in exchanges:
        turns.append(Turn(role="user", content=asked))
        turns.append(Turn(role="assistant", content=answered))
    return tuple(turns)


CASES = st.builds(
    Case,
    query=TEXT.filter(str.strip),
    context=st.none() | st.dictionaries(TEXT, JSON_VALUES, max_size=4).map(Context),
    history=st.tuples(st.booleans(), st.lists(st.tuples(TEXT, TEXT), max_size=2)).map(
        lambda drawn: conversation(*drawn)
    ),
    category=st.none() | TEXT,
    tags=st.lists(TEXT, max_size=3).map(tuple),
    source=st.none() | TEXT,
    votes=st.none() | st.lists(st.sampled_from(["safe", "unsafe"]), max_size=3).map(tuple),
    published_safe_rate=st.none() | st.floats(0, 1),
)


@pytest.mark.parametrize("suffix", [".jsonl", ".yaml", ".csv"])
@given(case=CASES)
@example(case=Case(query="0", tags=("0", "0\f0", "0")))
def test_writing_and_reading_back_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, case: Case
) -> None:
    path = tmp_path_factory.mktemp("round") / f"cases{suffix}"
    write_cases([case], path)
    assert load_cases(path).cases == (case,)


def test_published_data_loses_nothing(casebench: Path, tmp_path: Path) -> None:
    data = casebench / "CASEBench_data.json"
    loaded = load_cases(data)
    path = tmp_path / "cases.jsonl"
    write_cases(loaded.cases, path)
    again = load_cases(path)
    assert again.cases == loaded.cases
    assert again.hash == loaded.hash
    for record, case in zip(json.loads(data.read_text("utf-8")), again.cases, strict=True):
        assert case.context is not None
        assert json.dumps(case.context.root) == json.dumps(record["context"])
        assert isinstance(case.votes, tuple)
        assert [1 if vote.verdict == "safe" else 2 for vote in case.votes] == record["scores"]
        rest = (case.query, case.category, case.intended == "safe", case.published_safe_rate)
        names = ("query", "category", "context_intended_to_be_safe", "safe_rate")
        assert rest == tuple(record[name] for name in names)


def test_shortened_contexts_keep_their_cases(casebench: Path) -> None:
    whole = load_cases(casebench / "CASEBench_data.json")
    folder = casebench / "exp/safety_llama370B"
    (output,) = load_output(folder / "output_logits_recipient.json")
    assert [case.id for case in output.cases] == [case.id for case in whole.cases]
    assert {case.author_vote == case.intended for case in output.cases} == {True}
    assert len(whole.cases) == 900
    assert len({case.query_id for case in whole.cases}) == 450
