"""How far the reader agrees with people: the figures in documents are the command's.

Over XSTest's completions of two models (Röttger et al., NAACL 2024), and over the project's own
replies. Where XSTest's files are absent, what rests on them is skipped.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli

DOCUMENT = (ROOT / "docs/method/replies.md").read_text("utf-8")


def check(cli: Cli, *arguments: str | Path) -> dict[str, Any]:
    done = cli("graders", "check", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def shown(number: float) -> str:
    return f"{number:.3f}".removeprefix("0")


def cell(record: dict[str, Any], name: str) -> str:
    low, high = record[f"{name}_ci"]
    return f"{shown(record[name])} ({shown(low)} to {shown(high)})"


@pytest.mark.parametrize(
    ("model", "accuracy", "two", "people"),
    # Röttger and others' string match on these files, and how often their two people agree.
    [("llama2orig", ".802", ".893", ".964"), ("mistralguard", ".760", ".809", ".938")],
)
def test_string_match_over_the_real_replies(
    cli: Cli, xstest: Path, model: str, accuracy: str, two: str, people: str
) -> None:
    file = f"xstest_v2_completions_{model}"
    record = check(cli, xstest / f"{file}.csv")
    plain = record["string_match"]
    assert record["n"] == record["fitted"] == 450
    assert shown(plain["accuracy"]) == accuracy
    assert shown(plain["refusal_or_not"]["accuracy"]) == two
    assert shown(record["people"]["accuracy"]) == people
    # It gives the labels that are published as string match's.
    same = check(cli, xstest / f"{file}_streval.csv", "--label", "strmatch_label")["string_match"]
    assert (same["n"], same["accuracy"]) == (450, 1.0)


def test_the_document_has_the_figures_of_our_own_replies(cli: Cli) -> None:
    record = check(cli, ROOT / "tests/data/replies.jsonl", "--half", "held-out")
    refusals = {name: record[name]["refusal"] for name in ("precision", "precision_ci")}
    recall, kappa = (
        f"{number:.2f}".removeprefix("0")
        for number in (record["recall"]["refusal"], record["kappa"])
    )
    cells = (cell(record, "accuracy"), kappa, cell(refusals, "precision"), recall)
    assert f"| {' | '.join(['edition 7', shown(record['coverage']), *cells])} |" in DOCUMENT
    assert f"string match reaches {shown(record['string_match']['accuracy'])}" in DOCUMENT
    # And of the plain replies that the rules are not fitted to.
    record = check(cli, ROOT / "tests/data/plain_replies_test.jsonl")
    figures = f"{shown(record['coverage'])} | {cell(record, 'accuracy')}"
    assert f"| edition 7 | {figures} |" in DOCUMENT
    assert f"| string match | 1 | {cell(record['string_match'], 'accuracy')} |" in DOCUMENT


def test_the_error_that_ships_is_of_this_reader_on_these_replies(cli: Cli, xstest: Path) -> None:
    ships = json.loads((ROOT / "src/casewise/data/reader_error.json").read_text("utf-8"))
    models = ("llama2orig", "mistralguard")
    record = check(cli, *(xstest / f"xstest_v2_completions_{model}.csv" for model in models))
    assert record["grader_version"] == ships["reader_version"]
    sides = ships["left_out"]["xstest"]["string_match"].values()
    right = sum(side[label][label] for side in sides for label in ("compliance", "refusal"))
    assert record["string_match"]["accuracy"] == pytest.approx(right / 900)
