"""Folder of logs: what of a plan it holds, and holding it for one start of a run.

Progress is read from headers and summaries, without a model. One process at a time works in a
folder; whoever comes second is told who was first. Beside its logs stand the lock, the answers that
no log holds yet, and the file of faults.
"""

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path

from inspect_ai.model import Model

from casewise.errors import CasewiseError, InputError, ModelError, UsageError
from casewise.evaluation.executor._ending import (
    Ending,
    LostWork,
    Reason,
    reason_of,
    reason_of_failures,
)
from casewise.evaluation.executor._shards import MADE_WITH, Observer, Observers
from casewise.evaluation.models import server_address
from casewise.evaluation.models._answer_journal import ANSWERS, AnswerJournal, answers_kept
from casewise.evaluation.models._fault_table import FaultKind
from casewise.evaluation.models._faults import (
    FaultCounts,
    Faults,
    by_model,
    counted,
    logged_kind,
    redacted,
)
from casewise.evaluation.models._in_process import InProcess
from casewise.evaluation.models._provider_calls import Traffic, traffic_counted
from casewise.evaluation.models._reachability import UNREACHABLE_S, address_at, reached_anew
from casewise.evaluation.plan._costs import Budget, Tokens, cost_of, tokens_of
from casewise.evaluation.plan._plan import Cell
from casewise.files import address_of, hold, is_elsewhere, write_atomically
from casewise.logs import (
    ADDRESSES,
    BROKEN,
    LOCK,
    OURS,
    REDACTED,
    SHARDS,
    START,
    TARGETS,
    Asked,
    Attempts,
    LogFolder,
    LoggedRun,
    LogHeader,
    counting,
    is_readable,
    read_records,
    recorded_line,
    resume_line,
    runs_of,
    without_option,
)
from casewise.protocols import Status


def locked(folder: Path, what: Path | None = None) -> AbstractContextManager[None]:
    """Hold a folder while a block runs, as ``hold`` does, with this command in the note.

    Args:
        folder: Folder of the lock; made if it is absent.
        what: Folder that messages name; None is that of the lock.
    """
    return hold(folder / LOCK, what=what, command=command_line())


def command_line() -> str:
    """Command that started this process, without keys."""
    return redacted(shlex.join(["casewise", *sys.argv[1:]]))


def is_command() -> bool:
    """Tell whether this process is a command of casewise's."""
    return Path(sys.argv[0]).stem in ("casewise", "__main__")


def _resume_command(log_dir: Path, reason: Reason) -> str | None:
    """Command that goes on in a folder; None where this process is not casewise's."""
    arguments = sys.argv[1:]
    if not is_command():
        return None
    if reason is Reason.BUDGET:
        arguments = [*without_option("--max-cost", arguments), "--max-cost", "MORE"]
    return redacted(resume_line(arguments, log_dir))


FAULTS = "faults.json"
"""File of a log folder with the faults and errors of each start."""


ROOM = "room"
"""File that keeps room for the file of faults while a start lasts."""

ROOM_BYTES = 16_384
"""Bytes of it, beside those of the starts before: four blocks of most disks."""

_KILLED = (
    "the start before was killed: its judgements and answers are kept; what was in flight then "
    "was sent again, and may be paid twice"
)


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
    lost: LostWork = field(default_factory=LostWork)
    """Work that a cluster lost."""
    ending: Ending | None = None
    """End of a start that left something to judge; None where all is done."""


