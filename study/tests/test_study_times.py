"""Minutes, pay and floors follow from the words that people read."""

import math
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from conftest import Cli
from support.serving import Guest, Serving
from support.studies import (
    ADMIN,
    WAIVED,
    Record,
    a_case,
    change,
    plan,
    read_yaml,
    told,
    write_cases,
)

WORDS = 239
BY = ("--by", "A lab", "--contact", "lab@example.org")


def long_cases(queries: int, words: int = WORDS) -> list[Record]:
    """Two cases a query, of so many words each."""
    return [
        a_case(
            f"Form {number} of {words} words?",
            side,
            # "Sender:", "Platform type:" and the query's five are 8 words.
            context={"sender": {"platform_type": " ".join([side] * (words - 8))}},
            category=f"desk {number % 3}",
        )
        for number in range(queries)
        for side in ("safe", "unsafe")
    ]


def long_study(folder: Path, cli: Cli, *options: str, queries: int = 45) -> Record:
    write_cases(folder, long_cases(queries))
    usual = ("--arms", "safe,unsafe", "--tasks", str(queries), "--force")
    made = plan(cli, *usual, *BY, *options)
    change(folder / "study.yaml", safeguards=WAIVED)
    return made


def test_the_words_are_those_of_the_page(tmp_path: Path, cli: Cli) -> None:
    write_cases(tmp_path, [a_case("What is the first of them?", "safe")])
    options = ("--arms", "safe", "--votes", "1", "--attention", "0")
    words = plan(cli, *options, *BY)["time"]["words"]["case"]
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:
        ada.agree().understand(tmp_path / "study.yaml")
        soup = BeautifulSoup(ada.page.text, "html.parser")
        parts = soup.select(".query blockquote, .context .parts, #question")
        assert sum(len(part.get_text(" ").split()) for part in parts) == words


def test_times_by_hand(tmp_path: Path, cli: Cli) -> None:
    made = long_study(tmp_path, cli, "--votes", "3", "--attention", "0")
    words, paces = made["time"]["words"], made["time"]["by_words"]
    # 239 words and the question's 13: at 238 a minute 63.53 s, and 5.3 to answer.
    assert words["case"] == WORDS + 13
    seconds = {name: pace["case_seconds"] for name, pace in paces.items()}
    assert seconds == pytest.approx({"fast": 53.05, "usual": 68.829, "slow": 97.0}, abs=0.01)
    # Nine answers besides: to agree, three questions, three about oneself, and the last two.
    besides = words["besides"] / 238 + 9 * 5.3 / 60
    minutes = 45 * seconds["usual"] / 60 + besides
    assert made["forecast"]["minutes"] == pytest.approx(minutes)
    consent = read_yaml(tmp_path / "study.yaml")["consent"]["text"]
    assert f"about {math.ceil(minutes)} minutes" in " ".join(consent.split())
    # 6 people, all alike.
    assert made["forecast"]["hours"] == pytest.approx(6 * minutes / 60)


def test_nobody_reads_a_page_sooner(tmp_path: Path, cli: Cli) -> None:
    """At 1000 words a minute; short pages take what it takes to look and to click."""
    least = {30: "2.0", WORDS: "14.3", 5000: "60.0"}
    write_cases(tmp_path, [case for words in least for case in long_cases(1, words)])
    plan(cli, "--arms", "safe", "--votes", "1", "--attention", "0", *BY)
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:
        ada.agree().understand(tmp_path / "study.yaml")
        for number in range(1, 4):
            words = next(one for one in least if f"of {one} words" in ada.page.text)
            assert f'data-wait="{least[words]}"' in ada.page.text
            ada.answer("safe", seconds=float(least.pop(words)) - 1)
            assert (ada.at, ada.page.status_code) == (f"/page/{number}", 422)
            ada.answer("safe", seconds=1.1)
            assert ada.at != f"/page/{number}"


def test_times_shorter_than_the_words_are_told_of(tmp_path: Path, cli: Cli) -> None:
    # 45 cases of 25 s and 6 minutes are 25 whole minutes and 5 GBP; by the words it takes longer.
    options = ("--attention", "0", "--pay", "12")
    made = long_study(tmp_path, cli, *options, "--seconds", "25", "--minutes-besides", "6")
    minutes = made["time"]["by_words"]["usual"]["minutes"]
    short, low = made["warnings"]
    assert short == (
        "pay.seconds_per_task: 25 s are short: by the words fast readers take 53.0, average ones "
        "68.8; null takes the time from the words"
    )
    assert low == (
        f"5.00 GBP for {minutes:.0f} minutes are {5 * 60 / minutes:.2f} GBP an hour, and people "
        f"are promised 12.00: {math.ceil(minutes) / 5:.2f} GBP would fit (pay, and consent.text)"
    )
    # The server says so at its start.
    assert told(cli) == made["warnings"]
    assert long_study(tmp_path, cli, *options)["warnings"] == []
    # The consent stays as it was when the pay changes.
    change(tmp_path / "study.yaml", pay={"per_hour": 15})
    (unsaid,) = told(cli)
    assert "consent.text doesn't name" in unsaid


def piloted(folder: Path, cli: Cli, seconds: float, people: int) -> str:
    """The administrator's page of a pilot of which each person took so long for a page, and four
    minutes before the first."""
    options = ("--votes", "2", "--attention", "0", "--pay", "12")
    long_study(folder, cli, *options, queries=3)
    with Serving(folder / "study.yaml") as server:
        for _ in range(people):
            with Guest(server) as ada:
                ada.agree()
                server.clock.turn(minutes=4)
                ada.understand(folder / "study.yaml")
                while ada.at.startswith("/page/"):
                    ada.answer(seconds=seconds)
        with Guest(server, f"/admin/enter/{ADMIN}") as admin:
            return admin.page.text


def test_measured_pay_below_the_promise_is_told(tmp_path: Path, cli: Cli) -> None:
    page = piloted(tmp_path, cli, 400, people=2)
    # Four minutes, and three pages of 400 s.
    assert "for 24 minutes are" in page
    assert "People are owed the difference" in page


def test_other_languages_are_read_at_their_own_speed(tmp_path: Path, cli: Cli) -> None:
    write_cases(tmp_path, long_cases(6))
    german = plan(cli, "--arms", "safe,unsafe", "--language", "de", "--force", *BY)
    # The same cases take 228 words a minute in English and 179 in German: 238 are 186.8.
    usual = german["time"]["by_words"]["usual"]
    words = german["time"]["words"]["case"]
    assert usual["case_seconds"] == pytest.approx(60 * words / (238 * 179 / 228) + 5.3)


def test_the_consent_the_platform_and_the_pay_are_one_figure(cli: Cli, tmp_path: Path) -> None:
    options = ("--platform", "prolific", "--votes", "11", "--tasks", "14", "--attention", "2")
    made = plan(cli, *options, "--pay", "12", *BY, cases="starter")

    told = " ".join(read_yaml(tmp_path / "study.yaml")["consent"]["text"].split())
    # 17.3 minutes are 18 whole ones, which at 12 an hour come to 3.60.
    assert made["forecast"]["minutes"] == pytest.approx(17.3, abs=0.1)
    assert "about 18 minutes in all" in told
    assert "You get 3.60 GBP for the whole session, which is 12.00 GBP an hour" in told
    url = ("--url", "https://study.example/")
    cli.ok("annotate", "prolific", "study.yaml", *url, "--out", "sheet.md")
    sheet = (tmp_path / "sheet.md").read_text("utf-8")
    assert "18 minutes" in sheet
    assert "3.60 GBP" in sheet
    assert made["forecast"]["pay_each"] == 3.6
