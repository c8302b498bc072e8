"""Shapes of data sets, told in words; every count by hand."""

from html import unescape
from pathlib import Path

import pytest
from conftest import Cli
from support.fake_openai import FakeServer

from casewise.cases import Case, Context, VoteCounts, shape_of, write_cases


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
    assert shape.labels == {"votes": 7}
    first, labels = shape.sentences()
    assert first == (
        "The context changes the label in 1 of 2 queries that have labels in several contexts, by "
        "the majority of votes."
    )
    assert labels == "Labels: 7 cases with votes."


@pytest.mark.parametrize(
    ("case", "kind", "said"),
    [
        (asked("a", "x"), "none", "1 case without a label, which no score counts."),
        (
            asked("a", None, published_safe_rate=0.3),
            "shares",
            "1 case with a published share of people alone.",
        ),
        (asked("a", None, intended="safe"), "intended", "1 case with an intended label."),
    ],
)
def test_each_kind_of_label_says_what_can_be_said(case: Case, kind: str, said: str) -> None:
    shape = shape_of([case])
    assert shape.labels == {kind: 1}
    assert said in shape.sentences()[-1]
    assert "are unknown" in shape.sentences()[0]


def test_each_view_tells_the_same(cli_inside: Cli, tmp_path: Path) -> None:
    said = shape_of(CHANGES).sentences()
    write_cases(CHANGES, tmp_path / "cases.jsonl")
    answer = '{"explanation": "So it is.", "judgement": "safe"}'
    with FakeServer(lambda request: answer) as server:
        done = cli_inside(
            *("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--log-dir", "logs"),
            *("--protocol", "binary"),
            env={"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url},
        )
    assert done.returncode == 0, done.stderr
    described = cli_inside("describe", "cases.jsonl")
    scored = cli_inside("score", "logs", "--all")
    assert cli_inside("report", "logs", "--out", "page.html").returncode == 0
    page = unescape((tmp_path / "page.html").read_text("utf-8"))
    for text in (described.stdout, scored.stdout, page):
        words = " ".join(text.split())
        places = [words.index(sentence) for sentence in said]
        # How often the context changes the label stands first.
        assert places[0] == min(places)
