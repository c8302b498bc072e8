"""Who is paid, and whom whoever runs the study excludes."""

import stat
from pathlib import Path

import pytest
from conftest import Cli
from support.exchanged import ON_PROLIFIC, account, write_prolific
from support.serving import Guest, Serving, rows
from support.studies import exported, read_csv, write_arms, write_study

WAITING = "AWAITING REVIEW"
Raters = dict[int, str]


def judge(server: Serving, number: int, seconds: float, *, careful: bool = True) -> str:
    """Answer every page after so many seconds, the checks by what they say, or wrongly.

    Returns:
        The person's personal code.
    """
    with Guest(server, f"/?PROLIFIC_PID={account(number)}") as one:
        one.begin()
        while one.at.startswith("/page/") and seconds:
            check = "Answer unsafe" in one.page.text
            one.answer("unsafe" if check and careful else "safe", seconds=seconds)
        return one.personal_code


@pytest.fixture
def codes(tmp_path: Path) -> list[str]:
    """Personal codes of five people: fine, slow, careless, too fast, at work.

    Six blocks of four cases, each with two checks, a minute planned for each page.
    """
    looks = [
        {"id": f"look-{number}", "query": f"Answer unsafe, {number}.", "expected": "unsafe"}
        for number in range(2)
    ]
    path = write_arms(
        tmp_path,
        pay={"per_hour": 12, "seconds_per_task": 60, "minutes_besides": 0},
        recruitment=ON_PROLIFIC,
        attention={"per_person": 2, "checks": looks},
        screening={"attention_failed": 0, "fast_share": 0.2, "fast_seconds": 2},
        timing={"least_seconds": 0},
    )
    with Serving(path) as server:
        return [
            judge(server, 1, 30),
            judge(server, 2, 90),
            judge(server, 3, 30, careful=False),
            judge(server, 4, 1),
            judge(server, 5, 0),
        ]


def raters(folder: Path) -> list[str]:
    return rows(folder / "study.db", "SELECT rater FROM participant ORDER BY id")


def paid(
    cli: Cli, folder: Path, *submissions: tuple[int, str, str], out: str = "p.csv"
) -> tuple[list[dict[str, str]], str]:
    """The list of payments, and what the command said."""
    given = [(account(number), status, code) for number, status, code in submissions]
    file = write_prolific(folder / "prolific.csv", *given)
    done = cli("annotate", "payments", "study.yaml", file, "--out", out, "--force")
    assert (done.returncode, done.stdout) == (0, f"{out}\n"), done.stderr
    return read_csv(folder / out), done.stderr


def test_each_submission_has_what_its_pay_rests_on(
    tmp_path: Path, cli: Cli, codes: list[str]
) -> None:
    third = raters(tmp_path)[2]
    cli.ok("annotate", "exclude", "study.yaml", "--rater", third, "--reason", "failed the checks")
    waiting = [(number, WAITING, "C0FFEE") for number in (1, 2, 3, 4)]
    listed, said = paid(cli, tmp_path, *waiting, (5, "TIMED-OUT", ""), (9, WAITING, "OTHER"))
    assert stat.S_IMODE((tmp_path / "p.csv").stat().st_mode) == 0o600
    assert [row["platform_id"] for row in listed] == [account(n) for n in (1, 2, 3, 4, 5, 9)]
    assert [row["rater"] for row in listed] == [*raters(tmp_path), ""]
    ends = ["completed", "completed", "excluded", "completed", "active", ""]
    assert [row["status"] for row in listed] == ends
    # Who was excluded after the end has done the work, and the code.
    assert [row["code_shown"] for row in listed] == ["C0FFEE"] * 4 + [""] * 2
    # Six pages of a minute at 12 an hour are 1.20; 6 of 90 s are 1.80.
    assert [row["pay"] for row in listed] == ["1.2"] * 4 + [""] * 2
    assert [row["due"] for row in listed[:2]] == ["", "1.8"]
    assert [row["minutes"] for row in listed[:2]] == ["3.0", "9.0"]
    checks = [(row["checks_failed"], row["checks"]) for row in listed[1:3]]
    assert checks == [("0", "2"), ("2", "2")]
    assert "of votes in less than" in listed[3]["flags"]
    assert (listed[5]["code_sent"], listed[5]["platform_status"]) == ("OTHER", WAITING)
    assert "6 in the list, 4 of whom completed the study, which comes to 5.40 GBP" in said