@dataclass(slots=True)
class _HeldFolder:
    """Counts and files of a start while it lasts."""

    journal: AnswerJournal | None
    counts: FaultCounts
    traffic: Traffic
    notes: tuple[str, ...]
    _log_dir: Path
    _observe: Observer
    errors: FaultCounts = field(default_factory=Counter)
    complete: bool = False
    ending: Ending | None = None
    lost: LostWork = field(default_factory=LostWork)
    _cells: Sequence[Cell] = ()
    _before: int = 0
    _judged: int = 0
    _journaled: bool = False

    @property
    def summary(self) -> StartSummary:
        """Summary of the start up to now."""
        return StartSummary(
            by_model(self.counts),
            by_model(self.errors),
            0 if self.journal is None else self.journal.served,
            self.notes,
            self.lost,
            self.ending,
        )

    @property
    def is_begun(self) -> bool:
        """Tell whether it is known what is to be judged."""
        return bool(self._cells)

    def begin(self, cells: Sequence[Cell], done: "Done", *, journaled: bool) -> None:
        """Note what is to be judged, what earlier starts judged, and whether answers are kept."""
        self._cells, self._before, self._judged = cells, done.judged, done.judged
        self._journaled = journaled

    def observe(self, status: Status) -> None:
        """Count a judgement, and report it."""
        self._judged += status is not Status.ERROR
        self._observe(status)

    def stop(self, reason: Reason, detail: str = "") -> None:
        """Tell the end of a start that leaves something to judge."""
        kept = self._kept()
        self.ending = Ending(
            reason=reason,
            detail=detail,
            judged=kept,
            planned=sum(cell.judgements for cell in self._cells),
            answers=self.traffic.answers,
            # Without a journal, answers may have come that no log holds.
            in_flight=self.traffic.in_flight + max(0, self._judged - kept),
            paid_twice=self.lost.paid_twice,
            command=_resume_command(self._log_dir, reason),
        )

    def _kept(self) -> int:
        """Number of judgements that are kept: without its journal, only those in logs are."""
        if self._journaled and self.journal and self.journal.file.is_ours():
            return self._judged
        try:
            return read_done(self._cells, self._log_dir).judged
        except (CasewiseError, OSError):
            return self._before

    def end(self, errors: FaultCounts, complete: bool, *, capped: bool = False) -> StartSummary:
        """Sum up a start that was not interrupted; a complete one leaves no answers."""
        self.errors, self.complete = errors, complete
        if not complete:
            self.stop(reason_of_failures(self.counts, capped=capped))
        if complete and self.journal is not None:
            self.journal.forget()
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
        "lost": asdict(summary.lost) if summary.lost.shards else None,
        "ending": held.ending and held.ending.record,
    }
    text = json.dumps({"starts": [*starts, this]}, indent=1)
    write_atomically(path, f"{text}\n".encode())


@contextmanager
def hold_log_folder(
    log_dir: Path,
    observers: Observers,
    unreachable_s: float = UNREACHABLE_S,
) -> Iterator[_HeldFolder]:
    """Hold a log folder for a start of a run, and keep its answers and faults there.

    Args:
        log_dir: The folder.
        observers: Called at faults and outages.
        unreachable_s: Seconds after which a model whose server can't be reached is given up.

    Raises:
        UsageError: Another process runs in the folder.
        OSError: The folder can't be written.
    """
    if is_elsewhere(log_dir):
        with (
            counted(observers.fault) as counts,
            traffic_counted() as traffic,
            reached_anew(unreachable_s, observers.outage),
        ):
            held = _HeldFolder(None, counts, traffic, (), log_dir, observers.judgement)
            with _ending_told(held, observers):
                yield held
        return
    ours = log_dir / OURS
    with locked(ours, log_dir):
        write_atomically(ours / START, json.dumps({"command": command_line()}).encode())
        broken = [
            f"{name} can't be read; it is now {name}{BROKEN}, and what it held is judged again"
            for name in set_broken_aside(log_dir)
        ]
        # Every end that can be told removes the file.
        killed = [_KILLED] if (ours / ROOM).exists() else []
        with (
            answers_kept(ours) as journal,
            counted(observers.fault) as counts,
            traffic_counted() as traffic,
            reached_anew(unreachable_s, observers.outage),
        ):
            held = _HeldFolder(
                journal,
                counts,
                traffic,
                (*killed, *broken),
                log_dir,
                observers.judgement,
            )
            with _room_kept(log_dir) as free:
                try:
                    with _ending_told(held, observers):
                        yield held
                except BaseException:
                    free()
                    with suppress(OSError):
                        _add_start(log_dir, held)
                    raise
                _add_start(log_dir, held)


