"""Shapes of data sets, told in words; every count by hand, and on CASE-Bench by another way."""

from collections import defaultdict
from html import unescape
from pathlib import Path

import pytest
from conftest import Cli

from casewise.cases import Case, Context, VoteCounts, load_cases, shape_of, write_cases
from casewise.dataset import as_description_record, describe_cases
from casewise.scores import make_table
from casewise.scores._judgement_table import case_columns


def asked(query: str, where: str | None, **fields: object) -> Case:
    context = None if where is None else Context({"recipient": {"type": where}})
    return Case.model_validate({"query": query, "context": context, **fields})


def votes(safe: int, unsafe: int) -> VoteCounts:
    return VoteCounts(safe=safe, unsafe=unsafe)


CHANGES = (
    *(asked("a", "x", votes=votes(3, 1)), asked("a", "y", votes=votes(1, 3))),
    *(asked("b", "x", votes=votes(3, 1)), asked("b", "y", votes=votes(4, 0))),
    # A tie is no label, so that this query is not compared.
    *(asked("c", "x", votes=votes(2, 2)), asked("c", "y", votes=votes(0, 4))),
    asked("d", None, votes=votes(1, 0)),
)


def test_how_often_the_context_changes_the_label() -> None:
    shape = shape_of(CHANGES)
    assert (shape.compared, shape.changed) == (2, 1)
    assert shape.contexts == {0: 1, 2: 3}
    assert shape.labels == {"votes": 7}
    first, contexts, labels = shape.sentences()
    assert first == (
        "The context changes the label in 1 of 2 queries that have labels in several contexts, by "
        "the majority of votes."
    )
    assert contexts == "Contexts: none in 1 query, 2 in 3 queries."
    assert labels.startswith("Votes on 7 cases: labels, agreement of people")


@pytest.mark.parametrize(
    ("case", "kind", "said"),
    [
        (asked("a", "x"), "none", "No label of 1 case: no score counts them."),
        (asked("a", None, published_safe_rate=0.3), "shares", "neither agreement nor a ceiling"),
        (asked("a", None, intended="safe"), "intended", "labels, and no votes behind them"),
        (asked("a", "x", tags=["reply:unsafe"]), "replies", "Labels of replies, and not of what"),
        (asked("a", "x", ratings={"values": [1], "scale": [1, 5]}), "ratings", "rule: sides"),
    ],
)
def test_each_kind_of_label_says_what_can_be_said(case: Case, kind: str, said: str) -> None:
    shape = shape_of([case])
    assert shape.labels == {kind: 1}
    assert said in shape.sentences()[-1]
    assert "can't be said" in shape.sentences()[0]


def test_several_labels_and_both_with_and_without_a_context() -> None:
    shape = shape_of(
        [asked("a", "x", intended="safe", votes=votes(0, 2)), asked("a", None, votes=votes(2, 0))]
    )
    assert (shape.several, shape.with_and_without, shape.changed) == (1, 1, 1)
    assert (
        "1 case with labels by people and by the authors: scores take the majority"
        in (shape.sentences()[-1])
    )
    assert "1 in 1 query; 1 query also without" in shape.sentences()[1]
    assert shape_of([]).compared == 0


SHAPES = {
    "several contexts, votes": CHANGES,
    "shares": tuple(
        asked(query, where, published_safe_rate=rate)
        for query in "ab"
        for where, rate in (("x", 0.3), ("y", 0.9), ("z", 0.8))
    ),
    "ratings": (asked("a", "x", ratings={"values": [1, 4], "scale": [1, 5]}),),
    "several labels": (
        asked("a", "x", intended="safe", votes=votes(0, 2)),
        asked("a", None, votes=votes(2, 0)),
    ),
    "no labels": (asked("a", "x"), asked("a", "y")),
    "replies": (asked("a", "x", tags=["reply:unsafe"]), asked("a", "y", tags=["reply:safe"])),
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_view_tells_the_same(name: str, cli_inside: Cli, tmp_path: Path) -> None:
    cases = SHAPES[name]
    said = shape_of(cases).sentences()
    write_cases(cases, tmp_path / "cases.jsonl")
    rows = [
        {"model": "m", "protocol": "binary", "status": "ok", "verdict": "safe", "epoch": 1}
        | case_columns(case)
        for case in cases
    ]
    make_table(rows).write_parquet(tmp_path / "table.parquet")
    page = tmp_path / "page.html"
    described = cli_inside("describe", "cases.jsonl")
    scored = cli_inside("score", "table.parquet")
    assert cli_inside("report", "table.parquet", "--out", page).returncode == 0
    for text in (described.stdout, scored.stdout, unescape(page.read_text("utf-8"))):
        words = " ".join(text.split())
        places = [words.index(sentence) for sentence in said]
        # How often the context changes the label stands first.
        assert places[0] == min(places)


def test_casebench_by_another_way(casebench: Path) -> None:
    loaded = load_cases(casebench / "CASEBench_data.json")
    sides = defaultdict(set)
    for case in loaded:
        rate = 0.0 if case.category == "child-related crimes" else case.published_safe_rate
        assert rate is not None
        sides[case.query_id].add(rate > 0.5)
    record = as_description_record(describe_cases(loaded))["shape"]
    changed = sum(len(one) == 2 for one in sides.values())
    assert record["label_changes"] == {"rule": "published", "queries": 450, "changed": changed}
    assert record["queries_by_contexts"] == {"2": 450}


def test_describe_begins_with_it(cli_inside: Cli) -> None:
    done = cli_inside("describe", "starter")
    assert " ".join(done.stdout.split()).startswith("The context changes the label in 28 of 28")
    markdown = cli_inside("describe", "starter", "--format", "markdown").stdout
    assert markdown.startswith("**The context changes the label in 28 of 28")
    assert "- The authors' side of 56 cases: labels, and no votes behind them." in markdown
