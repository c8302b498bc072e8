"""Minutes, pay and floors follow from the words that people read."""

import json
import math
from pathlib import Path
from typing import Any

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


def long_cases(folder: Path, queries: int = 45, words: int = WORDS) -> None:
    """Two cases a query, of so many words each."""
    cases = [
        a_case(
            f"Which form is for matter {number}?",
            side,
            # "Sender:", "Platform type:" and the query's six are 9 words.
            context={"sender": {"platform_type": " ".join([side] * (words - 9))}},
            category=f"desk {number % 3}",
        )
        for number in range(queries)
        for side in ("safe", "unsafe")
    ]
    write_cases(folder, cases)


def long_study(folder: Path, cli: Cli, *options: str, queries: int = 45) -> Record:
    long_cases(folder, queries)
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
        assert sum(len(one.get_text(" ").split()) for one in parts) == words


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


@pytest.mark.parametrize(
    ("words", "least"),
    # At 1000 words a minute; short pages take what it takes to look and to click.
    [(30, "2.0"), (WORDS, "14.3"), (5000, "60.0")],
)
def test_nobody_reads_a_page_sooner(tmp_path: Path, cli: Cli, words: int, least: str) -> None:
    long_cases(tmp_path, 1, words)
    plan(cli, "--arms", "safe", "--votes", "1", "--attention", "0", *BY)
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:
        ada.agree().understand(tmp_path / "study.yaml")
        assert f'data-wait="{least}"' in ada.page.text
        ada.answer("safe", seconds=float(least) - 1)
        assert (ada.at, ada.page.status_code) == ("/page/1", 422)
        ada.answer("safe", seconds=1.1)
        assert ada.at != "/page/1"


def test_implausible_numbers_are_told_of(tmp_path: Path, cli: Cli) -> None:
    made = long_study(tmp_path, cli, "--attention", "0", "--pay", "12", queries=6)
    path = tmp_path / "study.yaml"
    assert made["warnings"] == told(cli) == []
    for part, changed, words in (
        (
            "pay",
            {"seconds_per_task": 25, "minutes_besides": 6},
            "pay.seconds_per_task: 25 s are short for 252 words: fast readers take 53.0, average "
            "ones 68.8, slow ones 97.0",
        ),
        ("pay", {"seconds_per_task": 900}, "900 s are long"),
        ("pay", {"minutes_besides": 1}, "pay.minutes_besides: 1 minutes are short"),
        ("timing", {"least_seconds": 2}, "in 2 s nobody has read a case of 239 words"),
        ("screening", {"fast_seconds": 3}, "screening.fast_seconds"),
        (
            "timing",
            {"least_seconds": 60},
            "fast readers take 50.4 s for the shortest case, less than 60 s",
        ),
    ):
        change(path, **{part: changed})
        assert words in told(cli)[0]
        change(path, **{part: dict.fromkeys(changed)})


def test_pay_below_what_is_promised(tmp_path: Path, cli: Cli) -> None:
    # 45 cases of 25 s and 6 minutes are 25 whole minutes and 5 GBP; by the words it takes longer.
    options = ("--attention", "0", "--pay", "12")
    made = long_study(tmp_path, cli, *options, "--seconds", "25", "--minutes-besides", "6")
    minutes = made["time"]["by_words"]["usual"]["minutes"]
    _, low = made["warnings"]
    assert low == (
        f"5.00 GBP for {minutes:.0f} minutes are {5 * 60 / minutes:.2f} GBP an hour, and people "
        f"are promised 12.00: {math.ceil(minutes) / 5:.2f} GBP would fit (pay, and consent.text)"
    )
    # The server says so at its start.
    assert told(cli) == made["warnings"]
    # The consent stays as it was when the pay changes.
    long_study(tmp_path, cli, *options)
    change(tmp_path / "study.yaml", pay={"per_hour": 15})
    (low,) = told(cli)
    assert "people are promised 15.00" in low


