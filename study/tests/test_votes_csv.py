"""Plain CSV of a study: nothing is lost on the way, and nothing that doesn't fit is taken."""

import csv
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
from conftest import cli_in
from hypothesis import given, settings
from hypothesis import strategies as st
from support.simulated import Votes, World, planned, simulate
from support.studies import Record, read_csv, write_csv

TEXTS = st.text(
    st.one_of(st.sampled_from("=+-@'\t\r\n\",;"), st.characters(codec="utf-8")),
    min_size=1,
    max_size=12,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's."""
    return planned(tmp_path_factory.mktemp("study")).parent


@pytest.fixture(scope="module")
def collected(folder: Path) -> Votes:
    return simulate(folder / "study.yaml", World(), seed=1)


def taken(folder: Path, votes: Votes | str) -> str:
    """Export votes to ``out``; what was said if they are refused."""
    given = votes if isinstance(votes, str) else votes.write(folder / "given")
    call = ("annotate", "export", "study.yaml", "--votes", given, "--out", "out", "--force")
    done = cli_in(folder)(*call, "--with-reasons", "--with-demographics", env={"COLUMNS": "999"})
    assert (done.returncode, "Traceback" in done.stderr) in ((0, False), (2, False))
    return done.stderr if done.returncode else ""


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_what_is_written_is_read(folder: Path, collected: Votes, data: st.DataObject) -> None:
    pseudonyms, size = TEXTS.filter(lambda text: "@" not in text), len(collected.people)
    names = data.draw(st.lists(pseudonyms, min_size=size, max_size=size, unique=True))
    renamed = dict(zip((person["rater"] for person in collected.people), names, strict=True))
    changed = deepcopy(collected)
    for row in (*changed.people, *changed.votes, *changed.checks):
        # As casewise writes what a spreadsheet would run.
        name = renamed[row["rater"]]
        row["rater"] = f"'{name}" if name.lstrip().startswith(tuple("=+-@'")) else name
    changed.people[0]["demographics"] = json.dumps(
        data.draw(st.dictionaries(TEXTS, TEXTS, max_size=2))
    )
    for vote in changed.votes:
        vote["reason"] = ""
    changed.votes[0] |= {"confidence": data.draw(st.integers(1, 5)), "reason": "'=1+1"}
    for row in changed.people[1:]:
        row["demographics"] = ""
    for row in changed.votes[1:]:
        row["confidence"] = ""
    assert not taken(folder, changed)
    first = [(folder / "out" / name).read_bytes() for name in ("votes.csv", "people.csv")]
    for path in folder.glob("out/*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        # No spreadsheet runs one, and numbers may be negative.
        texts = [cell for cell in cells if not cell.lstrip("-").replace(".", "").isdigit()]
        assert not [cell for cell in texts if cell.lstrip().startswith(tuple("=+-@"))]
    (folder / "out").rename(folder / "before")
    try:
        assert not taken(folder, "before")
        again = [(folder / "out" / name).read_bytes() for name in ("votes.csv", "people.csv")]
        assert again == first
    finally:
        for path in (folder / "before").iterdir():
            path.unlink()
        (folder / "before").rmdir()


def test_votes_alone(folder: Path, collected: Votes) -> None:
    names = ("rater", "case_id", "verdict")
    rows: list[Record] = [{name: vote[name] for name in names} for vote in collected.votes]
    write_csv(folder / "mine.csv", rows)
    assert not taken(folder, "mine.csv")
    people, votes = (read_csv(folder / f"out/{name}.csv") for name in ("people", "votes"))
    assert [(person["rater"], person["status"], person["block"]) for person in people] == [
        (person["rater"], "completed", str(person["block"])) for person in collected.people
    ]
    assert [vote["arm"] for vote in votes] == [vote["arm"] for vote in collected.votes]
    assert [vote["position"] for vote in votes[:4]] == ["0", "1", "2", "3"]
    write_csv(folder / "mine.csv", rows[:3])
    assert not taken(folder, "mine.csv")
    assert [row["status"] for row in read_csv(folder / "out/people.csv")] == ["active"]


def other_arm(votes: Votes) -> None:
    """The same query in the context that somebody else saw."""
    seen = votes.votes[0]
    other = next(
        each
        for each in votes.votes
        if each["query_id"] == seen["query_id"] and each["arm"] != seen["arm"]
    )
    votes.votes.append(other | {"rater": seen["rater"], "counted": "false"})


def more(votes: Votes) -> None:
    """A person without a block gives a case a fourth vote."""
    votes.people.append(votes.people[0] | {"rater": "guest", "status": "active", "block": ""})
    votes.votes.append(votes.votes[0] | {"rater": "guest"})


def same_block(votes: Votes) -> None:
    votes.people.append(votes.people[0] | {"rater": "x", "status": "active"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_arm, "row 26, field 'case_id': this person has judged the query before"),
        (lambda one: one.people.pop(0), "row 2, field 'rater': nobody of this name"),
        (more, "votes.csv, row 26, field 'case_id': more votes than the quota"),
        (lambda one: one.votes.pop(), "row 7, field 'rater': completed, but 1 of the votes are"),
        (
            lambda one: one.people[0].update(status="abandoned"),
            "votes.csv, row 2, field 'counted': the vote of a person who is abandoned",
        ),
        (same_block, "people.csv, row 8, field 'block': somebody else has the block"),
        (lambda one: one.votes[0].update(case_id="x"), "2, field 'case_id': no case of"),
        (lambda one: one.votes[0].update(seconds=-1), "2, field 'seconds': wrong value"),
    ],
)
def test_what_does_not_fit_names_its_row(
    folder: Path, collected: Votes, change: Callable[[Votes], None], said: str
) -> None:
    changed = deepcopy(collected)
    change(changed)
    assert said in taken(folder, changed)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_a_file_cut_anywhere_is_refused(folder: Path, collected: Votes, at: int) -> None:
    collected.write(folder / "cut")
    path = folder / "cut" / ("votes.csv", "people.csv", "checks.csv")[at % 3]
    data = path.read_bytes()
    kept = at % (len(data) - len(b"\r\n"))
    path.write_bytes(data[:kept])
    if path.name == "checks.csv" and data[:kept].rstrip() == data.splitlines()[0]:
        return  # all checks are gone: nothing says that there ever were any
    assert taken(folder, "cut")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        (
            'PK\x03\x04{"query": "a secret"}\n',
            "no table of this kind (expected columns among rater, ",
        ),
        ("rater,verdict\na,safe\n", "field 'case_id': a column is missing"),
        ('rater,case_id,verdict\n"a,b,c', "not valid CSV"),
        ("rater,case_id,verdict\na,b\n", "row 2: wrong number of cells (found 2; expected 3)"),
        (
            "rater,case_id,verdict\na,safe-May-I-borrow-ladder-0-,Safe\n",
            "field 'verdict': wrong value (found 'Safe'",
        ),
        (
            "rater,case_id,verdict,time\na,safe-May-I-borrow-ladder-0-,safe,2026-03-04T05:06:07\n",
            "field 'time'",
        ),
    ],
)
def test_foreign_files(folder: Path, text: str, said: str) -> None:
    (folder / "foreign.csv").write_text(text)
    refused = taken(folder, "foreign.csv")
    assert said in refused
    assert "secret" not in refused
