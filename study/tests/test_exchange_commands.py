"""``casewise annotate blocks``, ``prolific`` and ``demographics`` as a person calls them."""

import csv
import json
import re
from math import ceil
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.exchanged import HOSTILE, a_study, prolific_csv
from support.studies import write_three_arms

from casewise.errors import CasewiseError
from casewise_study.exchange.prolific import join_prolific
from casewise_study.store.standing import Visitor
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import load_secrets
from casewise_study.study.planning import forecast
from casewise_study.study.schema import Platform, Recruitment
from casewise_study.study.study_file import load_study
from casewise_study.votes.collected import Collected
from casewise_study.votes.collected_csv import read_collected

ACCOUNTS = [f"5f{number:022x}" for number in range(1, 6)]
STRANGER = "5f00000000000000000000ff"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = a_study(tmp_path / "s").path
    assert path is not None
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_blocks(study: Path, cli_inside: Cli, tmp_path: Path) -> None:
    done = cli_inside("annotate", "blocks", study, "--out", "blocks.csv")
    assert done.returncode == 0
    assert done.stdout == "blocks.csv\n"
    assert "8 blocks" in done.stderr
    rows = rows_of(tmp_path / "blocks.csv")
    # Each block has four cases and an attention check.
    pages = [(str(block), str(position)) for block in range(8) for position in range(5)]
    assert [(row["block"], row["position"]) for row in rows] == pages
    assert sum(bool(row["check"]) for row in rows) == 8
    assert all(bool(row["check"]) != bool(row["case_id"]) for row in rows)
    # Every text is there exactly, but that none is read as a formula.
    cells = {row["query"] for row in rows if not row["check"]}
    wanted = {f"'{query}" if query[0] in "=-" or query[:2] == "'=" else query for query in HOSTILE}
    assert cells == wanted
    again = cli_inside("annotate", "blocks", study, "--out", "blocks.csv")
    assert again.returncode == 2
    assert "blocks.csv is there already" in again.stderr
    write_three_arms(tmp_path, votes=6, collection={"rule": "sequential"})
    drawn = cli_inside("annotate", "blocks", "study.yaml", "--out", "drawn.csv")
    assert drawn.returncode == 2
    assert "plan with --collection fixed" in drawn.stderr


