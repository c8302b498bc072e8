"""The pages that people are shown on a platform, and their work as records under pseudonyms."""

import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from casewise.cases import Case, Side, digest
from casewise.contexts import render_text
from casewise.errors import InputError, some
from casewise.files import create_file, read_text
from casewise_study.study.accounts import hash_platform_id
from casewise_study.study.reading_times import Page, ReadingTimes, pages_of, reading
from casewise_study.study.schema import Arm, AttentionCheck, Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)

_ROLES = {"system": "System", "user": "User", "assistant": "Chatbot", "tool": "Tool"}


@dataclass(frozen=True, slots=True)
class ShownPage:
    """One page of a block: a case under its arm, or an attention check."""

    block: int
    position: int
    query: str
    context: str
    """As people read it, earlier turns before it."""
    case_id: str | None
    query_id: str | None
    arm: Arm | None
    check: AttentionCheck | None


@dataclass(frozen=True, slots=True)
class Tasks:
    """A study as pages to be shown to people."""

    study: Study
    mark: str
    """Mark that tells this study's files from another's."""
    blocks: tuple[tuple[ShownPage, ...], ...]
    """The pages of each block, in the order of showing."""
    reading: ReadingTimes
    """Reading times of the pages' words."""


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
    cases = study_cases(study)
    shown = [_with_history(case) for case in cases]
    blocks = []
    for number in range(len(study.design.blocks)):
        pages = pages_of(study, number)
        blocks.append(tuple(_shown(study, cases, shown, number, page) for page in pages))
    return Tasks(study, study_mark(study), tuple(blocks), reading(study))


def _shown(
    study: Study, cases: Sequence[Case], shown: Sequence[str], block: int, page: Page
) -> ShownPage:
    if page.check is not None:
        check = next(check for check in study.attention.checks if check.id == page.check)
        context = render_text(check.context)
        return ShownPage(block, page.position, check.query, context, None, None, None, check)
    assert page.place is not None
    case, arm = cases[page.place], study.design.cells[page.place].arm
    return ShownPage(
        block, page.position, case.query, shown[page.place], case.id, case.query_id, arm, None
    )


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
    if not salt.new:
        return
    if not create_file(salt.path, salt.value + b"\n"):
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
    name: str
    """Name in messages: never a person's name on the platform."""
    answers: tuple[TaskAnswer, ...]
    started: datetime | None = None
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class TakenIn:
    """Collected data, and notes for whoever runs the study."""

    collected: Collected
    notes: tuple[str, ...]


def settle(tasks: Tasks, sittings: Iterable[Sitting], *, panel: str) -> TakenIn:
    """Apply the study's rules to what people did on a platform.

    The first block of a person counts, and a later one is left out: its queries may be the same in
    another context. Of several people at a block counts the first who judged all of it, else the
    first; the others are ``abandoned`` and their votes stay, uncounted. First is who started
    first, then whose record stands first.
    """
    ordered = sorted(sittings, key=_began)
    first: dict[str, Sitting] = {}
    later = [
        sitting for sitting in ordered if first.setdefault(sitting.rater, sitting) is not sitting
    ]
    kept = list(first.values())
    holders = _holders(tasks, kept)
    collected = _collect(tasks, kept, holders, panel)
    return TakenIn(collected, tuple(_notes(tasks, kept, later, holders)))


def tell(names: Sequence[str], singular: str, many: str, what: str) -> str:
    """Summarise in one line how many things something applies to, naming the first."""
    return f"{len(names)} {singular if len(names) == 1 else many} {what} ({some(names, _NAMED)})"


def _began(sitting: Sitting) -> datetime:
    times = [answer.time for answer in sitting.answers if answer.time is not None]
    return sitting.started or min(times, default=_LAST)


def _complete(tasks: Tasks, sitting: Sitting) -> bool:
    return len(sitting.answers) == len(tasks.blocks[sitting.block])


def _holders(tasks: Tasks, kept: Sequence[Sitting]) -> dict[int, Sitting]:
    holders: dict[int, Sitting] = {}
    for sitting in kept:
        held = holders.setdefault(sitting.block, sitting)
        if not _complete(tasks, held) and _complete(tasks, sitting):
            holders[sitting.block] = sitting
    return holders


def _person(tasks: Tasks, sitting: Sitting, panel: str, *, counted: bool) -> PersonRecord:
    status = PersonStatus.ABANDONED
    if counted:
        status = PersonStatus.COMPLETED if _complete(tasks, sitting) else PersonStatus.ACTIVE
    return PersonRecord(
        rater=sitting.rater,
        status=status,
        panel=panel,
        block=sitting.block,
        started=sitting.started,
        ended=sitting.ended,
    )


def _collect(
    tasks: Tasks, kept: Sequence[Sitting], holders: dict[int, Sitting], panel: str
) -> Collected:
    people = []
    answered = []
    for rank, sitting in enumerate(kept):
        counted = holders.get(sitting.block) is sitting
        people.append(_person(tasks, sitting, panel, counted=counted))
        for answer in sitting.answers:
            order = (answer.time or _LAST, rank, answer.position)
            page = tasks.blocks[sitting.block][answer.position]
            answered.append((order, _record(sitting.rater, page, answer, counted=counted)))
    records = [record for _, record in sorted(answered, key=lambda pair: pair[0])]
    return Collected(
        tuple(people),
        tuple(record for record in records if isinstance(record, VoteRecord)),
        tuple(record for record in records if isinstance(record, CheckRecord)),
    )


def _record(
    rater: str, page: ShownPage, answer: TaskAnswer, *, counted: bool
) -> VoteRecord | CheckRecord:
    if page.check is not None:
        passed = answer.verdict == page.check.expected
        return CheckRecord(rater, page.check.id, passed, page.position, answer.seconds)
    assert page.case_id is not None
    assert page.query_id is not None
    assert page.arm is not None
    return VoteRecord(
        rater=rater,
        case_id=page.case_id,
        query_id=page.query_id,
        arm=page.arm,
        verdict=answer.verdict,
        position=page.position,
        time=answer.time,
        seconds=answer.seconds,
        confidence=answer.confidence,
        reason=answer.reason,
        counted=counted,
    )


def _notes(
    tasks: Tasks,
    kept: Sequence[Sitting],
    later: Sequence[Sitting],
    holders: dict[int, Sitting],
) -> Iterator[str]:
    if later:
        names = [sitting.name for sitting in later]
        what = "by people who had judged a block before: left out; have others judge those blocks"
        yield tell(names, "is", "are", what)
    over = [sitting for sitting in kept if holders[sitting.block] is not sitting]
    if over:
        names = [f"{sitting.name} at block {sitting.block}" for sitting in over]
        what = "of a block that another person judged: the votes stay and don't count"
        yield tell(names, "is", "are", what)
    short = [sitting for sitting in holders.values() if not _complete(tasks, sitting)]
    if short:
        names = [
            f"{sitting.name}: {len(sitting.answers)} of {len(tasks.blocks[sitting.block])} pages"
            for sitting in short
        ]
        yield tell(names, "is", "are", "not complete")
    free = [str(number) for number in range(len(tasks.blocks)) if number not in holders]
    if free:
        yield tell(free, "block has", "blocks have", "no votes that count yet")
