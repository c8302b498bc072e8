"""``casewise annotate tasks`` and ``collect`` as a person calls them."""

import csv
import io
import json
import re
import stat
from math import ceil
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from support.exchanged import HOSTILE, TURK, Came, Told, a_study, answers_csv, prolific_csv
from support.studies import write_three_arms

from casewise_study.exchange.sittings import plan_tasks
from casewise_study.store.standing import Visitor
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import load_secrets
from casewise_study.study.planning import forecast
from casewise_study.study.schema import Platform, Recruitment
from casewise_study.study.study_file import load_study
from casewise_study.votes.collected_csv import read_collected

SIDES = ("safe", "unsafe")
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
    to.write_bytes(answers_csv(tasks, crowd))
    return to


def test_tasks(study: Path, cli_inside: Cli, tmp_path: Path) -> None:
    done = cli_inside("annotate", "tasks", "csv", study, "--out", "out")
    assert done.returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"tasks.csv"}
    assert "8 blocks, 40 pages. Next:" in done.stderr
    assert all((tmp_path / line).is_file() for line in done.stdout.splitlines())
    again = cli_inside("annotate", "tasks", "csv", study, "--out", "out")
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


def test_with_a_salt_no_name_is_written(study: Path, cli_inside: Cli, tmp_path: Path) -> None:
    file = results(study, tmp_path / "answers.csv")
    call = ("annotate", "collect", "csv", file, "--study", study, "--salt-file", "salt")
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
    assert {person.panel for person in first.people} == {"csv"}


def test_a_salt_that_others_can_read_is_told(study: Path, cli_inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "salt").write_text("0123456789abcdef0123", "utf-8")
    (tmp_path / "salt").chmod(0o644)
    file = results(study, tmp_path / "r.csv")
    call = ("annotate", "collect", "csv", file, "--study", study, "--salt-file", "salt")
    assert "chmod 600 salt" in cli_inside(*call, "--out", "votes").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mturk", "f.csv"), "mturk"),
        (("prolific", "f.csv", "--salt-file", "salt"), "--columns"),
        (("csv", "f.csv", "--columns", "Age"), "for prolific"),
        (("csv", "absent.csv", "--salt-file", "salt"), "no such file"),
        (("csv", "t.csv"), "Mechanical Turk's results"),
        (("prolific", "f.csv", "--columns", "Age", "--votes", "v"), "needs --salt-file"),
        (("paper", "f.csv"), "paper"),
    ],
)
def test_what_goes_wrong_changes_nothing(
    arguments: tuple[str, ...], words: str, study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    results(study, tmp_path / "f.csv")
    (tmp_path / "t.csv").write_text(",".join(TURK) + "\n", "utf-8")
    before = sorted(tmp_path.rglob("*"))
    done = cli_inside("annotate", "collect", *arguments, "--study", study, "--out", "votes")
    assert done.returncode == 2
    assert words in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


PAGE = ROOT / "study/docs/annotation-exchange.md"


@pytest.mark.parametrize(
    ("section", "name", "columns"),
    [
        (
            "Votes from Label Studio",
            "label-studio.csv",
            {"rater": "annotator", "time": "created_at", "seconds": "lead_time"}
            | {name: name for name in ("study", "block", "position", "verdict")},
        ),
        (
            "Votes from Mechanical Turk",
            "Batch_1_batch_results.csv",
            {"rater": "WorkerId", "seconds": "WorkTimeInSeconds"}
            | {name: f"Input.{name}" for name in ("study", "block", "position")},
        ),
    ],
)
def test_exports_of_other_tools_become_the_plain_csv(
    section: str,
    name: str,
    columns: dict[str, str],
    study: Path,
    cli_inside: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page's own lines, on an export with the columns that the tool writes."""
    results(study, tmp_path / "truth.csv")
    truth = list(csv.DictReader(io.StringIO((tmp_path / "truth.csv").read_text("utf-8"))))
    rows = [
        {there: row[here] for here, there in columns.items()}
        | {"annotation_id": str(number), "AssignmentStatus": "Approved"}
        | {f"Answer.verdict.{side}": str(row["verdict"] == side).lower() for side in SIDES}
        for number, row in enumerate(truth)
    ]
    rows.append(rows[0] | {"AssignmentStatus": "Rejected"} if "WorkerId" in rows[0] else rows.pop())
    with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    text = PAGE.read_text("utf-8").split(f"## {section}")[1].split("\n## ")[0]
    lines = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(lines[0], {})
    collect = ("annotate", "collect", "csv")
    for answers, folder in (("truth.csv", "wanted"), ("answers.csv", "found")):
        options = ("--study", study, "--salt-file", "salt", "--out", folder)
        done = cli_inside(*collect, answers, *options)
        assert done.returncode == 0, done.stderr
    wanted, found = (
        read_collected(tmp_path / folder, load_study(study)) for folder in ("wanted", "found")
    )
    assert [(one.rater, one.case_id, one.verdict, one.seconds) for one in found.votes] == [
        (one.rater, one.case_id, one.verdict, one.seconds) for one in wanted.votes
    ]
    assert len(found.votes) == 8


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
    cli_inside("annotate", "collect", "csv", file, *common, "--out", "votes")
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
    done = cli("annotate", "tasks", "csv", "study.yaml", "--out", "tasks")
    assert done.returncode == 2
    assert "plan with --collection fixed" in done.stderr
    assert not (tmp_path / "tasks").exists()