@contextmanager
def _ending_told(held: _HeldFolder, observers: Observers) -> Iterator[None]:
    """Tell the end of a start that an error stopped after cases were read."""
    try:
        yield
    except (UsageError, InputError):
        # Found before anything was asked.
        raise
    except BaseException as error:
        if held.is_begun:
            held.stop(*reason_of(error, held.counts, observers.signal()))
        # The error of a model is told by itself.
        told = None if isinstance(error, ModelError) else observers.ending
        if held.ending is not None and told is not None:
            told(held.ending)
        raise


@contextmanager
def _room_kept(folder: Path) -> Iterator[Callable[[], None]]:
    """Keep room for one more start in the file of faults, which a full disk would lack.

    Yields:
        Function that frees it.

    Raises:
        OSError: There is no room.
    """
    faults, room = folder / FAULTS, folder / OURS / ROOM
    size = faults.stat().st_size if faults.exists() else 0
    # Zeros would take no room on a disk that compresses.
    room.write_bytes(os.urandom(size + ROOM_BYTES))
    free = partial(room.unlink, missing_ok=True)
    try:
        yield free
    finally:
        free()


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


class Stage(StrEnum):
    """Stage of a model under a condition."""

    DONE = "done"
    PARTLY = "partly"
    FAILED = "failed"
    """Given up after too many errors; the next start tries again what is not judged."""
    NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True)
class CellState:
    """State of one model under one condition."""

    state: Stage
    judged: int
    total: int
    """Judgements asked for: cases, as often as each is asked."""
    errors: int
    """Cases that ended in an error; of a cell that is done, they stay so."""
    tokens: Tokens
    """Tokens by model; a grader's stand under its own name."""
    log: Path | None
    """Latest log that holds the judgements."""
    kinds: Mapping[FaultKind, int] = field(default_factory=dict)
    """Number of the errors that stay, by kind."""
    finished: Set[Asked] = field(default_factory=set)
    """Samples, each with its epoch, that need not be asked again; empty where all is done."""
    run: str | None = None
    """The run that further shards would be parts of; None where nothing is begun."""
    in_shards: bool = False
    """True if shards hold some of it."""


@dataclass(frozen=True, slots=True)
class Done:
    """Progress of a plan in a folder."""

    states: tuple[CellState, ...]
    """States in the order of the cells."""
    others: tuple[str, ...]
    """Models and conditions that the folder holds and the plan does not."""

    def errors(self, cells: Sequence[Cell]) -> FaultCounts:
        """Number of cases whose errors stay, by model and kind."""
        counts: FaultCounts = Counter()
        for cell, state in zip(cells, self.states, strict=True):
            counts.update({(cell.model, kind): number for kind, number in state.kinds.items()})
        return counts

    @property
    def judged(self) -> int:
        """Judgements over all cells."""
        return sum(state.judged for state in self.states)

    def spent(self, cells: Sequence[Cell]) -> float:
        """Dollars that the requests took, at known prices; an unknown price counts as nothing."""
        pairs = zip(cells, self.states, strict=True)
        return sum(cost_of(state.tokens, cell.prices) for cell, state in pairs)


def read_done(cells: Sequence[Cell], log_dir: Path | LogFolder) -> Done:
    """Read the progress of a plan; no log is changed, and none is waited for.

    Args:
        cells: The plan.
        log_dir: The folder; one that was read before is read again only where it has changed.

    Raises:
        UsageError: The texts of its logs were removed, so that nothing can be added to them.
    """
    headers: dict[str, list[LogHeader]] = {}
    folder = LogFolder.at(log_dir)
    for header in folder.headers():
        if header.metadata.get(REDACTED):
            raise UsageError(
                f"{address_of(folder.path)} holds logs without their texts (casewise export "
                "--to redacted-logs): a run can't go on there; give another --log-dir"
            )
        headers.setdefault(header.key.identity, []).append(header)
    keys = [cell.identity for cell in cells]
    states = tuple(
        _state(cell, runs_of(headers.get(key, []))) for cell, key in zip(cells, keys, strict=True)
    )
    others = [_title(logs[0]) for key, logs in headers.items() if key not in set(keys)]
    return Done(states, tuple(dict.fromkeys(others)))


