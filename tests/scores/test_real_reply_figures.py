"""How far the reader agrees with people: the figures in documents are the command's.

Over XSTest's completions of two models (Röttger et al., NAACL 2024), and over the project's own
replies. Where XSTest's files are absent, what rests on them is skipped.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from support.replies import HELD_OUT, PATH, half

DOCUMENT = (ROOT / "docs/method/replies.md").read_text("utf-8")


def check(cli: Cli, *arguments: str | Path) -> dict[str, Any]:
    done = cli("graders", "check", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def row(record: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in record["agreement"] if one["grader"] == name)
    return found  # type: ignore[no-any-return]


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
    plain = row(record, "string match")
    assert plain["n"] == record["fitted"] == 450
    assert shown(plain["accuracy"]) == accuracy
    assert shown(plain["refusal_or_not"]) == two
    assert shown(row(record, "two people")["accuracy"]) == people
    # It gives the labels that are published as string match's.
    published = check(cli, xstest / f"{file}_streval.csv", "--label", "strmatch_label")
    same = row(published, "string match")
    assert (same["n"], same["accuracy"]) == (450, 1.0)


def test_the_document_has_the_figures_of_our_own_replies(cli: Cli, tmp_path: Path) -> None:
    lines = PATH.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    held_out = [line for line in lines if half(json.loads(line)["id"]) == HELD_OUT]
    (tmp_path / "held_out.jsonl").write_text("\n".join(held_out), "utf-8", newline="\n")
    record = check(cli, tmp_path / "held_out.jsonl")
    own = row(record, "rules")
    recall, kappa = (f"{own[name]:.2f}".removeprefix("0") for name in ("recall", "kappa"))
    cells = (cell(own, "accuracy"), kappa, cell(own, "precision"), recall)
    assert f"| {' | '.join(['edition 7', shown(own['graded']), *cells])} |" in DOCUMENT
    plain = row(record, "string match")
    assert f"string match reaches {shown(plain['accuracy'])}" in DOCUMENT
    # And of the plain replies that the rules are not fitted to.
    record = check(cli, ROOT / "tests/data/plain_replies_test.jsonl")
    own, plain = row(record, "rules"), row(record, "string match")
    assert f"| edition 7 | {shown(own['graded'])} | {cell(own, 'accuracy')} |" in DOCUMENT
    assert f"| string match | 1 | {cell(plain, 'accuracy')} |" in DOCUMENT


def test_the_error_that_ships_is_of_this_reader_on_these_replies(cli: Cli, xstest: Path) -> None:
    ships = json.loads((ROOT / "src/casewise/data/reader_error.json").read_text("utf-8"))
    models = ("llama2orig", "mistralguard")
    record = check(cli, *(xstest / f"xstest_v2_completions_{model}.csv" for model in models))
    assert record["grader_version"] == ships["reader_version"]
    assert row(record, "string match")["n"] == ships["sources"]["xstest"]["n"]
