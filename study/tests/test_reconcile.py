"""Places of people whom the platform's export confirms, and of invented ones."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Cli
from support.exchanged import prolific_csv
from support.serving import Guest, Serving
from support.studies import KEYS, Clock, enter, finish, write_study, write_three_arms

from casewise_study.store.standing import Reconciled, Vacancy
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import ADMIN_VARIABLE, SECRET_VARIABLE
from casewise_study.study.schema import Platform, Recruitment
from casewise_study.study.study_file import load_study
from casewise_study.votes.results import summarise

CODES = {"completed": "C0FFEE", "screened_out": "5C0DE", "withdrawn": "60BACC"}
PROLIFIC = Recruitment(platform=Platform.PROLIFIC, return_url="https://x/{code}", **CODES)
DONE, WAITING = "APPROVED", "AWAITING REVIEW"


@pytest.fixture(autouse=True)
def keys_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, KEYS.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, KEYS.admin)


def account(number: int) -> str:
    return f"5f{number:022x}"


def export(to: Path, *rows: tuple[int, str], code: str = "C0FFEE") -> str:
    made = [
        {"Submission id": f"s{place}", "Participant id": account(number), "Status": status}
        | {"Completion code": code if status in (DONE, WAITING) else ""}
        for place, (number, status) in enumerate(rows)
    ]
    to.write_text(prolific_csv(made), "utf-8")
    return to.name


def come(server: Serving, number: int, *, judges: bool) -> str:
    """Over HTTP, as far as the first case or to the end; the last page's address."""
    with Guest(server, f"/?PROLIFIC_PID={account(number)}") as one:
        one.begin()
        if judges:
            one.finish()
        return one.at


def counted(store: Store) -> dict[str, int]:
    """Counted votes of each case."""
    votes = [vote.case_id for vote in store.collected().votes if vote.counted]
    return {case_id: votes.count(case_id) for case_id in votes}


def test_invented_ids_keep_nobody_out_and_one_command_frees_their_places(
    tmp_path: Path, cli_inside: Cli
) -> None:
    write_three_arms(tmp_path, recruitment=PROLIFIC)  # 6 places of 4 cases
    call = ("annotate", "reconcile", "study.yaml", "export.csv")
    with Serving(tmp_path / "study.yaml") as server:
        store = server.store
        # 15 invented ids: some judge a whole block, the others hold one.
        for number in range(15):
            assert come(server, number, judges=number % 5 == 0) != "/wait"
        assert store.progress().free == 0
        assert store.progress().unconfirmed == 6
        # Honest people get in, and finish.
        assert {come(server, 100 + number, judges=True) for number in range(6)} == {"/done"}
        assert store.places() is Vacancy.OPEN
        before = store.collected()

        export(tmp_path / "export.csv", *((100 + number, WAITING) for number in range(4)))
        done = cli_inside(*call)
        assert done.returncode == 0, done.stderr
        assert "4 people confirmed, 6 lost a place, 4 got one" in done.stderr
        assert "of 6 places 2 are free, 0 held, and 0 held or completed by people" in done.stdout
        progress = store.progress()
        assert (progress.completed, progress.active, progress.unconfirmed) == (4, 0, 0)
        after = store.collected()
        assert len(after.votes) == len(before.votes)
        with Guest(server, f"/admin/enter/{KEYS.admin}") as admin:
            assert "4 of 6 blocks completed" in admin.page.text

        # The whole export: each case has its two votes, from confirmed people.
        export(tmp_path / "export.csv", *((100 + number, DONE) for number in range(6)))
        done = cli_inside(*call)
        assert done.stdout == "complete: each case has its votes\n"
        funnel = summarise(store.study, store.collected()).funnel
        assert funnel.confirmed == {"export": 6, "link": 0, "nobody": 0}
        assert store.places() is Vacancy.COMPLETE
        assert set(counted(store).values()) == {2}
        with Guest(server, f"/?PROLIFIC_PID={account(999)}") as late:
            assert "This study is complete" in late.page.text


def come_in(store: Store, clock: Clock, number: int, *, judges: bool = True) -> str:
    """By the store alone; returns the pseudonym."""
    key = f"key {number}"
    person = enter(store, key, platform_key=store.keys.platform_key("prolific", account(number)))
    if judges:
        finish(store, clock, key)
    return person.rater


def say(store: Store, *rows: tuple[int, bool | None]) -> Reconciled:
    return store.reconcile(
        {store.keys.platform_key("prolific", account(number)): word for number, word in rows}
    )


def test_who_is_returned_or_rejected_loses_the_place_and_may_get_it_back(tmp_path: Path) -> None:
    clock = Clock()
    study = load_study(write_study(tmp_path, blocks=2, recruitment=PROLIFIC))
    with Store(study, f"sqlite:///{tmp_path / 'study.db'}", KEYS, clock=clock) as store:
        ada, bob = (come_in(store, clock, number) for number in (1, 2))
        assert store.places() is Vacancy.OPEN  # nobody is confirmed yet

        def who() -> set[str]:
            return {vote.rater for vote in store.collected().votes if vote.counted}

        assert say(store, (1, True), (2, True)) == Reconciled(2, 0, 0)
        assert store.places() is Vacancy.COMPLETE
        assert say(store, (1, True), (2, False)) == Reconciled(0, 1, 0)
        assert who() == {ada}
        assert store.places() is Vacancy.OPEN
        # An export of another wave lacks both: nothing is lost by that.
        assert say(store, (7, True)) == Reconciled(0, 0, 0)
        # The platform changes its mind before another has the place.
        assert say(store, (2, True)) == Reconciled(1, 0, 1)
        assert who() == {ada, bob}
        # Now another finishes it first: the first confirmed keeps it, the other is a spare.
        assert say(store, (2, False)) == Reconciled(0, 1, 0)
        eve = come_in(store, clock, 3)
        assert say(store, (2, True), (3, True)) == Reconciled(2, 0, 0)
        assert who() == {ada, eve}
        assert len(store.collected().votes) == 9


