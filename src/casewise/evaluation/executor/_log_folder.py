"""Hold a log folder for one start of a run: its lock, its broken logs, and its file of faults.

One process at a time works in a folder; whoever comes second is told who was first.
"""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from inspect_ai.model import Model

from casewise.errors import UsageError
from casewise.evaluation.executor._shard_run import Observers
from casewise.evaluation.executor._shards import MADE_WITH
from casewise.evaluation.models._answer_journal import ANSWERS, AnswerJournal, answers_kept
from casewise.evaluation.models._batches import LEDGER, BatchLedger, batches_kept
from casewise.evaluation.models._faults import FaultCounts, Faults, by_model, counted, redacted
from casewise.evaluation.models._in_process import InProcess
from casewise.evaluation.models._reachability import UNREACHABLE_S, reached_anew
from casewise.files import address_of, hold, is_elsewhere, write_atomically
from casewise.logs import BROKEN, LOCK, OURS, SHARDS, START, LogFolder, is_readable


def locked(folder: Path, what: Path | None = None) -> AbstractContextManager[bool]:
    """Hold a folder while a block runs, as ``hold`` does, with this command in the note.

    Args:
        folder: Folder of the lock; made if it is absent.
        what: Folder that messages name; None is that of the lock.
    """
    return hold(folder / LOCK, what=what, command=command_line())


def command_line() -> str:
    """Command that started this process, without keys."""
    return redacted(shlex.join(["casewise", *sys.argv[1:]]))


FAULTS = "faults.json"
"""File of a log folder with the faults and errors of each start."""


def out_before(log_dir: Path) -> tuple[str, ...]:
    """Messages on the batches that earlier starts left, a line each."""
    ledger = log_dir / OURS / LEDGER
    if is_elsewhere(log_dir) or not ledger.exists():
        return ()
    return BatchLedger(ledger, None).words


def has_answers(log_dir: Path) -> bool:
    """Tell whether an interrupted start left answers in a folder's journal."""
    if is_elsewhere(log_dir):
        return False
    journal = log_dir / OURS / ANSWERS
    return journal.exists() and journal.stat().st_size > 0


def set_broken_aside(log_dir: Path) -> tuple[str, ...]:
    """Rename logs that are cut short or altered, so that what they held is judged again.

    Returns:
        Their names before.
    """
    logs = [*log_dir.glob("*.eval"), *(log_dir / SHARDS).rglob("*.eval")]
    broken = [path for path in sorted(logs) if not is_readable(path)]
    for path in broken:
        path.replace(path.with_name(path.name + BROKEN))
    return tuple(path.name for path in broken)


@dataclass(frozen=True, slots=True)
class StartSummary:
    """Faults and errors of a start, and the earlier answers that it took up."""

    faults: Faults = field(default_factory=dict)
    """Faults of requests, by model and kind; most are followed by an answer."""
    errors: Faults = field(default_factory=dict)
    """Cases that ended in an error, by model and kind."""
    answers_before: int = 0
    """Answers of earlier starts that no log held, taken from the journal."""
    notes: tuple[str, ...] = ()
    """Notes for a person."""
    collected: int = 0
    """Answers from batches that an earlier start had sent."""


@dataclass(slots=True)
class _HeldFolder:
    """Counts and files of a start while it lasts."""

    journal: AnswerJournal | None
    ledger: BatchLedger | None
    """Batches that are out; None where none are, nor will be."""
    counts: FaultCounts
    notes: tuple[str, ...]
    errors: FaultCounts = field(default_factory=Counter)
    complete: bool = False

    @property
    def summary(self) -> StartSummary:
        """Summary of the start up to now."""
        return StartSummary(
            by_model(self.counts),
            by_model(self.errors),
            0 if self.journal is None else self.journal.served,
            self.notes,
            0 if self.ledger is None else self.ledger.collected,
        )

    def end(self, errors: FaultCounts, complete: bool) -> StartSummary:
        """Sum up a start that was not interrupted; a complete one leaves no answers or batches."""
        self.errors, self.complete = errors, complete
        if complete and self.journal is not None:
            self.journal.forget()
            if self.ledger is not None:
                self.ledger.forget()
        return self.summary


