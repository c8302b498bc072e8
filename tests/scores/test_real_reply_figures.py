"""How far the reader agrees with people: the figures in code and documents are the command's.

Over XSTest's completions of two models (Röttger et al., NAACL 2024), and over the project's own
replies. Where XSTest's files are absent, what rests on them is skipped.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli

from casewise.protocols import READER_VERSION, ResponseClass, read_reply
from casewise.scores import rules_note
from casewise.scores._grader_agreement import CLASSES, reader_error

DOCUMENT = (ROOT / "docs/method/replies.md").read_text("utf-8")
AUTHORED = (".872", ".959")
"""Accuracy and precision of refusals on the replies that the project wrote."""
ROUNDED = "accuracy .87 (.84 to .90)"
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


def figures(record: dict[str, Any]) -> tuple[str, str]:
    """In three classes, and refusal or not."""
    return shown(record["accuracy"]), shown(record["refusal_or_not"]["accuracy"])


RULES, STRING_MATCH = ((".853", ".938"), (".847", ".900")), ((".802", ".893"), (".760", ".809"))
"""On XSTest's replies of two models, each left out of the fit: in three classes, and refusal or
not."""
FILES = tuple(f"xstest_v2_completions_{model}.csv" for model in reader_error().counts)
ELSEWHERE = reader_error().others


def test_the_error_is_of_this_reader() -> None:
    assert reader_error().reader_version == READER_VERSION


def test_the_line_says_the_error() -> None:
    """By hand, from the counts of llama2orig and mistralguard.

    Agreement: (84 + 25 + 85 + 1 + 189) / 450 and (189 + 7 + 19 + 5 + 1 + 160) / 450. Safe queries
    are refused by people's count in (95 + 54 / 2) / 250 and (24 + 23 / 2) / 250, by the reader's in
    (121 + 36 / 2) / 250 and (35 + 16 / 2) / 250; unsafe ones in (199 + 1 / 2) / 200 and
    (175 + 18 / 2) / 200, by the reader's in (189 + 9 / 2) / 200 and (173 + 3 / 2) / 200.
    """
    found = reader_error()
    assert found.n == 900
    assert found.agreement == pytest.approx((384 + 381) / 900)
    assert found.by_model == pytest.approx((381 / 450, 384 / 450))
    assert found.off("safe") == pytest.approx((139 - 122) / 250)
    assert found.off("unsafe") == pytest.approx((184 - 174.5) / 200)
    assert rules_note() == (
        "Replies were graded by rules (reader edition 6), so their rates are provisional. The "
        "rules were measured on 900 replies of two models to the short prompts of XSTest: they "
        "agree with people in .850 (.847 to .853 by model), with over-refusal off by up to .07 and "
        f"under-refusal by up to .05. Elsewhere they are off by more: {ELSEWHERE}. To do better, "
        "label 50 replies (casewise graders sample LOGS, casewise graders label to-label.csv, then "
        "casewise score LOGS --grader-check to-label.csv), or let a model grade them (casewise "
        "grade LOGS --cases CASES --grader MODEL)."
    )
    assert rules_note(["m", "n"]).startswith("Replies of m, n were graded by rules")


def test_the_line_says_what_the_rules_do_elsewhere(real_replies: Path) -> None:
    """The everyday replies have no labels: nearly all comply, so that no command counts them."""
    lines = (real_replies / "everyday.jsonl").read_text("utf-8").splitlines()
    read = [read_reply(one["reply"], one["query"]) for one in map(json.loads, lines)]
    said = [one.response_class for one in read]
    refusing = said.count(ResponseClass.REFUSAL) + said.count(ResponseClass.PARTIAL)
    assert f"of {len(said)} everyday replies they call {refusing} a refusal" in ELSEWHERE


@pytest.mark.parametrize("name", ["speechmap", "refusalbench", "harmful_prompts"])
def test_other_registers(cli_inside: Cli, real_replies: Path, name: str) -> None:
    """What the document says of replies to political, scientific and harmful requests."""
    record = check(cli_inside, real_replies / f"{name}.jsonl", "--bootstrap", "0")
    counts = [
        f"{said['compliance']} / {said['partial']} / {said['refusal']} / {said['undetermined']}"
        for said in (record["confusion"][label] for label in ("compliance", "partial", "refusal"))
    ]
    plain = record["string_match"]["refusal_or_not"]["accuracy"]
    shares = [shown(one) for one in (record["refusal_or_not"]["accuracy"], plain)]
    assert f"`{name}` | {record['n']:,} | {' | '.join([*counts, *shares])} |" in DOCUMENT
    if name == "harmful_prompts":
        said = record["confusion"]["refusal"]
        total = f"{sum(said.values()):,}"
        wrong = said["compliance"]
        assert f"of {total} refusals of harmful requests {wrong} compliance" in ELSEWHERE


def test_the_command_wrote_the_document(cli_inside: Cli, xstest: Path, tmp_path: Path) -> None:
    for name in FILES:
        shutil.copy(xstest / name, tmp_path)
    done = cli_inside("graders", "check", *FILES, "--format", "markdown")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in DOCUMENT


def test_string_match_over_the_real_replies(cli_inside: Cli, xstest: Path) -> None:
    files = [xstest / name for name in FILES]
    record = check(cli_inside, *files, "--bootstrap", "0")
    assert record["n"] == record["fitted"] == reader_error().n
    assert record["grader_version"] == reader_error().reader_version
    assert figures(record["string_match"]) == (".781", ".851")


@pytest.mark.parametrize("model", ["llama2orig", "mistralguard"])
def test_left_out(model: str) -> None:
    """Each model, read by a fit to the other: better than string match, and with people's rates."""
    rows = []
    found = reader_error()
    for counts in (found.counts, found.string_match):
        sides = counts[model].values()
        cells = {(a, b): sum(one[a][b] for one in sides) for a in CLASSES[:3] for b in CLASSES}
        rows.append(left_out_cells(cells))
    reader, plain = rows
    for row, name in zip(rows, ("reader", "string match"), strict=True):
        assert f"| `{model}` | {name} | {' | '.join(map(shown, row))} |" in DOCUMENT
    place = tuple(found.counts).index(model)
    assert tuple(map(shown, reader[:2])) == RULES[place]
    assert tuple(map(shown, plain[:2])) == STRING_MATCH[place]
    assert reader[0] > plain[0]
    assert reader[1] > plain[1]
    said, people = reader[2:4], reader[4:]
    assert said == pytest.approx(people, abs=0.04)


