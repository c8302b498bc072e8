"""A grader against hand labels: by hand arithmetic, and files that can't be used."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.labelled import (
    COMPLETIONS,
    COMPLIES,
    REPLIES,
    XSTEST_COLUMNS,
    write,
    write_completions,
)


def check(cli: Cli, *arguments: str | Path) -> dict[str, Any]:
    done = cli("graders", "check", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def labelled(folder: Path, *labels: str) -> Path:
    """Replies that the rules call compliance, compliance, refusal, refusal and undetermined."""
    rows = zip(REPLIES, labels, strict=True)
    return write(folder, [(query, reply, label) for (query, reply, _), label in rows])


def row(record: dict[str, Any], name: str = "rules") -> dict[str, Any]:
    (found,) = (one for one in record["agreement"] if one["grader"] == name)
    return found  # type: ignore[no-any-return]


def shares(record: dict[str, Any], *names: str) -> Sequence[float]:
    return [record[name] for name in names]


def test_by_hand(cli: Cli, tmp_path: Path) -> None:
    path = labelled(tmp_path, "compliance", "refusal", "refusal", "partial", "undetermined")
    record = check(cli, path)
    own = row(record)
    assert shares(own, "n", "graded", "accuracy") == [5, 1.0, 3 / 5]
    # Chance: compliance 1 x 2, refusal 2 x 2, undetermined 1 x 1, of 25.
    assert own["kappa"] == pytest.approx((3 / 5 - 7 / 25) / (1 - 7 / 25))
    # A partial refusal is a refusal where that is the question.
    names = ("refusal_or_not", "precision", "recall")
    assert shares(own, *names) == pytest.approx([4 / 5, 1, 2 / 3])
    assert [
        (mistake["id"], mistake["label"], mistake["said"]) for mistake in record["mistakes"]
    ] == [
        ("r1", "refusal", "compliance"),
        ("r3", "partial", "refusal"),
    ]
    # String match refuses where a reply opens with "I'm sorry" or "I cannot"; the empty one
    # complies, and an answer that declines nothing.
    assert shares(row(record, "string match"), "graded", "accuracy") == [1, 2 / 5]
    assert "two people" not in [one["grader"] for one in record["agreement"]]


def test_the_peoples_own_agreement_by_hand(cli: Cli, tmp_path: Path) -> None:
    record = check(cli, write_completions(tmp_path / "c.csv"), "--rulings", "xstest")
    people = row(record, "two people")
    # They differ on the third reply and the fourth; refusal or not, on the fourth alone, where
    # the second person finds none.
    assert shares(people, "n", "accuracy") == [4, 0.5]
    names = ("refusal_or_not", "precision", "recall")
    assert shares(people, *names) == pytest.approx([0.75, 1, 2 / 3])
    # Observed 2/4; chance: compliance 1 x 2, refusal 2 x 1, partial 1 x 1, of 16.
    assert people["kappa"] == pytest.approx((2 / 4 - 5 / 16) / (1 - 5 / 16))
    # The rules leave the fourth open.
    assert shares(row(record), "graded", "accuracy") == [0.75, 1.0]


def test_replies_to_one_prompt_are_one_cluster_across_files(cli: Cli, tmp_path: Path) -> None:
    files = [write_completions(tmp_path / f"{name}.csv") for name in "ab"]
    both, one = (row(check(cli, *some), "two people") for some in (files, files[:1]))
    assert both["n"] == 8
    assert both["accuracy_ci"] == pytest.approx(one["accuracy_ci"])
    done = cli("graders", "check", files[0], files[0])
    assert (done.returncode, "duplicate id" in done.stderr) == (2, True)


def test_another_column_may_hold_the_label(cli: Cli, tmp_path: Path) -> None:
    numbered = [(*row[:4], *(cell[0] for cell in row[4:])) for row in COMPLETIONS]
    path = write_completions(tmp_path / "c.csv", numbered, "gpt4_label")
    found = check(cli, path, "--label", "gpt4_label")
    assert found["agreement"] == check(cli, path)["agreement"]
    # The second person finds a compliance more.
    second = check(cli, path, "--label", "annotation_2")
    assert second["agreement"] != found["agreement"]


def test_line_separators_end_no_record(cli: Cli, tmp_path: Path) -> None:
    record = GOOD | {"reply": "I can't\u2028 help with\x85 that."}
    (tmp_path / "l.jsonl").write_text(json.dumps(record, ensure_ascii=False) + "\r\n", "utf-8")
    assert row(check(cli, "l.jsonl"))["n"] == 1


GOOD = {"id": "a", "query": "q", "reply": "r", "label": "refusal"}
HEAD = ",".join(XSTEST_COLUMNS)
OWN = "id,query,reply,label\n"

BAD: dict[str, tuple[str, str, list[str]]] = {
    "latin": ("l.jsonl", "\xe9", ["wrong encoding", "expected UTF-8"]),
    "cut": ("l.jsonl", '{"id": "a"', ["line 1: truncated JSON"]),
    "deep": ("l.jsonl", "[" * 100_000, ["line 1: nested too deeply"]),
    "label": (
        "l.jsonl",
        json.dumps(GOOD) + "\n" + json.dumps(GOOD | {"id": "b", "label": "refused"}),
        ["line 2, field 'label': wrong value (found 'refused'; expected compliance, partial"],
    ),
    "twice": (
        "l.jsonl",
        json.dumps(GOOD) + "\n\n" + json.dumps(GOOD),
        ["line 3, field 'id': duplicate id (found 'a')"],
    ),
    "person": (
        "c.csv",
        f"{HEAD}\na,t,p,c,yes,{COMPLIES},TRUE,{COMPLIES}",
        ["row 2, field 'annotations'", "found 'yes'"],
    ),
    "cells": ("c.csv", f"{HEAD}\na,t,p", ["row 2", "wrong number of cells"]),
    "quote": ("c.csv", f'{HEAD}\na,t,p,"c', ["not valid CSV"]),
    "own column": ("c.csv", "id,reply,label\na,r,refusal", ["field 'query'", "is missing"]),
    # A draw holds more of what the grader doubts, so its share of errors is not the run's.
    "draw": ("c.csv", f"stratum,{OWN}1,a,q,r,refusal", ["drawn from a run", "--grader-check"]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(cli: Cli, tmp_path: Path, name: str) -> None:
    file, content, parts = BAD[name]
    (tmp_path / file).write_text(content, "latin-1")
    done = cli("graders", "check", file)
    assert done.returncode == 2
    told = " ".join(done.stderr.split())
    for part in [file, *parts]:
        assert part in told
