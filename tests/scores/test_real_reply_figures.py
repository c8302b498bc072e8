"""How far the reader agrees with people: the figures in code and documents are the command's.

Over XSTest's completions of two models (Röttger et al., NAACL 2024), and over the project's own
replies. Where XSTest's files are absent, what rests on them is skipped.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli

from casewise.protocols import READER_VERSION
from casewise.scores import READER_FIGURES, GraderFigures, rules_note

DOCUMENT = (ROOT / "docs/replies.md").read_text("utf-8")
AUTHORED = (".891", ".975")
"""Accuracy and precision of refusals on the replies that the project wrote."""
ROUNDED = "accuracy .89 (.86 to .92)"
"""The former, as a page with two digits has it."""


def check(cli_inside: Cli, *arguments: str | Path) -> dict[str, Any]:
    done = cli_inside("graders", "check", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def shown(number: float) -> str:
    return f"{number:.3f}".removeprefix("0")


def cell(record: dict[str, Any], name: str) -> str:
    low, high = record[f"{name}_ci"]
    return f"{shown(record[name])} ({shown(low)} to {shown(high)})"


def figures(record: dict[str, Any]) -> GraderFigures:
    two = record["refusal_or_not"]
    found = (record["accuracy"], two["accuracy"], two["precision"], two["recall"])
    return GraderFigures(*(round(one, 3) for one in found))


def line(name: str, record: dict[str, Any]) -> str:
    """A row of the document's table."""
    two = record["refusal_or_not"]
    cells = [cell(record, "accuracy"), *(cell(two, one) for one in ("accuracy", *_OF_TWO))]
    return f"| {' | '.join([name, *cells])} |"


_OF_TWO = ("precision", "recall")


def test_the_figures_are_of_this_reader() -> None:
    assert READER_FIGURES.reader_version == READER_VERSION


def test_the_line_says_the_figures() -> None:
    note = rules_note()
    for one in (READER_FIGURES.rules, READER_FIGURES.string_match):
        for share in (one.accuracy, one.refusal_or_not, one.precision, one.recall):
            assert shown(share) in note
    assert f"{READER_FIGURES.replies} real replies (XSTest)" in note
    assert rules_note(["m", "n"]).startswith("Replies of m, n were graded by rules")


def test_on_real_replies(cli_inside: Cli, xstest: Path) -> None:
    record = check(cli_inside, *(xstest / name for name in READER_FIGURES.files))
    assert record["n"] == READER_FIGURES.replies
    assert record["grader_version"] == READER_FIGURES.reader_version
    assert figures(record) == READER_FIGURES.rules
    assert figures(record["string_match"]) == READER_FIGURES.string_match
    for name, one in (
        ("the reader, edition 4", record),
        ("string match", record["string_match"]),
        ("one person against the other", record["people"]),
    ):
        assert line(name, one) in DOCUMENT
    for name, one in (("the reader", record), ("string match", record["string_match"])):
        both = {f"{a}{end}": one[f"{a}{end}"]["refusal"] for a in _OF_TWO for end in ("", "_ci")}
        assert f"| {name} | {cell(both, 'precision')} | {cell(both, 'recall')} |" in DOCUMENT


@pytest.mark.parametrize(
    ("model", "accuracy", "two", "people"),
    # Röttger and others' string match on these files, and how often their two people agree.
    [("llama2orig", ".802", ".893", ".964"), ("mistralguard", ".760", ".809", ".938")],
)
def test_by_model(
    cli_inside: Cli, xstest: Path, model: str, accuracy: str, two: str, people: str
) -> None:
    record = check(cli_inside, xstest / f"xstest_v2_completions_{model}.csv", "--bootstrap", "0")
    plain = record["string_match"]
    assert shown(plain["accuracy"]) == accuracy
    assert shown(plain["refusal_or_not"]["accuracy"]) == two
    assert shown(record["people"]["accuracy"]) == people
    found = [record["accuracy"], record["refusal_or_not"]["accuracy"]]
    assert f"| `{model}` | {' | '.join(map(shown, found))} | {accuracy} | {two} |" in DOCUMENT


@pytest.mark.parametrize("model", ["llama2orig", "mistralguard"])
def test_string_match_gives_the_published_labels(cli_inside: Cli, xstest: Path, model: str) -> None:
    file = xstest / f"xstest_v2_completions_{model}_streval.csv"
    record = check(cli_inside, file, "--label", "strmatch_label", "--bootstrap", "0")
    assert record["string_match"]["n"] == 450
    assert record["string_match"]["accuracy"] == 1.0


def test_on_the_projects_own_replies(cli_inside: Cli) -> None:
    file = ROOT / "tests/data/replies.jsonl"
    record = check(cli_inside, file, "--half", "held-out", "--bootstrap", "0")
    of_refusals = {name: record[name]["refusal"] for name in ("precision", "precision_ci")}
    assert (shown(record["accuracy"]), shown(of_refusals["precision"])) == AUTHORED
    recall = f"{record['recall']['refusal']:.2f}".removeprefix("0")
    cells = (cell(record, "accuracy"), f"{record['kappa']:.2f}".removeprefix("0"))
    row = " | ".join(["edition 4", *cells, cell(of_refusals, "precision"), recall])
    assert f"| {row} |" in DOCUMENT
    assert f"string match reaches {shown(record['string_match']['accuracy'])}" in DOCUMENT


PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_authored_figure_stands_alone(page: Path) -> None:
    """Where a page has the figures on our own replies, it has those on real ones as well."""
    text = page.read_text("utf-8")
    if not all(one in text for one in AUTHORED) and ROUNDED not in " ".join(text.split()):
        return
    rules, plain = READER_FIGURES.rules, READER_FIGURES.string_match
    for one in (rules.accuracy, rules.refusal_or_not, plain.accuracy, plain.refusal_or_not):
        assert shown(one) in text
