"""The pages that people are shown on a platform, and their work as records under pseudonyms."""

import secrets
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path

from casewise.cases import Case, Side, digest
from casewise.contexts import render_text
from casewise.errors import InputError, some
from casewise.files import create_file, read_text
from casewise_study.study.accounts import hash_platform_id
from casewise_study.study.reading_times import Page, pages_of
from casewise_study.study.schema import Arm, AttentionCheck, Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise_study.votes.result_files import row_of

_ROLES = {"system": "System", "user": "User", "assistant": "Chatbot", "tool": "Tool"}


@dataclass(frozen=True, slots=True)
class ShownPage:
    """One page of a block: a case under its arm, or an attention check."""

    block: int
    position: int
    query: str
    context: str
    """As people read it, earlier turns before it."""
    case_id: str = ""
    query_id: str = ""
    arm: Arm | None = None
    check: AttentionCheck | None = None


@dataclass(frozen=True, slots=True)
class Tasks:
    """A study as pages to be shown to people."""

    study: Study
    mark: str
    """Mark that tells this study's files from another's."""
    blocks: tuple[tuple[ShownPage, ...], ...]
    """The pages of each block, in the order of showing."""


def study_mark(study: Study) -> str:
    """Mark that tells this study's files from another's: its id, and a hash of its plan.

    Block 7 of a study that was planned anew is another block 7.
    """
    plan = study.model_dump(mode="json", include={"cases_hash", "design", "attention", "seed"})
    return f"{study.id}@{digest(plan)[:8]}"


def plan_tasks(study: Study) -> Tasks:
    """The pages of every block, with the study's cases read.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    shown = [_with_history(case) for case in study_cases(study)]
    blocks = (
        tuple(_shown(study, shown, number, page) for page in pages_of(study, number))
        for number in range(len(study.design.blocks))
    )
    return Tasks(study, study_mark(study), tuple(blocks))


def _shown(study: Study, shown: Sequence[str], block: int, page: Page) -> ShownPage:
    if page.place is None:
        check = study.check(page.check)
        context = render_text(check.context)
        return ShownPage(block, page.position, check.query, context, check=check)
    case, arm = study_cases(study)[page.place], study.design.cells[page.place].arm
    context = shown[page.place]
    return ShownPage(block, page.position, case.query, context, case.id, case.query_id, arm)


def _with_history(case: Case) -> str:
    turns = [f"{_ROLES[turn.role]}: {turn.text}" for turn in case.history]
    earlier = ["Earlier in the conversation:", *turns, ""] if turns else []
    return "\n".join([*earlier, render_text(case.context)])


_LEAST = 16


@dataclass(frozen=True, slots=True)
class Salt:
    """A salt, and whether it is still to be written."""

    path: Path
    value: bytes
    new: bool

    def pseudonym(self, id: str) -> str:
        """The pseudonym of a platform's name for a person."""
        return hash_platform_id(self.value, id)


def read_salt(path: Path, *, create: bool) -> Salt:
    """Read the salt of a file; with ``create`` and no file, make one without writing it.

    Raises:
        InputError: There is none and none may be made, or it is too short.
    """
    if create and not path.exists():
        return Salt(path, secrets.token_hex(32).encode(), new=True)
    value = read_text(path).strip().encode()
    if len(value) < _LEAST:
        raise InputError(
            "not a salt", file=path, found=f"{len(value)} bytes", expected=f"{_LEAST} or more"
        )
    return Salt(path, value, new=False)


def keep_salt(salt: Salt) -> None:
    """Write a new salt, for its owner alone to read; one that is there stays as it is.

    Raises:
        InputError: Another process has made one meanwhile.
    """
    if salt.new and not create_file(salt.path, salt.value + b"\n"):
        raise InputError("made meanwhile by another process; try again", file=salt.path)


def is_open_to_others(path: Path) -> bool:
    """Tell whether anybody but the owner may read the file."""
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


