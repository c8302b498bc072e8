"""Places of people whom the platform's export confirms, and of invented ones."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Cli
from support.exchanged import ON_PROLIFIC, account, write_prolific
from support.serving import Guest, Serving
from support.studies import ADMIN, exported, read_csv, write_arms, write_study

DONE, WAITING, BACK = "APPROVED", "AWAITING REVIEW", "RETURNED"
Say = Callable[..., str]

HOLDING = "SELECT id FROM participant WHERE counts ORDER BY 1"
"""Those whose votes count."""


def come(server: Serving, number: int, *, judges: bool = True) -> str:
    """As far as the first case or to the end; the last page's address."""
    with Guest(server, f"/?PROLIFIC_PID={account(number)}") as one:
        one.begin()
        if judges:
            one.finish()
        return one.at


@pytest.fixture
def say(tmp_path: Path, cli: Cli) -> Say:
    """Reconcile by an export of people's numbers and statuses; what the command said."""

    def call(*rows: tuple[int, str]) -> str:
        codes = {DONE: "C0FFEE", WAITING: "C0FFEE"}
        given = [(account(number), status, codes.get(status, "")) for number, status in rows]
        file = write_prolific(tmp_path / "export.csv", *given)
        done = cli("annotate", "reconcile", "study.yaml", file)
        assert done.returncode == 0, done.stderr
        return " ".join((done.stdout + done.stderr).split())

    return call


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with Serving(write_study(tmp_path, blocks=2, recruitment=ON_PROLIFIC)) as one:
        yield one


def is_complete(server: Serving) -> bool:
    with Guest(server, f"/?PROLIFIC_PID={account(999)}") as late:
        return "This study is complete" in late.page.text


def test_invented_ids_keep_nobody_out_and_one_command_frees_their_places(
    tmp_path: Path, cli: Cli, say: Say
) -> None:
    # 6 places of 4 cases
    with Serving(write_arms(tmp_path, recruitment=ON_PROLIFIC)) as server:
        # 15 invented ids: some judge a whole block, the others hold one.
        for number in range(15):
            assert come(server, number, judges=number % 5 == 0) != "/wait"
        # Honest people get in, and finish.
        assert {come(server, 100 + number) for number in range(6)} == {"/done"}
        assert not is_complete(server)
        votes = server.rows("SELECT count(*) FROM answer WHERE place IS NOT NULL")
        said = say(*((100 + number, WAITING) for number in range(4)))
        assert "4 people confirmed, 6 lost a place, 4 got one" in said
        assert "6 places: 2 free, 0 held " in said
        assert server.rows("SELECT count(*) FROM answer WHERE place IS NOT NULL") == votes
        with Guest(server, f"/admin/enter/{ADMIN}") as admin:
            assert "4 of 6 blocks completed" in admin.page.text
        # The whole export: each case has its two votes, from confirmed people.
        said = say(*((100 + number, DONE) for number in range(6)))
        assert "complete: each case has its votes" in said
        assert is_complete(server)
        funnel = exported(cli)["funnel"]
        assert funnel["confirmed"] == {"export": 6, "link": 0, "nobody": 0}
        counted = [row for row in read_csv(tmp_path / "out/votes.csv") if row["counted"] == "true"]
        assert set(Counter(row["case_id"] for row in counted).values()) == {2}


def test_who_is_returned_or_rejected_loses_the_place_and_may_get_it_back(
    server: Serving, say: Say
) -> None:
    for number in (1, 2):
        come(server, number)
    assert not is_complete(server)  # nobody is confirmed yet
    assert "2 people confirmed, 0 lost a place, 0 got one" in say((1, DONE), (2, DONE))
    assert is_complete(server)
    assert "0 people confirmed, 1 lost a place, 0 got one" in say((1, DONE), (2, BACK))
    assert server.rows(HOLDING) == [1]
    assert not is_complete(server)
    # The platform changes its mind before another has the place.
    assert "1 lost" not in say((2, DONE))
    assert server.rows(HOLDING) == [1, 2]
    # Now another finishes it first: the first confirmed keeps it, the other is a spare.
    say((2, BACK))
    come(server, 3)
    say((2, DONE), (3, DONE))
    assert server.rows(HOLDING) == [1, 3]
    assert server.rows("SELECT count(*) FROM answer WHERE place IS NOT NULL") == [9]