def test_who_came_after_the_export_goes_on_and_counts_by_the_next(tmp_path: Path) -> None:
    clock = Clock()
    study = load_study(write_study(tmp_path, blocks=2, recruitment=PROLIFIC))
    with Store(study, f"sqlite:///{tmp_path / 'study.db'}", KEYS, clock=clock) as store:
        come_in(store, clock, 1)
        late = come_in(store, clock, 2, judges=False)
        at_work = say(store, (1, True), (2, None))
        assert at_work == Reconciled(1, 0, 0)  # the platform has her at work
        assert say(store, (1, True)) == Reconciled(0, 1, 0)
        finish(store, clock, "key 2")
        assert store.progress().completed == 1
        assert say(store, (1, True), (2, True)) == Reconciled(1, 0, 1)
        assert store.places() is Vacancy.COMPLETE
        assert sum(vote.counted for vote in store.collected().votes if vote.rater == late) == 3


def test_excluded_people_and_second_accounts_get_no_place_back(tmp_path: Path) -> None:
    clock = Clock()
    rules = {"browser": "leave_out", "minutes": 0}
    path = write_study(tmp_path, blocks=2, recruitment=PROLIFIC, second_accounts=rules)
    with Store(load_study(path), f"sqlite:///{tmp_path / 'study.db'}", KEYS, clock=clock) as store:
        ada = come_in(store, clock, 1)
        store.exclude(ada, "slept")
        come_in(store, clock, 2, judges=False)
        first, second = store.person("key 1"), store.person("key 2")
        assert first is not None
        store.same_browser(first, second)
        finish(store, clock, "key 2")
        assert say(store, (1, True), (2, True)).placed == 0
        assert store.progress().free == 2


def test_sequential_collection_decides_by_confirmed_votes_alone(tmp_path: Path) -> None:
    clock = Clock()
    study = write_three_arms(
        tmp_path,
        queries=4,
        votes=6,
        recruitment=PROLIFIC,
        collection={"rule": "sequential", "least": 3, "posterior": 0.9},
    )
    with Store(study, f"sqlite:///{tmp_path / 'study.db'}", KEYS, clock=clock) as store:
        invented = 0
        # All say safe, so that cells are decided by the fourth vote, if these votes are believed.
        while store.progress().unconfirmed < 18 and invented < 40:
            come_in(store, clock, invented)
            invented += 1
        assert store.places() is Vacancy.OPEN
        for number in range(100, 118):
            come_in(store, clock, number)
        assert say(store, *((number, True) for number in range(100, 118))).confirmed == 18
        assert max(counted(store).values()) <= 6
        votes = [vote for vote in store.collected().votes if vote.counted]
        assert store.progress().unconfirmed == 0
        assert not {vote.rater for vote in votes} & raters(store, range(invented))
        again = store.collected()
        assert say(store, *((number, True) for number in range(100, 118))) == Reconciled(0, 0, 0)
        assert store.collected() == again


def raters(store: Store, numbers: Sequence[int]) -> set[str]:
    found = (
        store.person_of_platform(store.keys.platform_key("prolific", account(number)))
        for number in numbers
    )
    return {person.rater for person in found if person is not None}


def test_a_bad_export_is_refused_and_changes_nothing(tmp_path: Path, cli_inside: Cli) -> None:
    clock, path = Clock(), write_study(tmp_path, blocks=2, recruitment=PROLIFIC)
    database = f"sqlite:///{tmp_path / 'study.db'}"
    with Store(load_study(path), database, KEYS, clock=clock) as store:
        come_in(store, clock, 1)
        before = store.collected(), store.progress()
        file = tmp_path / "export.csv"
        good = export(file, (1, DONE))
        whole = file.read_text("utf-8")

        def refused(what: str, text: str, name: str = "study.yaml") -> None:
            file.write_text(text, "utf-8")
            done = cli_inside("annotate", "reconcile", name, good)
            assert done.returncode == 2, what
            assert what in " ".join(done.stderr.split()), done.stderr
            assert (store.collected(), store.progress()) == before

        refused("not a status", whole.replace(DONE, "PERHAPS"))
        refused("no column 'Participant id'", whole.replace("Participant id", "Who"))
        refused("no rows below the header", whole.splitlines()[0])
        refused("row", whole[: whole.rindex("C0FFEE") - 3])
        refused("nobody in it came to this study", whole.replace(account(1), account(2)))
        refused("no completion code of this study", whole.replace("C0FFEE", "OTHER"))
        file.write_text(whole, "utf-8")
        assert cli_inside("annotate", "reconcile", "study.yaml", good).returncode == 0
        assert store.progress().unconfirmed == 0