_NAMED = 5
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """A person's answer on one page."""

    position: int
    verdict: Side
    time: datetime | None = None
    seconds: float | None = None
    confidence: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Sitting:
    """Answers of one person at one block. Positions are the block's, each at most once."""

    rater: str
    block: int
    answers: tuple[TaskAnswer, ...]
    complete: bool
    """True if each page of the block has its answer."""
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class TakenIn:
    """Collected data, and notes for whoever runs the study."""

    collected: Collected
    notes: tuple[str, ...]


def tell(*lines: tuple[Sequence[str], str, str, str]) -> tuple[str, ...]:
    """Summarise in a line each how many things something applies to, naming the first.

    Args:
        lines: Names, of which none makes no line; the subject of one, and of many; the rest.
    """
    return tuple(
        f"{len(names)} {one if len(names) == 1 else many} {what} ({some(names, _NAMED)})"
        for names, one, many, what in lines
        if names
    )


def settle(tasks: Tasks, sittings: Iterable[Sitting], *, panel: str) -> TakenIn:
    """Apply the study's rules to what people did on a platform.

    The first block of a person counts, and a later one is left out: its queries may be the same in
    another context. Of several people at a block counts the first who judged all of it, else the
    first; the others are ``abandoned`` and their votes stay, uncounted. First is who started
    first, then whose record stands first.
    """
    ordered = sorted(sittings, key=lambda sitting: sitting.started or _LAST)
    first: dict[str, Sitting] = {}
    later = [
        sitting for sitting in ordered if first.setdefault(sitting.rater, sitting) is not sitting
    ]
    kept = list(first.values())
    holders = _holders(kept)
    collected = _collect(tasks, kept, holders, panel)
    return TakenIn(collected, _notes(tasks, kept, later, holders))


def _holders(kept: Sequence[Sitting]) -> dict[int, Sitting]:
    holders: dict[int, Sitting] = {}
    for sitting in sorted(kept, key=lambda sitting: not sitting.complete):
        holders.setdefault(sitting.block, sitting)
    return holders


def _collect(
    tasks: Tasks, kept: Sequence[Sitting], holders: dict[int, Sitting], panel: str
) -> Collected:
    people, answered = [], []
    for rank, sitting in enumerate(kept):
        rater, block = sitting.rater, sitting.block
        counted = holders[block] is sitting
        status = PersonStatus.COMPLETED if sitting.complete else PersonStatus.ACTIVE
        status = status if counted else PersonStatus.ABANDONED
        people.append(PersonRecord(rater, status, panel, block, sitting.started, sitting.ended))
        for answer in sitting.answers:
            order = (answer.time or _LAST, rank, answer.position)
            page = tasks.blocks[block][answer.position]
            answered.append((order, rater, page, answer, counted))
    votes, checks = [], []
    for _, rater, page, answer, counted in sorted(answered, key=itemgetter(0)):
        if page.check is not None:
            passed = answer.verdict == page.check.expected
            check = CheckRecord(rater, page.check.id, passed, page.position, answer.seconds)
            checks.append(check)
        else:
            assert page.arm is not None
            given = row_of(answer) | {"counted": counted}
            votes.append(VoteRecord(rater, page.case_id, page.query_id, page.arm, **given))
    return Collected(tuple(people), tuple(votes), tuple(checks))


def _notes(
    tasks: Tasks,
    kept: Sequence[Sitting],
    later: Sequence[Sitting],
    holders: dict[int, Sitting],
) -> tuple[str, ...]:
    second = [one for one in kept if holders[one.block] is not one]
    partly = [one for one in kept if holders[one.block] is one and not one.complete]
    pages = [
        f"rater {one.rater}: {len(one.answers)} of {len(tasks.blocks[one.block])} pages"
        for one in partly
    ]
    judged = "by people who had judged a block before: left out; have others judge those blocks"
    apart = "of a block that another person judged: the votes stay and don't count"
    free = [str(number) for number in range(len(tasks.blocks)) if number not in holders]
    return tell(
        ([f"rater {one.rater}" for one in later], "is", "are", judged),
        ([f"rater {one.rater} at block {one.block}" for one in second], "is", "are", apart),
        (pages, "is", "are", "not complete"),
        (free, "block has", "blocks have", "no votes that count yet"),
    )
