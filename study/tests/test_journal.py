"""The journal: it adds up to the file after any revisions, and after a crash at any byte."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pairs import a_case, a_pair, write

from casewise.cases import load_cases, to_line
from casewise.errors import InputError
from casewise_study.revision.desk import Desk
from casewise_study.revision.journal import Action, RevisionError, journal_path, read_journal
from casewise_study.revision.revised_cases import PairStatus, replay
from casewise_study.revision.revised_file import accepted_cases, read_history

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["query", "category", "context", "version", "accept", "reject", "reopen"]),
        st.integers(0, 2),
        st.integers(0, 1),
        TEXTS,
    ),
    max_size=12,
)


def take(one: Desk, step: tuple[str, int, int, str]) -> None:
    """One revision, whatever comes of it."""
    what, place, side, text = step
    pair = one.pairs()[place]
    case = pair.cases[side]
    who = {"author": "Ada", "reason": text}
    if what in ("accept", "reject", "reopen"):
        one.decide(pair.query_id, pair.version, Action(what), **who)
    elif what == "version":
        one.open_version(pair.query_id, pair.version, [case.id], **who)
    elif what == "query":
        edits = {each.id: {"query": text} for each in pair.cases}
        one.save(pair.query_id, pair.version, edits, **who)
    else:
        value = {"sender": {text: text}} if what == "context" else text
        one.save(pair.query_id, pair.version, {case.id: {what: value}}, **who)


def a_file(folder: Path) -> Path:
    voted = [a_case("three", "safe", id="given"), a_case("three", "unsafe", votes=(3, 1))]
    return write(folder / "cases.jsonl", [*a_pair("one"), *a_pair("two", votes=(1, 2)), *voted])


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_the_journal_adds_up_to_the_file(steps: Sequence[tuple[str, int, int, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = a_file(Path(folder))
        done, status = 0, {}
        with Desk(path, author="Ada") as one:
            for step in steps:
                file, count = path.read_bytes(), len(one.entries)
                try:
                    take(one, step)
                    done += 1
                except RevisionError:
                    assert (path.read_bytes(), len(one.entries)) == (file, count)
                assert path.read_bytes() == b"".join(
                    f"{to_line(case)}\n".encode() for pair in one.pairs() for case in pair.cases
                )
                ids = [case.id for pair in one.pairs() for case in pair.cases]
                assert len(set(ids)) == len(ids) == 6
                assert [len(pair.cases) for pair in one.pairs()] == [2, 2, 2]
            status = {pair.query_id: pair for pair in one.pairs()}
        entries = read_journal(journal_path(path)).entries
        assert len(entries) == (done + 1 if done else 0)
        if entries:
            assert replay(entries).cases == load_cases(path).cases
        # Nothing that people voted on was changed in place: it is in the file or in the journal.
        kept = {to_line(case) for case in load_cases(path).cases}
        kept |= {to_line(case) for entry in entries[1:] for case in entry.before}
        with tempfile.TemporaryDirectory() as other:
            first = load_cases(a_file(Path(other))).cases
        assert {to_line(case) for case in first if case.votes is not None} <= kept
        with Desk(path, author="Ada") as one:
            assert not one.notes
            assert {pair.query_id: pair for pair in one.pairs()} == status


def two_revisions(folder: Path) -> tuple[Path, list[bytes], list[bytes]]:
    """A file after an acceptance and an edit; the journal and the file as they grew."""
    path = write(folder / "cases.jsonl", [*a_pair("one"), *a_pair("two \u2028 é")])
    journals, files = [b""], [path.read_bytes()]
    with Desk(path, author="Ada") as one:
        for what in ("accept", "query"):
            take(one, (what, 1, 0, "new \u2028 é"))
            journals.append(journal_path(path).read_bytes())
            files.append(path.read_bytes())
    return path, journals, files


def test_a_crash_at_any_byte_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    path, journals, files = two_revisions(tmp_path)
    journal = journal_path(path)
    torn = journal.with_name(f"{journal.name}.torn")
    start, end = len(journals[1]), len(journals[2])
    for size in range(start, end + 1):
        journal.write_bytes(journals[2][:size])
        whole = size >= end - 1
        reading = read_journal(journal)
        assert len(reading.entries) == (3 if whole else 2)
        assert reading.torn == (b"" if whole else journals[2][start:size])
        # Mending waits for the disk: not at every byte, but at the line's start and end.
        if size % 11 and start + 2 < size < end - 2:
            continue
        path.write_bytes(files[1])
        torn.unlink(missing_ok=True)
        with Desk(path, author="Ada") as one:
            assert len(one.entries) == (3 if whole else 2)
            assert one.pairs()[1].status is (PairStatus.UNDECIDED if whole else PairStatus.ACCEPTED)
            assert len(one.notes) == (size > start)
        assert journal.read_bytes() == journals[2 if whole else 1]
        assert path.read_bytes() == files[2 if whole else 1]
        left = b"" if whole else journals[2][start:size]
        assert (torn.read_bytes() if torn.exists() else b"").removesuffix(b"\n") == left
    # It goes on from there, and the next start has nothing to say.
    with Desk(path, author="Ada") as one:
        take(one, ("accept", 0, 0, "fine"))
    with Desk(path, author="Ada") as one:
        assert not one.notes
        assert [entry.number for entry in one.entries] == [1, 2, 3, 4]


def test_a_crash_in_the_very_first_lines(tmp_path: Path) -> None:
    path, journals, files = two_revisions(tmp_path)
    journal = journal_path(path)
    for size in range(0, len(journals[1]), 41):
        journal.write_bytes(journals[1][:size])
        path.write_bytes(files[0])
        with Desk(path, author="Ada") as one:
            take(one, ("category", 0, 0, "other"))
        with Desk(path, author="Ada") as one:
            assert not one.notes
            assert [entry.number for entry in one.entries] == [1, 2]


def test_zeros_that_a_power_cut_leaves_are_put_aside(tmp_path: Path) -> None:
    path, journals, _ = two_revisions(tmp_path)
    journal_path(path).write_bytes(journals[2] + bytes(50))
    with Desk(path, author="Ada") as one:
        assert "(50 bytes)" in one.notes[0]
    assert journal_path(path).read_bytes() == journals[2]


def test_changes_and_gaps_show(tmp_path: Path) -> None:
    path, journals, files = two_revisions(tmp_path)
    journal = journal_path(path)
    first, second, third = journals[2].splitlines(keepends=True)
    damaged = {
        b"".join((first, second.replace(b"Ada", b"Eve"), third)): r"line 2: .* digest differs",
        b"".join((first, third)): "line 2: .* number 3 stands where 2",
        b"".join((second, third)): "line 1: .* number 2 stands where 1",
        b"".join((first, third, second)): "line 2: ",
        b"".join((first, second, third, third)): "line 4: ",
        b"".join((first, second, b"\n", third)): "line 3: ",
        b"".join((first, second, third[:50], b"\n")): "line 3: .* cut short",
        b"".join((first, b"\xff" + second, third)): "line 2: .* not UTF-8",
    }
    for data, message in damaged.items():
        journal.write_bytes(data)
        with pytest.raises(InputError, match=message):
            Desk(path, author="Ada")
        with pytest.raises(InputError, match=message):
            read_history(path)
        assert journal.read_bytes() == data
        assert path.read_bytes() == files[2]
    # Each line of another journal is whole in itself.
    other, others, _ = two_revisions(tmp_path / "other")
    assert other.exists()
    journal.write_bytes(b"".join((first, others[2].splitlines(keepends=True)[1], third)))
    with pytest.raises(InputError, match=r"line [23]: "):
        Desk(path, author="Ada")


def test_no_query_stands_in_an_error(tmp_path: Path) -> None:
    path, journals, _ = two_revisions(tmp_path)
    journal_path(path).write_bytes(journals[2].replace(b'"number": 2', b'"number": "x"'))
    with pytest.raises(InputError) as caught:
        Desk(path, author="Ada")
    assert "new" not in str(caught.value)
    assert "é" not in str(caught.value)


def test_accepted_cases_are_read_from_the_journal_while_the_file_is_behind(tmp_path: Path) -> None:
    path, journals, files = two_revisions(tmp_path)
    with Desk(path, author="Ada") as one:
        take(one, ("accept", 1, 0, "fine"))
    journal, file = journal_path(path).read_bytes(), path.read_bytes()
    found = accepted_cases(path)
    assert {case.query for case in found.cases} == {"new \u2028 é"}
    assert (journal_path(path).read_bytes(), path.read_bytes()) == (journal, file)
    assert file == files[2]
    assert len(journals) == 3