def _add_start(folder: Path, held: _HeldFolder) -> None:
    """Add a start to the file of faults."""
    path, summary = folder / FAULTS, held.summary
    try:
        starts = json.loads(path.read_text("utf-8"))["starts"]
    except (OSError, ValueError, KeyError, TypeError):
        starts = []
    this = {
        "ended": datetime.now().astimezone().isoformat(timespec="seconds"),
        "complete": held.complete,
        "faults": summary.faults,
        "errors": summary.errors,
        "answers_before": summary.answers_before,
    }
    text = json.dumps({"starts": [*starts, this]}, indent=1)
    write_atomically(path, f"{text}\n".encode())


@contextmanager
def hold_log_folder(
    log_dir: Path,
    observers: Observers,
    unreachable_s: float = UNREACHABLE_S,
    *,
    batched: bool = False,
) -> Iterator[_HeldFolder]:
    """Hold a log folder for a start of a run, and keep its answers, batches and faults there.

    Args:
        log_dir: The folder.
        observers: Called at faults, at outages, and with the progress of batches.
        unreachable_s: Seconds after which a model whose server can't be reached is given up.
        batched: Whether requests go in batches; those that earlier starts left are followed anyway.

    Raises:
        UsageError: Another process runs in the folder.
        OSError: The folder can't be written.
    """
    if is_elsewhere(log_dir):
        notes = (f"{address_of(log_dir)} has no locks: keep other runs out of it",)
        with (
            batches_kept(None, None, observers.batches) if batched else nullcontext() as ledger,
            counted(observers.fault) as counts,
            reached_anew(unreachable_s, observers.outage),
        ):
            yield _HeldFolder(None, ledger, counts, notes)
        return
    ours = log_dir / OURS
    with locked(ours, log_dir) as is_locked:
        write_atomically(ours / START, json.dumps({"command": command_line()}).encode())
        broken = [
            f"{name} can't be read; it is now {name}{BROKEN}, and what it held is judged again"
            for name in set_broken_aside(log_dir)
        ]
        unlocked = [] if is_locked else [f"{log_dir} can't be locked: keep other runs out of it"]
        with (
            answers_kept(ours) as journal,
            (
                batches_kept(ours, journal, observers.batches)
                if batched or (ours / LEDGER).exists()
                else nullcontext()
            ) as ledger,
            counted(observers.fault) as counts,
            reached_anew(unreachable_s, observers.outage),
        ):
            held = _HeldFolder(journal, ledger, counts, (*broken, *unlocked))
            try:
                yield held
            except BaseException:
                with suppress(OSError):
                    _add_start(log_dir, held)
                raise
            _add_start(log_dir, held)


def check_same_numbers(models: Iterable[Model], log_dir: Path | LogFolder) -> None:
    """Refuse to complete what a model judged in floating-point numbers of another width.

    Unless a model argument sets it, the width follows the machine; a folder that is taken to
    another machine would be completed in other numbers without notice.

    Raises:
        UsageError: A log of the folder is of the same model in another width, set by no argument.
    """
    own = {
        str(model): dict(model.api.made_with)["dtype"]
        for model in models
        if isinstance(model.api, InProcess)
        and "dtype" not in model.model_args
        and model.api.made_with
    }
    folder = LogFolder.at(log_dir)
    for header in folder.headers() if own else ():
        made_with = header.metadata.get(MADE_WITH) or {}
        dtype, now = made_with.get("dtype"), own.get(header.model)
        if dtype and now and dtype != now and "dtype" not in header.log.eval.model_args:
            raise UsageError(
                f"{address_of(folder.path)}: {header.model} judged here in {dtype} on "
                f"{made_with.get('device')}; on this machine it would go on in {now}. Go on "
                "where it ran, or begin anew in another --log-dir"
            )
