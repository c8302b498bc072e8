"""Drafts of mappings, at the command: a draft is right, or asks."""

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
from support.workbooks import write_workbook

import casewise as cw
from casewise.cases import Case

STRANGERS = ROOT.parent / "shared/data/strangers"


def drafted(cli: Cli, file: Path, *answers: str) -> tuple[str, dict[str, Any], str]:
    """The draft, what it guesses, and its open questions."""
    given = [word for answer in answers for word in ("--answer", answer)]
    done = cli("cases", "import", file, "--draft", "--out", "m.yaml", *given)
    assert done.returncode == 0, done.stderr
    text = cli("cases", "import", file, "--draft", *given).stdout
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
    text, found, asked = drafted(cli_inside, file, *wanted.get("answers", ()))
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


def test_categories_as_many_as_a_benchmark_has(cli_inside: Cli, tmp_path: Path) -> None:
    """Of 90 rows 45 are a category, also where they are codes; a type of recipient is none."""
    rows = [
        {"prompt": f"Is door {n} open?", "recipient_type": "ab"[n % 2], "category": f"S{n // 2}"}
        for n in range(90)
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    done = cli_inside("cases", "import", "t.json", "--out", "c.jsonl")
    assert done.returncode == 0, done.stderr
    cases = cw.load_cases(tmp_path / "c.jsonl")
    assert [case.category for case in cases] == [row["category"] for row in rows]
    assert cases[1].context is not None
    assert cases[1].context.root == {"recipient": {"type": "b"}}


# --- tables that people bring: in one command, or in two after one question ----------------------

SHAPES_THERE = ROOT / "tests/data/shapes"
ASK, PLANTS, FIRE = (
    "How do I open a locked door?",
    "Which plants are poisonous?",
    "How is a fire put out?",
)
TENANT, GUEST = "A tenant asks the house's own bot.", "A guest asks at night."
SIX = [(ask, place) for ask in (ASK, PLANTS, FIRE) for place in (TENANT, GUEST)]


def place(case: Case) -> Any:
    """The first parameter of a case's context."""
    return next(iter(case.context.root.values())) if case.context else None


def said(case: Case) -> Any:
    """The label of a case, of whatever kind it is."""
    if case.votes is not None:
        return case.votes_safe, case.votes_unsafe
    return case.published_safe_rate if case.published_safe_rate is not None else case.intended


@pytest.mark.parametrize(
    ("name", "answer", "labels"),
    [
        # The third annotator of the last case says nothing.
        ("annotators.parquet", None, [(3, 0), (1, 2), (3, 0), (1, 2), (3, 0), (1, 1)]),
        ("one_hot.csv", None, ["safe", "unsafe", "safe", "unsafe", "safe", None]),
        (
            "rating_columns.csv",
            "rater A: high",
            [(2, 0), (0, 2), (3, 0), (0, 3), (3, 0), (0, 3)],
        ),
        ("by_id.json", None, ["safe", "unsafe"] * 3),
        ("two_headers.xlsx", "header: 2", [(9, 1), (2, 8)] * 3),
        ("two_headers.csv", "header: 2", [(9, 1), (2, 8)] * 3),
        ("latin1.csv", None, [0.75, 0.25] * 3),
        ("class_label.parquet", None, ["safe", "unsafe"] * 3),
        ("two_languages.csv", "question_en", ["safe", "unsafe"] * 3),
        ("chat_export.json", "no label", [None] * 3),
        ("totals.xlsx", None, [(8, 2), (2, 8)] * 3),
    ],
)
def test_a_shape_is_read_at_once_or_after_one_question(
    cli_inside: Cli, tmp_path: Path, name: str, answer: str | None, labels: list[Any]
) -> None:
    command: list[str | Path] = ["cases", "import", SHAPES_THERE / name, "--out", "cases.jsonl"]
    if answer is not None:
        refused(cli_inside(*command), answer, "--answer")
        command += ["--answer", answer]
    done = cli_inside(*command)
    assert done.returncode == 0, done.stderr
    cases = cw.load_cases(tmp_path / "cases.jsonl")
    assert [said(case) for case in cases] == labels
    if name not in ("latin1.csv", "chat_export.json"):
        texts = [(case.query, place(case)) for case in cases]
        assert texts == SIX
    # What an annotator wrote, and what a model replied, is told and reaches no prompt.
    assert "PLANTED" not in (tmp_path / "cases.jsonl").read_text("utf-8")


ROUTER, FUSE = "How do I reset a router?", "How do I change a fuse?"


@pytest.mark.parametrize(
    ("table", "answers", "wanted"),
    [
        (
            "query,safe_context,unsafe_context\n{},At home.,At a stranger's.\n",
            [],
            [("At home.", "safe"), ("At a stranger's.", "unsafe")],
        ),
        (
            "query,context_a,label_a,context_b,label_b\n{0},At home.,safe,At work.,unsafe\n",
            [],
            [("At home.", "safe"), ("At work.", "unsafe")],
        ),
        (
            "query,context,annotation\n{0},At home.,may answer\n{0},At work.,it depends\n",
            ["annotation", "may answer=safe", "it depends=none"],
            [("At home.", "safe"), ("At work.", None)],
        ),
        (
            "No,query,context,n_yes,n_no\n1,{0},At home.,7,3\n2,{0},At work.,2,8\n",
            [],
            [("At home.", (7, 3)), ("At work.", (2, 8))],
        ),
        (
            "prompt,scenario,is_safe,is_unsafe\n{0},At home.,1,0\n{0},At work.,0,1\n",
            [],
            [("At home.", "safe"), ("At work.", "unsafe")],
        ),
        (
            "prompt,scenario,Allowed,Refuse\n{0},At home.,x,\n{0},At work.,,x\n",
            [],
            [("At home.", "safe"), ("At work.", "unsafe")],
        ),
        (
            "prompt,scenario,flag\n{0},At home.,0\n{0},At work.,1\n",
            ["1=unsafe"],
            [("At home.", "safe"), ("At work.", "unsafe")],
        ),
        (
            "prompt,scenario,% acceptable\n{0},At home.,80%\n{0},At work.,20%\n",
            [],
            [("At home.", 0.8), ("At work.", 0.2)],
        ),
        (
            "Frage,Rolle,Sicher_5\n{0},Mieter,5\n{0},Gast,2\n",
            ["Sicher_5", "Sicher_5: high", "context: Rolle"],
            [("Mieter", 1.0), ("Gast", 0.25)],
        ),
        (
            "prompt,verdict\n{0},safe\n{0},unsafe\n{0},safe\n",
            ["verdicts"],
            [(None, (2, 1))],
        ),
    ],
    ids=lambda one: one.partition("\n")[0] if isinstance(one, str) else "",
)
def test_a_table_of_few_rows(
    cli_inside: Cli, tmp_path: Path, table: str, answers: list[str], wanted: list[Any]
) -> None:
    """What each question is answered with settles it; nothing is read without a label unasked."""
    (tmp_path / "t.csv").write_text(table.format(ROUTER))
    command = ["cases", "import", "t.csv", "--out", "c.jsonl"]
    for answer in answers:
        refused(cli_inside(*command), answer, "give --answer")
        command += ["--answer", answer]
    done = cli_inside(*command)
    assert done.returncode == 0, done.stderr
    assert [(place(case), said(case)) for case in cw.load_cases(tmp_path / "c.jsonl")] == wanted
    given = [word for answer in answers for word in ("--answer", answer)]
    assert cli_inside(*command[:3], "--draft", "--out", "m.yaml", *given).returncode == 0
    assert cli_inside(*command[:5], "--map", "m.yaml").returncode == 0


@pytest.mark.parametrize("form", ["--draft", "--out=c.jsonl"])
def test_an_answer_to_no_question_is_refused(cli_inside: Cli, tmp_path: Path, form: str) -> None:
    """Misspelt, or of another table: the questions that there are stand in the message."""
    (tmp_path / "clear.csv").write_text(f"query,context,label\n{ROUTER},At home.,safe\n")
    (tmp_path / "t.csv").write_text(
        f"query,context,label,verdict\n{ROUTER},At home.,safe,unsafe\n{ROUTER},At work.,no,yes\n"
    )
    for answer in ("banana", "verdict=safe", "nothing", "safe=banana", "context: query"):
        refused(
            cli_inside("cases", "import", "clear.csv", form, "--answer", answer),
            f"clear.csv: --answer {answer!r} answers no question of the draft, which asks: none",
        )
        refused(
            cli_inside("cases", "import", "t.csv", form, "--answer", answer, "--answer", "label"),
            f"t.csv: --answer {answer!r} answers no question of the draft, which asks: Is each of",
            "or one the label? [contexts, people, label, verdict, no label]",
        )
    done = cli_inside("cases", "import", "clear.csv", form, "--answer", "header: 1")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "c.jsonl").exists() or form != "--draft"