def left_out_cells(cells: dict[tuple[Any, Any], int]) -> list[float]:
    """Accuracy, refusal or not; refusals in whole, and in whole or part, said; the same by people.

    Args:
        cells: How often each label was read as each class.
    """
    total, refusing = sum(cells.values()), ("partial", "refusal")
    counts = (
        sum(n for (label, said), n in cells.items() if label == said),
        sum(n for (a, b), n in cells.items() if (a in refusing) == (b in refusing)),
        sum(n for (_, said), n in cells.items() if said == "refusal"),
        sum(n for (_, said), n in cells.items() if said in refusing),
        sum(n for (label, _), n in cells.items() if label == "refusal"),
        sum(n for (label, _), n in cells.items() if label in refusing),
    )
    return [n / total for n in counts]


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
    row = " | ".join(["edition 6", *cells, cell(of_refusals, "precision"), recall])
    assert f"| {row} |" in DOCUMENT
    assert f"string match reaches {shown(record['string_match']['accuracy'])}" in DOCUMENT


def test_on_the_plain_replies_that_are_not_fitted_to(cli_inside: Cli) -> None:
    record = check(cli_inside, ROOT / "tests/data/plain_replies_test.jsonl", "--bootstrap", "0")
    assert f"| edition 6 | {cell(record, 'accuracy')} |" in DOCUMENT
    assert f"| string match | {cell(record['string_match'], 'accuracy')} |" in DOCUMENT
    assert f"precision of refusals is {shown(record['precision']['refusal'])} there" in DOCUMENT
    assert f"recall of partial replies {record['recall']['partial']:.2f}".replace(" 0.", " .") in (
        DOCUMENT
    )


PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_authored_figure_stands_alone(page: Path) -> None:
    """Where a page has the figures on our own replies, it has those on real ones as well."""
    text = page.read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    told = any(all(one in part for one in AUTHORED) for part in (*rows, *prose.split("\n\n")))
    if not told and ROUNDED not in " ".join(text.split()):
        return
    assert all(one in text for both in (*RULES, *STRING_MATCH) for one in both)
