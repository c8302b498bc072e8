"""Minutes, pay and floors follow from the words that people read."""

import json
import math
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bs4 import BeautifulSoup
from conftest import Cli
from support.exchanged import a_study as an_exchanged_study
from support.planned import on_disk, waive
from support.serving import Guest, Serving
from support.studied import Simulated, World, simulate
from support.studies import KEYS, write_study

from casewise.cases import Case, Context, load_cases, write_cases
from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE
from casewise_study.study.block_balance import balance
from casewise_study.study.planning import StudyPlan, forecast, session_pay, time_warnings
from casewise_study.study.reading_times import (
    PACES,
    case_words,
    fast_seconds,
    least_seconds,
    pages_of,
    reading,
)
from casewise_study.study.schema import Arm, Pay, Study, Timing
from casewise_study.study.study_file import load_study, study_cases
from casewise_study.study.study_file import write_study as write_file
from casewise_study.study.study_rules import Rule, Screening
from casewise_study.study.study_texts import Investigator
from casewise_study.votes.data_card import ExportChoices, data_card
from casewise_study.votes.results import summarise
from casewise_study.votes.screening import screen

WORDS = 239
ASKER = Investigator("A lab", "lab@example.org")


def long_cases(queries: int, words: int = WORDS) -> list[Case]:
    """Two cases a query, of so many words each."""
    return [
        Case(
            query=f"Which form is for matter {number}?",
            # "Sender:", "Platform type:" and the query's six are 9 words.
            context=Context({"sender": {"platform_type": " ".join([side] * (words - 9))}}),
            intended=side,
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


def test_earlier_turns_are_read_too(tmp_path: Path) -> None:
    study = an_exchanged_study(tmp_path, texts=("one two three", "four"))
    case = study_cases(study)[0]
    # Three words and the speaker, "Well." and the speaker, the query, and of the context
    # "Sender: Platform type: a town hall one two three".
    assert case_words(case.query, case.context, case.history) == 4 + 2 + 3 + 9


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
    assert 45 < forecast(study).minutes < 75
    assert f"about {math.ceil(minutes)} minutes" in " ".join(study.consent.text.split())
    # 6 people, all alike.
    assert forecast(study).hours == pytest.approx(6 * minutes / 60)


@pytest.mark.parametrize(
    ("words", "least", "fast"),
    # At 1000 and 600 words a minute; short pages take what it takes to look and to click.
    [(0, 2, 3), (30, 2, 3), (239, 14.34, 23.9), (600, 36, 60), (5000, 60, 500)],
)
def test_floors_by_hand(words: int, least: float, fast: float) -> None:
    assert least_seconds(words) == pytest.approx(least)
    assert fast_seconds(words) == pytest.approx(fast)
    # Who reads at the fastest usual pace is on the right side of both.
    if words > 30:
        assert 60 * words / PACES["fast"].words > max(least, fast)


def test_nobody_reads_239_words_in_two_seconds(tmp_path: Path) -> None:
    long_study(tmp_path, queries=3, votes=1, tasks=3, attention=1)
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:
        ada.agree().get("/check")
        right = {
            f"question-{n}": str(one.answer)
            for n, one in enumerate(server.store.study.comprehension.questions)
        }
        ada.send("/check", attempt="1", **right)
        assert 'data-wait="14.3"' in ada.page.text
        ada.answer("safe", seconds=2)
        assert (ada.at, ada.page.status_code) == ("/page/1", 422)
        ada.answer("safe", seconds=10)
        assert ada.page.status_code == 422
        ada.answer("safe", seconds=3)
        assert ada.at == "/page/2"


def with_seconds(one: Simulated, study: Study, seed: int, words_a_minute: float) -> Simulated:
    """Honest people read at a speed of their own; careless ones answer once the page lets them."""
    rng = np.random.default_rng(seed)
    own = {person.rater: rng.normal(0, 0.1) for person in one.collected.people}
    votes = []
    for vote in one.collected.votes:
        if vote.rater in one.careless:
            seconds = least_seconds(WORDS) + rng.exponential(2)
        else:
            seconds = 60 * WORDS / words_a_minute * np.exp(own[vote.rater] + rng.normal(0, 0.3))
        votes.append(replace(vote, seconds=float(seconds)))
    return replace(one, collected=replace(one.collected, votes=tuple(votes)))


@pytest.mark.parametrize("words_a_minute", [238, 300])
def test_fast_people_are_told_from_fast_readers(tmp_path: Path, words_a_minute: float) -> None:
    """Even who needs no time at all to answer: at 300 words a minute, and nothing added."""
    study = long_study(tmp_path, queries=40, votes=21, tasks=20)
    flagged: dict[bool, list[bool]] = {True: [], False: []}
    for seed in range(4):
        one = with_seconds(simulate(study, World(), seed), study, seed, words_a_minute)
        found = screen(study, one.collected).flagged(Rule.FAST)
        for person in one.collected.people:
            flagged[person.rater in one.careless].append(person.rater in found)
    assert np.mean(flagged[True]) >= 0.9
    assert np.mean(flagged[False]) < 0.02


def changed(study: Study, **parts: object) -> Study:
    made = study.model_copy(update=parts)
    made._path = study.path
    return made


def test_implausible_numbers_are_told_of(tmp_path: Path) -> None:
    study = long_study(tmp_path, attention=0, pay=Pay(per_hour=12))
    assert time_warnings(study) == []
    assert time_warnings(changed(study, pay=Pay(per_hour=12, seconds_per_task=60))) == []
    (short, *_) = time_warnings(changed(study, pay=Pay(seconds_per_task=25, minutes_besides=6)))
    assert short.startswith(
        "pay.seconds_per_task: 25 s are short for 252 words: fast readers take 53.0, average ones "
        "68.8, slow ones 97.0"
    )
    (long, _) = time_warnings(changed(study, pay=Pay(seconds_per_task=900)))
    assert "900 s are long" in long
    (besides,) = time_warnings(changed(study, pay=Pay(minutes_besides=1)))
    assert "pay.minutes_besides: 1 minutes are short" in besides
    timing, screening = Timing(least_seconds=2), Screening(fast_seconds=3)
    floors = time_warnings(changed(study, timing=timing, screening=screening))
    assert [one.split(":")[0] for one in floors] == [
        "timing.least_seconds",
        "screening.fast_seconds",
    ]
    assert "in 2 s nobody has read a case of 239 words" in floors[0]
    (slow,) = time_warnings(changed(study, timing=Timing(least_seconds=60)))
    assert "fast readers take 50.4 s for the shortest case, less than 60 s" in slow


def test_scripts_without_spaces_are_told_of(tmp_path: Path) -> None:
    cases = [
        Case(query="在图书馆可以借几本书而且可以借多长时间呢请告诉我" + str(number))
        for number in range(4)
    ]
    study = on_disk(tmp_path, cases, StudyPlan(title="Forms", arms=(Arm.NONE,), votes=1))
    write_file(study, tmp_path / "study.yaml")
    assert "without spaces" in time_warnings(load_study(tmp_path / "study.yaml"))[0]


def test_pay_below_what_is_promised(tmp_path: Path) -> None:
    study = long_study(tmp_path, tasks=45, attention=0, pay=Pay(per_hour=12))
    told = " ".join(study.consent.text.split())
    minutes = forecast(study).minutes
    reward = forecast(study).pay_each
    assert reward * 60 / minutes >= 12
    assert f"You get {reward:.2f} GBP for the whole session, which is 12.00 GBP an hour" in told
    # 45 cases of 25 s and 6 minutes are 25 whole minutes and 5 GBP; by the words it takes longer.
    hasty = long_study(
        tmp_path,
        tasks=45,
        attention=0,
        pay=Pay(per_hour=12, seconds_per_task=25, minutes_besides=6),
    )
    _, low = time_warnings(hasty)
    assert low == (
        f"5.00 GBP for {minutes:.0f} minutes are {5 * 60 / minutes:.2f} GBP an hour, and people "
        f"are promised 12.00: {reward:.2f} GBP would fit (pay, and consent.text)"
    )
    assert reward * 60 / math.ceil(minutes) == pytest.approx(12)
    # The consent stays as it was when the pay or the cases change.
    dearer = changed(study, pay=Pay(per_hour=15))
    (low,) = time_warnings(dearer)
    assert "people are promised 15.00" in low
    # A pilot that took longer, within what is plausible, says what the pay comes to.
    (low,) = time_warnings(changed(study, pay=Pay(per_hour=12, seconds_per_task=90)))
    assert re.match(r"\d+\.\d\d GBP for 7\d minutes are \d\.\d\d GBP an hour", low)


def test_plan_and_serve_tell_it(cli_inside: Cli, cli: Cli, tmp_path: Path) -> None:
    write_cases(long_cases(6), tmp_path / "cases.jsonl")
    call = ("annotate", "plan", "cases.jsonl", "--out", "study.yaml", "--arms", "safe,unsafe")
    hasty = ("--pay", "12", "--seconds", "25", "--minutes-besides", "6")
    by = ("--by", "A lab", "--contact", "lab@example.org")
    done = cli_inside(*call, *hasty, *by, "--votes", "2")
    assert done.returncode == 0
    expected = [f"warning: {one}" for one in time_warnings(load_study(tmp_path / "study.yaml"))]
    assert len(expected) == 2
    said = " ".join(done.stderr.split())
    assert all(one in said for one in expected)
    # The server says so at its start, and then that the port is no port of this computer.
    waive(tmp_path / "study.yaml")
    served = cli_inside("annotate", "serve", "study.yaml", "--host", "203.0.113.1")
    assert served.returncode == 2
    assert all(one in " ".join(served.stderr.split()) for one in expected)
    plain = cli_inside(*call, "--pay", "12", *by, "--votes", "2", "--force")
    assert "\nwarning: " not in plain.stderr
    shown = " ".join(plain.stdout.split())
    assert "words a case 252" in shown
    assert "seconds a case 69 (53 to 97) 238 words a minute (300 to 175), 5.3 s to answer" in shown
    assert "doi:10.1016/j.jml.2019.104047" in shown


def test_casebench_takes_as_long_as_its_words(casebench: Path, tmp_path: Path) -> None:
    from casewise_study.study.planning import plan_study

    file = casebench / "CASEBench_data.json"
    plan = StudyPlan(title="x", arms=(Arm.SAFE, Arm.UNSAFE), votes=1, tasks=45)
    study = plan_study(load_cases(file), file, tmp_path / "study.yaml", plan)
    study._path = tmp_path / "study.yaml"
    read = reading(study)
    assert 230 < np.mean(read.cells) < 270
    assert 45 < forecast(study).minutes < 75
    floors: Sequence[float] = read.fast_seconds()
    assert np.mean(floors) > 20


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
    assert forecast(german).minutes > 1.2 * forecast(english).minutes
    assert time_warnings(changed(german, pay=Pay(seconds_per_task=60)))[0].startswith(
        "pay.seconds_per_task: 60 s are short for 252 words: fast readers take 66.8"
    )
    (said,) = time_warnings(unknown)
    assert "no measured speed of reading" in said
    assert reading(unknown).speed == 1


def piloted(folder: Path, seconds: float, people: int = 3) -> Study:
    """A pilot of which each person took so long for a page, and four minutes before the first."""
    study = long_study(folder, queries=3, votes=1, tasks=3, attention=1, pay=Pay(per_hour=12))
    with Serving(folder / "study.yaml") as server:
        right = {
            f"question-{n}": str(one.answer) for n, one in enumerate(study.comprehension.questions)
        }
        for _ in range(min(people, len(study.design.blocks))):
            with Guest(server) as ada:
                ada.agree().get("/check")
                server.clock.turn(minutes=4)
                ada.send("/check", attempt="1", **right)
                while ada.at.startswith("/page/"):
                    ada.answer(seconds=seconds)
        server.store.close()
    return study


def test_a_pilots_times_replace_the_forecast(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, KEYS.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, KEYS.admin)
    pilot = piloted(tmp_path, 100)
    by_words = reading(pilot)
    write_cases(long_cases(6, words=120), tmp_path / "more.jsonl")
    call = ["annotate", "plan", "more.jsonl", "--out", "main.yaml", "--arms", "safe,unsafe"]
    call += ["--votes", "2", "--pay", "12", "--by", "A lab", "--contact", "a@b.example"]
    done = cli_inside(*call, "--from-pilot", "study.yaml", "--format", "json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)["time"]["pilot"]
    usual = PACES["usual"]
    # Three cases of 252 words, and a check; two people, so the median is their mean.
    checks = [
        by_words.checks[page.check] for n in (0, 1) for page in pages_of(pilot, n) if page.check
    ]
    cases = 3 * by_words.case_seconds(usual)
    factor = np.mean([400 / (cases + usual.seconds(words + 13)) for words in checks])
    assert measured["factor"] == pytest.approx(factor)
    assert measured["besides"] == pytest.approx(
        4 + by_words.unclocked / 238 + 6 * 5.3 / 60, abs=0.01
    )
    study = load_study(tmp_path / "main.yaml")
    # The new cases are half as long, so they take less than the pilot's 100 s.
    assert study.pay.seconds_per_task == pytest.approx(
        factor * reading(study).case_seconds(usual), abs=0.06
    )
    assert study.pay.minutes_besides == pytest.approx(measured["besides"], abs=0.06)
    minutes = forecast(study).minutes
    assert f"about {math.ceil(minutes)} minutes" in " ".join(study.consent.text.split())
    assert forecast(study).pay_each == pytest.approx(12 * math.ceil(minutes) / 60)
    table = cli_inside(*call, "--from-pilot", "study.yaml", "--force")
    assert "--from-pilot: 2 people" in " ".join(table.stdout.split())
    assert "their median may be far" in " ".join(table.stdout.split())
    both = cli_inside(*call, "--from-pilot", "study.yaml", "--seconds", "9", "--force")
    assert (both.returncode, "drop either" in both.stderr) == (2, True)
    nobody = cli_inside(*call, "--from-pilot", "main.yaml", "--force")
    assert nobody.returncode == 2
    assert "no votes" in nobody.stderr


def test_measured_pay_below_the_promise_is_told(tmp_path: Path) -> None:
    study = piloted(tmp_path, 300, people=2)
    with Serving(tmp_path / "study.yaml") as server, Guest(server, "/admin") as admin:
        admin.get(f"/admin/enter/{KEYS.admin}")
        collected = server.store.collected()
        minutes = 4 + 4 * 300 / 60
        assert f"for {minutes:.0f} minutes are" in admin.page.text
        assert "People are owed the difference" in admin.page.text
    card = data_card(
        summarise(study, collected), balance(study, study_cases(study)), ExportChoices()
    )
    assert re.search(r"\*\*Too little:\*\* [\d.]+ GBP for 24 minutes are", card)


def test_the_consent_the_platform_and_the_pay_are_one_figure(
    cli_inside: Cli, tmp_path: Path
) -> None:
    plan = ("annotate", "plan", "starter", "--out", "study.yaml", "--platform", "prolific")
    by = ("--by", "A lab", "--contact", "a@b.example", "--votes", "11", "--tasks", "14")
    assert cli_inside(*plan, *by, "--attention", "2", "--pay", "12").returncode == 0
    study = load_study(tmp_path / "study.yaml")

    def posted() -> dict[str, Any]:
        url = ("--url", "https://study.example/")
        done = cli_inside("annotate", "prolific", "study.yaml", *url, "--out", "sheet")
        assert done.returncode == 0, done.stderr
        text = (tmp_path / "sheet" / "study.json").read_text("utf-8")
        shutil.rmtree(tmp_path / "sheet")
        read: dict[str, Any] = json.loads(text)
        return read

    told, body = " ".join(study.consent.text.split()), posted()
    # 17.3 minutes are 18 whole ones, which at 12 an hour come to 3.60.
    assert forecast(study).minutes == pytest.approx(17.3, abs=0.1)
    assert "about 18 minutes in all" in told
    assert "You get 3.60 GBP for the whole session, which is 12.00 GBP an hour" in told
    assert (body["estimated_completion_time"], body["reward"]) == (18, 360)
    assert forecast(study).pay_each == session_pay(study) == 3.6
    # What people were promised is what they get, also where the file was edited.
    edited = study.consent.text.replace("3.60", "4.10")
    write_file(
        study.model_copy(update={"consent": study.consent.model_copy(update={"text": edited})}),
        tmp_path / "study.yaml",
    )
    assert posted()["reward"] == 410
