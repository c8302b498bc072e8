"""``casewise annotate blocks`` and ``prolific`` as a person calls them, and damaged exports."""

import re
from pathlib import Path

import pytest
from conftest import ROOT, Cli, cli_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.exchanged import (
    HOSTILE,
    ON_PROLIFIC,
    account,
    hostile_study,
    write_prolific,
)
from support.serving import Guest, Serving
from support.studies import change, exported, read_csv, write_arms, write_csv


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return hostile_study(tmp_path)


def blocks(cli: Cli, folder: Path) -> list[dict[str, str]]:
    done = cli("annotate", "blocks", "study.yaml", "--out", "blocks.csv")
    assert (done.returncode, done.stdout) == (0, "blocks.csv\n"), done.stderr
    return read_csv(folder / "blocks.csv")


def test_blocks(study: Path, cli: Cli, tmp_path: Path) -> None:
    rows = blocks(cli, tmp_path)
    # Each block has four cases and an attention check.
    pages = [(str(block), str(position)) for block in range(8) for position in range(5)]
    assert [(row["block"], row["position"]) for row in rows] == pages
    assert sum(bool(row["check"]) for row in rows) == 8
    assert all(bool(row["check"]) != bool(row["case_id"]) for row in rows)
    # Every text is there exactly, but that none is read as a formula.
    cells = {row["query"] for row in rows if not row["check"]}
    wanted = {f"'{query}" if query[0] in "=-" or query[:2] == "'=" else query for query in HOSTILE}
    assert cells == wanted
    again = cli("annotate", "blocks", "study.yaml", "--out", "blocks.csv")
    assert again.returncode == 2
    assert "blocks.csv is there already" in again.stderr
    change(study, collection={"rule": "sequential", "least": 1})
    drawn = cli("annotate", "blocks", "study.yaml", "--out", "drawn.csv")
    assert drawn.returncode == 2
    assert "plan with --collection fixed" in drawn.stderr


def test_a_study_that_still_says_todo_is_shown_to_nobody(
    study: Path, cli: Cli, tmp_path: Path
) -> None:
    change(study, consent={"contact": "TODO"})
    for call in (("blocks", study), ("prolific", study, "--url", "https://study.example/")):
        done = cli("annotate", *call, "--out", "out")
        assert done.returncode == 2
        assert "consent.contact still says TODO" in done.stderr
        assert not (tmp_path / "out").exists()


def test_blocks_out_and_votes_in(study: Path, cli: Cli, tmp_path: Path) -> None:
    """Two people judge a block each, in a sheet; a third stops half-way."""
    pages = blocks(cli, tmp_path)
    judged = {"ann": ("0", 5), "ben": ("1", 5), "cem": ("2", 2)}
    rows = [
        {"rater": rater, "verdict": "unsafe", "case_id": row["case_id"]}
        | {"position": row["position"]}
        for rater, (block, most) in judged.items()
        for row in [page for page in pages if page["block"] == block][:most]
        if not row["check"]
    ]
    write_csv(tmp_path / "answers.csv", rows)
    exported(cli, "--votes", "answers.csv", out="votes")
    people = read_csv(tmp_path / "votes/people.csv")
    statuses = {row["rater"]: (row["status"], row["block"]) for row in people}
    finished = {"ann": ("completed", "0"), "ben": ("completed", "1")}
    assert statuses == finished | {"cem": ("active", "")}
    assert len(read_csv(tmp_path / "votes/votes.csv")) == len(rows)
    # Nobody's address is published.
    write_csv(tmp_path / "answers.csv", [row | {"rater": "ann@x.org"} for row in rows[:3]])
    refused = cli("annotate", "export", study, "--votes", "answers.csv", "--out", "other")
    assert refused.returncode == 2
    assert "a pseudonym" in " ".join(refused.stderr.split())
    assert not (tmp_path / "other").exists()


def test_the_lines_of_the_page_turn_an_export_of_label_studio_into_votes(
    study: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {**row, "annotator": f"{row['block']}@example.org", "verdict": "safe"}
        | {"created_at": f"2026-03-04T10:{number:02}:00.123456Z", "lead_time": "4.5"}
        for number, row in enumerate(blocks(cli, tmp_path)[:10])
    ]
    monkeypatch.chdir(tmp_path)
    write_csv(Path("label-studio.csv"), rows)
    page = (ROOT / "study/docs/annotation-exchange.md").read_text("utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(lines, {})
    exported(cli, "--votes", "answers", out="votes")
    people, votes = (read_csv(tmp_path / f"votes/{name}.csv") for name in ("people", "votes"))
    assert [person["status"] for person in people] == ["completed", "completed"]
    assert {(vote["verdict"], vote["seconds"]) for vote in votes} == {("safe", "4.5")}
    assert "@example.org" not in (tmp_path / "votes/people.csv").read_text("utf-8")


def test_prolific_sheet(study: Path, cli: Cli, tmp_path: Path) -> None:
    url = "https://study.example.org/?wave=1"
    done = cli("annotate", "prolific", study, "--url", url, "--out", "sheet.md")
    assert done.returncode == 0
    sheet = (tmp_path / "sheet.md").read_text("utf-8")
    asked = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    for said in (f"`{url}&{asked}`", "8, one a block", "COMPLETED", "SCREENED-OUT", "GONE"):
        assert said in sheet
    assert cli("annotate", "prolific", study, "--url", url, "--out", "sheet.md").returncode == 2


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study to which one person came."""
    folder = tmp_path_factory.mktemp("served")
    path = write_arms(folder, recruitment=ON_PROLIFIC)
    with Serving(path) as server, Guest(server, f"/?PROLIFIC_PID={account(1)}") as guest:
        guest.agree()
    return folder


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_damaged_export_is_read_or_refused_by_name(data: st.DataObject, served: Path) -> None:
    path = served / "damaged"
    write_prolific(path, (account(1), "APPROVED", ""), Age="30")
    raw = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at : data.draw(st.integers(at, len(raw)))] = data.draw(st.binary(max_size=9))
    path.write_bytes(bytes(raw))
    call = ("annotate", "payments", "study.yaml", "damaged", "--out", "list.csv", "--force")
    done = cli_in(served)(*call)
    assert done.returncode == 0 or "damaged" in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr
