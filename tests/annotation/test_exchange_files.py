"""Files that are cut, damaged or another's: one message that says where, and nothing written."""

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.exchanged import (
    HOSTILE,
    Came,
    Told,
    label_studio_export,
    prolific_csv,
    tasks_of,
    turk_csv,
    turk_rows,
)

from casewise.annotation.exchange.label_studio import label_studio_files, read_label_studio
from casewise.annotation.exchange.mturk import mturk_files, read_mturk, too_long
from casewise.annotation.exchange.platform_files import csv_tasks, read_csv_answers
from casewise.annotation.exchange.prolific import join_prolific
from casewise.annotation.exchange.sittings import TakenIn, Tasks, read_salt
from casewise.annotation.study.language import messages, open_language, paragraphs
from casewise.annotation.votes.collected import Collected
from casewise.errors import CasewiseError, InputError

TOLD = Told("safe", 4.0, 3, '=cmd, "why"\n]]>')


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Tasks:
    return tasks_of(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def good(tasks: Tasks) -> dict[str, str]:
    crowd = [Came("7", 0, (TOLD,) * 5), Came("8", 1, (TOLD,) * 5)]
    answers = "".join(
        f"{tasks.mark},ann,0,{position},safe,2026-03-04T10:0{position}:00Z\n"
        for position in range(5)
    )
    return {
        "label-studio": label_studio_export(tasks, crowd),
        "json-min": label_studio_export(tasks, crowd, minimal=True),
        "mturk": turk_csv(turk_rows(tasks, crowd, mturk_files(tasks)["batch.csv"])),
        "csv": f"study,rater,block,position,verdict,time\n{answers}",
        "prolific": prolific_csv(
            [{"Submission id": "s", "Participant id": "p", "Status": "APPROVED", "Age": "30"}]
        ),
    }


def read(kind: str, tasks: Tasks, path: Path) -> TakenIn:
    readers: dict[str, Callable[..., TakenIn]] = {
        "label-studio": read_label_studio,
        "json-min": read_label_studio,
        "mturk": read_mturk,
        "csv": read_csv_answers,
    }
    if kind == "prolific":
        return join_prolific(Collected((), ()), [path], columns=["Age"], name=str)
    return readers[kind]([path], tasks, name=str, panel="")


def read_or_refuse(kind: str, tasks: Tasks, path: Path) -> TakenIn | None:
    """What was read, or None for an error that names the file."""
    message = None
    try:
        return read(kind, tasks, path)
    except CasewiseError as error:
        message = str(error)
    assert str(path) in message
    return None


KINDS = ("label-studio", "json-min", "mturk", "csv", "prolific")


@pytest.mark.parametrize("kind", KINDS)
def test_each_file_is_read_by_its_own_reader_alone(
    kind: str, good: dict[str, str], tasks: Tasks, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text(good[kind], "utf-8", newline="")
    for other in KINDS:
        if other == kind or {other, kind} == {"label-studio", "json-min"}:
            read(other, tasks, path)
            continue
        with pytest.raises(InputError) as caught:
            read(other, tasks, path)
        assert str(path) in str(caught.value)
        assert len(str(caught.value)) - len(str(path)) < 250


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_a_file_cut_anywhere_says_so_or_loses_whole_rows(
    data: st.DataObject, kind: str, good: dict[str, str], tasks: Tasks, tmp_path: Path
) -> None:
    text = good[kind]
    cut = data.draw(st.integers(0, len(text) - 1))
    path = tmp_path / "cut"
    path.write_text(text[:cut], "utf-8", newline="")
    taken = read_or_refuse(kind, tasks, path)
    if taken is not None:
        # JSON can't be cut unseen. Of a CSV only whole rows, or the end of the last cell, are lost.
        assert kind in ("mturk", "csv", "prolific")
        assert len(taken.collected.people) <= 2


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_a_damaged_file_never_crashes_a_reader(
    data: st.DataObject, kind: str, good: dict[str, str], tasks: Tasks, tmp_path: Path
) -> None:
    raw = bytearray(good[kind].encode())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    path = tmp_path / "damaged"
    path.write_bytes(bytes(raw))
    read_or_refuse(kind, tasks, path)


def change(kind: str, good: dict[str, str], old: str, new: str) -> str:
    assert old in good[kind]
    return good[kind].replace(old, new, 1)


@pytest.mark.parametrize(
    ("kind", "old", "new", "words"),
    [
        ("mturk", "desks@", "other@", ("row ending at line 2", "Input.study", "another study")),
        ("mturk", "Submitted", "Paid", ("row ending at line 2", "AssignmentStatus", "Approved")),
        ("mturk", '"7"', '""', ("WorkerId", "cut short")),
        ("mturk", "Wed Mar 04", "Wed Foo 04", ("AcceptTime", "not a time")),
        ("csv", ",safe,", ",maybe,", ("row ending at line 2", "verdict", "maybe")),
        ("csv", "ann,0,0", "ann,0,9", ("position", "0 to 4")),
        ("csv", "ann,0,0", "ann,99,0", ("block", "0 to 7")),
        ("csv", "ann,0,0", ",0,0", ("rater", "nobody")),
        ("csv", "ann,0,1", "ann,0,0", ("row ending at line 3", "answered this page before")),
        ("csv", "study,rater", "study,study", ("no column 'rater'",)),
        ("csv", "verdict,time", "verdict,verdict", ("stands twice",)),
        ("label-studio", '["safe"]', '["safe", "unsafe"]', ("task 1", "verdict", "one choice")),
        ("label-studio", '"completed_by": 7', '"completed_by": null', ("task 1", "completed_by")),
        ("label-studio", '"rating": 3', '"rating": 9', ("task 1", "confidence", "1 to 5")),
        ("label-studio", '"id": 1,', '"id": 0,', ("annotations have this id",)),
        ("json-min", '"block": 0', '"block": "x"', ("task 1", "block")),
        ("prolific", "APPROVED", "LOST", ("row ending at line 2", "Status", "APPROVED")),
    ],
)
def test_a_wrong_cell_is_named(
    kind: str,
    old: str,
    new: str,
    words: tuple[str, ...],
    good: dict[str, str],
    tasks: Tasks,
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    path.write_text(change(kind, good, old, new), "utf-8", newline="")
    if words == ("annotations have this id",):
        export = json.loads(good[kind])
        export[1]["annotations"][0]["id"] = export[0]["annotations"][0]["id"]
        path.write_text(json.dumps(export), "utf-8")
    with pytest.raises(InputError) as caught:
        read(kind, tasks, path)
    for word in words:
        assert word in str(caught.value)


def test_a_study_that_was_planned_anew_is_another(good: dict[str, str], tmp_path: Path) -> None:
    again = tasks_of(tmp_path / "again", seed=8)
    path = tmp_path / "file"
    path.write_text(good["csv"], "utf-8")
    with pytest.raises(InputError, match="as it was planned before"):
        read("csv", again, path)


def test_addresses_are_no_pseudonyms(good: dict[str, str], tasks: Tasks, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(good["csv"].replace("ann", "ann@example.org"), "utf-8")
    with pytest.raises(InputError, match="--salt-file"):
        read_csv_answers([path], tasks, name=None, panel="")
    assert read_csv_answers([path], tasks, name=lambda one: "x", panel="").collected.people


@pytest.mark.parametrize("text", ["", "short", "   \n"])
def test_a_salt_is_long_enough(text: str, tmp_path: Path) -> None:
    (tmp_path / "salt").write_text(text, "utf-8")
    with pytest.raises(InputError, match="salt"):
        read_salt(tmp_path / "salt", create=True)


def test_tasks_tell_nobody_what_the_context_is_meant_to_be(tasks: Tasks) -> None:
    files = label_studio_files(tasks)
    made = [
        task
        for name, data in files.items()
        if name.startswith("tasks/")
        for task in json.loads(data)
    ]
    assert len(made) == sum(map(len, tasks.blocks))
    for task in made:
        assert set(task["data"]) == {"study", "block", "position", "query", "context"}
    sent = mturk_files(tasks)["batch.csv"].decode()
    for page in (page for block in tasks.blocks for page in block):
        assert (page.case_id or "no case") not in sent


def test_hostile_texts_reach_no_configuration(tasks: Tasks) -> None:
    config = label_studio_files(tasks)["labeling-config.xml"].decode()
    assert "cmd" not in config
    assert "${x}" not in config
    shown = "".join(label_studio_files(tasks)["instructions.html"].decode())
    assert "<i>" not in shown
    files = mturk_files(tasks)
    for name in ("layout.html", "batch.csv"):
        text = files[name].decode("ascii")
        assert "document.title" not in text.replace("document.title&", "")
        assert "<b>" not in text
        assert "${title}" not in text
    for line in files["batch.csv"].decode("ascii").splitlines()[1:]:
        assert all(cell[:1] not in "=+-@\t\r" or not cell for cell in line.split(","))


def test_blocks_too_long_for_a_hit_are_found(tmp_path: Path) -> None:
    long: list[Any] = [*HOSTILE[:6], "a long letter " * 2000, "and another"]
    tasks = tasks_of(tmp_path, texts=long)
    found = too_long(mturk_files(tasks))
    assert found == tuple(
        number
        for number, block in enumerate(tasks.blocks)
        if any(len(page.query) > 9999 for page in block)
    )


def test_the_csv_of_tasks_can_be_filled_in(tasks: Tasks, tmp_path: Path) -> None:
    path = tmp_path / "filled.csv"
    header, *rows = csv_tasks(tasks)["tasks.csv"].decode().split("\r\ndesks@")
    filled = [
        f"\r\n{'ann' if row[9:13] == '0,0,' else ''},{'safe' if row[9:13] == '0,0,' else ''},desks@"
        + row
        for row in rows
    ]
    path.write_text(f"rater,verdict,{header}{''.join(filled)}", "utf-8", newline="")
    taken = read_csv_answers([path], tasks, name=None, panel="")
    assert [vote.position for vote in taken.collected.votes] == [0]
    assert taken.notes[0] == "39 rows have neither rater nor verdict: left out"


def test_a_study_in_german_is_in_german_on_the_platforms(tmp_path: Path) -> None:
    english = tasks_of(tmp_path)
    german = replace(english, study=english.study.model_copy(update={"language": "de"}))
    layout = mturk_files(german)["layout.html"].decode("ascii")
    config = label_studio_files(german)["labeling-config.xml"].decode()
    say = open_language("de").say
    for message in ("Please choose safe or unsafe.", "Unsafe", "Query", "Why?"):
        assert say(message) != message
        assert say(message) in config
    assert f">{say('Next')}<" in html.unescape(layout)
    assert json.dumps(say("There are more pages: press Next.")) in layout
    # What comes back is told apart by words that do not depend on the language.
    assert set(re.findall(r'alias="(\w+)"', config)) == {"safe", "unsafe"}
    assert set(re.findall(r'name="verdict_0" value="(\w+)"', layout)) == {"safe", "unsafe"}
    of_ours = {one for one in messages() if isinstance(one, str) and len(one) > 25}
    left = {one for one in of_ours if one in html.unescape(layout) and say(one) != one}
    assert not left - set(_texts(english.study.model_dump(mode="json")))


def _texts(value: Any) -> Iterator[str]:
    """Every text of a study file: they stay as they are written there."""
    if isinstance(value, str):
        yield from paragraphs(value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
