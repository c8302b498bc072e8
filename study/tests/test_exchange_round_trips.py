"""What people answered elsewhere comes back as it was, whatever they wrote."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.exchanged import answers_csv, collected_of, crowds, tasks_of

from casewise_study.exchange.platform_files import read_csv_answers
from casewise_study.exchange.sittings import Tasks
from casewise_study.study.accounts import hash_platform_id
from casewise_study.votes.collected import Collected

SALT = b"a salt of the tests alone"
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def pseudonym(account: str) -> str:
    return hash_platform_id(SALT, account)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Tasks:
    return tasks_of(tmp_path_factory.mktemp("study"))


def same(found: Collected, wanted: Collected) -> None:
    """Equal, line by line; times to the microsecond."""
    assert found.people == wanted.people
    assert found.votes == wanted.votes
    assert found.checks == wanted.checks


@QUICK
@given(data=st.data(), name=st.sampled_from([None, pseudonym]))
def test_plain_csv(
    data: st.DataObject, name: Callable[[str], str] | None, tasks: Tasks, tmp_path: Path
) -> None:
    crowd = data.draw(crowds(tasks, "ann {}".format))
    path = tmp_path / "answers.csv"
    path.write_bytes(answers_csv(tasks, crowd))
    found = read_csv_answers([path], tasks, name=name, panel="class")
    wanted = collected_of(tasks, crowd, name=name or str, panel="class")
    same(found.collected, wanted)
