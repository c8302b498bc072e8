"""What a journal tells: its lines in short, and the pairs that were accepted."""

from dataclasses import dataclass
from pathlib import Path

from casewise.annotation.revision._edition import changes_between
from casewise.annotation.revision._entry import SNAPSHOTS, Action, Entry
from casewise.annotation.revision._file import read_both, resolve
from casewise.annotation.revision._journal import journal_path, read_journal
from casewise.annotation.revision._refusals import OutsideError
from casewise.annotation.revision._state import Pair, Status
from casewise.cases import Case
from casewise.errors import InputError


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
        number=entry.number,
        time=entry.time,
        author=entry.author,
        action=entry.action,
        query_id=entry.query_id,
        case_ids=tuple(case.id for case in entry.before),
        new_ids=tuple(case.id for case in after),
        changed=tuple(dict.fromkeys(one.name for several in changes for one in several)),
        reason=entry.reason,
    )


def read_history(path: Path | str) -> tuple[Revision, ...]:
    """What the journal of a file of cases tells, oldest first.

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
    found = [pair for pair in pairs if pair.status is Status.ACCEPTED]
    if not found:
        raise InputError("no pair is accepted yet", file=path)
    return Accepted(
        cases=tuple(case for pair in found for case in pair.cases),
        pairs=len(found),
        rejected=_count(pairs, Status.REJECTED),
        undecided=_count(pairs, Status.UNDECIDED),
    )


def _count(pairs: tuple[Pair, ...], status: Status) -> int:
    return sum(pair.status is status for pair in pairs)
