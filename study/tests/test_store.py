"""The rules of life of blocks and people, in both databases."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
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


def test_a_database_belongs_to_one_study_and_its_secrets(open_store: Open) -> None:
    open_store()
    with pytest.raises(UsageError, match="as it was when it was first served"):
        open_store(title="Another title")
    with pytest.raises(UsageError, match="other secrets"):
        open_store(Secrets("another secret entirely", "an admin"))


def test_nobody_loses_a_place_while_the_server_is_away(open_store: Open, clock: Clock) -> None:
    with open_store() as store:
        enter(store, "gone long ago")
        clock.turn(minutes=40)
        enter(store, "at work")
    # Two hours later the server is back.
    clock.turn(minutes=120)
    with open_store() as store:
        assert store.progress().expired == 2
        store.renew_leases()
        assert store.progress().expired == 1
        enter(store, "new")
        assert store.places() is Vacancy.HELD
        clock.turn(minutes=29)
        step = store.answer("at work", 0, "safe")
        assert step is not None
        assert step.taken is Taken.YES
