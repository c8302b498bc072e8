"""``casewise annotate tasks`` and ``collect`` as a person calls them."""

import csv
import io
import json
import stat
from math import ceil
from pathlib import Path

import pytest
from conftest import Cli
from support.exchanged import (
    HOSTILE,
    Came,
    Told,
    a_study,
    label_studio_export,
    prolific_csv,
    turk_csv,
    turk_rows,
)
from support.studies import write_three_arms

from casewise.annotation.exchange.mturk import mturk_files
from casewise.annotation.exchange.sittings import plan_tasks
from casewise.annotation.store.standing import Visitor
from casewise.annotation.store.study_store import Store
from casewise.annotation.study.accounts import load_secrets
from casewise.annotation.study.planning import forecast
from casewise.annotation.study.schema import Platform, Recruitment
from casewise.annotation.study.study_file import load_study
from casewise.annotation.votes.collected_csv import read_collected

TOLD = Told("unsafe", 4.0, None, "because")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = a_study(tmp_path / "s").path
    assert path is not None
    return path


def results(study: Path, to: Path, accounts: str = "AB") -> Path:
    tasks = plan_tasks(load_study(study))
    crowd = [
        Came(f"A2WORKER{one}", number, (TOLD,) * len(tasks.blocks[number]))
        for number, one in enumerate(accounts)
    ]
    rows = turk_rows(tasks, crowd, mturk_files(tasks)["batch.csv"])
    to.write_text(turk_csv(rows), "utf-8", newline="")
    return to