def piloted(folder: Path, cli: Cli, seconds: float, people: int) -> Record:
    """A pilot of which each person took so long for a page, and four minutes before the first."""
    options = ("--votes", "2", "--attention", "0", "--pay", "12")
    made = long_study(folder, cli, *options, queries=3)
    with Serving(folder / "study.yaml") as server:
        for _ in range(people):
            with Guest(server) as ada:
                ada.agree()
                server.clock.turn(minutes=4)
                ada.understand(folder / "study.yaml")
                while ada.at.startswith("/page/"):
                    ada.answer(seconds=seconds)
        with Guest(server, f"/admin/enter/{ADMIN}") as admin:
            return made | {"page": admin.page.text}


def test_a_pilots_times_replace_the_forecast(cli: Cli, tmp_path: Path) -> None:
    usual = piloted(tmp_path, cli, 100, people=1)["time"]["by_words"]["usual"]
    long_cases(tmp_path / "more", 6, words=120)
    call = ("--arms", "safe,unsafe", "--votes", "2", "--pay", "12", *BY)
    pilot = ("--from-pilot", "study.yaml")
    made: dict[str, Any] = plan(cli, *call, *pilot, cases="more/cases.jsonl", out="main.yaml")
    # Three cases of 252 words took 300 s.
    measured = made["time"]["pilot"]
    assert measured["factor"] == pytest.approx(300 / (3 * usual["case_seconds"]))
    assert measured["besides"] > 4
    pay = read_yaml(tmp_path / "main.yaml")["pay"]
    # The new cases are half as long, so they take less than the pilot's 100 s.
    seconds = measured["factor"] * made["time"]["by_words"]["usual"]["case_seconds"]
    assert pay["seconds_per_task"] == pytest.approx(seconds, abs=0.06)
    assert pay["minutes_besides"] == pytest.approx(measured["besides"], abs=0.06)
    again = ("annotate", "plan", "more/cases.jsonl", "--out", "main.yaml", *call, *pilot)
    both = cli(*again, "--seconds", "9", "--force")
    assert (both.returncode, "drop either" in both.stderr) == (2, True)


def test_measured_pay_below_the_promise_is_told(tmp_path: Path, cli: Cli) -> None:
    page = piloted(tmp_path, cli, 400, people=2)["page"]
    # Four minutes, and three pages of 400 s.
    assert "for 24 minutes are" in page
    assert "People are owed the difference" in page


def test_other_languages_are_read_at_their_own_speed(tmp_path: Path, cli: Cli) -> None:
    long_cases(tmp_path, 6)
    german = plan(cli, "--arms", "safe,unsafe", "--language", "de", "--force", *BY)
    # The same cases take 228 words a minute in English and 179 in German: 238 are 186.8.
    usual = german["time"]["by_words"]["usual"]
    words = german["time"]["words"]["case"]
    assert usual["case_seconds"] == pytest.approx(60 * words / (238 * 179 / 228) + 5.3)


def test_the_consent_the_platform_and_the_pay_are_one_figure(cli: Cli, tmp_path: Path) -> None:
    options = ("--platform", "prolific", "--votes", "11", "--tasks", "14", "--attention", "2")
    made = plan(cli, *options, "--pay", "12", *BY, cases="starter")

    def posted(sheet: str) -> tuple[int, int]:
        url = ("--url", "https://study.example/")
        done = cli("annotate", "prolific", "study.yaml", *url, "--out", sheet)
        assert done.returncode == 0, done.stderr
        body = json.loads((tmp_path / sheet / "study.json").read_text("utf-8"))
        return body["estimated_completion_time"], body["reward"]

    told = " ".join(read_yaml(tmp_path / "study.yaml")["consent"]["text"].split())
    # 17.3 minutes are 18 whole ones, which at 12 an hour come to 3.60.
    assert made["forecast"]["minutes"] == pytest.approx(17.3, abs=0.1)
    assert "about 18 minutes in all" in told
    assert "You get 3.60 GBP for the whole session, which is 12.00 GBP an hour" in told
    assert posted("first") == (18, 360)
    assert made["forecast"]["pay_each"] == 3.6
    # What people were promised is what they get, also where the file was edited.
    text = (tmp_path / "study.yaml").read_text("utf-8")
    (tmp_path / "study.yaml").write_text(text.replace("3.60", "4.10"), "utf-8")
    assert posted("second") == (18, 410)
