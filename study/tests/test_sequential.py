"""Sequential collection: blocks drawn as people come, and cases that stop."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from conftest import Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from support.serving import Guest, Serving
from support.studies import (
    KEYS,
    Clock,
    enter,
    latin_blocks,
    write_three_arms,
)

from casewise_study.store.standing import Vacancy
from casewise_study.store.study_store import Store
from casewise_study.study.block_design import DrawnFrom, draw_block
from casewise_study.study.schema import Study
from casewise_study.study.study_file import load_study
from casewise_study.votes.cells import NO_INTERVALS, Stopped, cell_stops
from casewise_study.votes.collected import Collected, vote_table
from casewise_study.votes.collected_csv import read_collected
from casewise_study.votes.data_card import ExportChoices
from casewise_study.votes.export import export_study
from casewise_study.votes.results import summarise

Open = Callable[[], Store]
SPLIT = (0, 7)
"""Cells on which people are of two minds; the even ones of the others are safe."""


def write_sequential(folder: Path, queries: int = 4, votes: int = 7, least: int = 3) -> Study:
    """Cells of three arms; a majority of 3:0, 4:0 or 5:1 has a posterior above .89."""
    return write_three_arms(
        folder,
        queries=queries,
        votes=votes,
        blocks=latin_blocks(queries, votes),
        collection={"rule": "sequential", "posterior": 0.89, "least": least},
        timing={"least_seconds": 0},
        attention={"per_person": 0},
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """SQLite, but where a test asks for the other."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    found: str = request.getfixturevalue("postgres").database()
    return found


@pytest.fixture
def open_store(tmp_path: Path, address: str, clock: Clock) -> Iterator[Open]:
    """Open one study's database once more."""
    write_sequential(tmp_path)
    stores = []

    def call() -> Store:
        stores.append(Store(load_study(tmp_path / "study.yaml"), address, KEYS, clock=clock))
        return stores[-1]

    yield call
    for store in stores:
        store.close()


def drawn(store: Store, key: str) -> list[int]:
    person = store.person(key)
    assert person is not None
    assert person.block is not None
    pages = store.pages(person.block, person.drawn)
    return [page.place for page in pages if page.place is not None]


def opinion(place: int, number: int) -> Literal["safe", "unsafe"]:
    if place in SPLIT:
        return "safe" if number % 2 else "unsafe"
    return "safe" if place % 2 == 0 else "unsafe"


def judge(store: Store, clock: Clock, key: str, number: int, pages: int | None = None) -> None:
    """Answer the pages from the person's position on."""
    person = store.person(key)
    assert person is not None
    assert person.position is not None
    places = drawn(store, key)
    for position in range(person.position, len(places) if pages is None else pages):
        clock.turn(seconds=5)
        store.answer(key, position, opinion(places[position], number))


def fill(store: Store, clock: Clock, first: int = 0) -> int:
    """People come one after another until there is no place; how many came."""
    number = first
    while store.places() is Vacancy.OPEN:
        assert number < 100, "the study does not end"
        enter(store, f"key-{number}")
        judge(store, clock, f"key-{number}", number)
        number += 1
    return number - first


def check_promises(store: Store) -> Collected:
    """No query twice, no vote beyond the most, and every case decided or full."""
    found = store.collected()
    asked = Counter((vote.rater, vote.query_id) for vote in found.votes)
    assert set(asked.values()) == {1}
    counts = Counter(vote.case_id for vote in found.votes if vote.counted)
    assert max(counts.values()) <= store.study.votes
    stops = cell_stops(store.study, vote_table(store.study, found))
    assert not [stop for stop in stops if stop.stopped is Stopped.OPEN]
    assert [stop.votes for stop in stops] == [counts[stop.case_id] for stop in stops]
    return found


def test_a_study_collects_until_every_case_is_decided(open_store: Open, clock: Clock) -> None:
    store = open_store()
    came = fill(store, clock)
    assert store.places() is Vacancy.COMPLETE
    found = check_promises(store)
    stops = cell_stops(store.study, vote_table(store.study, found))
    for place, stop in enumerate(stops):
        # Of one mind: decided at 3 votes, and asked no further, as nobody else was at work.
        if place not in SPLIT:
            assert (stop.stopped, stop.at, stop.votes) == (Stopped.POSTERIOR, 3, 3)
    assert came < len(store.study.design.blocks) == 21


