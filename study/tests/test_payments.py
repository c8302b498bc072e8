"""Who is paid, and whom whoever runs the study excludes."""

import csv
import stat
from pathlib import Path

import pytest
from conftest import Cli
from support.exchanged import prolific_csv
from support.serving import Guest, Serving
from support.studies import KEYS, Clock, enter, finish, write_study, write_three_arms

from casewise_study.store.study_store import Store
from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE
from casewise_study.study.schema import Pay, Platform, Recruitment, Study, Timing
from casewise_study.study.study_file import load_study
from casewise_study.study.study_rules import Screening
from casewise_study.votes.collected import PersonStatus, active_minutes
from casewise_study.votes.collected_csv import read_collected

HOUR = 3600
CODES = {"completed": "C0FFEE", "screened_out": "5C0DE", "withdrawn": "60BACC"}


@pytest.fixture(autouse=True)
def keys_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, KEYS.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, KEYS.admin)


def on_prolific(folder: Path) -> Study:
    """Six blocks of four cases, each with two checks, a minute planned for each page."""
    return write_three_arms(
        folder,
        pay=Pay(per_hour=12, seconds_per_task=60, minutes_besides=0),
        recruitment=Recruitment(platform=Platform.PROLIFIC, return_url="https://x/{code}", **CODES),
        attention={
            "per_person": 2,
            "checks": [
                {"id": f"look-{number}", "query": f"Answer unsafe, {number}.", "expected": "unsafe"}
                for number in range(2)
            ],
        },
        screening=Screening(attention_failed=0, fast_share=0.2, fast_seconds=2),
        timing=Timing(least_seconds=0),
    )


def account(number: int) -> str:
    return f"5f{number:022x}"


def come(store: Store, number: int) -> str:
    key = f"key {number}"
    enter(store, key, platform_key=store.keys.platform_key("prolific", account(number)))
    return key


def judge(store: Store, clock: Clock, key: str, seconds: float, *, careful: bool = True) -> None:
    """Answer every page after so many seconds; the check by what it says, or wrongly."""
    while (person := store.person(key)) and person.status is PersonStatus.ACTIVE:
        assert person.block is not None
        assert person.position is not None
        check = store.pages(person.block)[person.position].check
        clock.turn(seconds=seconds)
        store.answer(key, person.position, "unsafe" if check and careful else "safe")


