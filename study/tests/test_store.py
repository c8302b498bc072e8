"""The rules of life of blocks and people, in both databases."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import IntegrityError, ProgrammingError
from support.studies import KEYS, Clock, enter, finish, write_study

from casewise.errors import UsageError
from casewise_study.store.standing import Taken, Vacancy, Visitor
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import Secrets
from casewise_study.study.study_file import load_study
from casewise_study.votes.collected import PersonStatus

Open = Callable[..., Store]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_store(tmp_path: Path, address: str, clock: Clock) -> Iterator[Open]:
    stores = []

    def call(keys: Secrets = KEYS, **more: Any) -> Store:
        study = load_study(write_study(tmp_path, **more))
        store = Store(study, address, keys, clock=clock)
        stores.append(store)
        return store

    yield call
    for store in stores:
        store.close()


def test_a_person_from_consent_to_code(open_store: Open, clock: Clock) -> None:
    store = open_store()
    assert store.person("ada") is None
    ada = store.enter(Visitor("ada", "account", "wave-1"))
    assert (ada.status, ada.block, ada.passed) == ("started", None, False)
    assert ada.rater != "ada"
    ada = store.answer_comprehension("ada", 1, passed=True) or ada
    assert (ada.status, ada.block, ada.position, ada.shown) == ("active", 0, 0, clock.now)
    pages = store.pages(0)
    check = next(page.position for page in pages if page.check)
    step = None
    for position in range(4):
        clock.turn(seconds=1.5)
        early = store.answer("ada", position, "safe")
        assert early is not None
        assert (early.taken, store.wait(early.person)) == (Taken.TOO_SOON, 0.5)
        clock.turn(seconds=3)
        step = store.answer("ada", position, "unsafe", confidence=4, reason="because")
        assert step is not None
        assert step.taken is Taken.YES
    assert step is not None
    assert step.person.status == step.person.outcome == "completed"
    found = store.collected()
    (person,) = found.people
    assert (person.status, person.panel, person.block, person.attempts) == (
        "completed",
        "wave-1",
        0,
        1,
    )
    assert person.ended == clock.now
    assert [vote.position for vote in found.votes] == [n for n in range(4) if n != check]
    assert {vote.seconds for vote in found.votes} == {4.5}
    assert {(vote.verdict, vote.confidence, vote.reason) for vote in found.votes} == {
        ("unsafe", 4, "because")
    }
    assert all(vote.counted and vote.rater == ada.rater for vote in found.votes)
    assert [vote.case_id for vote in found.votes] == [
        store.study.design.cells[page.place].case_id for page in pages if page.place is not None
    ]
    (looked,) = found.checks
    assert (looked.check, looked.passed, looked.position) == ("look", True, check)
    # The same account is the same person, whatever else it brings.
    again = store.person_of_platform("account")
    assert again == store.enter(Visitor("other", "account")) == step.person


def test_the_first_answer_to_a_page_wins(open_store: Open, clock: Clock) -> None:
    store = open_store()
    enter(store, "ada")
    clock.turn(seconds=3)
    steps = []
    threads = [
        threading.Thread(target=lambda: steps.append(store.answer("ada", 0, "safe")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(step.taken for step in steps if step) == {Taken.YES: 1, Taken.BEFORE: 7}
    clock.turn(seconds=3)
    for position in (0, 2, 99, -1):
        step = store.answer("ada", position, "unsafe")
        assert step is not None
        assert (step.taken, step.person.position) == (Taken.BEFORE, 1)
    assert [vote.verdict for vote in store.collected().votes] == ["safe"]
    assert store.answer("nobody", 0, "safe") is None


def test_who_fails_every_attempt_never_gets_a_block(open_store: Open) -> None:
    store = open_store()
    store.enter(Visitor("eve"))
    for attempt, status in ((1, "started"), (1, "started"), (3, "started"), (2, "screened_out")):
        person = store.answer_comprehension("eve", attempt, passed=False)
        assert person is not None
        assert person.status == status
    for late in (store.answer_comprehension("eve", 3, passed=True), store.lease("eve")):
        assert late is not None
        assert (late.status, late.block, late.outcome) == ("screened_out", None, "screened_out")
    assert store.withdraw("eve") == late
    assert store.progress().free == 2


def test_no_block_is_held_twice(open_store: Open) -> None:
    store = open_store(blocks=6)
    others = [open_store(blocks=6), store]
    for number in range(12):
        store.enter(Visitor(f"key-{number}"))
    ready, found = threading.Barrier(12), list[Any]()

    def come(number: int) -> None:
        ready.wait()
        person = others[number % 2].answer_comprehension(f"key-{number}", 1, passed=True)
        found.append(person)

    threads = [threading.Thread(target=come, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = [person.block for person in found if person.block is not None]
    assert sorted(held) == list(range(6))
    assert Counter(person.status for person in found) == {"active": 6, "started": 6}
    assert store.places() is Vacancy.HELD


def test_a_lease_past_its_time_goes_to_the_next(open_store: Open, clock: Clock) -> None:
    store = open_store()
    enter(store, "ada")
    clock.turn(minutes=1)
    enter(store, "bob")
    clock.turn(minutes=28)
    store.answer("ada", 0, "safe")
    clock.turn(minutes=1.5)
    # Bob's time is over, Ada's answer has renewed hers; nobody needs a block yet.
    assert store.progress().expired == 0
    clock.turn(minutes=1)
    assert store.progress().expired == 1
    assert store.places() is Vacancy.OPEN
    step = store.answer("bob", 0, "unsafe")
    assert step is not None
    assert step.taken is Taken.YES
    assert store.places() is Vacancy.HELD
    eve = enter(store, "eve")
    assert (eve.status, eve.passed) == ("started", True)
    clock.turn(minutes=40)
    eve = store.lease("eve") or eve
    assert (eve.status, eve.block, eve.position) == ("active", 0, 0)
    ada = store.person("ada")
    assert ada is not None
    assert (ada.status, ada.outcome) == ("abandoned", "abandoned")
    late = store.answer("ada", 1, "safe")
    assert late is not None
    assert late.taken is Taken.BEFORE
    finish(store, clock, "eve")
    finish(store, clock, "bob")
    by_rater = Counter((vote.rater, vote.counted) for vote in store.collected().votes)
    bob = store.person("bob")
    assert bob is not None
    assert by_rater == {(ada.rater, False): 1, (eve.rater, True): 3, (bob.rater, True): 3}
    # Every block is final: nobody takes over a completed one.
    clock.turn(minutes=500)
    assert store.places() is Vacancy.COMPLETE
    assert enter(store, "zoe").block is None
    assert store.progress().counts == ((2 - 1, 1),) + ((2, 0),) * 2


def test_withdrawing_deletes_votes_and_frees_the_block(open_store: Open, clock: Clock) -> None:
    store = open_store(blocks=1)
    ada = enter(store, "ada", platform_key="account")
    clock.turn(seconds=3)
    store.answer("ada", 0, "safe")
    gone = store.withdraw("ada")
    assert gone is not None
    assert (gone.status, gone.outcome) == ("withdrawn", "withdrawn")
    assert store.withdraw("ada") == gone
    found = store.collected()
    assert [(one.rater, one.status) for one in found.people] == [(ada.rater, "withdrawn")]
    assert not found.votes
    # One person has one block in a lifetime.
    assert store.enter(Visitor("new", "account")) == gone
    assert store.lease("ada") == gone
    bob = enter(store, "bob")
    assert bob.block == 0
    finish(store, clock, "bob")
    # After the end too; the code that was paid stays.
    late = store.withdraw("bob")
    assert late is not None
    assert (late.status, late.outcome) == ("withdrawn", "completed")
    assert store.progress().free == 1


def test_purged_people_vanish(open_store: Open, clock: Clock, tmp_path: Path) -> None:
    store = open_store(blocks=2)
    ada = enter(store, "ada", platform_key=KEYS.platform_key("none", "account"))
    store.enter(Visitor("bob"))
    clock.turn(seconds=3)
    store.answer("ada", 0, "safe", reason="a reason that must vanish")
    finish(store, clock, "ada")
    assert not store.purge(rater="nobody")
    assert not store.purge(account="")
    assert store.purge(account=" account ") == ada.rater
    assert not store.purge(rater=ada.rater)
    found = store.collected()
    assert [one.status for one in found.people] == ["started"]
    assert (found.votes, found.checks) == ((), ())
    again = store.enter(Visitor("new", KEYS.platform_key("none", "account")))
    assert (again.status, again.outcome) == ("withdrawn", "completed")
    assert store.progress().people[PersonStatus.WITHDRAWN] == 0
    assert store.progress().free == 2
    if (tmp_path / "study.db").exists():
        kept = b"".join(one.read_bytes() for one in tmp_path.glob("study.db*"))
        assert b"must vanish" not in kept
        assert ada.rater.encode() not in kept


def test_while_paused_nobody_new_gets_a_block(open_store: Open, clock: Clock) -> None:
    store = open_store()
    enter(store, "ada")
    store.pause(True)
    assert store.places() is Vacancy.PAUSED
    assert enter(store, "bob").block is None
    finish(store, clock, "ada")
    assert store.progress().completed == 1
    store.pause(False)
    bob = store.lease("bob")
    assert bob is not None
    assert bob.block == 1


def test_what_was_answered_is_there_after_a_restart(open_store: Open, clock: Clock) -> None:
    store = open_store()
    enter(store, "ada")
    clock.turn(seconds=3)
    store.answer("ada", 0, "safe")
    before = store.person("ada")
    store.close()
    assert open_store().person("ada") == before


def test_a_database_belongs_to_one_study_and_its_secrets(open_store: Open) -> None:
    open_store()
    with pytest.raises(UsageError, match="as it was when it was first served"):
        open_store(title="Another title")
    with pytest.raises(UsageError, match="other secrets"):
        open_store(Secrets("another secret entirely", "an admin"))


def test_the_database_itself_refuses_what_must_not_be(
    open_store: Open, address: str, clock: Clock
) -> None:
    store = open_store()
    enter(store, "ada", platform_key="account")
    enter(store, "bob")
    clock.turn(seconds=3)
    store.answer("ada", 0, "safe")
    store.answer("bob", 0, "safe")
    engine = create_engine(address.replace("postgresql:", "postgresql+pg8000:"))
    vote = (
        "INSERT INTO vote (participant, position, place, query, verdict, seconds, time) "
        "SELECT participant, {position}, place, {query}, {verdict}, 1, time FROM vote"
    )
    held = (
        "INSERT INTO assignment (block, participant, status, position, shown, lease_until) "
        "SELECT {block}, {person}, 'active', 0, shown, lease_until FROM assignment WHERE block = 0"
    )
    person = (
        "INSERT INTO participant (key, rater, platform_key, panel, status, attempts, started, "
        "purged) SELECT {key}, {rater}, {account}, '', 'started', 0, started, purged "
        "FROM participant WHERE key = 'ada'"
    )
    free = {"key": "'k'", "rater": "'r'", "account": "'a'"}
    refused = [
        vote.format(position=3, query="query", verdict="'safe'"),
        vote.format(position="position", query="'q'", verdict="'safe'"),
        vote.format(position=3, query="'q'", verdict="'maybe'"),
        held.format(block=0, person="(SELECT min(id) FROM participant WHERE key = 'eve')"),
        held.format(block=1, person="participant"),
        person.format(**free | {"key": "key"}),
        person.format(**free | {"rater": "rater"}),
        person.format(**free | {"account": "platform_key"}),
        "INSERT INTO study SELECT 2, name, hash, secrets, paused, created FROM study",
        "UPDATE participant SET status = 'other'",
    ]
    store.enter(Visitor("eve"))
    for sql in refused:
        # pg8000 calls a failed CHECK a programming error.
        broken = pytest.raises((IntegrityError, ProgrammingError), match=r"(?i)unique|check")
        with broken, engine.begin() as connection:
            connection.execute(text(sql))
    with engine.begin() as connection:
        connection.execute(text(person.format(**free)))
    engine.dispose()
