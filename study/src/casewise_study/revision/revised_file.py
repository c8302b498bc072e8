"""A file of cases with its journal: read and compare them, and list revisions."""

import os
import stat
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from casewise.cases import Case, Form, keeps_votes, load_cases, to_line
from casewise.errors import InputError, UsageError
from casewise_study.revision.journal import (
    SNAPSHOTS,
    Action,
    Entry,
    JournalReading,
    OutsideChange,
    OutsideError,
    journal_path,
    read_journal,
)
from casewise_study.revision.revised_cases import (
    GapError,
    PairStatus,
    RevisionState,
    changes_between,
    replay,
    state_of,
)


@dataclass(frozen=True, slots=True)
class Opened:
    """A file of cases with what its journal says of it."""

    state: RevisionState
    """State after the journal; the file itself where there is no journal yet."""
    reading: JournalReading
    found: tuple[Case, ...]
    """The cases as they stand in the file."""
    behind: bool
    """The file lacks the journal's last line: the process ended between the two."""
    outside: OutsideChange | None
    """Change of the file by other means."""


def resolve(path: Path | str) -> Path:
    """The file itself, where the path is a link.

    Raises:
        UsageError: Not a file that revisions can be written to.
    """
    path = Path(path)
    if path.suffix.lower() != ".jsonl":
        raise UsageError(
            f"{path}: revisions are kept for JSON Lines; "
            f"casewise cases convert {path} {path.with_suffix('.jsonl').name}"
        )
    if path.name.endswith(".revisions.jsonl"):
        raise UsageError(f"{path}: this is a journal; name the file of cases that it is about")
    return path.resolve()


def read_both(path: Path | str) -> Opened:
    """Read a file of cases and its journal, and compare the two. Nothing is written.

    Raises:
        UsageError: Not a JSON Lines file.
        InputError: The file or the journal can't be used.
    """
    path = resolve(path)
    loaded = load_cases(path)
    if loaded.form is not Form.JSONL:
        raise UsageError(f"{path}: holds {loaded.form}, not JSON Lines; convert it first")
    reading = read_journal(journal_path(path))
    entries = reading.entries
    try:
        state = replay(entries) if entries else state_of(loaded.cases)
    except GapError as error:
        raise InputError(f"the journal is damaged: {error}", file=journal_path(path)) from None
    same = loaded.hash == state.hash
    behind = not same and loaded.hash == entries[-1].file_before
    outside = None if same or behind else _outside(state.cases, loaded.cases)
    return Opened(state, reading, loaded.cases, behind, outside)


def _outside(known: tuple[Case, ...], now: tuple[Case, ...]) -> OutsideChange:
    old, new = ({case.id: case for case in cases} for cases in (known, now))
    both = [(old[id], new[id]) for id in old.keys() & new.keys()]
    return OutsideChange(
        changed=sum(to_line(one) != to_line(other) for one, other in both),
        added=len(new.keys() - old.keys()),
        removed=len(old.keys() - new.keys()),
        kept_votes=sum(keeps_votes(one, other) for one, other in both),
    )


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Modification time, size and inode of a file; None if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - one call, as the file may vanish
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino if stat.S_ISREG(status.st_mode) else 0


@dataclass(frozen=True, slots=True)
class Revision:
    """One line of the journal, without the texts."""

    number: int
    time: str
    """UTC, ISO 8601."""
    author: str
    action: Action
    query_id: str | None
    """The pair's, before the action; none where the whole file is meant."""
    case_ids: tuple[str, ...]
    """The cases that changed, by their ids before."""
    new_ids: tuple[str, ...]
    """And by their ids after."""
    changed: tuple[str, ...]
    """The names of the fields and of the context's parameters that changed, in any of the cases."""
    reason: str


def revision_of(entry: Entry) -> Revision:
    """A line of the journal, without the texts."""
    after = () if entry.action in SNAPSHOTS else entry.after
    changes = [changes_between(old, new) for old, new in zip(entry.before, after, strict=False)]
    return Revision(
        **entry.model_dump(include={"number", "time", "author", "action", "query_id", "reason"}),
        case_ids=tuple(case.id for case in entry.before),
        new_ids=tuple(case.id for case in after),
        changed=tuple(dict.fromkeys(change.name for several in changes for change in several)),
    )


def read_history(path: Path | str) -> tuple[Revision, ...]:
    """Read the revisions of a file of cases, oldest first.

    Raises:
        UsageError: Not the name of a JSON Lines file.
        InputError: There is no journal, or it is damaged.
    """
    journal = journal_path(resolve(path))
    if not journal.exists():
        raise InputError("no revisions yet: there is no journal", file=journal)
    return tuple(map(revision_of, read_journal(journal).entries))


@dataclass(frozen=True, slots=True)
class Accepted:
    """The cases of the accepted pairs, and what became of the others."""

    cases: tuple[Case, ...]
    pairs: int
    rejected: int
    undecided: int


def accepted_cases(path: Path | str) -> Accepted:
    """The cases of the pairs that were accepted, in the order of the file.

    Raises:
        UsageError: Not a JSON Lines file.
        InputError: The file or its journal can't be used, or no pair is accepted.
        OutsideError: The file was changed by other means since its last revision.
    """
    opened = read_both(path)
    if opened.outside is not None:
        raise OutsideError(
            f"{path}: was changed by other means since its last revision ({opened.outside}), so "
            "it is not what was accepted. Revise it with --record-outside first"
        )
    pairs = opened.state.pairs()
    accepted = [pair.cases for pair in pairs if pair.status is PairStatus.ACCEPTED]
    if not accepted:
        raise InputError("no pair is accepted yet", file=path)
    statuses = Counter(pair.status for pair in pairs)
    return Accepted(
        cases=tuple(chain.from_iterable(accepted)),
        pairs=len(accepted),
        rejected=statuses[PairStatus.REJECTED],
        undecided=statuses[PairStatus.UNDECIDED],
    )