@pytest.mark.parametrize(
    ("platform", "files"),
    [
        ("label-studio", {"labeling-config.xml", "instructions.html", "tasks"}),
        ("mturk", {"layout.html", "batch.csv"}),
        ("csv", {"tasks.csv"}),
    ],
)
def test_tasks(
    platform: str, files: set[str], study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    done = cli_inside("annotate", "tasks", platform, study, "--out", "out")
    assert done.returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == files
    assert "8 blocks, 40 pages. Next:" in done.stderr
    assert all((tmp_path / line).is_file() for line in done.stdout.splitlines())
    again = cli_inside("annotate", "tasks", platform, study, "--out", "out")
    assert again.returncode == 2
    assert "out: is there already" in again.stderr


def test_a_study_that_still_says_todo_is_shown_to_nobody(
    study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    study.write_text(study.read_text("utf-8").replace("ada@example.org", "TODO"), "utf-8")
    done = cli_inside("annotate", "tasks", "csv", study, "--out", "out")
    assert done.returncode == 2
    assert "consent.contact still says TODO" in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_csv_of_tasks_holds_every_text_exactly(
    study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    assert cli_inside("annotate", "tasks", "csv", study, "--out", "out").returncode == 0
    text = (tmp_path / "out/tasks.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    cells = {row["query"] for row in rows if not row["check"]}
    wanted = {f"'{query}" if query[0] in "=-" or query[:2] == "'=" else query for query in HOSTILE}
    assert cells == wanted


def test_prolific_sheet(study: Path, cli_inside: Cli, tmp_path: Path) -> None:
    url = "https://study.example.org/?wave=1"
    done = cli_inside("annotate", "tasks", "prolific", study, "--url", url, "--out", "out")
    assert done.returncode == 0
    body = json.loads((tmp_path / "out/study.json").read_text("utf-8"))
    assert body["external_study_url"] == (
        f"{url}&PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}"
        "&SESSION_ID={{%SESSION_ID%}}"
    )
    assert body["total_available_places"] == 8
    assert body["estimated_completion_time"] == ceil(forecast(load_study(study)).minutes) == 2
    assert [one["code"] for one in body["completion_codes"]] == [
        "COMPLETED",
        "SCREENED-OUT",
        "WITHDRAWN",
    ]
    assert body["external_study_url"] in (tmp_path / "out/study.md").read_text("utf-8")


def test_collect_from_mturk_writes_no_worker_id(
    study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    file = results(study, tmp_path / "Batch_1_batch_results.csv")
    call = ("annotate", "collect", "mturk", file, "--study", study, "--salt-file", "salt")
    done = cli_inside(*call, "--out", "votes")
    assert done.returncode == 0, done.stderr
    assert "2 people (2 completed), 8 votes of which 8 count, 2 attention checks" in done.stderr
    assert "a new salt" in done.stderr
    assert stat.S_IMODE((tmp_path / "salt").stat().st_mode) == 0o600
    written = b"".join(path.read_bytes() for path in (tmp_path / "votes").iterdir())
    assert b"A2WORKER" not in written
    assert "A2WORKER" not in done.stdout + done.stderr
    assert cli_inside(*call, "--out", "again").returncode == 0
    first, again = (
        read_collected(tmp_path / name, load_study(study)) for name in ("votes", "again")
    )
    assert first == again
    assert {person.panel for person in first.people} == {"mturk"}


def test_a_salt_that_others_can_read_is_told(study: Path, cli_inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "salt").write_text("0123456789abcdef0123", "utf-8")
    (tmp_path / "salt").chmod(0o644)
    file = results(study, tmp_path / "r.csv")
    call = ("annotate", "collect", "mturk", file, "--study", study, "--salt-file", "salt")
    assert "chmod 600 salt" in cli_inside(*call, "--out", "votes").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mturk", "f.csv"), "--salt-file"),
        (("prolific", "f.csv", "--salt-file", "salt"), "--columns"),
        (("csv", "f.csv", "--columns", "Age"), "for prolific"),
        (("mturk", "absent.csv", "--salt-file", "salt"), "no such file"),
        (("label-studio", "f.csv", "--salt-file", "salt"), "not JSON"),
        (("csv", "f.csv"), "Mechanical Turk's results"),
        (("paper", "f.csv"), "paper"),
    ],
)
def test_what_goes_wrong_changes_nothing(
    arguments: tuple[str, ...], words: str, study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    results(study, tmp_path / "f.csv")
    before = sorted(tmp_path.rglob("*"))
    done = cli_inside("annotate", "collect", *arguments, "--study", study, "--out", "votes")
    assert done.returncode == 2
    assert words in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_collect_takes_several_exports_of_label_studio(
    study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    tasks = plan_tasks(load_study(study))
    for number in (0, 1):
        crowd = [Came(str(30 + number), number, (TOLD,) * 5)]
        # Ids are a server's, so a second project's go on from the first's.
        text = label_studio_export(tasks, [Came("99", 7, ()), *crowd][1 - number :])
        (tmp_path / f"{number}.json").write_text(text, "utf-8")
    done = cli_inside(
        *("annotate", "collect", "label-studio", "0.json", "1.json", "--study", study),
        *("--salt-file", "salt", "--out", "votes", "--panel", "lab"),
    )
    assert done.returncode == 0, done.stderr
    assert "2 people (2 completed)" in done.stderr


def prolific(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    made = [
        {"Submission id": f"s{number}", "Participant id": account, "Status": status, "Age": age}
        | {"Sex": "Female", "Nationality": "Utopia"}
        for number, (account, status, age) in enumerate(rows)
    ]
    (tmp_path / "p.csv").write_text(prolific_csv(made), "utf-8")


def test_prolific_people_are_joined_by_pseudonym(
    study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    file = results(study, tmp_path / "r.csv", "ABCDE")
    common = ("--study", study, "--salt-file", "salt")
    cli_inside("annotate", "collect", "mturk", file, *common, "--out", "votes")
    prolific(
        tmp_path,
        [
            ("A2WORKERA", "RETURNED", "1"),
            ("A2WORKERA", "APPROVED", "30"),
            ("A2WORKERB", "RETURNED", "31"),
            ("A2WORKERC", "TIMED-OUT", "CONSENT_REVOKED"),
            ("A2WORKERD", "AWAITING REVIEW", "33"),
            ("stranger", "APPROVED", "34"),
            ("", "RESERVED", ""),
        ],
    )
    call = ("annotate", "collect", "prolific", "p.csv", *common, "--votes", "votes")
    done = cli_inside(*call, "--columns", "Age, Sex", "--out", "joined")
    assert done.returncode == 0, done.stderr
    joined = read_collected(tmp_path / "joined", load_study(study))
    before = read_collected(tmp_path / "votes", load_study(study))
    assert [dict(person.demographics) for person in joined.people] == [
        {"Age": "30", "Sex": "Female"},
        {},
        {"Sex": "Female"},
        {"Age": "33", "Sex": "Female"},
        {},
    ]
    assert joined.votes == before.votes
    written = b"".join(path.read_bytes() for path in (tmp_path / "joined").iterdir())
    for secret in (b"A2WORKER", b"Utopia", b"stranger"):
        assert secret not in written
    told = " ".join(done.stderr.split())
    for words in (
        "1 record has no participant",
        "1 person stands",
        "1 of the export isn't",
        "withdraws the consent",
        "timed out on Prolific",
        "awaits your review",
        "1 person isn't",
    ):
        assert words in told
    for columns, words in (
        ("Participant id", "names people"),
        ("Shoe size", "has no 'Shoe size'"),
    ):
        wrong = cli_inside(*call, "--columns", columns, "--out", "other")
        assert wrong.returncode == 2
        assert words in wrong.stderr
    wrong = cli_inside(
        *("annotate", "collect", "prolific", "p.csv", "--study", study, "--salt-file", "none"),
        *("--votes", "votes", "--columns", "Age", "--out", "other"),
    )
    assert wrong.returncode == 2
    assert "none: no such file" in wrong.stderr


def test_help_has_examples(cli_inside: Cli) -> None:
    for command in ("tasks", "collect"):
        done = cli_inside("annotate", command, "--help", env={"COLUMNS": "80"})
        assert done.returncode == 0
        assert "casewise annotate" in done.stdout


def test_prolific_people_of_the_studys_own_server_are_joined(
    cli_inside: Cli, tmp_path: Path
) -> None:
    recruitment = Recruitment(platform=Platform.PROLIFIC)
    study = write_three_arms(tmp_path, recruitment=recruitment)
    keys = load_secrets(tmp_path / "study.secrets.json")
    address = f"sqlite:///{tmp_path / 'study.db'}"
    accounts = ("5f0000000000000000000001", "5f0000000000000000000002")
    with Store(study, address, keys) as store:
        for account in accounts:
            store.enter(Visitor(account[::-1], keys.platform_key("prolific", account)))
    prolific(
        tmp_path, [(accounts[0], "APPROVED", "41"), ("5f00000000000000000000ff", "APPROVED", "7")]
    )
    call = ("annotate", "collect", "prolific", "p.csv", "--study", "study.yaml", "--columns", "Age")
    done = cli_inside(*call, "--out", "joined")
    assert done.returncode == 0, done.stderr
    found = read_collected(tmp_path / "joined", study)
    assert [one.demographics for one in found.people] == [(("Age", "41"),), ()]
    assert not any(account in (tmp_path / "joined/people.csv").read_text() for account in accounts)
    both = cli_inside(*call, "--out", "again", "--salt-file", "salt")
    assert both.returncode == 2
    assert "--salt-file goes with --votes" in both.stderr
    (tmp_path / "study.db").unlink()
    gone = cli_inside(*call, "--out", "again")
    assert gone.returncode == 2
    assert "study.db is not there" in gone.stderr
    assert not (tmp_path / "study.db").exists()


def test_drawn_blocks_are_in_no_files_of_tasks(cli: Cli, tmp_path: Path) -> None:
    write_three_arms(tmp_path, votes=6, collection={"rule": "sequential"})
    for where in ("csv", "mturk", "label-studio"):
        done = cli("annotate", "tasks", where, "study.yaml", "--out", "tasks")
        assert done.returncode == 2
        assert "plan with --collection fixed" in done.stderr
    assert not (tmp_path / "tasks").exists()
