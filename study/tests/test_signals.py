"""Signals of answers that no person gave: recorded over HTTP, screened, told in card and export."""

import re
from pathlib import Path

import pytest
from conftest import Cli, cli_in
from support.serving import Guest, Serving
from support.simulated import World, planned, simulate
from support.studies import Record, change, exported, flags, read_csv, write_study

NAMES = ("trap_pages", "trapped", "watched", "left", "away_seconds", "copied", "tool")


def hidden_word(page: str) -> str:
    match = re.search(r"write (\w+) here", page)
    assert match is not None, page
    return match[1]


def test_signals_come_with_answers_and_go_with_the_person(tmp_path: Path, cli: Cli) -> None:
    """Four pages: two left, one copied from, one pasted into, and hidden text followed twice."""
    path = write_study(tmp_path, tool_question="Did a tool answer?")
    with Serving(path) as server, Guest(server) as ada:
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
        exported(cli)
        one, other = (
            [row[name] for name in NAMES] for row in read_csv(tmp_path / "out/people.csv")
        )
        # Nobody is away for longer than the page took: 2.5 s, and 3 s of 9999.
        assert one == ["4", "2", "4", "1", "5.5", "2", "some"]
        # Without scripts, focus and copies are absent, and not 0.
        assert other == ["4", "0", "0", "", "", "", ""]
        ada.get("/withdraw")
        ada.send("/withdraw")
        assert server.rows(
            "SELECT DISTINCT participant FROM answer WHERE honeypot IS NOT NULL"
        ) == [2]
        assert not server.rows("SELECT * FROM participant WHERE about IS NOT NULL AND id = 1")


def test_a_study_without_such_rules_records_nothing(tmp_path: Path) -> None:
    names = ("honeypot_pages", "left_share", "copied_share", "even_times", "tool_told")
    off = dict.fromkeys((*names, "attention_failed", "fast_share", "unread_share"))
    with Serving(write_study(tmp_path, screening=off)) as server, Guest(server) as ada:
        ada.begin()
        assert 'name="word"' not in ada.page.text
        assert 'name="watched"' not in ada.page.text
        ada.answer(watched="2 2.5 0 0", word="x")
        ada.finish()
        assert ada.at == "/done"
        assert not server.rows("SELECT * FROM answer WHERE honeypot IS NOT NULL")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 cases a person; 42 people."""
    folder = tmp_path_factory.mktemp("study")
    return planned(folder, queries=20, votes=21, size=20, tool_question="Did a tool answer?")


SIGNALS: tuple[tuple[Record, str | None], ...] = (
    ({"trapped": 1}, None),
    ({"trapped": 2}, "honeypot"),
    # Half of 24 are 12, and a fifth 4.8.
    ({"left": 12}, None),
    ({"left": 13, "away_seconds": 61.0}, "left"),
    ({"copied": 4}, None),
    ({"copied": 5}, "copied"),
    ({"watched": 4, "left": 4, "copied": 4}, None),
    ({"watched": 0, "left": None, "copied": None}, None),
    ({"tool": "none"}, None),
    ({"tool": "some"}, "tool"),
)
"""Signals of one person each, and the rule that they come under."""


@pytest.fixture(scope="module")
def record(study: Path) -> Record:
    """The export of these people; everybody else's pages were watched and show nothing."""
    votes = simulate(study, World(careless=0), 3)
    nothing = {"trap_pages": 24, "trapped": 0, "watched": 24, "left": 0, "copied": 0}
    for number, person in enumerate(votes.people):
        signals = SIGNALS[number][0] if number < len(SIGNALS) else {}
        person |= nothing | {"away_seconds": None, "tool": None} | signals
    return exported(cli_in(study.parent), "--votes", votes.write(study.parent / "v"))


FLAGGED = {f"r{number:04d}": rule for number, (_, rule) in enumerate(SIGNALS) if rule}


def test_each_signal_by_hand(study: Path, record: Record) -> None:
    assert flags(study.parent / "out") == FLAGGED
    change(study, screening=dict.fromkeys(record["screening"]))
    exported(cli_in(study.parent), "--votes", "v", out="off")
    assert flags(study.parent / "off") == {}
    change(study, screening=record["screening"])


def test_the_export_sums_up_and_is_read_back(study: Path, record: Record) -> None:
    out = study.parent / "out"
    card = (out / "data-card.md").read_text("utf-8")
    assert "- `left_share: 0.5`. Flagged: leaves a greater share of the pages" in card
    people = (out / "people.csv").read_text("utf-8")
    assert "left 13 of 24 pages, for 61 s in all" in people
    # Signals are in no row of a vote or a check.
    assert "away" not in (out / "votes.csv").read_text("utf-8").splitlines()[0]
    exported(cli_in(study.parent), "--votes", "out", out="again")
    assert flags(study.parent / "again") == FLAGGED
