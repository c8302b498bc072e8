"""Signals of answers that no person gave: recorded over HTTP, screened, told in card and export."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.serving import Guest, Serving
from support.studied import World, a_study, simulate
from support.studies import write_study

from casewise_study.exchange.payments import Payment, Proposal, propose_payments
from casewise_study.study.schema import Study
from casewise_study.study.study_rules import LIMITS, Rule, Screening
from casewise_study.votes.collected import Collected
from casewise_study.votes.collected_csv import read_collected, write_collected
from casewise_study.votes.data_card import ExportChoices
from casewise_study.votes.export import export_study
from casewise_study.votes.results import summarise
from casewise_study.votes.screening import screen

RULES = Screening().model_dump()
ASKED: dict[str, Any] = {"screening": RULES, "tool_question": "Did a tool answer?"}


def hidden_word(page: str) -> str:
    found = re.search(r"write (\w+) here", page)
    assert found is not None, page
    return found[1]


def test_signals_come_with_answers_and_go_with_the_person(tmp_path: Path) -> None:
    """Four pages: two left, one copied from, one pasted into, and hidden text followed twice."""
    with Serving(write_study(tmp_path, **ASKED)) as server, Guest(server) as ada:
        ada.begin()
        first = hidden_word(ada.page.text)
        ada.answer(watched="2 2.5 0 0")
        second = hidden_word(ada.page.text)
        assert first != second
        ada.answer(watched="0 0 1 0", reason=f"As asked: {second.upper()}")
        ada.answer(watched="0 0.0 0 3", word="anything")
        ada.answer(watched="0 9999.0 0 0", seconds=3)
        assert ada.at == "/about"
        ada.send("/about", tool="some")
        with Guest(server) as bob:
            bob.begin()
            for sent in ("", "<script>", "1 2", "0 0 0 99999"):
                bob.answer(watched=sent, word=" ")
            bob.send("/about", tool="most of it")
        one, other = server.store.collected().people
        assert (one.trap_pages, one.trapped, one.watched) == (4, 2, 4)
        # Nobody is away for longer than the page took: 2.5 s, and 3 s of 9999.
        assert (one.left, one.away_seconds, one.copied, one.tool) == (1, 5.5, 2, "some")
        # Without scripts, focus and copies are absent, and not 0.
        assert (other.trap_pages, other.trapped, other.watched) == (4, 0, 0)
        assert (other.left, other.away_seconds, other.copied, other.tool) == (None,) * 4
        assert one.demographics == ()
        ada.get("/withdraw")
        ada.send("/withdraw")
        gone = server.store.collected().people[0]
        assert (gone.trap_pages, gone.tool) == (None, None)


def test_a_study_without_such_rules_records_nothing(tmp_path: Path) -> None:
    off = dict.fromkeys(LIMITS.values())
    with Serving(write_study(tmp_path, screening=off)) as server, Guest(server) as ada:
        ada.begin()
        assert 'name="word"' not in ada.page.text
        assert 'name="watched"' not in ada.page.text
        ada.answer(watched="2 2.5 0 0", word="x")
        ada.finish()
        assert ada.at == "/done"
        (person,) = server.store.collected().people
        assert (person.trap_pages, person.watched) == (None, None)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """20 cases a person; 42 people."""
    return a_study(tmp_path_factory.mktemp("study"), queries=20, votes=21, size=20)


def with_signals(collected: Collected, rater: str, **signals: Any) -> Collected:
    """One person's signals; everybody else's pages were watched and show nothing."""
    nothing = {"trap_pages": 24, "trapped": 0, "watched": 24, "left": 0, "copied": 0}
    people = tuple(
        replace(one, **nothing | (signals if one.rater == rater else {}))
        for one in collected.people
    )
    return replace(collected, people=people)


@pytest.mark.parametrize(
    ("signals", "rule"),
    [
        ({"trapped": 1}, None),
        ({"trapped": 2}, Rule.HONEYPOT),
        # Half of 24 are 12, and a fifth 4.8.
        ({"left": 12}, None),
        ({"left": 13, "away_seconds": 61.0}, Rule.LEFT),
        ({"copied": 4}, None),
        ({"copied": 5}, Rule.COPIED),
        ({"watched": 4, "left": 4, "copied": 4}, None),
        ({"watched": 0, "left": None, "copied": None}, None),
        ({"tool": "none"}, None),
        ({"tool": "some"}, Rule.TOOL),
    ],
)
def test_each_signal_by_hand(study: Study, signals: dict[str, Any], rule: Rule | None) -> None:
    collected = with_signals(simulate(study, World(careless=0), 3).collected, "r0005", **signals)
    found = screen(study, collected)
    assert found.flagged() == (frozenset() if rule is None else {"r0005"})
    assert found.flagged(*(Rule if rule is None else [rule])) == found.flagged()
    off = Screening.model_validate(dict.fromkeys(LIMITS.values()))
    assert not screen(study.model_copy(update={"screening": off}), collected).flagged()


def test_what_people_say_of_tools_changes_nothing_about_their_pay(study: Study) -> None:
    silent = simulate(study, World(careless=0), 3).collected

    def paid(**signals: Any) -> Payment:
        collected = with_signals(silent, "r0005", **signals)
        return propose_payments(study, collected, (), name=str, codes={})[5]

    assert paid(tool="all") == paid()
    left = paid(left=20, tool="all")
    assert (left.flags, left.proposed) == ("left", Proposal.ASK)


def test_the_export_sums_up_and_is_read_back(study: Study, tmp_path: Path) -> None:
    collected = with_signals(
        simulate(study, World(careless=0), 3).collected, "r0005", left=13, away_seconds=61.0
    )
    results = summarise(study, collected)
    export_study(results, tmp_path / "out", ExportChoices())
    card = (tmp_path / "out/data-card.md").read_text("utf-8")
    assert "the pages of 42 counted focus and copies" in card
    assert "Left: more than 50% of pages lost the focus before the answer." in card
    assert "not said 42" in card
    people = (tmp_path / "out/people.csv").read_text("utf-8")
    assert "left 13 of 24 pages, for 61 s in all" in people
    # Signals are in no row of a vote or a check.
    assert "away" not in (tmp_path / "out/votes.csv").read_text("utf-8").splitlines()[0]
    again = screen(study, read_collected(tmp_path / "out", study))
    assert again.flagged(Rule.LEFT) == {"r0005"}
    write_collected(tmp_path / "plain", collected)
    assert read_collected(tmp_path / "plain", study).people == collected.people
    bare = simulate(study, World(careless=0), 3).collected
    write_collected(tmp_path / "bare", bare)
    assert "trapped" not in (tmp_path / "bare/people.csv").read_text("utf-8")
