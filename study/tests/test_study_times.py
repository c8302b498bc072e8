"""Minutes, pay and floors follow from the words that people read."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from conftest import Cli
from support.pairs import a_case
from support.planned import on_disk, waive
from support.serving import Guest, Serving
from support.studies import KEYS, write_study

from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE
from casewise_study.study.planning import StudyPlan, forecast, time_warnings
from casewise_study.study.reading_times import (
    PACES,
    fast_seconds,
    least_seconds,
    pages_of,
    reading,
)
from casewise_study.study.schema import Arm, Pay, Study, Timing
from casewise_study.study.study_file import load_study
from casewise_study.study.study_file import write_study as write_file
from casewise_study.study.study_rules import Screening
from casewise_study.study.study_texts import Investigator

WORDS = 239
ASKER = Investigator("A lab", "lab@example.org")


def long_cases(queries: int, words: int = WORDS) -> list[Any]:
    """Two cases a query, of so many words each."""
    return [
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


def long_study(folder: Path, queries: int = 45, **more: object) -> Study:
    plan = {"arms": (Arm.SAFE, Arm.UNSAFE), "votes": 3, "asker": ASKER} | more
    study = on_disk(folder, long_cases(queries), StudyPlan(title="Forms", **plan))  # type: ignore[arg-type]
    write_file(study, folder / "study.yaml")
    return load_study(folder / "study.yaml")


def test_the_words_are_those_of_the_page(tmp_path: Path) -> None:
    path = write_study(tmp_path, ("What is the first of them?",))
    study = load_study(path)
    read = reading(study)
    with Serving(path) as server, Guest(server) as ada:
        ada.begin()
        seen = []
        while ada.at.startswith("/page/"):
            soup = BeautifulSoup(ada.page.text, "html.parser")
            parts = soup.select(".query blockquote, .context .parts, #question")
            seen.append(sum(len(one.get_text(" ").split()) for one in parts))
            ada.answer()
    checks = list(read.checks.values())
    # The question is 13 words on every page.
    assert sorted(seen) == sorted(one + 13 for one in (*read.cells, *checks))


def test_times_by_hand(tmp_path: Path) -> None:
    study = long_study(tmp_path, tasks=45, attention=0)
    read = reading(study)
    assert set(read.cells) == {WORDS}
    # 239 words and the question's 13: at 238 a minute 63.53 s, and 5.3 to answer.
    seconds = {name: read.case_seconds(pace) for name, pace in PACES.items()}
    assert seconds == pytest.approx({"fast": 53.05, "usual": 68.829, "slow": 97.0}, abs=0.01)
    usual = PACES["usual"]
    minutes = 45 * seconds["usual"] / 60 + read.besides_minutes(usual)
    # Nine answers besides: to agree, three questions, three about oneself, and the last two.
    assert read.besides_minutes(usual) == pytest.approx(read.besides / 238 + 9 * 5.3 / 60)
    assert forecast(study).minutes == pytest.approx(minutes)
    assert f"about {math.ceil(minutes)} minutes" in " ".join(study.consent.text.split())
    # 6 people, all alike.
    assert forecast(study).hours == pytest.approx(6 * minutes / 60)


@pytest.mark.parametrize(
    ("words", "least", "fast"),
    # At 1000 and 600 words a minute; short pages take what it takes to look and to click.
    [(30, 2, 3), (239, 14.34, 23.9), (5000, 60, 500)],
)
def test_floors_by_hand(words: int, least: float, fast: float) -> None:
    assert least_seconds(words) == pytest.approx(least)
    assert fast_seconds(words) == pytest.approx(fast)


def test_nobody_reads_239_words_in_two_seconds(tmp_path: Path) -> None:
    long_study(tmp_path, queries=3, votes=1, tasks=3, attention=1)
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:
        ada.agree().understand(server.store.study)
        assert 'data-wait="14.3"' in ada.page.text
        ada.answer("safe", seconds=2)
        assert (ada.at, ada.page.status_code) == ("/page/1", 422)
        ada.answer("safe", seconds=13)
        assert ada.at == "/page/2"


def changed(study: Study, **parts: object) -> Study:
    made = study.model_copy(update=parts)
    made._path = study.path
    return made


def told(study: Study, **parts: object) -> list[str]:
    return time_warnings(changed(study, **parts))


def test_implausible_numbers_are_told_of(tmp_path: Path) -> None:
    study = long_study(tmp_path, attention=0, pay=Pay(per_hour=12))
    assert time_warnings(study) == []
    (short, *_) = told(study, pay=Pay(seconds_per_task=25, minutes_besides=6))
    assert short.startswith(
        "pay.seconds_per_task: 25 s are short for 252 words: fast readers take 53.0, average ones "
        "68.8, slow ones 97.0"
    )
    assert "900 s are long" in told(study, pay=Pay(seconds_per_task=900))[0]
    assert "pay.minutes_besides: 1 minutes are short" in told(study, pay=Pay(minutes_besides=1))[0]
    (floor,) = told(study, timing=Timing(least_seconds=2))
    assert "in 2 s nobody has read a case of 239 words" in floor
    (floor,) = told(study, screening=Screening(fast_seconds=3))
    assert floor.startswith("screening.fast_seconds")
    (slow,) = told(study, timing=Timing(least_seconds=60))
    assert "fast readers take 50.4 s for the shortest case, less than 60 s" in slow


def test_pay_below_what_is_promised(tmp_path: Path) -> None:
    # 45 cases of 25 s and 6 minutes are 25 whole minutes and 5 GBP; by the words it takes longer.
    pay = Pay(per_hour=12, seconds_per_task=25, minutes_besides=6)
    hasty = long_study(tmp_path, tasks=45, attention=0, pay=pay)
    minutes = forecast(changed(hasty, pay=Pay(per_hour=12))).minutes
    _, low = time_warnings(hasty)
    assert low == (
        f"5.00 GBP for {minutes:.0f} minutes are {5 * 60 / minutes:.2f} GBP an hour, and people "
        f"are promised 12.00: {math.ceil(minutes) / 5:.2f} GBP would fit (pay, and consent.text)"
    )
    # The consent stays as it was when the pay changes.
    fair = long_study(tmp_path, tasks=45, attention=0, pay=Pay(per_hour=12))
    (low,) = told(fair, pay=Pay(per_hour=15))
    assert "people are promised 15.00" in low


def test_plan_and_serve_tell_it(cli_inside: Cli, tmp_path: Path) -> None:
    on_disk(tmp_path, long_cases(6))
    call = ["annotate", "plan", "cases.jsonl", "--out", "study.yaml", "--arms", "safe,unsafe"]
    call += ["--pay", "12", "--by", "A lab", "--contact", "lab@example.org", "--votes", "2"]
    done = cli_inside(*call, "--seconds", "25", "--minutes-besides", "6")
    assert done.returncode == 0
    expected = [f"warning: {one}" for one in time_warnings(load_study(tmp_path / "study.yaml"))]
    assert len(expected) == 2
    assert all(one in " ".join(done.stderr.split()) for one in expected)
    # The server says so at its start, and then that the port is no port of this computer.
    waive(tmp_path / "study.yaml")
    served = cli_inside("annotate", "serve", "study.yaml", "--host", "203.0.113.1")
    assert served.returncode == 2
    assert all(one in " ".join(served.stderr.split()) for one in expected)
    assert "\nwarning: " not in cli_inside(*call, "--force").stderr


def piloted(folder: Path, seconds: float, people: int) -> Study:
    """A pilot of which each person took so long for a page, and four minutes before the first."""
    study = long_study(folder, queries=3, votes=1, tasks=3, attention=1, pay=Pay(per_hour=12))
    with Serving(folder / "study.yaml") as server:
        for _ in range(people):
            with Guest(server) as ada:
                ada.agree()
                server.clock.turn(minutes=4)
                ada.understand(study)
                while ada.at.startswith("/page/"):
                    ada.answer(seconds=seconds)
    return study


def test_a_pilots_times_replace_the_forecast(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, KEYS.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, KEYS.admin)
    pilot = piloted(tmp_path, 100, people=1)
    by_words, usual = reading(pilot), PACES["usual"]
    on_disk(tmp_path / "more", long_cases(6, words=120))
    call = ["annotate", "plan", "more/cases.jsonl", "--out", "main.yaml", "--arms", "safe,unsafe"]
    call += ["--votes", "2", "--pay", "12", "--by", "A lab", "--contact", "a@b.example"]
    done = cli_inside(*call, "--from-pilot", "study.yaml", "--format", "json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)["time"]["pilot"]
    # Three cases of 252 words, and a check of so many.
    (check,) = (by_words.checks[page.check] for page in pages_of(pilot, 0) if page.check)
    factor = 400 / (3 * by_words.case_seconds(usual) + usual.seconds(check + 13))
    assert measured["factor"] == pytest.approx(factor)
    besides = 4 + by_words.unclocked / 238 + 6 * 5.3 / 60
    assert measured["besides"] == pytest.approx(besides, abs=0.01)
    study = load_study(tmp_path / "main.yaml")
    # The new cases are half as long, so they take less than the pilot's 100 s.
    seconds = factor * reading(study).case_seconds(usual)
    assert study.pay.seconds_per_task == pytest.approx(seconds, abs=0.06)
    assert study.pay.minutes_besides == pytest.approx(besides, abs=0.06)
    both = cli_inside(*call, "--from-pilot", "study.yaml", "--seconds", "9", "--force")
    assert (both.returncode, "drop either" in both.stderr) == (2, True)


def test_measured_pay_below_the_promise_is_told(tmp_path: Path) -> None:
    piloted(tmp_path, 300, people=2)
    with Serving(tmp_path / "study.yaml") as server, Guest(server, "/admin") as admin:
        admin.get(f"/admin/enter/{KEYS.admin}")
        # Four minutes, and four pages of 300 s.
        assert "for 24 minutes are" in admin.page.text
        assert "People are owed the difference" in admin.page.text


def test_other_languages_are_read_at_their_own_speed(tmp_path: Path) -> None:
    english = long_study(tmp_path, attention=0, tasks=45)
    german, unknown = (changed(english, language=code) for code in ("de-AT", "tlh"))
    slow = reading(german)
    # The same texts take 228 words a minute in English and 179 in German: 238 are 186.8.
    assert slow.speed == pytest.approx(179 / 228)
    usual = PACES["usual"]
    assert slow.case_seconds(usual) == pytest.approx(60 * 252 / (238 * 179 / 228) + 5.3)
    assert slow.fast_seconds()[0] == pytest.approx(23.9 * 228 / 179)
    page = next(page for page in pages_of(german, 0))
    assert slow.least_seconds(page) == pytest.approx(14.34 * 228 / 179)
    (said,) = time_warnings(unknown)
    assert "no measured speed of reading" in said
    assert reading(unknown).speed == 1


def test_the_consent_the_platform_and_the_pay_are_one_figure(
    cli_inside: Cli, tmp_path: Path
) -> None:
    plan = ("annotate", "plan", "starter", "--out", "study.yaml", "--platform", "prolific")
    by = ("--by", "A lab", "--contact", "a@b.example", "--votes", "11", "--tasks", "14")
    assert cli_inside(*plan, *by, "--attention", "2", "--pay", "12").returncode == 0
    study = load_study(tmp_path / "study.yaml")

    def posted(sheet: str) -> tuple[int, int]:
        url = ("--url", "https://study.example/")
        done = cli_inside("annotate", "prolific", "study.yaml", *url, "--out", sheet)
        assert done.returncode == 0, done.stderr
        body = json.loads((tmp_path / sheet / "study.json").read_text("utf-8"))
        return body["estimated_completion_time"], body["reward"]

    told = " ".join(study.consent.text.split())
    # 17.3 minutes are 18 whole ones, which at 12 an hour come to 3.60.
    assert forecast(study).minutes == pytest.approx(17.3, abs=0.1)
    assert "about 18 minutes in all" in told
    assert "You get 3.60 GBP for the whole session, which is 12.00 GBP an hour" in told
    assert posted("first") == (18, 360)
    assert forecast(study).pay_each == 3.6
    # What people were promised is what they get, also where the file was edited.
    text = (tmp_path / "study.yaml").read_text("utf-8")
    (tmp_path / "study.yaml").write_text(text.replace("3.60", "4.10"), "utf-8")
    assert posted("second") == (18, 410)