def resume(
    cells: Sequence[Cell], folder: LogFolder, *, same_server: bool = False
) -> tuple[list[Cell], Done]:
    """Check that a plan may go on, or begin, in a folder.

    Args:
        cells: The plan.
        folder: The folder.
        same_server: True if a model at another address than before is the same.

    Returns:
        The cells with the addresses of their servers, and their progress.

    Raises:
        UsageError: The folder holds a run that was stopped, and nothing of the plan; or a model's
            answers from another address; or what ``read_done`` refuses.
    """
    done, headers = read_done(cells, folder), folder.headers()
    planned = {cell.identity: cell for cell in cells}
    held = [(header, header.key.identity) for header in headers]
    where = address_of(folder.path)
    if not any(key in planned for _, key in held):
        for run in runs_of(headers):
            if not run.complete and _holds_answers(folder.path, run.logs):
                command = recorded_line(folder.path) or "start it with its own options"
                raise UsageError(
                    f"{where} holds a run that was stopped ({_title(run.first)}), and nothing of "
                    f"this one. To go on with that: {command}; for this one, give another --log-dir"
                )
    addressed, opened = list[Cell](), dict[str, str]()
    for key, cell in planned.items():
        # Another target of the name is another file, and is asked anew.
        model = None if cell.model.startswith(f"{TARGETS}/") else cell.model
        before = [
            header
            for header, other in held
            if other == key or (header.model == model and other not in planned)
        ]
        known = dict.fromkeys(chain.from_iterable(map(_addresses_of, before)))
        request = cell.request
        asked = cell.model, request.model_base_url, request.model_arg
        now = opened[str(asked)] = opened.get(str(asked)) or server_address(*asked)
        is_known = same_server or now in known or not (now and known)
        if not is_known and _holds_answers(folder.path, before):
            raise UsageError(
                redacted(
                    f"{where}: {cell.model} was asked at {' and '.join(known)}, and is now at "
                    f"{now}: if it is the same, as a server that was started again, give "
                    "--same-server; else another --log-dir"
                )
            )
        addresses = dict.fromkeys((now, *known)) if now else ()
        addressed.append(replace(cell, addresses=tuple(addresses)))
    return addressed, done


def _addresses_of(header: LogHeader) -> Iterable[str]:
    given = address_at(header.log.eval.model_base_url or "", "").url
    return header.metadata.get(ADDRESSES) or filter(None, [given])


def _holds_answers(log_dir: Path, headers: Iterable[LogHeader]) -> bool:
    """Tell whether logs, or the journal beside them, hold any answer."""
    with suppress(InputError):
        records = chain.from_iterable(map(read_records, headers))
        return has_answers(log_dir) or any(record.judged for record in records)
    return False


def logs_of(cells: Sequence[Cell], folder: LogFolder) -> tuple[Path, ...]:
    """Every log of a folder that belongs to the cells, in their order."""
    places = {cell.identity: place for place, cell in enumerate(cells)}
    placed = [(places.get(header.key.identity), header.path) for header in folder.headers()]
    return tuple(path for _, path in sorted(entry for entry in placed if entry[0] is not None))


def make_budget(cells: Sequence[Cell], done: Done, cap: float) -> Budget:
    """Make a budget that counts what earlier starts spent.

    Raises:
        UsageError: The cap is no amount, or a model has no known price.
    """
    if not 0 <= cap < float("inf"):
        raise UsageError(f"--max-cost {cap}: give dollars, 0 or more")
    prices = {model: known for cell in cells for model, known in cell.prices.items()}
    unknown = [name for name, known in prices.items() if None in (known.input, known.output)]
    if unknown:
        raise UsageError(
            f"--max-cost needs the price of every model, and {', '.join(unknown)} has none that is "
            "known: give --price-in and --price-out (dollars a million tokens; a grader's are "
            "--grader-price-in and --grader-price-out), or in a sweep's file price_in and "
            "price_out of the model"
        )
    # A whole batch is under way before the first answer says what it took.
    usual = [
        cell.cost_usd / cell.judgements
        for cell in cells
        if cell.request.batch and cell.cost_usd is not None and cell.judgements
    ]
    return Budget(cap, done.spent(cells), prices, max(usual, default=0.0))


