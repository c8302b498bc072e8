"""Folder of logs: its lock, what it holds of a plan, and who may go on in it.

One process at a time works in a folder; whoever comes second is told who was first.
"""

import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from casewise.errors import InputError, UsageError
from casewise.files import address_of, hold, is_elsewhere, journal_lines
from casewise.logs import (
    ADDRESS,
    LOCK,
    OURS,
    REDACTED,
    RUNNING,
    LoggedRun,
    LogHeader,
    Outcome,
    SampleKey,
    check_whole,
    counted_attempts,
    end_killed,
    list_logs,
    outcomes_of,
    read_headers,
    read_records,
    recorded_line,
    runs_of,
)
from casewise.models.embedded import InProcess
from casewise.models.faults import FaultCounts, FaultKind, logged_kind
from casewise.models.keys import redacted
from casewise.models.open import server_address
from casewise.models.patience import PatientModel
from casewise.runs.cost import Budget, Tokens, cost_of, tokens_of
from casewise.runs.plan import Cell


@dataclass(frozen=True, slots=True)
class CellState:
    """State of one model under one condition."""

    total: int
    """Judgements asked for: cases, as often as each is asked."""
    judged: int = 0
    done: bool = False
    """True if nothing need be asked any more."""
    tokens: Tokens = field(default_factory=dict)
    """Tokens by model; a grader's stand under its own name."""
    kinds: Mapping[FaultKind, int] = field(default_factory=dict)
    """Number of cases that ended in an error, by kind."""
    finished: Set[SampleKey] = field(default_factory=set)
    """Samples, each with its epoch, that need not be asked again; empty where all is done."""
    run: str | None = None
    """Id of the run that further logs would be parts of; None where nothing is begun."""
    in_shards: bool = False
    """True if logs that are parts hold some of it."""

    @property
    def errors(self) -> int:
        """Number of cases that ended in an error."""
        return sum(self.kinds.values())


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a plan in a folder."""

    states: tuple[CellState, ...]
    """States in the order of the cells."""

    def errors(self, cells: Sequence[Cell]) -> FaultCounts:
        """Number of cases that ended in an error, by model and kind."""
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


def read_progress(cells: Sequence[Cell], folder: Path) -> Progress:
    """Read the progress of a plan; no log is changed, and none is waited for.

    Args:
        cells: The plan.
        folder: The folder.

    Raises:
        UsageError: The texts of its logs were removed, so that nothing can be added to them.
    """
    headers: dict[str, list[LogHeader]] = {}
    for header in read_headers(folder):
        if header.metadata.get(REDACTED):
            raise UsageError(
                f"{address_of(folder)} holds logs without their texts (casewise export "
                "--to redacted-logs): a run can't go on there; give another --log-dir"
            )
        headers.setdefault(header.identity, []).append(header)
    return Progress(tuple(_state(cell, runs_of(headers.get(cell.identity, []))) for cell in cells))


def make_budget(cells: Sequence[Cell], progress: Progress, cap: float) -> Budget:
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
    usual = (
        sum(part.cost_usd or 0.0 for part in (cell.estimate, cell.grading) if part)
        / cell.judgements
        for cell in cells
    )
    return Budget(cap, progress.spent(cells), prices, max(usual))


def _state(cell: Cell, runs: Sequence[LoggedRun]) -> CellState:
    states = [_state_of(run, cell) for run in runs]
    default = CellState(cell.judgements)
    return max(states, key=lambda state: (state.judged, state.done), default=default)


def _state_of(run: LoggedRun, cell: Cell) -> CellState:
    ids = set(cell.condition.sample_ids)
    finished, kinds, judged = set[SampleKey](), Counter[FaultKind](), 0
    logs = [list(read_records(header)) for header in run.logs]
    attempts = counted_attempts([outcomes_of(*log) for log in zip(run.logs, logs, strict=True)])
    for records, outcomes in zip(logs, attempts, strict=True):
        for record in records:
            sample_key = record.case, record.epoch
            outcome = outcomes.get(sample_key)
            # Another start may have had more cases, and more epochs.
            if outcome is None or record.case not in ids or record.epoch > cell.request.epochs:
                continue
            judged += outcome is Outcome.JUDGED
            if outcome is not Outcome.OPEN:
                finished.add(sample_key)
            if record.error is not None:
                kinds[logged_kind(record.error)] += 1
    done = len(finished) >= cell.judgements
    return CellState(
        total=cell.judgements,
        judged=judged,
        done=done,
        tokens=_sum_of(tokens_of(record.usage) for records in logs for record in records),
        kinds=kinds,
        # Over millions it would take gigabytes, for nothing.
        finished=set() if done else finished,
        run=run.first.run,
        in_shards=any(header.part is not None for header in run.logs),
    )


def _sum_of(parts: Iterable[Tokens]) -> Tokens:
    total = defaultdict[str, tuple[int, int]](lambda: (0, 0))
    for part in parts:
        for model, (input_tokens, output_tokens) in part.items():
            total[model] = total[model][0] + input_tokens, total[model][1] + output_tokens
    return total


MADE_WITH = "made_with"
"""Key in a log's metadata of the settings that a model's numbers depend on: see
``InProcess.made_with``."""


def command_line() -> str:
    """Command that started this process, without keys."""
    return redacted(shlex.join(["casewise", *sys.argv[1:]]))


def is_command() -> bool:
    """Tell whether this process is a command of casewise's."""
    return Path(sys.argv[0]).stem in ("casewise", "__main__")


