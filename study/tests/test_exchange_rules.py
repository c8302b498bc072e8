"""No other tool keeps the study's rules: they are kept when its answers are taken in."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.exchanged import Came, Told, answers_csv, tasks_of

from casewise_study.exchange.platform_files import read_csv_answers
from casewise_study.exchange.sittings import TakenIn, Tasks
from casewise_study.study.accounts import hash_platform_id

SAFE = Told("safe", 4.0, None, None)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Tasks:
    return tasks_of(tmp_path_factory.mktemp("study"))


def whole(tasks: Tasks, account: str, block: int) -> Came:
    return Came(account, block, (SAFE,) * len(tasks.blocks[block]))


def taken_in(tasks: Tasks, folder: Path, crowd: Sequence[Came]) -> TakenIn:
    path = folder / "answers.csv"
    path.write_bytes(answers_csv(tasks, crowd))
    return read_csv_answers([path], tasks, name=None, panel="class")


def statuses(taken: TakenIn) -> list[tuple[str, int | None, str]]:
    return [(one.rater, one.block, str(one.status)) for one in taken.collected.people]


def counted(taken: TakenIn) -> set[str]:
    return {vote.rater for vote in taken.collected.votes if vote.counted}


def test_a_second_block_of_a_person_is_left_out(tasks: Tasks, tmp_path: Path) -> None:
    crowd = [whole(tasks, "A1", 3), whole(tasks, "A2", 0), whole(tasks, "A1", 1)]
    taken = taken_in(tasks, tmp_path, crowd)
    assert statuses(taken) == [("A1", 3, "completed"), ("A2", 0, "completed")]
    assert len(taken.collected.votes) == 8
    assert taken.notes == (
        "1 is by people who had judged a block before: left out; have others judge those blocks "
        "(rater A1)",
        "6 blocks have no votes that count yet (1, 2, 4, 5, 6 and 1 more)",
    )


def test_a_block_counts_once(tasks: Tasks, tmp_path: Path) -> None:
    taken = taken_in(tasks, tmp_path, [whole(tasks, "A1", 2), whole(tasks, "A2", 2)])
    assert statuses(taken) == [("A1", 2, "completed"), ("A2", 2, "abandoned")]
    assert counted(taken) == {"A1"}
    assert len(taken.collected.votes) == 8
    assert any("another person judged" in note for note in taken.notes)


def test_who_judged_all_of_a_block_comes_before_who_stopped(tasks: Tasks, tmp_path: Path) -> None:
    taken = taken_in(tasks, tmp_path, [Came("A1", 2, (SAFE,)), whole(tasks, "A2", 2)])
    assert statuses(taken) == [("A1", 2, "abandoned"), ("A2", 2, "completed")]
    assert counted(taken) == {"A2"}


def test_an_attention_check_is_passed_by_the_answer_that_it_asks_for(
    tasks: Tasks, tmp_path: Path
) -> None:
    taken = taken_in(tasks, tmp_path, [whole(tasks, "A1", 0), whole(tasks, "A2", 2)])
    shown = {
        page.check.id: page.check.expected
        for number in (0, 2)
        for page in tasks.blocks[number]
        if page.check
    }
    assert {(one.check, one.passed) for one in taken.collected.checks} == {
        (name, expected == "safe") for name, expected in shown.items()
    }


def test_pseudonyms_need_the_salt() -> None:
    # RFC 4231, test case 2: HMAC-SHA-256 of "what do ya want for nothing?" under "Jefe".
    assert hash_platform_id(b"Jefe", "what do ya want for nothing?") == "5bdcc146bf60754e"
    assert hash_platform_id(b"Jefe", " A1 ") == hash_platform_id(b"Jefe", "A1")
    assert hash_platform_id(b"jefe", "A1") != hash_platform_id(b"Jefe", "A1")
    for salt, name in ((b"", "A1"), (b"Jefe", "  ")):
        with pytest.raises(ValueError, match="empty"):
            hash_platform_id(salt, name)
