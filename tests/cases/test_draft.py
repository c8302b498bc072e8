"""Drafts of mappings: every table gets one that loads; on known shapes it imports as it stands."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from conftest import Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import refused
from support.workbooks import write_workbook

from casewise.cases import Imported, draft_mapping, import_cases, load_mapping
from casewise.cases._mapping import column_of


def drafted(path: Path) -> tuple[str, Imported]:
    """The draft, and what becomes of the table by it, unedited."""
    text = draft_mapping(path).text
    (path.parent / "draft.yaml").write_text(text, "utf-8")
    return text, import_cases(path, load_mapping(path.parent / "draft.yaml"))


def guesses(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text)
    return {key: found[key] for key in found if key not in ("source", "licence")}


ROWS: list[dict[str, Any]] = [
    {"uid": n, "prompt": f"May I open door {n}?", "who_asks": "x" * n, "label": label, "kind": "a"}
    | {"recipient_role": ["nurse", "aunt"], "mean_rating": n * 20 - 50, "lang": "en", "topic": "d"}
    for n, label in enumerate(["Permitted", "prohibited", "not applicable", "permitted"])
]
GUESSED = {
    "query": "prompt",
    "id": "uid",
    "language": "lang",
    "intended": {
        "column": "label",
        "safe": ["permitted"],
        "unsafe": ["prohibited"],
        "none": ["not applicable"],
    },
    "ratings": {"column": "mean_rating", "scale": [-100, 10], "rule": "position"},
    "category": "topic",
    "context.recipient.role": "recipient_role",
}


def test_a_guess_and_a_sample_for_each_field(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(ROWS))
    text, found = drafted(tmp_path / "t.json")
    assert guesses(text) == GUESSED
    assert 'query: prompt  # 4 of 4: "May I open door 0?"' in text
    assert '# not taken: kind  # 4 of 4: "a"' in text
    assert not found.problems
    assert [case.intended for case in found.cases] == ["safe", "unsafe", None, "safe"]


def test_conversations_votes_and_header_rows(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "Hi"}]
    (tmp_path / "t.json").write_text(
        json.dumps([{"messages": talk, "tox_votes": [0, 1, 0], "toxic": 0}] * 2)
    )
    votes = {"column": "tox_votes", "safe": ["0"], "unsafe": ["1"]}
    assert guesses(drafted(tmp_path / "t.json")[0]) == {"turns": "messages", "votes": votes}
    (tmp_path / "t.csv").write_text("Survey,,\nquestion,votes_safe,votes_unsafe\nWhy?,1,2\n")
    text, found = drafted(tmp_path / "t.csv")
    counts = {"votes_safe": "votes_safe", "votes_unsafe": "votes_unsafe"}
    assert guesses(text) == {"header": 2, "query": "question"} | counts
    assert found.cases[0].votes_unsafe == 2


@pytest.mark.parametrize(
    ("header", "sides"),
    [
        (("Anfrage", "Einstufung", "Kategorie", "Rolle", "Mittelwert"), ("ja", "nein")),
        (("Requête", "Jugement", "Catégorie", "Contexte", "Moyenne"), ("oui", "non")),
        (("Consulta", "Etiqueta", "Categoría", "Contexto", "Promedio"), ("permitido", "prohibido")),
        (("问题", "标签", "类别", "背景", "评分"), ("安全", "不安全")),
    ],
    ids=["German", "French", "Spanish", "Chinese"],
)
def test_headers_of_other_languages(
    tmp_path: Path, header: Sequence[str], sides: tuple[str, str]
) -> None:
    query, label, category, context, rating = header
    rows = [header, *((f"({n})?", sides[n % 2], f"k{n % 3}", "x" * n, n) for n in range(1, 13))]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "t.csv").write_text(text, "utf-8")
    draft, found = drafted(tmp_path / "t.csv")
    assert guesses(draft) == {
        "query": query,
        "intended": {"column": label, "safe": [sides[0]], "unsafe": [sides[1]]},
        "ratings": {"column": rating, "scale": [1, 100], "rule": "position"},
        "category": category,
        f"context.situation.{context.casefold()}": context,
    }
    assert (len(found.cases), found.problems) == (12, ())


def test_a_query_is_no_list_and_no_label(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("q,contexts,label\nA?,\"['x', 'yyyyyyy']\",Safe\n")
    text, found = drafted(tmp_path / "t.csv")
    assert guesses(text) == {
        "query": "q",
        "intended": {"column": "label", "safe": ["safe"]},
        "context.situation.contexts": {"column": "contexts", "list": True},
    }
    (case,) = found.cases
    assert case.context is not None
    assert case.context.root == {"situation": {"contexts": ["x", "yyyyyyy"]}}


@pytest.mark.parametrize(
    ("header", "asked", "code"),
    [
        ("What a customer says", "How do I change the name on order {}?", "L{}"),
        ("Wording", "Please tell me where order {} goes to.", "ab{}f-09c"),
    ],
)
def test_a_code_is_no_query(tmp_path: Path, header: str, asked: str, code: str) -> None:
    """Questions recur in several contexts, so the column of codes has more different values."""
    rows = [
        f"{code.format(n)},{asked.format(n // 3)},a customer {n % 3},{('answer', 'refuse')[n % 2]}"
        for n in range(12)
    ]
    (tmp_path / "t.csv").write_text(f"Line,{header},Who asks,Our policy\n" + "\n".join(rows))
    text, found = drafted(tmp_path / "t.csv")
    assert guesses(text) == {
        "query": header,
        "id": "Line",
        "context.situation.who_asks": "Who asks",
        "intended": {"column": "Our policy", "safe": ["answer"], "unsafe": ["refuse"]},
    }
    assert len({case.query for case in found.cases}) == 4
    assert "OPEN" not in text
    # A name does not make a query of codes.
    renamed = (tmp_path / "t.csv").read_text().replace("Line", "question", 1)
    (tmp_path / "t.csv").write_text(renamed)
    assert guesses(drafted(tmp_path / "t.csv")[0])["query"] == header


def test_an_open_query_is_asked_for(cli_inside: Cli, tmp_path: Path) -> None:
    rows = [f"L{n},Tell me of order {n}.,We tell it {n} times.,yes" for n in range(4)]
    (tmp_path / "t.csv").write_text("Line,Wording,Notes,ok\n" + "\n".join(rows))
    draft = draft_mapping(tmp_path / "t.csv")
    assert draft.questions == ("which column is what the user asks: 'Wording', 'Notes'?",)
    assert "query: NAME  # OPEN: the column of what the user asks" in draft.text
    done = cli_inside("cases", "import", "t.csv", "--draft", "--out", "m.yaml")
    assert "open: which column is what the user asks: 'Wording', 'Notes'?" in done.stderr
    done = cli_inside("cases", "import", "t.csv", "--map", "m.yaml", "--out", "c.jsonl")
    refused(done, "no such column", "Wording")
    # Questions beside statements are told apart.
    (tmp_path / "t.csv").write_text((tmp_path / "t.csv").read_text().replace(".,We", "?,We"))
    assert guesses(draft_mapping(tmp_path / "t.csv").text)["query"] == "Wording"
    # Codes alone are nobody's question.
    (tmp_path / "t.csv").write_text("Line,ok\nL1,yes\nL2,no\n")
    draft = draft_mapping(tmp_path / "t.csv")
    assert "None is sure to hold questions" in draft.questions[0]


def test_all_rows_are_read(cli_inside: Cli, tmp_path: Path) -> None:
    """A label that only the last of many rows has is known."""
    rows = [f"May I open door {n}?,{('yes', 'no')[n % 2]}" for n in range(2500)]
    (tmp_path / "t.csv").write_text("\n".join(["prompt,verdict", *rows, "May I?,contested"]))
    done = cli_inside("cases", "import", "t.csv", "--draft", "--out", "m.yaml")
    assert "2501 rows were read" in done.stderr
    draft = (tmp_path / "m.yaml").read_text("utf-8")
    assert "# Guessed from all 2501 rows." in draft
    assert guesses(draft)["intended"]["none"] == ["contested"]


def test_a_label_of_the_reply_is_none_of_the_case(tmp_path: Path) -> None:
    rows = [
        {"prompt": f"May I open door {n}?", "response": f"You may open door {n}.", "user_id": "u"}
        | {"response_label": ("safe", "unsafe")[n % 2], "system_action": "refuse it"}
        for n in range(20)
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows))
    draft = draft_mapping(path)
    assert guesses(draft.text)["reply_label"]["column"] == "response_label"
    assert "not taken: response  # 20 of 20" in draft.text
    assert "(a number or a verdict, and no part of the context)" in draft.text
    assert {"intended", "context.situation.system_action"}.isdisjoint(guesses(draft.text))
    # A name that says nothing is asked for.
    path.write_text(path.read_text().replace("response_label", "is_safe"))
    draft = draft_mapping(path)
    assert "does 'is_safe' label what is asked in its context, or the reply" in draft.questions[0]
    for field in ("intended", "reply_label"):
        assert f'# {field}: {{column: is_safe, safe: ["safe"], unsafe: ["unsafe"]}}' in draft.text
    # A name of the query's is taken.
    path.write_text(path.read_text().replace("is_safe", "prompt_is_safe"))
    draft = draft_mapping(path)
    assert guesses(draft.text)["intended"]["column"] == "prompt_is_safe"
    assert not draft.questions


def test_a_label_for_each_reply_is_kept_as_a_tag(tmp_path: Path) -> None:
    """Three replies to two queries; deeds of replies, and several labels of them, are left out."""
    rows = [("1", "Here is how it is done.", "Safe"), ("1", "Do it with an axe then.", "Unsafe")]
    rows += [("2", "Here is how it is done.", "Safe")]
    lines = [f"May I open door {n}?,{reply},{label}" for n, reply, label in rows]
    (tmp_path / "t.csv").write_text("prompt,response,response_label\n" + "\n".join(lines))
    text, found = drafted(tmp_path / "t.csv")
    assert guesses(text)["join"] is True
    assert [case.tags for case in found.cases] == [("reply:safe", "reply:unsafe"), ("reply:safe",)]
    assert {case.intended for case in found.cases} == {None}
    deeds = (tmp_path / "t.csv").read_text().replace("Unsafe", "Refusal").replace("Safe", "Answer")
    (tmp_path / "t.csv").write_text(deeds)
    assert "a label of the reply, and not of what" in draft_mapping(tmp_path / "t.csv").text


def test_a_column_for_each_context_is_proposed_and_asked_for(tmp_path: Path) -> None:
    names = ("to a doctor", "to a stranger", "to an employer")
    rows = [
        {"prompt": f"May I open door {n}?"} | dict(zip(names, row, strict=True))
        for n, row in enumerate([("ok", "no", "unclear"), ("ok", "ok", "no")])
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    text, found = drafted(tmp_path / "t.json")
    wanted = {"column": "said", "safe": ["ok"], "unsafe": ["no"], "none": ["unclear"]}
    assert (guesses(text)["each"]["value"], guesses(text)["intended"]) == ("said", wanted)
    contexts = [case.context.root for case in found.cases if case.context]
    assert contexts == [{"situation": {"where": name}} for name in names] * 2
    (question,) = draft_mapping(tmp_path / "t.json").questions
    assert "a context each" in question
    assert "For a person each: votes" in question


@pytest.mark.parametrize(
    "names",
    [
        # Nothing that they share: which is the label is asked.
        ("doctor", "stranger", "employer"),
        # A number each is a person each.
        ("rater_1", "rater_2", "rater_3"),
        # A label with a name stands beside them.
        ("to a doctor", "to a stranger", "to an employer", "label"),
    ],
)
def test_other_columns_are_no_contexts(tmp_path: Path, names: Sequence[str]) -> None:
    rows = [
        {"prompt": f"May I open door {n}?"} | dict.fromkeys(names, ("ok", "no")[n % 2])
        for n in range(4)
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    assert "each" not in guesses(draft_mapping(tmp_path / "t.json").text)


NAME = st.text(min_size=1, max_size=10)
CELL = st.none() | st.text(max_size=8) | st.integers() | st.floats(allow_nan=False)
MORE = CELL | st.lists(CELL, max_size=2) | st.dictionaries(st.text(max_size=3), CELL, max_size=2)


@settings(max_examples=100)
@given(st.lists(st.dictionaries(NAME, MORE, min_size=1, max_size=5), min_size=1, max_size=5))
def test_every_table_gets_a_draft_that_loads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("any") / "t.json"
    path.write_text(json.dumps(rows))
    (path.parent / "draft.yaml").write_text(draft_mapping(path).text, "utf-8")
    mapping = load_mapping(path.parent / "draft.yaml")
    named = {column for _, column in mapping.columns()} - {"NAME"}
    columns = [column for row in rows for column in row]
    columns += [mapping.each.value] if mapping.each else []
    assert all(column_of(name, columns) for name in named), named


# --- the command line -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["t.csv", "--draft", "--map", "m.yaml"], "give one of the two"),
        (["t.csv", "--draft", "--out", "m.jsonl"], "a mapping is a .yaml file"),
        (["none.csv", "--draft"], "no such file or folder"),
        (["--draft"], "what to import"),
    ],
)
def test_wrong_inputs(cli_inside: Cli, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "t.csv").write_text("ask,ok\nMay I?,yes\nMay you?,no\n")
    refused(cli_inside("cases", "import", *arguments), message)


@pytest.mark.parametrize(
    ("form", "command"),
    [
        ("csv", ["cases", "validate"]),
        ("cp1252", ["describe"]),
        ("xlsx", ["cases", "audit"]),
        ("parquet", ["run", "--dry-run", "--cases"]),
        ("folder", ["contexts", "generate", "--dry-run", "--out", "c.jsonl"]),
    ],
)
def test_a_table_in_place_of_cases_names_the_way_to_them(
    cli_inside: Cli, tmp_path: Path, command: list[str], form: str
) -> None:
    frame, path = pl.DataFrame({"ask": ["Où?"], "ok": ["yes"]}), tmp_path / f"t.{form}"
    match form:
        case "csv":
            frame.write_csv(path)
        case "cp1252":
            path = tmp_path / "t.csv"
            path.write_bytes(frame.write_csv().encode("cp1252"))
        case "xlsx":
            write_workbook(path, {"S": [["ask", "ok"], ["Où?", "yes"]]})
        case "parquet":
            frame.write_parquet(path)
        case "folder":
            path.mkdir()
            frame.write_csv(path / "t.csv")
    done = cli_inside(*command, path.name)
    assert done.returncode == 2, done.stderr
    assert "cases import --draft" in " ".join(done.stderr.split())
    (tmp_path / "slip.jsonl").write_text('{"query": "Why?"}\n{"qery": "How?"}\n')
    slip = cli_inside("cases", "validate", "slip.jsonl")
    assert slip.returncode != 0
    assert "--draft" not in slip.stdout + slip.stderr