def test_who_came_after_the_export_goes_on_and_counts_by_the_next(
    server: Serving, say: Say
) -> None:
    come(server, 1)
    with Guest(server, f"/?PROLIFIC_PID={account(2)}") as late:
        late.begin()
        # The platform has her at work.
        assert "0 lost a place" in say((1, DONE), (2, "ACTIVE"))
        assert "1 lost a place" in say((1, DONE))
        late.finish()
        assert server.rows(HOLDING) == [1]
        assert "1 got one" in say((1, DONE), (2, DONE))
    assert server.rows(HOLDING) == [1, 2]
    assert is_complete(server)


def test_excluded_people_and_second_accounts_get_no_place_back(
    tmp_path: Path, cli: Cli, say: Say
) -> None:
    path = write_study(tmp_path, blocks=2, recruitment=ON_PROLIFIC, second_accounts="leave_out")
    with Serving(path) as server, Guest(server, f"/?PROLIFIC_PID={account(1)}") as ada:
        ada.begin().finish()
        (rater,) = server.rows("SELECT rater FROM participant")
        assert cli("annotate", "exclude", path, "--rater", rater, "--reason", "x").returncode == 0
        # Her second account, in the same browser.
        ada.get(f"/?PROLIFIC_PID={account(2)}")
        ada.begin().finish()
        assert "0 got one" in say((1, DONE), (2, DONE))
        assert not server.rows(HOLDING)


def test_sequential_collection_decides_by_confirmed_votes_alone(tmp_path: Path, say: Say) -> None:
    rule = {"rule": "sequential", "least": 2, "posterior": 0.8}
    path = write_arms(tmp_path, queries=2, votes=3, recruitment=ON_PROLIFIC, collection=rule)
    with Serving(path) as server:
        # All say safe, so that cells would be decided, if these votes were believed.
        for number in range(9):
            come(server, number)
        assert not is_complete(server)
        for number in range(100, 109):
            come(server, number)
        honest = [(number, DONE) for number in range(100, 109)]
        assert "9 people confirmed" in say(*honest)
        assert min(server.rows(HOLDING)) > 9
        votes = "SELECT place, count(*) FROM answer WHERE place IS NOT NULL AND participant IN"
        counts = server.rows(f"{votes} ({HOLDING.split(' ORDER')[0]}) GROUP BY place")
        assert max(number for _, number in counts) <= 3
        before = server.rows(HOLDING)
        assert "0 people confirmed, 0 lost a place, 0 got one" in say(*honest)
        assert server.rows(HOLDING) == before


def test_a_bad_export_is_refused_and_changes_nothing(
    server: Serving, tmp_path: Path, cli: Cli, say: Say
) -> None:
    come(server, 1)
    state = "SELECT status, confirmed, counts FROM participant"
    before = server.rows(state)
    file = tmp_path / "export.csv"
    write_prolific(file, (account(1), DONE, "C0FFEE"))
    whole = file.read_text("utf-8")
    for what, text in (
        ("not a status", whole.replace(DONE, "PERHAPS")),
        ("no column 'Participant id'", whole.replace("Participant id", "Who")),
        ("no rows below the header", whole.splitlines()[0]),
        ("row", whole[: whole.rindex("C0FFEE") - 3]),
        ("nobody in it came to this study", whole.replace(account(1), account(2))),
        ("no completion code of this study", whole.replace("C0FFEE", "OTHER")),
    ):
        file.write_text(text, "utf-8")
        done = cli("annotate", "reconcile", "study.yaml", "export.csv")
        assert done.returncode == 2, what
        assert what in " ".join(done.stderr.split()), done.stderr
        assert server.rows(state) == before
    assert "1 person confirmed" in say((1, DONE))