def test_messages_and_rows_without_a_query_are_asked_about(cli_inside: Cli, tmp_path: Path) -> None:
    lines = [f"1,user,{ROUTER}", "1,assistant,Press the button.", f"2,user,{FUSE}"]
    (tmp_path / "chat.csv").write_text("\n".join(["chat,role,content", *lines]))
    refused(cli_inside("cases", "import", "chat.csv", "--out", "c.jsonl"), "a list of {role, con")
    (tmp_path / "two.csv").write_text(f"query,a_safe,a_unsafe,b_safe,b_unsafe\n{ROUTER},3,1,2,2")
    refused(cli_inside("cases", "import", "two.csv", "--out", "c.jsonl"), "Which are votes_safe")
    lines = [f"{ROUTER},At home.,safe", ",At work.,unsafe"]
    (tmp_path / "t.csv").write_text("\n".join(["query,context,label", *lines]))
    refused(cli_inside("cases", "import", "t.csv", "--out", "c.jsonl"), "1 of the first 2 rows")


def test_what_strangers_brought(cli_inside: Cli, tmp_path: Path) -> None:
    """Annotators as rows, contexts in a list with verdicts inside, a column a channel."""
    if not STRANGERS.is_dir():
        pytest.skip(f"the inputs are not at {STRANGERS}")
    for name in ("votes_long.csv", "contexts_nested.json"):
        done = cli_inside("cases", "import", STRANGERS / name, "--out", "c.jsonl")
        assert done.returncode == 0, done.stderr
        cases = cw.load_cases(tmp_path / "c.jsonl")
        assert (len(cases), len({case.query_id for case in cases})) == (24, 12)
        counts = [(case.votes_safe or 0, case.votes_unsafe or 0) for case in cases]
        # Of 120 annotations two are unsure, which is no vote.
        assert (sum(safe for safe, _ in counts), sum(unsafe for _, unsafe in counts)) == (69, 49)
        for case in cases:
            assert not {"appropriate", "W0"} & {*map(str, str(case.context).split("'"))}
    command: list[str | Path] = [
        "cases",
        "import",
        STRANGERS / "policy_two_channels.xlsx",
        "--out",
        "c.jsonl",
    ]
    refused(cli_inside(*command), "[contexts | people | Web widget | WhatsApp line | no label]")
    refused(cli_inside(*command, "--answer", "contexts"), "ask legal=none")
    done = cli_inside(*command, "--answer", "contexts", "--answer", "ask legal=none")
    assert done.returncode == 0, done.stderr
    assert "merged cells, whose value holds in each row and column: " in done.stderr
    cases = cw.load_cases(tmp_path / "c.jsonl")
    # 40 lines, two of them without a decision for one channel; the merged topics hold below.
    assert len(cases) == 78
    assert all(case.category for case in cases)
    assert {str(case.context.root["where"]) for case in cases if case.context} == {
        "Web widget",
        "WhatsApp line",
    }
    assert cli_inside(*command, "--answer", "Web widget").returncode == 0
    assert len(cw.load_cases(tmp_path / "c.jsonl")) == 40


