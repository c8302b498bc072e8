"""What people did on a platform comes back as it was, whatever they wrote."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.exchanged import (
    Came,
    answered_at,
    collected_of,
    crowds,
    label_studio_export,
    tasks_of,
    turk_csv,
    turk_rows,
)

from casewise.annotation.exchange.label_studio import read_label_studio
from casewise.annotation.exchange.mturk import mturk_files, read_mturk
from casewise.annotation.exchange.platform_files import read_csv_answers
from casewise.annotation.exchange.sittings import Tasks
from casewise.annotation.study.accounts import hash_platform_id
from casewise.annotation.votes.collected import Collected
from casewise.files import csv_text

SALT = b"a salt of the tests alone"
NAMES = ("study", "rater", "block", "position", "verdict")
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def pseudonym(account: str) -> str:
    return hash_platform_id(SALT, account)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Tasks:
    return tasks_of(tmp_path_factory.mktemp("study"))


def same(found: Collected, wanted: Collected) -> None:
    """Equal, line by line; times have the precision that the platform keeps."""
    assert found.people == wanted.people
    assert found.votes == wanted.votes
    assert found.checks == wanted.checks


@QUICK
@given(data=st.data(), minimal=st.booleans())
def test_label_studio(data: st.DataObject, minimal: bool, tasks: Tasks, tmp_path: Path) -> None:
    crowd = data.draw(crowds(tasks, lambda number: str(17 + number)))
    path = tmp_path / "export.json"
    path.write_text(label_studio_export(tasks, crowd, minimal=minimal), "utf-8")
    found = read_label_studio([path], tasks, name=pseudonym, panel="lab")
    same(found.collected, collected_of(tasks, crowd, name=pseudonym, panel="lab"))


@QUICK
@given(data=st.data(), form=st.sampled_from(["together", "apart", "plain"]))
def test_mturk(data: st.DataObject, form: str, tasks: Tasks, tmp_path: Path) -> None:
    crowd = data.draw(crowds(tasks, "A2WORKER{}".format))
    path = tmp_path / "results.csv"
    batch = mturk_files(tasks)["batch.csv"]
    path.write_bytes(turk_csv(turk_rows(tasks, crowd, batch, form=form)).encode())
    found = read_mturk([path], tasks, name=pseudonym, panel="mturk")
    wanted = collected_of(tasks, crowd, name=pseudonym, panel="mturk", at_once=True)
    same(found.collected, wanted)


def answers_csv(tasks: Tasks, crowd: list[Came]) -> bytes:
    names = (*NAMES, "time", "seconds", "confidence", "reason")
    rows = [
        (
            tasks.mark,
            came.account,
            str(came.block),
            str(position),
            told.verdict,
            answered_at(number, position).isoformat(),
            repr(told.seconds),
            str(told.confidence or ""),
            told.reason or "",
        )
        for number, came in enumerate(crowd)
        for position, told in enumerate(came.told)
    ]
    return csv_text(names, rows).encode()


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
