"""The desk: revises a file of cases, one revision at a time."""

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from casewise.cases import Case, is_voted, to_line
from casewise.errors import UsageError
from casewise.files import HeldError, hold, write_atomically
from casewise_study.revision.journal import (
    Action,
    ChangedError,
    Entry,
    JournalFile,
    OutsideError,
    StaleError,
    UnfitError,
    UnknownPairError,
    UnwrittenError,
    journal_path,
    seal,
)
from casewise_study.revision.revised_cases import (
    DECISIONS,
    Fields,
    Pair,
    PairStatus,
    advance,
    apply,
    next_edition,
    revise_cases,
)
from casewise_study.revision.revised_file import Opened, read_both, resolve, stamp

RECORD_OUTSIDE = "--record-outside"

_COMMAND = "casewise contexts revise"


class Desk:
    """A file of cases that is being revised, by this process alone.

    Its methods may be called from several threads. Each revision goes to the journal first and
    then into the file, and the call returns when the disk has both. What fails leaves the
    journal and the file as they were.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        author: str,
        record_outside: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open the file, and repair what a crash left between it and its journal.

        Args:
            path: A JSON Lines file of cases.
            author: Who takes over outside edits.
            record_outside: Take over what other means did to the file since its last revision.
            now: The clock.

        Raises:
            UsageError: Another process revises the file, or it is no JSON Lines file.
            InputError: The file or its journal can't be used.
            OutsideError: The file was changed by other means, and ``record_outside`` is not given.
        """
        self.notes: list[str] = []
        """Notes on the opening."""
        self._now = now
        self._mutex = threading.RLock()
        self.path = resolve(path)
        self._held = ExitStack()
        lock = hold(self.path.with_name(f".{self.path.name}.lock"), command=_COMMAND)
        try:
            if not self._held.enter_context(lock):
                self.notes.append(f"{path} can't be locked: keep others from revising it")
        except HeldError as error:
            raise UsageError(
                f"{path}: already being revised ({error.holder}); open its page, or stop it first"
            ) from None
        self._journal = JournalFile(journal_path(self.path), like=self.path)
        try:
            self._open(read_both(self.path), author, record_outside)
        except BaseException:
            self.close()
            raise

    def _open(self, opened: Opened, author: str, record_outside: bool) -> None:
        reading = opened.reading
        self._journal.repair(reading)
        if reading.torn:
            self.notes.append(
                f"the journal's last line was cut short ({len(reading.torn)} bytes) and was never "
                f"confirmed to anybody; it was put into {self._journal.path.name}.torn"
            )
        self._state, self._entries = opened.state, list(reading.entries)
        self._digest = reading.last_digest
        self._stamp, self._unwritten = stamp(self.path), False
        if opened.behind:
            last = self._entries[-1]
            self._write()
            self.notes.append(
                f"revision {last.number} ({last.action} by {last.author}, {last.time}) stood in "
                "the journal but not yet in the file: it was put there"
            )
        if opened.outside is not None:
            if not record_outside:
                raise OutsideError(
                    f"{self.path}: was changed by other means since its last revision "
                    f"({opened.outside}). Nothing was written. Put the file back, or give "
                    f"{RECORD_OUTSIDE} to note the change in the journal and go on from it"
                )
            self._record_outside(opened, author)
            self.notes.append(f"an outside edit was noted in the journal: {opened.outside}")

    def _record_outside(self, opened: Opened, author: str) -> None:
        kept = {to_line(case) for case in opened.found}
        entry = self._entry(
            Action.OUTSIDE,
            author,
            reason=str(opened.outside),
            before=tuple(case for case in self._state.cases if to_line(case) not in kept),
            after=opened.found,
        )
        self._append([entry])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the file."""
        with self._mutex:
            self._journal.close()
            self._held.close()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The journal's lines."""
        return tuple(self._entries)

    def pairs(self) -> tuple[Pair, ...]:
        """Every pair, in the order of the file."""
        return self._state.pairs()

    def query_ids(self) -> tuple[str, ...]:
        """Every query id by which a pair is found: today's, then those of before."""
        state = self._state
        return tuple(dict.fromkeys([*(case.query_id for case in state.cases), *state.renamed]))

    def pair(self, query_id: str) -> Pair:
        """One pair, by its query id or by one that it had before its query was changed.

        Raises:
            UnknownPairError: There is none.
        """
        pairs = {pair.query_id: pair for pair in self.pairs()}
        renamed = dict(self._state.renamed)
        while query_id not in pairs:
            if query_id not in renamed:
                raise UnknownPairError("no such pair")
            query_id = renamed.pop(query_id)
        return pairs[query_id]

    def save(
        self, query_id: str, version: str, edits: Mapping[str, Fields], *, author: str, reason: str
    ) -> Pair:
        """Edit cases of a pair; a decision about it becomes void.

        Args:
            query_id: The pair.
            version: The ``Pair.version`` that the edit was made from.
            edits: By case id, the fields that change and their plain JSON values.
            author: Who.
            reason: Why; not blank.

        Raises:
            StaleError: The pair was revised since.
            VotedError: A case that would change carries votes.
            UnfitError: The edit makes no valid cases, or changes nothing.
            OutsideError: Somebody else changed the file or the journal.
            UnwrittenError: The disk refused.
        """
        with self._mutex:
            pair = self._current(query_id, version)
            _need(reason, "say why: an edit needs a reason")
            mine = {case.id for case in pair.cases}
            taken = {case.id for case in self._state.cases} - mine | self._state.retired
            after = revise_cases(pair.cases, edits, taken)
            changed = [
                (old, new) for old, new in zip(pair.cases, after, strict=True) if old is not new
            ]
            if not changed:
                raise UnfitError("nothing was changed")
            new_id = after[0].query_id
            if new_id != pair.query_id and any(other.query_id == new_id for other in self.pairs()):
                raise UnfitError("another pair of the file asks this query already")
            before, now = (tuple(cases) for cases in zip(*changed, strict=True))
            return self._commit(Action.EDIT, pair, author, reason, before, now)

    def open_version(
        self, query_id: str, version: str, case_ids: Collection[str], *, author: str, reason: str
    ) -> Pair:
        """Give cases with votes a next version, without votes, that may be edited.

        The edition before stays in the journal, with its votes. Raises as ``save`` does.
        """
        with self._mutex:
            pair = self._current(query_id, version)
            _need(reason, "say why: a new version needs a reason")
            before = tuple(case for case in pair.cases if case.id in case_ids)
            if not before or len(before) != len(set(case_ids)):
                raise UnfitError("the pair has no such case: was it replaced meanwhile?")
            if not all(map(is_voted, before)):
                raise UnfitError("a case without votes can be edited as it is")
            taken = {case.id for case in self._state.cases} | self._state.retired
            after: tuple[Case, ...] = ()
            for case in before:
                after += (next_edition(case, taken),)
                taken.add(after[-1].id)
            return self._commit(Action.NEW_VERSION, pair, author, reason, before, after)

    def decide(
        self, query_id: str, version: str, action: Action, *, author: str, reason: str = ""
    ) -> Pair:
        """Accept or reject a pair, or open the question again. Raises as ``save`` does."""
        with self._mutex:
            pair = self._current(query_id, version)
            if action not in DECISIONS:
                raise UnfitError(f"{action} decides nothing")
            if action is Action.REJECT:
                _need(reason, "say why: a rejection needs a reason")
            if DECISIONS[action] is pair.status:
                raise UnfitError(f"the pair is {pair.status} already")
            return self._commit(action, pair, author, reason)

    def _current(self, query_id: str, version: str) -> Pair:
        pair = self.pair(query_id)
        if pair.version != version:
            raise StaleError("the pair was revised since you opened it; nothing was saved")
        return pair

    def _commit(
        self,
        action: Action,
        pair: Pair,
        author: str,
        reason: str,
        before: tuple[Case, ...] = (),
        after: tuple[Case, ...] = (),
    ) -> Pair:
        _need(author, "say who you are: a revision needs an author")
        self._check_outside()
        state, ahead = self._state, list[Entry]()
        if not self._entries:
            ahead = [self._entry(Action.BEGIN, author, after=state.cases)]
        entry = self._entry(
            action,
            author,
            *ahead,
            query_id=pair.query_id,
            reason=reason.strip(),
            before=before,
            after=after,
        )
        self._append([*ahead, entry])
        if before:
            self._write()
        return self.pair(after[0].query_id if after else pair.query_id)

    def _entry(self, action: Action, author: str, *ahead: Entry, **fields: Any) -> Entry:
        """Make the next entry, after those that are not written yet."""
        entry = Entry(
            number=len(self._entries) + len(ahead) + 1,
            time=self._now().astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            author=author.strip(),
            action=action,
            file_before=self._state.hash,
            file_after="",
            previous=seal(ahead[-1])[1] if ahead else self._digest,
            **fields,
        )
        return entry.model_copy(update={"file_after": advance(self._state, entry).hash})

    def _append(self, entries: list[Entry]) -> None:
        state = self._state
        for entry in entries:
            state = apply(state, entry)
        try:
            self._digest = self._journal.append(entries)
        except ChangedError:
            raise OutsideError(
                f"{self._journal.path.name} was changed by other means while it was open; nothing "
                "was saved. Stop, and start again"
            ) from None
        except OSError as error:
            raise UnwrittenError(
                f"the journal can't be written ({error.strerror}); nothing was saved"
            ) from None
        self._state = state
        self._entries += entries

    def _check_outside(self) -> None:
        if stamp(self.path) != self._stamp:
            raise OutsideError(
                f"{self.path.name} was changed by other means while it was open; nothing was "
                f"saved. Stop, and start again with {RECORD_OUTSIDE}"
            )
        if self._unwritten:
            self._write()

    def _write(self) -> None:
        try:
            write_atomically(self.path, self._state.file_bytes, sync=True)
        except OSError as error:
            self._unwritten = True
            raise UnwrittenError(
                f"the revision is safe in the journal, but {self.path.name} can't be written "
                f"({error.strerror}); mend that, and the next save or start puts it there"
            ) from None
        self._unwritten = False
        self._stamp = stamp(self.path)


def _need(text: str, message: str) -> None:
    if not text.strip():
        raise UnfitError(message)


def progress(pairs: Collection[Pair]) -> tuple[int, int]:
    """Number of pairs that are decided, and of all pairs."""
    return sum(pair.status is not PairStatus.UNDECIDED for pair in pairs), len(pairs)