@contextmanager
def hold_folder(log_dir: Path) -> Iterator[None]:
    """Hold a log folder for a start of a run, and end the logs of a killed one.

    Raises:
        UsageError: Another process runs in the folder.
        InputError: A log can't be read.
        OSError: The folder can't be written.
    """
    if is_elsewhere(log_dir):
        yield
        return
    with hold(log_dir / OURS / LOCK, what=log_dir, command=command_line()):
        for path in list_logs(log_dir):
            if path.suffix == RUNNING and next(journal_lines(path), None) is None:
                # Its process was killed before it wrote a line.
                path.unlink()
            elif path.suffix == RUNNING:
                end_killed(path)
            else:
                check_whole(path)
        yield


def resume(
    cells: Sequence[Cell], folder: Path, *, same_server: bool = False
) -> tuple[list[Cell], Progress]:
    """Check that a plan may go on, or begin, in a folder.

    Args:
        cells: The plan.
        folder: The folder.
        same_server: True if a model at another address than before is the same.

    Returns:
        The cells with the addresses of their servers, and their progress.

    Raises:
        UsageError: The folder holds a run that was stopped, and nothing of the plan; or a model's
            answers from another address; or what ``read_progress`` refuses.
    """
    progress, headers = read_progress(cells, folder), read_headers(folder)
    where, planned = address_of(folder), {cell.identity for cell in cells}
    if not any(header.identity in planned for header in headers):
        for run in runs_of(headers):
            if not run.complete and _holds_answers(run.logs):
                command = recorded_line(run.logs, folder) or "start it with its own options"
                raise UsageError(
                    f"{where} holds a run that was stopped ({run.condition.title} over "
                    f"{run.first.metadata.get('dataset')}), and nothing of this one. To go on with "
                    f"that: {command}; for this one, give another --log-dir"
                )
    addressed, opened = list[Cell](), dict[str, str]()
    for cell in cells:
        endpoint = cell.model, cell.request.model_base_url, cell.request.model_arg
        if str(endpoint) not in opened:
            opened[str(endpoint)] = server_address(*endpoint)
        now = opened[str(endpoint)]
        before = [
            header
            for header in headers
            if header.identity == cell.identity
            # Another target of the name is another file, and is asked anew.
            or (
                (header.model == cell.model and not cell.is_target)
                and header.identity not in planned
            )
        ]
        hosts = {header.metadata[ADDRESS] for header in before if ADDRESS in header.metadata}
        if now and hosts and now not in hosts and not same_server and _holds_answers(before):
            raise UsageError(
                redacted(
                    f"{where}: {cell.model} was asked at {' and '.join(sorted(hosts))}, and is now "
                    f"at {now}: if it is the same, as a server that was started again, give "
                    "--same-server; else another --log-dir"
                )
            )
        addressed.append(replace(cell, address=now))
    return addressed, progress


def changed_targets(cells: Sequence[Cell], folder: Path) -> list[str]:
    """Models of targets in a plan of which a folder holds runs by another version of their file."""
    now = {cell.model: cell.request.model_arg.get("version") for cell in cells if cell.is_target}
    before = {
        (header.model, header.eval.model_args.get("version")) for header in read_headers(folder)
    }
    return sorted({model for model, version in before if version != (now.get(model) or version)})


def _holds_answers(headers: Iterable[LogHeader]) -> bool:
    with suppress(InputError):
        return any(record.judged for header in headers for record in read_records(header))
    return False


def logs_of(cells: Sequence[Cell], folder: Path) -> tuple[Path, ...]:
    """Every log of a folder that belongs to the cells, in their order."""
    places = {cell.identity: place for place, cell in enumerate(cells)}
    placed = [(places.get(header.identity), header.path) for header in read_headers(folder)]
    return tuple(path for _, path in sorted(entry for entry in placed if entry[0] is not None))


def check_same_numbers(models: Iterable[PatientModel], folder: Path) -> None:
    """Refuse to complete what a model judged in floating-point numbers of another width.

    Unless a model argument sets it, the width follows the machine; a folder that is taken to
    another machine would be completed in other numbers without notice.

    Raises:
        UsageError: A log of the folder is of the same model in another width, set by no argument.
    """
    own = {
        model.title: model.api.made_with
        for model in models
        if isinstance(model.api, InProcess) and "dtype" not in model.model_args
    }
    for header in read_headers(folder) if own else ():
        then, now = header.metadata.get(MADE_WITH) or {}, own.get(header.model) or {}
        is_other = then and now and then["dtype"] != now["dtype"]
        if is_other and "dtype" not in header.eval.model_args:
            raise UsageError(
                f"{address_of(folder)}: {header.model} judged here in {then['dtype']} on "
                f"{then.get('device')}; on this machine it would go on in {now['dtype']}. Go on "
                "where it ran, or begin anew in another --log-dir"
            )