def test_no_platform_id_and_no_personal_code_is_in_any_export(
    tmp_path: Path, cli: Cli, codes: list[str]
) -> None:
    paid(cli, tmp_path, *((number, WAITING, "") for number in range(1, 6)))
    for options in (
        ("export", "study.yaml", "--with-reasons", "--with-demographics", "--out", "export"),
        ("backup", "study.yaml", "--out", "backup"),
    ):
        done = cli("annotate", *options)
        assert done.returncode == 0, done.stderr
    secret = [*map(account, range(1, 6)), *codes]
    written = [node for name in ("export", "backup") for node in walk(tmp_path / name)]
    assert len(written) >= 9
    for path in written:
        content = path.read_bytes()
        assert not [text for text in secret if text.encode() in content], path
    call = ("annotate", "payments", "study.yaml", "prolific.csv", "--out", "export/p.csv")
    inside = cli(*call)
    assert inside.returncode == 2
    assert "an export is to be published" in inside.stderr
    assert not (tmp_path / "export/p.csv").exists()
    # An export replaces no folder that somebody has put the list into.
    (tmp_path / "p.csv").rename(tmp_path / "export/p.csv")
    again = cli("annotate", "export", "study.yaml", "--out", "export", "--force")
    assert again.returncode == 2
    assert "p.csv" in again.stderr


def walk(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_without_a_platform_people_stand_by_personal_code(tmp_path: Path, cli: Cli) -> None:
    study = write_study(tmp_path, pay={"per_hour": 12, "seconds_per_task": 60})
    with Serving(study) as server, Guest(server) as ada, Guest(server) as bob:
        code = ada.begin().finish().personal_code
        bob.begin()
    done = cli("annotate", "payments", study.name, "--out", "p.csv")
    assert done.returncode == 0, done.stderr
    first, second = read_csv(tmp_path / "p.csv")
    assert (first["personal_code"], first["code_shown"]) == (code, "COMPLETED")
    assert (first["status"], second["status"], second["pay"]) == ("completed", "active", "")
    for needless in (("payments", study.name, study.name, "--out", "q"), ("reconcile", study.name)):
        refused = cli("annotate", *needless, study.name)
        assert refused.returncode == 2
        assert "without a platform" in refused.stderr


def test_excluding_frees_the_place_and_keeps_the_votes(tmp_path: Path, cli: Cli) -> None:
    path = write_study(tmp_path, blocks=1)
    call = ("annotate", "exclude", path.name)
    with Serving(path) as server, Guest(server) as ada:
        ada.begin().finish()
        (rater,) = raters(tmp_path)
        with Guest(server) as late:
            assert "complete" in late.page.text.lower()
        done = cli(*call, "--rater", rater, "--reason", "answered in her sleep")
        assert done.returncode == 0, done.stderr
        # Who was excluded keeps the code that was shown.
        assert ada.get("/done").status_code == 200
        assert ada.code == "COMPLETED"
        for wrong in (rater, "p-nobody"):
            refused = cli(*call, "--rater", wrong, "--reason", "x")
            assert refused.returncode == 2
            assert "nobody whose votes count" in " ".join(refused.stderr.split())
        # Who is at work judges no more, and leaves nothing when deleted.
        with Guest(server) as eve:
            eve.begin().answer()
            at_work = raters(tmp_path)[1]
            assert cli(*call, "--rater", at_work, "--reason", "a test").returncode == 0
            eve.finish()
        assert cli("annotate", "purge", path.name, at_work).returncode == 0
        with Guest(server) as bob:
            assert bob.begin().finish().code == "COMPLETED"
    exported(cli)
    people, votes = (read_csv(tmp_path / f"out/{name}.csv") for name in ("people", "votes"))
    assert [person["status"] for person in people] == ["excluded", "completed"]
    assert people[0]["excluded"] == "answered in her sleep"
    counted = [(vote["rater"] == rater, vote["counted"]) for vote in votes]
    assert sorted(counted) == [(False, "true")] * 3 + [(True, "false")] * 3
    card = (tmp_path / "out/data-card.md").read_text("utf-8")
    assert "1 person was excluded by whoever ran the study" in card
    assert f"- `{rater}`: answered in her sleep" in card
    assert "| excluded | 1 |" in card


def test_a_break_of_twenty_hours_is_no_work(tmp_path: Path, cli: Cli) -> None:
    path = write_study(tmp_path, blocks=1, timing={"least_seconds": 2, "most_seconds": 600})
    with Serving(path) as server, Guest(server) as ada:
        ada.begin()
        for seconds in (30, 20 * 3600, 30, 30):
            ada.answer(seconds=seconds)
        assert ada.code == "COMPLETED"
        taken = "SELECT seconds FROM answer"
        assert sorted(server.rows(taken)) == [30, 30, 30, 600]
    exported(cli)
    card = (tmp_path / "out/data-card.md").read_text("utf-8")
    # (90 + 600) / 60.
    assert "The median person took 11.5 minutes without breaks" in card