def test_blocks_ask_all_cells_alike_and_stay_after_a_restart(
    open_store: Open, clock: Clock
) -> None:
    store, load = open_store(), Counter[int]()
    for number in range(9):
        enter(store, f"key-{number}")
        load.update(drawn(store, f"key-{number}"))
        # All cells are asked nearly alike.
        assert max(load.values()) - min(load[place] for place in range(12)) <= 2
    judge(store, clock, "key-3", 3, pages=2)
    before = drawn(store, "key-3")
    again = open_store()
    assert drawn(again, "key-3") == before
    person = again.person("key-3")
    assert person is not None
    assert person.position == 2


@pytest.mark.parametrize(
    "address", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
def test_pending_votes_count_against_the_most(open_store: Open, clock: Clock) -> None:
    """However many come at once, no cell gets more than its votes, and then nobody gets a block."""
    stores = [open_store(), open_store()]
    ready, numbers = threading.Barrier(30), range(30)

    def come(number: int) -> None:
        ready.wait()
        enter(stores[number % 2], f"key-{number}")

    threads = [threading.Thread(target=come, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    people = [stores[0].person(f"key-{number}") for number in numbers]
    load = Counter(place for person in people if person for place in person.drawn or ())
    assert max(load.values()) == 7
    assert [person for person in people if person and person.block is None]
    assert stores[0].places() is Vacancy.HELD
    # What was drawn is judged, decided or not: votes that come late count.
    for number, person in enumerate(people):
        if person and person.block is not None:
            judge(stores[number % 2], clock, f"key-{number}", number)
    assert len(stores[0].collected().votes) == load.total()


def test_who_leaves_gives_the_votes_back(open_store: Open, clock: Clock) -> None:
    store = open_store()
    enter(store, "ada")
    judge(store, clock, "ada", 1, pages=3)
    clock.turn(minutes=20)
    fill(store, clock, first=1)
    # Every case is decided with ada's votes, and she may come back: so it is not complete.
    assert store.places() is Vacancy.HELD
    clock.turn(minutes=31)
    # Without them some are not: somebody else is asked, and ada has lost her place.
    assert store.places() is Vacancy.OPEN
    fill(store, clock, first=50)
    assert store.places() is Vacancy.COMPLETE
    found = check_promises(store)
    assert [vote.counted for vote in found.votes[:3]] == [False] * 3


@pytest.mark.parametrize("how", ["withdraw", "exclude", "purge"])
def test_votes_that_are_taken_back_reopen_a_case(open_store: Open, clock: Clock, how: str) -> None:
    store = open_store()
    fill(store, clock)
    assert store.places() is Vacancy.COMPLETE
    ada = store.person("key-0")
    assert ada is not None
    if how == "withdraw":
        store.withdraw("key-0")
    elif how == "exclude":
        store.exclude(ada.rater, "a test")
    else:
        store.purge(rater=ada.rater)
    assert store.places() is Vacancy.OPEN
    fill(store, clock, first=50)
    assert store.places() is Vacancy.COMPLETE
    check_promises(store)


def test_people_over_http(tmp_path: Path) -> None:
    """Everybody says safe: each of 9 cells stops at 3 votes, and the next visitor is told."""
    write_sequential(tmp_path, queries=3)
    with Serving(tmp_path / "study.yaml") as server:
        came = 0
        while True:
            with Guest(server) as guest:
                if 'data-state="complete"' in guest.page.text:
                    break
                came += 1
                guest.begin().finish()
                assert guest.code == "COMPLETED"
        found = check_promises(server.store)
        with Guest(server, f"/admin/enter/{KEYS.admin}") as admin:
            assert "9 of at most 21 blocks completed" in admin.page.text
            assert admin.page.text.count("3 of 3") == 3
    assert (came, len(found.votes)) == (9, 27)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a study in which four people answer after others have decided cases."""
    folder, clock = tmp_path_factory.mktemp("released"), Clock()
    study = write_sequential(folder, queries=6)
    with Store(study, f"sqlite:///{folder / 'study.db'}", KEYS, clock=clock) as store:
        for number in range(4):
            enter(store, f"early-{number}")
        fill(store, clock)
        for number in range(4):
            judge(store, clock, f"early-{number}", number)
        fill(store, clock, first=20)
        found = store.collected()
    export_study(summarise(study, found), folder / "votes", ExportChoices())
    # The folder is read back as it was written.
    assert len(read_collected(folder / "votes", study).votes) == len(found.votes)
    return folder / "votes"


def test_the_card_says_which_rule_stopped_each_case(released: Path) -> None:
    summary = json.loads((released / "summary.json").read_text("utf-8"))
    cells = summary["collection"]["cells"]
    by = Counter(cell["stopped"] for cell in cells)
    votes = sum(cell["votes"] for cell in cells)
    late = sum(cell["votes"] - cell["at"] for cell in cells if cell["at"])
    assert late > 0
    assert by["open"] == 0
    assert votes == summary["funnel"]["votes"]
    card = " ".join((released / "data-card.md").read_text("utf-8").split())
    assert f"{by['posterior']} cases were decided so, {by['most_votes']} came to the most" in card
    assert f"{votes} votes count in place of 126: {126 - votes} were saved" in card
    assert f"{late} of them came when their case was decided already; they count" in card
    assert NO_INTERVALS in card


def test_shares_of_sequential_votes_are_those_of_first_votes(
    released: Path, cli_inside: Cli, tmp_path: Path
) -> None:
    """Alike in the table and in ``describe``."""
    summary = json.loads((released / "summary.json").read_text("utf-8"))
    shares: dict[str, list[float]] = {}
    raw: dict[str, list[float]] = {}
    for cell in summary["cells"]:
        assert cell["interval"] == [None, None]
        raw.setdefault(cell["arm"], []).append(cell["safe"] / (cell["safe"] + cell["unsafe"]))
        shares.setdefault(cell["arm"], []).append(cell["share_safe"])
    assert shares != raw
    means = {arm: float(np.mean(values)) for arm, values in shares.items()}
    for contrast in summary["contrasts"]:
        value = contrast["difference"]["value"]
        assert value == pytest.approx(means[contrast["first"]] - means[contrast["second"]])
        low, high = contrast["difference"]["interval"]
        assert low < value < high
        assert contrast["mantel_haenszel_or"] is None
    assert summary["arms"][0]["share_safe"]["value"] == pytest.approx(means["none"])

    lines = (released / "cases.jsonl").read_text("utf-8").splitlines()

    def described(**fields: object) -> dict[str, Any]:
        """What ``describe`` says of the cases, with these fields in place of theirs."""
        text = "\n".join(json.dumps(json.loads(line) | fields) for line in lines)
        (tmp_path / "cases.jsonl").write_text(text, "utf-8")
        done = cli_inside("describe", "cases.jsonl", "--format", "json")
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    record = described()
    effect = record["context_effect"]
    assert effect["difference"] == pytest.approx(means["safe"] - means["unsafe"])
    assert effect["p"] is not None
    assert effect["mantel_haenszel_or"] is None
    assert "lean to the majority" in " ".join(record["remarks"])
    # Without the tag of the rule nothing allows for it, and without any mark all is given.
    unknown = described(tags=["votes:sequential"])
    assert unknown["context_effect"]["difference"] is None
    assert "votes:posterior=" in " ".join(unknown["remarks"])
    plain = described(tags=[])["context_effect"]
    assert plain["difference"] != pytest.approx(effect["difference"])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_drawn_block_is_sound(data: st.DataObject) -> None:
    queries, tasks = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    cells = 3 * queries
    groups = np.array(data.draw(st.lists(st.integers(0, 3), min_size=queries, max_size=queries)))
    source = DrawnFrom(
        query=np.repeat(np.arange(queries), 3),
        category=np.repeat(groups, 3),
        arm=np.tile(np.arange(3), queries),
        tasks=tasks,
    )
    load = np.array(data.draw(st.lists(st.integers(0, 5), min_size=cells, max_size=cells)))
    wanted = np.array(sorted(data.draw(st.sets(st.integers(0, cells - 1)))), np.int64)
    block = draw_block(source, wanted, load, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert set(block) <= set(wanted.tolist())
    asked = [place // 3 for place in block]
    assert len(set(asked)) == len(asked) == min(tasks, len({place // 3 for place in wanted}))
    if len(wanted) == cells:
        arms = Counter(place % 3 for place in block)
        assert max(arms.values()) - min(arms[arm] for arm in range(3)) <= 1
