"""A platform keeps none of the study's rules: they are kept when its files are taken in."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.exchanged import Came, Told, label_studio_export, tasks_of, turk_csv, turk_rows

from casewise.annotation.exchange.label_studio import read_label_studio
from casewise.annotation.exchange.mturk import mturk_files, read_mturk
from casewise.annotation.exchange.sittings import TakenIn, Tasks
from casewise.annotation.study.accounts import hash_platform_id

SAFE = Told("safe", 4.0, None, None)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Tasks:
    return tasks_of(tmp_path_factory.mktemp("study"))


def whole(tasks: Tasks, account: str, block: int) -> Came:
    return Came(account, block, (SAFE,) * len(tasks.blocks[block]))


def turk(
    tasks: Tasks,
    folder: Path,
    crowd: Sequence[Came],
    *,
    rejected: Sequence[int] = (),
    twice: bool = False,
) -> TakenIn:
    rows = turk_rows(tasks, crowd, mturk_files(tasks)["batch.csv"])
    for number in rejected:
        rows[number]["AssignmentStatus"] = "Rejected"
    path = folder / "results.csv"
    path.write_text(turk_csv(rows + rows * twice), "utf-8", newline="")
    return read_mturk([path], tasks, name=str, panel="mturk")


def statuses(taken: TakenIn) -> list[tuple[str, int | None, str]]:
    return [(one.rater, one.block, str(one.status)) for one in taken.collected.people]


def counted(taken: TakenIn) -> set[str]:
    return {vote.rater for vote in taken.collected.votes if vote.counted}


def test_a_second_block_of_a_worker_is_left_out(tasks: Tasks, tmp_path: Path) -> None:
    crowd = [whole(tasks, "A1", 3), whole(tasks, "A2", 0), whole(tasks, "A1", 1)]
    taken = turk(tasks, tmp_path, crowd)
    assert statuses(taken) == [("A1", 3, "completed"), ("A2", 0, "completed")]
    assert len(taken.collected.votes) == 8
    assert taken.notes == (
        "1 is by people who had judged a block before: left out; have others judge those blocks "
        "(assignment 3ASSIGN2)",
        "6 blocks have no votes that count yet (1, 2, 4, 5, 6 and 1 more)",
    )


def test_a_block_counts_once(tasks: Tasks, tmp_path: Path) -> None:
    taken = turk(tasks, tmp_path, [whole(tasks, "A1", 2), whole(tasks, "A2", 2)])
    assert statuses(taken) == [("A1", 2, "completed"), ("A2", 2, "abandoned")]
    assert counted(taken) == {"A1"}
    assert len(taken.collected.votes) == 8
    assert any("another person judged" in note for note in taken.notes)


def test_who_judged_all_of_a_block_comes_before_who_stopped(tasks: Tasks, tmp_path: Path) -> None:
    taken = turk(tasks, tmp_path, [Came("A1", 2, (SAFE,)), whole(tasks, "A2", 2)])
    assert statuses(taken) == [("A1", 2, "abandoned"), ("A2", 2, "completed")]
    assert counted(taken) == {"A2"}


def test_a_rejected_assignment_does_not_count(tasks: Tasks, tmp_path: Path) -> None:
    crowd = [whole(tasks, "A1", 2), whole(tasks, "A2", 2), whole(tasks, "A1", 4)]
    taken = turk(tasks, tmp_path, crowd, rejected=[0])
    assert statuses(taken) == [("A1", 2, "abandoned"), ("A2", 2, "completed")]
    assert counted(taken) == {"A2"}
    assert taken.notes[1].startswith("1 was rejected: the votes stay and don't count (assignment")


def test_a_batch_fetched_twice_counts_once(tasks: Tasks, tmp_path: Path) -> None:
    once = turk(tasks, tmp_path, [whole(tasks, "A1", 2)])
    assert turk(tasks, tmp_path, [whole(tasks, "A1", 2)], twice=True) == once


def test_an_attention_check_is_passed_by_the_answer_that_it_asks_for(
    tasks: Tasks, tmp_path: Path
) -> None:
    taken = turk(tasks, tmp_path, [whole(tasks, "A1", 0), whole(tasks, "A2", 2)])
    shown = {
        page.check.id: page.check.expected
        for number in (0, 2)
        for page in tasks.blocks[number]
        if page.check
    }
    assert {(one.check, one.passed) for one in taken.collected.checks} == {
        (name, expected == "safe") for name, expected in shown.items()
    }


def test_of_two_annotations_by_one_person_the_first_counts(tasks: Tasks, tmp_path: Path) -> None:
    early = whole(tasks, "7", 0)
    late = replace(early, told=tuple(replace(SAFE, verdict="unsafe") for _ in early.told))
    path, other = tmp_path / "a.json", tmp_path / "b.json"
    path.write_text(label_studio_export(tasks, [early]), "utf-8")
    export = label_studio_export(tasks, [whole(tasks, "9", 5), late], first=90_000)
    other.write_text(export, "utf-8")
    for files in ([path, other], [other, path]):
        taken = read_label_studio(files, tasks, name=str, panel="lab")
        assert taken.notes[0].startswith("5 were annotated twice")
        votes = [vote for vote in taken.collected.votes if vote.rater == "7"]
        assert {vote.verdict for vote in votes} == {"safe"}


def test_skipped_annotations_are_no_votes(tasks: Tasks, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    text = label_studio_export(tasks, [whole(tasks, "7", 0)])
    path.write_text(text.replace('"was_cancelled": false', '"was_cancelled": true', 2), "utf-8")
    taken = read_label_studio([path], tasks, name=str, panel="lab")
    assert len(taken.collected.votes) + len(taken.collected.checks) == 3
    assert taken.notes[0] == "2 annotations were skipped or empty: no votes"
    assert statuses(taken) == [("7", 0, "active")]


def test_pseudonyms_need_the_salt() -> None:
    # RFC 4231, test case 2: HMAC-SHA-256 of "what do ya want for nothing?" under "Jefe".
    assert hash_platform_id(b"Jefe", "what do ya want for nothing?") == "5bdcc146bf60754e"
    assert hash_platform_id(b"Jefe", " A1 ") == hash_platform_id(b"Jefe", "A1")
    assert hash_platform_id(b"jefe", "A1") != hash_platform_id(b"Jefe", "A1")
    for salt, name in ((b"", "A1"), (b"Jefe", "  ")):
        with pytest.raises(ValueError, match="empty"):
            hash_platform_id(salt, name)