def test_a_study_that_still_says_todo_is_shown_to_nobody(
    study: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    study.write_text(study.read_text("utf-8").replace("ada@example.org", "TODO"), "utf-8")
    for call in (("blocks", study), ("prolific", study, "--url", "https://study.example/")):
        done = cli_inside("annotate", *call, "--out", "out")
        assert done.returncode == 2
        assert "consent.contact still says TODO" in done.stderr
        assert not (tmp_path / "out").exists()


def test_blocks_out_and_votes_in(study: Path, cli_inside: Cli, tmp_path: Path) -> None:
    """Two people judge a block each, in a sheet; a third stops half-way."""
    assert cli_inside("annotate", "blocks", study, "--out", "blocks.csv").returncode == 0
    judged = {"ann": ("0", 5), "ben": ("1", 5), "cem": ("2", 2)}
    lines = ["rater,case_id,verdict,position"]
    for rater, (block, pages) in judged.items():
        rows = [row for row in rows_of(tmp_path / "blocks.csv") if row["block"] == block]
        lines += [
            f"{rater},{row['case_id']},unsafe,{row['position']}"
            for row in rows[:pages]
            if not row["check"]
        ]
    (tmp_path / "answers.csv").write_text("\n".join(lines) + "\n", "utf-8")
    call = ("annotate", "export", study, "--votes", "answers.csv", "--out")
    done = cli_inside(*call, "votes")
    assert done.returncode == 0, done.stderr
    people = {row["rater"]: row for row in rows_of(tmp_path / "votes/people.csv")}
    statuses = {rater: (row["status"], row["block"]) for rater, row in people.items()}
    assert statuses == {
        "ann": ("completed", "0"),
        "ben": ("completed", "1"),
        "cem": ("active", ""),
    }
    assert len(rows_of(tmp_path / "votes/votes.csv")) == len(lines) - 1
    # Nobody's address is published.
    (tmp_path / "answers.csv").write_text("\n".join(lines).replace("ann", "ann@x.org"), "utf-8")
    refused = cli_inside(*call, "other")
    assert refused.returncode == 2
    assert "a pseudonym" in " ".join(refused.stderr.split())
    assert not (tmp_path / "other").exists()


def test_the_lines_of_the_page_turn_an_export_of_label_studio_into_votes(
    study: Path, cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli_inside("annotate", "blocks", study, "--out", "blocks.csv").returncode == 0
    rows = [
        {**row, "annotator": f"{row['block']}@example.org", "verdict": "safe"}
        | {"created_at": f"2026-03-04T10:{number:02}:00.123456Z", "lead_time": "4.5"}
        for number, row in enumerate(rows_of(tmp_path / "blocks.csv")[:10])
    ]
    monkeypatch.chdir(study.parent)
    with Path("label-studio.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    page = (ROOT / "study/docs/annotation-exchange.md").read_text("utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(lines, {})
    answers = study.parent / "answers"
    done = cli_inside("annotate", "export", study, "--votes", answers, "--out", "votes")
    assert done.returncode == 0, done.stderr
    found = read_collected(tmp_path / "votes", load_study(study))
    assert [person.status for person in found.people] == ["completed", "completed"]
    assert {(vote.verdict, vote.seconds) for vote in found.votes} == {("safe", 4.5)}
    people = (tmp_path / "votes/people.csv").read_text("utf-8")
    assert "@example.org" not in people


def test_prolific_sheet(study: Path, cli_inside: Cli, tmp_path: Path) -> None:
    url = "https://study.example.org/?wave=1"
    done = cli_inside("annotate", "prolific", study, "--url", url, "--out", "out")
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


def prolific(tmp_path: Path, rows: list[tuple[str, str, str]]) -> None:
    made = [
        {"Submission id": f"s{number}", "Participant id": account, "Status": status, "Age": age}
        | {"Sex": "Female", "Nationality": "Utopia"}
        for number, (account, status, age) in enumerate(rows)
    ]
    (tmp_path / "p.csv").write_text(prolific_csv(made), "utf-8")


def test_demographics_are_joined_to_the_people_of_the_server(
    cli_inside: Cli, tmp_path: Path
) -> None:
    study = write_three_arms(tmp_path, recruitment=Recruitment(platform=Platform.PROLIFIC))
    keys = load_secrets(tmp_path / "study.secrets.json")
    with Store(study, f"sqlite:///{tmp_path / 'study.db'}", keys) as store:
        for account in ACCOUNTS:
            store.enter(Visitor(account[::-1], keys.platform_key("prolific", account)))
    prolific(
        tmp_path,
        [
            (ACCOUNTS[0], "RETURNED", "1"),
            (ACCOUNTS[0], "APPROVED", "30"),
            (ACCOUNTS[1], "RETURNED", "31"),
            (ACCOUNTS[2], "TIMED-OUT", "CONSENT_REVOKED"),
            (ACCOUNTS[3], "AWAITING REVIEW", "33"),
            (STRANGER, "APPROVED", "34"),
            ("", "RESERVED", ""),
        ],
    )
    call = ("annotate", "demographics", "study.yaml", "p.csv")
    done = cli_inside(*call, "--columns", "Age, Sex", "--out", "joined")
    assert done.returncode == 0, done.stderr
    found = read_collected(tmp_path / "joined", study)
    assert [dict(person.demographics) for person in found.people] == [
        {"Age": "30", "Sex": "Female"},
        {},
        {"Sex": "Female"},
        {"Age": "33", "Sex": "Female"},
        {},
    ]
    written = b"".join(path.read_bytes() for path in (tmp_path / "joined").iterdir())
    for secret in (*ACCOUNTS, STRANGER, "Utopia"):
        assert secret.encode() not in written
    told = " ".join(done.stderr.split())
    for words in (
        "1 record has no participant",
        "1 person stands",
        "1 of the export isn't in the study",
        "1 person isn't",
    ):
        assert words in told
    for options, words in (
        (("--columns", "Participant id"), "names people"),
        (("--columns", "Shoe size"), "has no 'Shoe size'"),
        ((), "give --columns NAMES, or --only-exported"),
    ):
        wrong = cli_inside(*call, *options, "--out", "other")
        assert wrong.returncode == 2
        assert words in wrong.stderr


GOOD = prolific_csv(
    [{"Submission id": "s", "Participant id": "p", "Status": "APPROVED", "Age": "30"}]
)


def test_a_column_that_stands_twice_is_named(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text(GOOD.replace("Age", "Status"), "utf-8")
    with pytest.raises(CasewiseError, match="header, field 'Status': the column stands twice"):
        join_prolific(Collected((), ()), [path], columns=["Age"], name=str)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_damaged_export_is_read_or_refused_by_name(data: st.DataObject, tmp_path: Path) -> None:
    raw = bytearray(GOOD.encode())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at : data.draw(st.integers(at, len(raw)))] = data.draw(st.binary(max_size=9))
    path = tmp_path / "damaged"
    path.write_bytes(bytes(raw))
    told = str(path)
    try:
        join_prolific(Collected((), ()), [path], columns=["Age"], name=str)
    except CasewiseError as error:
        told = str(error)
    assert str(path) in told
