"""Plain CSV of a study: nothing is lost on the way, and nothing that doesn't fit is taken."""

import csv
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.studied import World, a_study, simulate

from casewise.errors import InputError, UsageError
from casewise_study.study.schema import Study
from casewise_study.votes.collected import Collected, PersonRecord, PersonStatus, VoteRecord
from casewise_study.votes.collected_csv import read_collected, write_collected

TEXTS = st.text(
    st.one_of(st.sampled_from("=+-@'\t\r\n\",;"), st.characters(codec="utf-8")),
    min_size=1,
    max_size=12,
)
TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
SECONDS = st.floats(0, 1e6)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return a_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def collected(study: Study) -> Collected:
    return simulate(study, World(), seed=1).collected


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_what_is_written_is_read(study: Study, collected: Collected, data: st.DataObject) -> None:
    pseudonyms, size = TEXTS.filter(lambda text: "@" not in text), len(collected.people)
    names = data.draw(st.lists(pseudonyms, min_size=size, max_size=size, unique=True))
    renamed = dict(zip((one.rater for one in collected.people), names, strict=True))

    def draw(values: st.SearchStrategy[Any]) -> Any:
        return data.draw(values)

    people = tuple(
        replace(
            one,
            rater=renamed[one.rater],
            panel=draw(st.one_of(st.just(""), TEXTS)),
            started=draw(maybe(TIMES)),
            demographics=tuple(draw(st.dictionaries(TEXTS, TEXTS, max_size=2)).items()),
        )
        for one in collected.people
    )
    votes = tuple(replace(one, rater=renamed[one.rater]) for one in collected.votes)
    votes = (
        replace(
            votes[0],
            time=draw(maybe(TIMES)),
            seconds=draw(maybe(SECONDS)),
            confidence=draw(maybe(st.integers(1, 5))),
            reason=draw(maybe(TEXTS)),
            counted=draw(st.booleans()),
        ),
        *votes[1:],
    )
    checks = tuple(replace(one, rater=renamed[one.rater]) for one in collected.checks)
    others = [PersonRecord(f"who is {one.value}", one) for one in PersonStatus]
    others = [one for one in others if one.status is not PersonStatus.COMPLETED]
    changed = Collected((*people, *others), votes, checks)
    with tempfile.TemporaryDirectory() as folder:
        write_collected(Path(folder) / "new", changed)
        for path in Path(folder).glob("new/*.csv"):
            with path.open(encoding="utf-8", newline="") as file:
                cells = [cell for row in csv.reader(file) for cell in row]
            # No spreadsheet runs one.
            assert not [cell for cell in cells if cell.lstrip().startswith(tuple("=+-@"))]
        assert read_collected(Path(folder) / "new", study) == changed


def test_votes_alone(study: Study, collected: Collected, tmp_path: Path) -> None:
    lines = [f"{one.rater},{one.case_id},{one.verdict}" for one in collected.votes]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["rater,case_id,verdict", *lines]))
    read = read_collected(path, study)
    completed = PersonStatus.COMPLETED
    assert read.people == tuple(
        PersonRecord(one.rater, completed, block=one.block) for one in collected.people
    )
    assert [one.arm for one in read.votes] == [one.arm for one in collected.votes]
    assert [one.position for one in read.votes[:4]] == [0, 1, 2, 3]
    path.write_text("\n".join(["rater,case_id,verdict", *lines[:3]]))
    assert read_collected(path, study).people == (PersonRecord("r0000", PersonStatus.ACTIVE),)


def first(change: Callable[[VoteRecord], VoteRecord]) -> Callable[[Collected], Collected]:
    def changed(one: Collected) -> Collected:
        return replace(one, votes=(change(one.votes[0]), *one.votes[1:]))

    return changed


def other_arm(one: Collected) -> Collected:
    """The same query in the context that somebody else saw."""
    seen = one.votes[0]
    other = next(
        each for each in one.votes if each.query_id == seen.query_id and each.arm != seen.arm
    )
    return replace(one, votes=(*one.votes, replace(other, rater=seen.rater, counted=False)))


def stranger(one: Collected) -> Collected:
    return replace(one, people=one.people[1:])


def more(one: Collected) -> Collected:
    """A person without a block gives a case a fourth vote."""
    guest = PersonRecord("guest", PersonStatus.ACTIVE)
    return replace(
        one,
        people=(*one.people, guest),
        votes=(*one.votes, replace(one.votes[0], rater="guest")),
    )


def cut(one: Collected) -> Collected:
    return replace(one, votes=one.votes[:-1])


def gone(one: Collected) -> Collected:
    person = replace(one.people[0], status=PersonStatus.ABANDONED)
    return replace(one, people=(person, *one.people[1:]))


def same_block(one: Collected) -> Collected:
    return replace(one, people=(*one.people, PersonRecord("x", PersonStatus.ACTIVE, block=0)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_arm, "record 25, field 'case_id': this person has judged the query before"),
        (stranger, "votes.csv, record 1, field 'rater': nobody of this name"),
        (more, "votes.csv, record 25, field 'case_id': more votes than the quota"),
        (cut, "people.csv, record 6, field 'rater': completed, but 1 of the votes are missing"),
        (gone, "votes.csv, record 1, field 'counted': the vote of a person who is abandoned"),
        (same_block, "people.csv, record 7, field 'block': somebody else has the block"),
        (first(lambda one: replace(one, case_id="x")), "record 1, field 'case_id': no case of"),
        (first(lambda one: replace(one, seconds=-1)), "record 1, field 'seconds': wrong value"),
    ],
)
def test_what_does_not_fit_names_its_row(
    study: Study,
    collected: Collected,
    tmp_path: Path,
    change: Callable[[Collected], Collected],
    said: str,
) -> None:
    write_collected(tmp_path / "one", change(collected))
    with pytest.raises(InputError) as caught:
        read_collected(tmp_path / "one", study)
    assert said in str(caught.value)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_a_file_cut_anywhere_is_refused(study: Study, collected: Collected, at: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_collected(Path(folder) / "one", collected)
        path = Path(folder) / "one" / ("votes.csv", "people.csv", "checks.csv")[at % 3]
        data = path.read_bytes()
        kept = at % (len(data) - len(b"\r\n"))
        path.write_bytes(data[:kept])
        if path.name == "checks.csv" and data[:kept].rstrip() == data.splitlines()[0]:
            return  # all checks are gone: nothing says that there ever were any
        with pytest.raises(InputError):
            read_collected(Path(folder) / "one", study)


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
        ("rater,case_id,verdict\na,b\n", "record 1: wrong number of cells (found 2; expected 3)"),
        ("rater,case_id,verdict\na,b,Safe\n", "field 'verdict': wrong value (found 'Safe'"),
        ("rater,case_id,verdict,time\na,b,safe,2026-03-04T05:06:07\n", "field 'time'"),
    ],
)
def test_foreign_files(study: Study, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "votes.csv"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_collected(path, study)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_nothing_is_written_over(collected: Collected, tmp_path: Path) -> None:
    folder = tmp_path / "one"
    write_collected(folder, collected)
    with pytest.raises(UsageError, match="--force"):
        write_collected(folder, collected)
    write_collected(folder, replace(collected, checks=()), force=True)
    assert len((folder / "checks.csv").read_text().splitlines()) == 1
    (folder / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match=r"mine\.txt"):
        write_collected(folder, collected, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]
