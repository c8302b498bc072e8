"""Whatever a server does, nothing is lost, doubled or invented, and every kind is counted."""

from pathlib import Path

import pytest
from conftest import Cli
from support.fault_runs import Outcome, environment, generate_faults, run_faults, sweep_faults
from support.faulty import KINDS, FaultyServer

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = 20
PROTOCOLS = ("binary", "score", "probability", "guard", "respond")


def check(outcomes: list[Outcome]) -> None:
    assert [problem for one in outcomes for problem in one.problems] == []
    assert all(one.failed for one in outcomes)


@pytest.mark.parametrize(("how", "client"), [("1", "auto"), ("10", "inspect"), ("storm", "auto")])
def test_every_fault(cli_inside: Cli, tmp_path: Path, how: str, client: str) -> None:
    models = [f"{fault}-{how}" for fault in KINDS]
    with FaultyServer() as server:
        found = run_faults(cli_inside, tmp_path, server, models, cases=CASES, client=client)
    check(found)
    for one in found:
        # After the second start, all is judged but what a filter stops for good.
        assert one.judged + one.refused == CASES, one
        if one.fault != "filter":
            assert one.refused == 0


def test_every_fault_under_every_protocol(cli_inside: Cli, tmp_path: Path) -> None:
    models = [f"{fault}-10" for fault in KINDS]
    with FaultyServer() as server:
        found = run_faults(cli_inside, tmp_path, server, models, cases=4, protocols=PROTOCOLS)
    check(found)
    assert all(one.judged + one.refused == 4 for one in found)


def test_every_fault_in_a_sweep_and_of_a_grader(cli_inside: Cli, tmp_path: Path) -> None:
    entries = [(f"grader-{fault}-10", "respond") for fault in KINDS]
    entries += [(f"{fault}-10", PROTOCOLS[n % 5]) for n, fault in enumerate(KINDS)]
    with FaultyServer() as server:
        found = sweep_faults(cli_inside, tmp_path, server, entries, cases=4)
    check(found)
    assert all(one.judged + one.refused == 4 for one in found)


def test_every_fault_while_contexts_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every request fails the first time."""
    with FaultyServer() as server:
        for name, value in environment(server).items():
            monkeypatch.setenv(name, value)
        models = [f"{fault}-10" for fault in KINDS]
        found = generate_faults(tmp_path, server, models, queries=2)
    check(found)