def _title(header: LogHeader) -> str:
    return f"{header.condition.title} over {header.metadata.get('dataset')}"


def _state(cell: Cell, runs: Sequence[LoggedRun]) -> CellState:
    if not runs:
        return CellState(Stage.NOT_BEGUN, 0, cell.judgements, 0, {}, None)
    states = (_state_of(run, cell) for run in runs)
    return max(states, key=lambda state: (state.judged, state.state is Stage.DONE))


def _state_of(run: LoggedRun, cell: Cell) -> CellState:
    held = [read_held(header, cell) for header in run.logs]
    counted = counting([log.attempts for log in held])
    judged = set[Asked]().union(*(attempts.judged for attempts in counted))
    stayed = set[Asked]().union(*(attempts.stayed for attempts in counted))
    latest = run.logs[-1]
    done = len(judged) + len(stayed) >= cell.judgements
    failed = not done and latest.log.status == "error"
    errors = len(stayed) + sum(len(attempts.open) for attempts in counted if failed)
    return CellState(
        Stage.DONE
        if done
        else Stage.FAILED
        if failed
        else Stage.PARTLY
        if judged
        else Stage.NOT_BEGUN,
        len(judged),
        cell.judgements,
        errors,
        _tokens_of(run, held),
        latest.path,
        Counter(
            kind
            for log, counts in zip(held, counted, strict=True)
            for asked, kind in log.errors.items()
            if asked in counts.stayed
        ),
        # Over millions it would take gigabytes, for nothing.
        set() if done else judged | stayed,
        run.first.run,
        any(header.part is not None for header in run.logs),
    )


@dataclass(frozen=True, slots=True)
class Held:
    """Part of a cell that one log holds."""

    attempts: Attempts
    tokens: Tokens
    errors: Mapping[Asked, FaultKind] = field(default_factory=dict)
    """Kinds of the errors that cases ended in."""


def read_held(header: LogHeader, cell: Cell) -> Held:
    """Part of a cell that a log holds; epochs that the cell doesn't ask for are left out."""
    epochs = range(1, cell.request.epochs + 1)
    if header.part is not None and header.all_judged:
        attempts = Attempts.of_header(header) if header.part.epoch in epochs else Attempts()
        return Held(attempts, tokens_of(header.log.stats.model_usage))
    try:
        records = [record for record in read_records(header) if record.epoch in epochs]
    except InputError:  # cut short: a start sets it aside
        records = []
    errors = {
        (record.case, record.epoch): logged_kind(record.error)
        for record in records
        if record.error is not None
    }
    return Held(
        Attempts.of_records(header, records),
        _sum_of(tokens_of(record.usage) for record in records),
        errors,
    )


def _tokens_of(run: LoggedRun, held: Sequence[Held]) -> Tokens:
    """Tokens of all shards, and of the whole log with the most judgements: it holds the others'."""
    logs = list(zip(run.logs, held, strict=True))
    whole = [log for header, log in logs if header.part is None]
    parts = [log.tokens for header, log in logs if header.part is not None]
    most = max(whole, key=lambda log: len(log.attempts.judged), default=None)
    return _sum_of([*parts, *([most.tokens] if most is not None else [])])


def _sum_of(parts: Iterable[Tokens]) -> Tokens:
    total: dict[str, tuple[int, int]] = {}
    for part in parts:
        for model, (asked, answered) in part.items():
            before = total.get(model, (0, 0))
            total[model] = (before[0] + asked, before[1] + answered)
    return total