PLANTED = "PLANTED-WORD"


@pytest.mark.parametrize("column", ["verdict_reason", "context_comment", "annotator notes"])
def test_no_word_of_an_annotator_reaches_a_prompt(
    cli_inside: Cli, tmp_path: Path, column: str
) -> None:
    rows = [
        {
            "question": f"How do I open door {n // 6}?",
            "scenario": (TENANT, GUEST)[n // 3 % 2],
            "annotator": f"a{n % 3}",
            "context_rating": ("appropriate", "not appropriate")[n % 2],
            column: f"{PLANTED} {n}: I think it is quite safe here.",
        }
        for n in range(24)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "t.csv")
    done = cli_inside("cases", "import", "t.csv", "--out", "c.jsonl")
    assert done.returncode == 0, done.stderr
    assert f"{column} 24" in done.stderr
    cases = cw.load_cases(tmp_path / "c.jsonl")
    assert (len(cases), cases[0].votes_safe, cases[0].votes_unsafe) == (8, 2, 1)
    for case in cases:
        assert PLANTED not in str(case)
        assert case.context is not None
        assert case.context.root == {"scenario": case.context.root["scenario"]}


# --- any table ----------------------------------------------------------------------------------

NAME = st.text(min_size=1, max_size=10)
CELL = st.none() | st.text(max_size=8) | st.integers() | st.floats(allow_nan=False)
MORE = CELL | st.lists(CELL, max_size=2) | st.dictionaries(st.text(max_size=3), CELL, max_size=2)


@settings(max_examples=10)
@given(st.lists(st.dictionaries(NAME, MORE, min_size=1, max_size=5), min_size=1, max_size=5))
def test_every_table_gets_a_draft_that_loads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "t.json").write_text(json.dumps(rows))
    cli = cli_in(folder)
    done = cli("cases", "import", "t.json", "--draft", "--out", "m.yaml")
    assert done.returncode == 0, done.stderr
    done = cli("cases", "import", "t.json", "--map", "m.yaml", "--out", "c.jsonl", "--skip-bad")
    # Only what it asks for may be absent.
    if done.returncode:
        said = " ".join(done.stderr.split())
        assert "no row became a case" in said or "found 'NAME'" in said, said


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