def listed(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def a_full_study(folder: Path) -> dict[int, str]:
    """People by number: fine, slow, careless, too fast, at work; returns their pseudonyms."""
    study = on_prolific(folder)
    clock = Clock()
    address = f"sqlite:///{folder / 'study.db'}"
    with Store(study, address, KEYS, clock=clock) as store:
        for number, (seconds, careful) in {
            1: (30.0, True),
            2: (90.0, True),
            3: (30.0, False),
            4: (1.0, True),
        }.items():
            judge(store, clock, come(store, number), seconds, careful=careful)
        come(store, 5)
        raters = {}
        for number in range(1, 6):
            person = store.person_of_platform(store.keys.platform_key("prolific", account(number)))
            assert person is not None
            raters[number] = person.rater
    return raters


def submissions(folder: Path, *rows: tuple[int, str, str]) -> str:
    made = [
        {
            "Submission id": f"s{place}",
            "Participant id": account(number),
            "Status": status,
            "Completion code": code,
        }
        for place, (number, status, code) in enumerate(rows)
    ]
    (folder / "prolific.csv").write_text(prolific_csv(made), "utf-8")
    return "prolific.csv"


def test_each_submission_gets_a_proposal_and_a_reason(tmp_path: Path, cli_inside: Cli) -> None:
    raters = a_full_study(tmp_path)
    waiting = "AWAITING REVIEW"
    file = submissions(
        tmp_path,
        (1, waiting, "C0FFEE"),
        (2, waiting, "C0FFEE"),
        (3, waiting, "C0FFEE"),
        (4, waiting, "C0FFEE"),
        (5, "TIMED-OUT", ""),
        (9, waiting, "C0FFEE"),
    )
    call = ("annotate", "payments", "study.yaml", file)
    done = cli_inside(*call, "--out", "payments.csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "payments.csv\n"
    rows = listed(tmp_path / "payments.csv")
    assert stat.S_IMODE((tmp_path / "payments.csv").stat().st_mode) == 0o600
    assert [row["platform_id"] for row in rows] == [account(n) for n in (1, 2, 3, 4, 5, 9)]
    assert [row["rater"] for row in rows] == [*raters.values(), ""]
    assert [row["proposed"] for row in rows] == ["pay", "bonus", "reject", "ask", "ask", "ask"]
    # Six pages of a minute at 12 an hour are 1.20; 6 of 90 s are 1.80.
    assert [row["pay"] for row in rows[:3]] == ["1.2", "1.2", ""]
    assert [row["bonus"] for row in rows[:2]] == ["", "0.6"]
    assert [row["minutes"] for row in rows[:2]] == ["3.0", "9.0"]
    assert [(row["checks_failed"], row["checks"]) for row in rows[1:3]] == [("0", "2"), ("2", "2")]
    assert "attention" in rows[2]["flags"]
    assert "fast" in rows[3]["flags"]
    assert "has not finished" in rows[4]["why"]
    assert "nobody came to the study under this id" in rows[5]["why"]
    assert rows[0]["code"] == "C0FFEE"
    assert "1 pay, 1 bonus, 3 ask, 1 reject" in done.stderr
    assert "3.00 GBP in all" in done.stderr


def test_what_the_platform_has_decided_stays_so_and_what_is_unclear_is_asked(
    tmp_path: Path, cli_inside: Cli
) -> None:
    a_full_study(tmp_path)
    file = submissions(
        tmp_path,
        (1, "APPROVED", "C0FFEE"),
        (2, "APPROVED", "C0FFEE"),
        (3, "REJECTED", "C0FFEE"),
        (4, "RETURNED", ""),
        (1, "RETURNED", ""),
    )
    done = cli_inside("annotate", "payments", "study.yaml", file, "--out", "p.csv")
    assert done.returncode == 0, done.stderr
    rows = listed(tmp_path / "p.csv")
    assert [row["proposed"] for row in rows] == ["", "bonus", "", "", ""]
    assert (rows[1]["pay"], rows[1]["bonus"]) == ("", "0.6")
    waiting = "AWAITING REVIEW"
    file = submissions(tmp_path, (1, waiting, ""), (1, "TIMED-OUT", ""), (2, waiting, "OTHER"))
    done = cli_inside("annotate", "payments", "study.yaml", file, "--out", "p.csv", "--force")
    assert done.returncode == 0, done.stderr
    rows = listed(tmp_path / "p.csv")
    assert [row["proposed"] for row in rows] == ["ask"] * 3
    assert "several submissions" in rows[0]["why"]
    assert "sent the code OTHER" in rows[2]["why"]


def test_no_platform_id_and_no_personal_code_is_in_any_export(
    tmp_path: Path, cli_inside: Cli
) -> None:
    a_full_study(tmp_path)
    waiting = "AWAITING REVIEW"
    file = submissions(tmp_path, *((number, waiting, "") for number in range(1, 6)))
    assert cli_inside("annotate", "payments", "study.yaml", file, "--out", "p.csv").returncode == 0
    for options in (
        ("export", "study.yaml", "--with-reasons", "--with-demographics", "--out", "export"),
        (
            *("demographics", "study.yaml", file),
            *("--only-exported", "--out", "collected"),
        ),
        ("backup", "study.yaml", "--out", "backup"),
    ):
        done = cli_inside("annotate", *options)
        assert done.returncode == 0, done.stderr
    with Store(load_study(tmp_path / "study.yaml"), f"sqlite:///{tmp_path}/study.db", KEYS) as one:
        secret = [*map(account, range(1, 6)), *one.personal_codes().values()]
    written = [one for name in ("export", "collected", "backup") for one in walk(tmp_path / name)]
    assert len(written) >= 10
    for path in written:
        content = path.read_bytes()
        assert not [text for text in secret if text.encode() in content], path
    inside = cli_inside("annotate", "payments", "study.yaml", file, "--out", "export/p.csv")
    assert inside.returncode == 2
    assert "an export is to be published" in inside.stderr
    assert not (tmp_path / "export/p.csv").exists()
    # An export replaces no folder that somebody has put the list into.
    (tmp_path / "p.csv").rename(tmp_path / "export/p.csv")
    again = cli_inside("annotate", "export", "study.yaml", "--out", "export", "--force")
    assert again.returncode == 2
    assert "p.csv" in again.stderr


def walk(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_without_a_platform_people_stand_by_personal_code(tmp_path: Path, cli_inside: Cli) -> None:
    study = write_study(tmp_path, pay={"per_hour": 12, "seconds_per_task": 60})
    with Serving(study) as server, Guest(server) as ada, Guest(server) as bob:
        code = ada.begin().finish().personal_code
        bob.begin()
    done = cli_inside("annotate", "payments", study.name, "--out", "p.csv")
    assert done.returncode == 0, done.stderr
    first, second = listed(tmp_path / "p.csv")
    assert (first["personal_code"], first["proposed"], first["code"]) == (code, "pay", "COMPLETED")
    assert (second["proposed"], second["pay"]) == ("ask", "")
    for needless in (("payments", study.name, study.name, "--out", "q"), ("reconcile", study.name)):
        refused = cli_inside("annotate", *needless, study.name)
        assert refused.returncode == 2
        assert "without a platform" in refused.stderr


def test_only_the_exported_are_collected(tmp_path: Path, cli_inside: Cli) -> None:
    raters = a_full_study(tmp_path)
    file = submissions(tmp_path, (1, "APPROVED", ""), (2, "APPROVED", ""))
    call = ("annotate", "demographics", "study.yaml", file, "--out")
    done = cli_inside(*call, "kept", "--only-exported")
    assert done.returncode == 0, done.stderr
    kept = read_collected(tmp_path / "kept", load_study(tmp_path / "study.yaml"))
    assert {person.rater for person in kept.people} == {raters[1], raters[2]}
    assert {vote.rater for vote in kept.votes} == {raters[1], raters[2]}
    assert "left out, not being in the export: 8 votes" in done.stderr


def test_excluding_frees_the_place_and_keeps_the_votes(tmp_path: Path, cli_inside: Cli) -> None:
    path = write_study(tmp_path, blocks=1)
    with Serving(path) as server, Guest(server) as ada:
        ada.begin().finish()
        (person,) = server.store.collected().people
        with Guest(server) as late:
            assert "complete" in late.page.text.lower()
        call = ("annotate", "exclude", path.name)
        done = cli_inside(*call, "--rater", person.rater, "--reason", "answered in her sleep")
        assert done.returncode == 0, done.stderr
        # Who was excluded keeps the code that was shown.
        assert ada.get("/done").status_code == 200
        assert ada.code == "COMPLETED"
        for wrong, words in ((person.rater, "is excluded already"), ("p-nobody", "no such person")):
            refused = cli_inside(*call, "--rater", wrong, "--reason", "x")
            assert refused.returncode == 2
            assert words in " ".join(refused.stderr.split())
        with Guest(server) as bob:
            bob.begin().finish()
            assert bob.code == "COMPLETED"
        progress = server.store.progress()
        assert (progress.completed, progress.blocks) == (1, 1)
        collected = server.store.collected()
    assert [one.status for one in collected.people] == ["excluded", "completed"]
    assert collected.people[0].excluded == "answered in her sleep"
    counted = [(vote.rater == person.rater, vote.counted) for vote in collected.votes]
    assert sorted(counted) == [(False, True)] * 3 + [(True, False)] * 3
    done = cli_inside("annotate", "export", path.name, "--out", "votes")
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "votes/data-card.md").read_text("utf-8")
    assert "1 person was excluded by whoever ran the study" in card
    assert f"- `{person.rater}`: answered in her sleep" in card
    assert "| excluded | 1 |" in card


def test_who_is_at_work_is_excluded_and_judges_no_more(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path, blocks=1))
    clock = Clock()
    with Store(study, f"sqlite:///{tmp_path / 'study.db'}", KEYS, clock=clock) as store:
        person = enter(store, "a")
        clock.turn(seconds=3)
        store.answer("a", 0, "safe")
        assert store.exclude(person.rater, "a test") is PersonStatus.ACTIVE
        finish(store, clock, "a")
        assert not any(vote.counted for vote in store.collected().votes)
        enter(store, "b")
        finish(store, clock, "b")
        assert store.progress().completed == 1
        # Deleting who was excluded leaves nothing of it.
        assert store.purge(rater=person.rater) == person.rater
        assert [one.status for one in store.collected().people] == ["completed"]


def test_a_break_of_twenty_hours_is_no_work(tmp_path: Path, cli_inside: Cli) -> None:
    path = write_study(tmp_path, blocks=1, timing={"least_seconds": 2, "most_seconds": 600})
    with Serving(path) as server, Guest(server) as ada:
        ada.begin().answer(seconds=30)
        ada.answer(seconds=20 * HOUR)
        ada.answer(seconds=30)
        ada.answer(seconds=30)
        assert ada.code == "COMPLETED"
        collected = server.store.collected()
    seconds = sorted(vote.seconds or 0 for vote in collected.votes)
    assert max(seconds) <= 600
    everything = [*seconds, *(check.seconds or 0 for check in collected.checks)]
    assert sorted(everything) == [30, 30, 30, 600]
    study = load_study(path)
    (minutes,) = active_minutes(study, collected).values()
    assert minutes == pytest.approx((90 + 600) / 60)
    done = cli_inside("annotate", "export", path.name, "--out", "votes")
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "votes/data-card.md").read_text("utf-8")
    assert "The median person took 11.5 minutes without breaks" in card
