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
from casewise.errors import InputError


def drafted(path: Path) -> tuple[str, Imported]:
    """The draft, and what becomes of the table by it, unedited."""
    text = draft_mapping(path)
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


@pytest.mark.parametrize("form", ["csv", "tsv", "xlsx", "parquet", "arrow", "jsonl", "utf-16"])
def test_every_form_of_table(tmp_path: Path, form: str) -> None:
    rows = [
        {key: value for key, value in row.items() if not isinstance(value, list)} for row in ROWS
    ]
    frame, path = pl.DataFrame(rows), tmp_path / f"t.{form.replace('utf-16', 'csv')}"
    match form:
        case "csv":
            frame.write_csv(path, separator=";")
        case "tsv":
            frame.write_csv(path, separator="\t")
        case "xlsx":
            write_workbook(path, {"S": [list(rows[0]), *(list(row.values()) for row in rows)]})
        case "parquet":
            frame.write_parquet(path)
        case "arrow":
            frame.write_ipc_stream(path)
        case "jsonl":
            frame.write_ndjson(path)
        case _:
            path.write_bytes(frame.write_csv(separator="\t").encode("utf-16"))
    text, found = drafted(path)
    wanted = {key: GUESSED[key] for key in GUESSED if key != "context.recipient.role"}
    assert guesses(text) == wanted
    assert (len(found.cases), found.problems) == (4, ())


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
    (path.parent / "draft.yaml").write_text(draft_mapping(path), "utf-8")
    mapping = load_mapping(path.parent / "draft.yaml")
    named = {column for _, column in mapping.columns()} - {"NAME"}
    assert named <= {column for row in rows for column in row}


# --- the command line -----------------------------------------------------------------------

TABLE = "ask,ok\nMay I?,yes\nMay you?,no\n"


def test_from_any_table_to_cases(cli_inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    done = cli_inside("cases", "import", "t.csv", "--draft", "--out", "m.yaml")
    assert done.returncode == 0, done.stderr
    assert "m.yaml: check it, then casewise cases import t.csv --map m.yaml" in done.stderr
    done = cli_inside("cases", "import", "t.csv", "--map", "m.yaml", "--out", "cases.jsonl")
    assert done.returncode == 0, done.stderr
    assert "labels: 2 with the side that the authors mean" in done.stderr
    assert cli_inside("cases", "import", "t.csv", "--draft").stdout == (
        tmp_path / "m.yaml"
    ).read_text("utf-8")


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
    (tmp_path / "t.csv").write_text(TABLE)
    refused(cli_inside("cases", "import", *arguments), message)


FORMS = ("csv", "cp1252", "xlsx", "parquet", "json", "folder")
GENERATE = ["contexts", "generate", "--dry-run", "--out", "c.jsonl"]
WANT_CASES = (
    ["cases", "validate"],
    ["cases", "audit"],
    ["describe"],
    ["run", "--dry-run", "--cases"],
)


@pytest.mark.parametrize(
    ("form", "command"),
    [
        *((form, command) for form in FORMS for command in WANT_CASES),
        # Any text may be a list of queries.
        *((form, GENERATE) for form in ("xlsx", "parquet")),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one[:2]),
)
def test_a_table_in_place_of_cases(
    cli_inside: Cli, tmp_path: Path, command: list[str], form: str
) -> None:
    """Whatever command wants cases names the way to them."""
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
        case "json":
            path.write_text(json.dumps(frame.to_dicts()))
        case "folder":
            path.mkdir()
            frame.write_csv(path / "t.csv")
    done = cli_inside(*command, path.name)
    assert done.returncode == 2, done.stderr
    assert "cases import --draft" in " ".join(done.stderr.split())


def test_a_slip_in_a_file_of_cases_is_no_table(tmp_path: Path) -> None:
    from casewise.cases import load_cases

    (tmp_path / "c.jsonl").write_text('{"query": "Why?"}\n{"qery": "How?"}\n')
    with pytest.raises(InputError) as caught:
        load_cases(tmp_path / "c.jsonl")
    assert "--draft" not in str(caught.value)
