"""The desk: editions and ids, votes, decisions, what crashes and other hands leave."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.pairs import a_case, a_pair, every_kind, write

from casewise.cases import Case, dataset_hash, load_cases, to_fields, to_line
from casewise.errors import InputError, UsageError
from casewise_study.revision.desk import Desk, progress
from casewise_study.revision.journal import (
    Action,
    OutsideError,
    StaleError,
    UnfitError,
    UnwrittenError,
    VotedError,
    journal_path,
)
from casewise_study.revision.page_records import from_tree, to_tree
from casewise_study.revision.revised_cases import Pair, PairStatus
from casewise_study.revision.revised_file import accepted_cases, read_history

WHO: dict[str, str] = {"author": "Ada", "reason": "clearer"}


def desk(path: Path, **options: Any) -> Desk:
    return Desk(path, author="Ada", **options)


def edit(one: Desk, pair: Pair, place: int = 0, **fields: Any) -> Pair:
    edits = {pair.cases[place].id: fields}
    return one.save(pair.query_id, pair.version, edits, **WHO)


def with_type(case: Case, text: str) -> dict[str, Any]:
    assert case.context is not None
    root = json.loads(json.dumps(case.context.root))
    root["recipient"]["type"] = text
    return dict(root)


def lines(path: Path) -> list[dict[str, Any]]:
    text = journal_path(path).read_text("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def test_an_edit_stands_in_the_journal_and_the_file(tmp_path: Path) -> None:
    before = [*a_pair("one"), *a_pair("two")]
    path = write(tmp_path / "cases.jsonl", before)
    clock = datetime(2026, 3, 4, 5, 6, 7, 891000, UTC)
    with desk(path, now=lambda: clock) as one:
        context = with_type(before[2], "a nurse")
        edit(one, one.pairs()[1], context=context)
    after = load_cases(path).cases
    assert [to_line(case) for case in after[:2] + after[3:]] == [
        to_line(case) for case in (*before[:2], before[3])
    ]
    assert after[2].context is not None
    assert after[2].context.root == context
    begin, entry = lines(path)
    assert begin["action"] == "begin"
    assert begin["after"] == [to_fields(case) for case in before]
    assert begin["file_after"] == entry["file_before"] == dataset_hash(before)
    assert entry["file_after"] == dataset_hash(after)
    assert entry["before"] == [to_fields(before[2])]
    assert entry["after"] == [to_fields(after[2])]
    assert entry["time"] == "2026-03-04T05:06:07.891Z"
    assert [entry[name] for name in ("number", "author", "action", "reason", "query_id")] == [
        2,
        "Ada",
        "edit",
        "clearer",
        before[2].query_id,
    ]
    (_, told) = read_history(path)
    assert told.changed == ("id", "recipient.type")


def test_ids_follow_the_text_where_they_are_hashes(tmp_path: Path) -> None:
    given = [a_case("two", side, id=f"mine-{side}", query_id="mine") for side in ("safe", "unsafe")]
    path = write(tmp_path / "cases.jsonl", [*a_pair("one"), *given])
    with desk(path) as one:
        hashed, kept = one.pairs()
        edit(one, hashed, context=with_type(hashed.cases[0], "a nurse"))
        edit(one, kept, context=with_type(kept.cases[0], "a nurse"))
        new = one.pairs()[0].cases
        alone = Case(query="one", context=new[0].context)
        assert new[0].id == alone.id != hashed.cases[0].id
        assert new[1] == hashed.cases[1]
        assert [case.id for case in one.pairs()[1].cases] == ["mine-safe", "mine-unsafe"]
        for pair in one.pairs():
            new_query = {case.id: {"query": f"{case.query}, then?"} for case in pair.cases}
            one.save(pair.query_id, pair.version, new_query, **WHO)
        first, second = one.pairs()
        assert first.query_id == Case(query="one, then?").query_id
        assert second.query_id == "mine"
        assert {case.query_id for case in first.cases} == {first.query_id}
        # The address of before still finds it.
        assert one.pair(hashed.query_id) == first
        assert [one.entries[n - 1].action for n in first.entries] == ["edit", "edit"]


def test_what_makes_no_valid_cases_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", [*a_pair("one"), *a_pair("two")])
    data = path.read_bytes()
    with desk(path) as one:
        pair = one.pairs()[0]
        safe, unsafe = pair.cases
        refused: list[tuple[dict[str, dict[str, Any]], str]] = [
            ({safe.id: {"query": "apart"}}, "share their query"),
            ({case.id: {"query": "two"} for case in pair.cases}, "asks this query already"),
            ({case.id: {"query": " "} for case in pair.cases}, "the query is blank"),
            ({safe.id: {"context": to_fields(unsafe)["context"]}}, "the same query, context"),
            ({safe.id: {"intended": "perhaps"}}, "intended: Input should be"),
            ({safe.id: {"votes": {"safe": 9, "unsafe": 0}}}, "votes: not to be changed here"),
            ({safe.id: {"category": "half \ud800"}}, "half of a character"),
            ({safe.id: {"context": {"x": float("inf")}}}, "numbers must be finite"),
            ({"nobody": {"category": "x"}}, "no such case"),
            ({safe.id: {"category": safe.category}}, "nothing was changed"),
        ]
        for edits, message in refused:
            with pytest.raises(UnfitError, match=message):
                one.save(pair.query_id, pair.version, edits, **WHO)
        for words in ({"author": "Ada", "reason": " "}, {"author": " ", "reason": "why"}):
            with pytest.raises(UnfitError, match="say w"):
                one.save(pair.query_id, pair.version, {safe.id: {"category": "x"}}, **words)
    assert path.read_bytes() == data
    assert not journal_path(path).exists()


def test_true_is_not_one(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", [a_case("one", context={"sender": {"x": 1}})])
    with desk(path) as one:
        for value in (True, 1.0, "1"):
            edit(one, one.pairs()[0], context={"sender": {"x": value}})
    assert path.read_text("utf-8").count('{"x": "1"}') == 1
    assert [told.changed for told in read_history(path)[1:]] == [("id", "sender.x")] * 3


def test_votes_forbid_an_edit_until_a_new_version_is_opened(tmp_path: Path) -> None:
    voted = a_pair("one", votes=(12, 8), published_safe_rate=0.6, author_vote="safe")
    path = write(tmp_path / "cases.jsonl", voted)
    with desk(path) as one:
        pair = one.pairs()[0]
        context = with_type(voted[0], "a nurse")
        with pytest.raises(VotedError, match="Open a new version"):
            edit(one, pair, context=context)
        with pytest.raises(UnfitError, match="needs a reason"):
            one.open_version(pair.query_id, pair.version, [voted[0].id], author="Ada", reason="")
        opened = one.open_version(pair.query_id, pair.version, [voted[0].id], **WHO)
        first = opened.cases[0]
        assert (first.version, first.replaces, first.id) == (2, voted[0].id, f"{voted[0].id}-v2")
        assert (first.votes, first.author_vote, first.published_safe_rate) == (None, None, None)
        assert opened.cases[1] == voted[1]
        # The query is shared, and the twin's votes stand on it.
        queries = {case.id: {"query": "else"} for case in opened.cases}
        with pytest.raises(VotedError):
            one.save(opened.query_id, opened.version, queries, **WHO)
        with pytest.raises(UnfitError, match="can be edited as it is"):
            one.open_version(opened.query_id, opened.version, [first.id], **WHO)
        edited = edit(one, opened, context=context)
        assert edited.cases[0].id == Case(query="one", context=edited.cases[0].context).id
        assert edited.cases[0].replaces == voted[0].id
        back = edit(one, edited, context=to_fields(voted[0])["context"])
        assert back.cases[0].id == f"{voted[0].id}-v2"
    assert load_cases(path).cases[0] == first
    kept = lines(path)[1]
    assert kept["action"] == "new-version"
    assert kept["before"] == [to_fields(voted[0])]


def test_given_ids_get_the_version_and_never_another_cases(tmp_path: Path) -> None:
    cases = [
        a_case("one", id="a", votes=(1, 0)),
        a_case("two", id="a-v2"),
        a_case("three", id="b-v3", version=3, replaces="b-v2", votes=(1, 0)),
    ]
    path = write(tmp_path / "cases.jsonl", cases)
    with desk(path) as one:
        for place in (0, 2):
            pair = one.pairs()[place]
            one.open_version(pair.query_id, pair.version, [pair.cases[0].id], **WHO)
        assert [pair.cases[0].id for pair in one.pairs()] == ["a-v2.2", "a-v2", "b-v4"]


def test_decisions_are_counted_and_an_edit_makes_them_void(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", [*a_pair("one"), *a_pair("two"), *a_pair("three")])
    with desk(path) as one:
        first, second, _ = one.pairs()
        one.decide(first.query_id, first.version, Action.ACCEPT, author="Ada")
        with pytest.raises(UnfitError, match="needs a reason"):
            one.decide(second.query_id, second.version, Action.REJECT, author="Ada")
        one.decide(second.query_id, second.version, Action.REJECT, author="Bo", reason="unclear")
        assert progress(one.pairs()) == (2, 3)
        with pytest.raises(StaleError):
            one.decide(first.query_id, first.version, Action.REOPEN, author="Bo")
        accepted = one.pairs()[0]
        with pytest.raises(UnfitError, match="accepted already"):
            one.decide(accepted.query_id, accepted.version, Action.ACCEPT, author="Bo")
    found = accepted_cases(path)
    assert [case.query for case in found.cases] == ["one", "one"]
    assert (found.pairs, found.rejected, found.undecided) == (1, 1, 1)
    with desk(path) as one:
        assert [pair.status for pair in one.pairs()] == ["accepted", "rejected", "undecided"]
        edit(one, one.pairs()[0], category="other")
        assert one.pairs()[0].status is PairStatus.UNDECIDED
        assert one.pairs()[1].status is PairStatus.REJECTED
    with pytest.raises(InputError, match="no pair is accepted yet"):
        accepted_cases(path)


def test_a_second_desk_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", a_pair("one"))
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    hold = (
        "from casewise_study.revision import Desk\n"
        "one = Desk({!r}, author='A'); print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold.format(str(path))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        for name in (path, link):
            with pytest.raises(UsageError, match=f"already being revised .process {other.pid}"):
                desk(name)
        other.kill()
        other.wait()
    assert (tmp_path / ".cases.jsonl.lock").exists()
    with desk(link) as one:
        edit(one, one.pairs()[0], category="other")
    assert link.is_symlink()
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "cases.jsonl",
        "cases.revisions.jsonl",
        "link.jsonl",
    ]


def test_other_hands_are_noticed_and_nothing_is_overwritten(tmp_path: Path) -> None:
    cases = [*a_pair("one", votes=(3, 4)), *a_pair("two"), *a_pair("three")]
    path = write(tmp_path / "cases.jsonl", cases)
    with desk(path) as one:
        for pair in one.pairs()[:2]:
            one.decide(pair.query_id, pair.version, Action.ACCEPT, author="Ada")
        by_hand = [
            cases[0].model_copy(update={"query": "one by hand"}),
            cases[1],
            *(
                case.model_copy(update={"votes": None, "author_vote": "safe"})
                for case in cases[2:4]
            ),
            cases[5],
            a_case("four"),
        ]
        write(path, by_hand)
        data = path.read_bytes()
        pair = one.pairs()[2]
        with pytest.raises(OutsideError, match="nothing was saved"):
            edit(one, pair, category="other")
    told = "4 cases changed|3 cases changed, 1 added, 1 removed; 1 of them kept votes"
    with pytest.raises(OutsideError, match=told):
        desk(path)
    with pytest.raises(OutsideError, match="not what was accepted"):
        accepted_cases(path)
    assert path.read_bytes() == data
    with desk(path, record_outside=True) as one:
        assert "outside edit was noted" in one.notes[0]
        # What only got votes stays decided; what reads otherwise does not.
        assert [pair.status for pair in one.pairs()] == [
            "undecided",
            "accepted",
            "undecided",
            "undecided",
        ]
        assert one.entries[-1].action is Action.OUTSIDE
        assert {case.id for case in one.entries[-1].before} == {case.id for case in cases[:1]} | {
            case.id for case in cases[2:5]
        }
        assert [to_line(case) for case in one.entries[-1].after] == [
            to_line(case) for case in by_hand
        ]
    assert path.read_bytes() == data
    with desk(path) as one:
        assert not one.notes
        last = one.pairs()[2]
        journal = journal_path(path)
        journal.write_bytes(journal.read_bytes() + b"x")
        with pytest.raises(OutsideError, match=r"cases\.revisions\.jsonl was changed"):
            one.decide(last.query_id, last.version, Action.ACCEPT, author="Ada")


@contextmanager
def limited(what: int, most: int) -> Iterator[None]:
    """A soft limit on what this process may use, as a full disk or a full table would set it."""
    soft, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (soft, hard))


def test_a_disk_that_refuses_the_journal_leaves_all_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", a_pair("one"))
    with desk(path) as one:
        pair = edit(one, one.pairs()[0], category="first")
        journal, file = journal_path(path).read_bytes(), path.read_bytes()
        # The disk takes half a line, and then no more.
        with limited(resource.RLIMIT_FSIZE, len(journal) + 100), pytest.raises(UnwrittenError):
            edit(one, pair, category="second")
        assert (journal_path(path).read_bytes(), path.read_bytes()) == (journal, file)
        assert one.pairs()[0] == pair
        edit(one, pair, category="second")
    assert len(read_history(path)) == 3


def test_a_disk_that_refuses_the_file_is_caught_up_with(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", a_pair("one"))
    with desk(path) as one:
        pair = edit(one, one.pairs()[0], category="first")
        with limited(resource.RLIMIT_NOFILE, 0):
            for text in ("second", "third"):
                with pytest.raises(UnwrittenError, match="safe in the journal"):
                    edit(one, one.pairs()[0], category=text)
        assert one.pairs()[0] != pair
        assert {case.category for case in load_cases(path).cases} == {"first", "invented"}
        edit(one, one.pairs()[0], category="fourth")
    assert [told.action for told in read_history(path)] == ["begin", "edit", "edit", "edit"]
    assert load_cases(path).cases[0].category == "fourth"


def test_files_that_can_not_be_revised(tmp_path: Path) -> None:
    yaml = tmp_path / "cases.yaml"
    yaml.write_text("- query: one\n")
    with pytest.raises(UsageError, match=r"casewise cases convert .*cases\.yaml cases\.jsonl"):
        desk(yaml)
    listed = tmp_path / "list.jsonl"
    listed.write_text('[{"query": "one"}]\n')
    with pytest.raises(UsageError, match="not JSON Lines"):
        desk(listed)
    with pytest.raises(UsageError, match="this is a journal"):
        desk(tmp_path / "cases.revisions.jsonl")
    with pytest.raises(InputError, match="no such file"):
        desk(tmp_path / "none.jsonl")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cases.yaml", "list.jsonl"]


def test_permissions_stay(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", a_pair("one"))
    path.chmod(0o600)
    with desk(path) as one:
        edit(one, one.pairs()[0], category="other")
    assert path.stat().st_mode & 0o777 == 0o600
    assert journal_path(path).stat().st_mode & 0o777 == 0o600


def test_a_tree_gives_back_every_value_as_it_was() -> None:
    for case in every_kind():
        assert case.context is not None
        tree = to_tree(case.context)
        assert tree is not None
        again = [type(node).model_validate_json(node.model_dump_json()) for node in tree]
        assert repr(from_tree(again)) == repr(case.context.root)
