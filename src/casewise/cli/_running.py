"""Running of models: the estimates before it, its progress, and the report at its end."""

from __future__ import annotations

import errno
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
)

from casewise.cli._console import command_line, err, note, note_all, out
from casewise.cli._main import protocols
from casewise.errors import CasewiseError, InputError, ModelError
from casewise.files import address_of, is_elsewhere, quoted
from casewise.options import StartOptions
from casewise.sheets import money, plural, terminal

if TYPE_CHECKING:
    from casewise.runs import (
        Budget,
        Cell,
        CostEstimate,
        RunResult,
    )


def note_lacking(lacking: Sequence[str]) -> None:
    """Print what a run would fail for and a dry run does without, such as a key."""
    note_all(f"a run would end here: {line}" for line in lacking)


def print_estimates(estimates: Sequence[CostEstimate]) -> None:
    """Print requests, tokens and cost of each model under each condition, and their sums."""
    from casewise.api import estimates_table
    from casewise.runs import total

    requests, *_, dollars = total(estimates)
    unpriced = (estimate for estimate in estimates if estimate.cost_usd is None)
    prefixes = dict.fromkeys("" if estimate.grades is None else "grader-" for estimate in unpriced)
    needed = " and ".join(f"--{prefix}price-in and --{prefix}price-out" for prefix in prefixes)
    cost = f"Give {needed} (dollars a million tokens) for the cost."
    if dollars is not None:
        cost = f"About {money(dollars, '$')}."
    out().print(
        terminal(
            estimates_table(estimates),
            f"{plural(requests, 'request')}; nothing was sent. {cost}",
            "Tokens are estimated at 4 bytes each; reasoning models write many more.",
        )
    )


LINES = 10
"""Most lines of progress over a run, where there is no terminal."""

LINE_INTERVAL_S = 10.0
"""Fewest seconds between two of them, but for the last."""

SILENCE_S = 30
"""Seconds without a count after which a line says so."""


def _rate(speed: float) -> str:
    """Judgements a second, or a minute where they are slow."""
    return f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.0f}/min"


class CountProgress(Progress):
    """Progress of a count; called with the number so far and, where it is known, that of all.

    Args:
        console: Where it is shown.
        label: Name of what is counted.
        step: Number between two lines, where there is no terminal.
    """

    def __init__(self, console: Console, label: str, step: int) -> None:
        columns = SpinnerColumn(), TextColumn(label), BarColumn(), MofNCompleteColumn()
        more = TextColumn("{task.fields[more]}")
        super().__init__(*columns, more, console=console, disable=not console.is_terminal)
        self._what, self._step, self._next = label, step, step
        self._next_at = LINE_INTERVAL_S
        self._ended = threading.Event()
        self._started = time.monotonic()
        self._first: tuple[int, float] | None = None
        self._task = self.add_task(label, total=None, more="")

    def start(self) -> None:
        """Begin to show it; without a terminal, also that nothing comes."""
        super().start()
        if not self.console.is_terminal:
            threading.Thread(target=self._report_silence, daemon=True).start()

    def stop(self) -> None:
        """Show no more."""
        self._ended.set()
        super().stop()

    def _report_silence(self) -> None:
        """Print a line for each ``SILENCE_S`` in which nothing was counted."""
        counted = -1.0
        while not self._ended.wait(SILENCE_S):
            completed = self.tasks[self._task].completed
            if completed == counted:
                self.console.print(f"still waiting at {self.seconds:.0f} s", style="dim")
            counted = completed

    def report_fault(self, model: str, fault: str) -> None:
        """Say that a kind of fault was met, so that nobody waits without knowing why."""
        self.console.print(
            f"{model}: {fault} (the summary counts the others)", style="dim", markup=False
        )

    @property
    def seconds(self) -> float:
        """Seconds since it started."""
        return time.monotonic() - self._started

    def __call__(self, number: int, total: int | None = None, more: Sequence[str] = ()) -> None:
        """Show the number, how fast it grows, and more; without a terminal, ten times at most."""
        first, began = self._first = self._first or (number, self.seconds)
        if number > first:
            rate = (number - first) / max(self.seconds - began, 1e-6)
            remaining = [] if total is None else [f"{(total - number) / rate:.0f} s left"]
            more = (_rate(rate), *remaining, *more)
        self.update(self._task, completed=number, total=total, more=", ".join(more))
        is_due = number >= self._next and self.seconds >= self._next_at
        if self.console.is_terminal or not number or not (is_due or number == total):
            return
        self._next_at = self.seconds + LINE_INTERVAL_S
        self._next = number + max(self._step, (total or 0) // LINES)
        total_text = "" if total is None else f"/{total:,}"
        line = ", ".join([f"{self._what} {number:,}{total_text}", *more])
        self.console.print(line, style="dim", highlight=False)


class RunProgress(CountProgress):
    """Progress of a run, in judged cases."""

    def __init__(
        self, console: Console, total: int, before: int = 0, budget: Budget | None = None
    ) -> None:
        super().__init__(console, "judged", max(1, total // LINES))
        self._total, self._before, self._budget = total, before, budget
        self._counts: Counter[protocols.Status] = Counter()
        self.update(self._task, completed=before, total=total)

    def judge(self, status: protocols.Status) -> None:
        """Count one judged case; failed attempts are shown, not counted as judged."""
        self._counts[status] += 1
        done = self._counts.total() - self._counts[protocols.Status.ERROR]
        if done == 1 and status is not protocols.Status.ERROR:
            self.console.print(f"first judgement after {self.seconds:.1f} s", style="dim")
        more = [
            f"{count} {'failed attempts' if kind is protocols.Status.ERROR else kind}"
            for kind, count in self._counts.items()
            if kind is not protocols.Status.OK
        ]
        if self._budget is not None:
            more.insert(0, f"${self._budget.spent:.2f} of ${self._budget.cap:.2f}")
        self(self._before + done, self._total, more)


NOT_ALL_DONE = 1

_STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that stop a start as Ctrl-C does; Windows has no SIGHUP."""

_FULL = [getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG")]
"""Errors of a full disk, a full quota, and a file that may not be longer."""


@contextmanager
def _signals_stop() -> Iterator[list[int]]:
    """Have SIGTERM and SIGHUP stop what the block runs as Ctrl-C does; yields those that came.

    A signal that is ignored, as under ``nohup``, stays so.
    """
    signals: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    taken = {n: before for n in _STOPPING if (before := signal.getsignal(n)) != signal.SIG_IGN}
    for number in taken:
        signal.signal(number, stop)
    try:
        yield signals
    finally:
        for number, before in taken.items():
            signal.signal(number, before)


@contextmanager
def stoppable(
    progress: CountProgress, progress_text: Callable[[], str], place: Path, command: str
) -> Iterator[None]:
    """Show progress while the block runs; where it is stopped, print why and what is kept.

    Args:
        progress: Display of it.
        progress_text: Text on what is kept, called where it is stopped.
        place: Where that is.
        command: Command that goes on.

    Raises:
        Exit: It was stopped.
    """
    with _signals_stop() as signals:
        try:
            with progress:
                yield
        except (KeyboardInterrupt, OSError) as error:
            why, status = _reason_of(error, signals[-1] if signals else signal.SIGINT)
            print_ending(why, progress_text(), place, command)
            raise typer.Exit(status) from None


def _reason_of(error: KeyboardInterrupt | OSError, number: int) -> tuple[str, int]:
    """Reason and exit status of a start that an error, or a signal, ended."""
    if isinstance(error, KeyboardInterrupt):
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        return f"stopped by {name}", 128 + number
    where = f"{error.filename}: " if error.filename else ""
    detail = f"{where}{error.strerror or error}"
    if error.errno in _FULL:
        return f"stopped: the disk is full ({detail}); make room first", 2
    return f"stopped: a file can't be written ({detail})", 2


def print_ending(why: str, saved: str, place: Path, command: str) -> None:
    """Print why a start stopped, what is kept, and the command that goes on."""
    saved = f"kept: {saved}, in {address_of(place)}; what was in flight is asked again"
    for line in (why, saved, "To go on:"):
        err().print(line, markup=False)
    command_line(command)


def resume_command(log_dir: Path, *, capped: bool = False) -> str:
    """Command that goes on in a folder of logs."""
    from casewise.logs import resume_line, without_option
    from casewise.models import redacted

    arguments = sys.argv[1:]
    if capped:
        arguments = [*without_option("--max-cost", arguments), "--max-cost", "MORE"]
    return redacted(resume_line(arguments, log_dir))


def run_with_progress(
    cells: Sequence[Cell],
    folder: Path,
    max_cost: float | None,
    cluster: StartOptions | None = None,
    *,
    same_server: bool = False,
) -> RunResult:
    """Run what is still open in a folder, under one progress display.

    Args:
        cells: Models under conditions whose logs the folder is to hold.
        folder: The folder of logs.
        max_cost: Dollars, if there is a limit.
        cluster: Options of the cluster that runs it; None is this process.
        same_server: Whether a model at another address than before is the same.

    Raises:
        UsageError: A cap without the prices that it needs; a folder of another run, or server.
        Exit: The run was stopped; its ending was printed.
    """
    from casewise.runs import (
        Observers,
        changed_targets,
        make_budget,
        read_progress,
        resume,
        run_cells,
    )

    cells, done = resume(cells, folder, same_server=same_server)
    total = sum(cell.judgements for cell in cells)
    budget = None if max_cost is None else make_budget(cells, done, max_cost)
    if done.judged:
        note(f"going on: {done.judged:,} of {total:,} were judged before")
    note_all(
        f"{address_of(folder)} holds runs of another version of {model}, which stay and are scored "
        "too; for this version alone, give another --log-dir"
        for model in changed_targets(cells, folder)
    )
    if is_elsewhere(folder):
        note(f"{address_of(folder)} has no locks: keep other runs out of it")
    if budget is not None:
        before = f" (${budget.spent:.2f} of it spent before)" if budget.spent else ""
        note(f"stops at ${budget.cap:.2f}{before}")
    progress = RunProgress(err(), total, done.judged, budget)

    def judged_so_far() -> str:
        judged = 0
        with suppress(CasewiseError, OSError):
            judged = read_progress(cells, folder).judged
        return f"{judged:,} of {total:,} judgements"

    try:
        observers = Observers(progress.judge, progress.report_fault)
        with stoppable(progress, judged_so_far, folder, resume_command(folder)):
            result = run_cells(cells, folder, budget=budget, cluster=cluster, observers=observers)
    except ModelError:
        if not is_elsewhere(folder) and any(folder.glob("*.eval")):
            note(_pointer_to_errors(folder))
        raise
    return result


def print_judged(result: RunResult, log_dir: Path) -> None:
    """Print the verdicts on what a run's logs hold, and how to see more."""
    # Only now: the first request need not wait for the statistics to load.
    from casewise.cli._score import note_grader_error, print_short
    from casewise.judgements import read_paths

    scored = None
    try:
        table = read_paths([Path(path) for path in result.logs] or [log_dir]).table
        scored = print_short(table)
    except InputError:
        if result.complete:
            raise
        note("nothing was judged yet")
    for line in fault_lines(result):
        note(line)
    where = quoted(log_dir)
    note(f"Every measure: casewise score {where} --all")
    note(f"A page with every case: casewise report {where} --out report.html")
    if scored is not None:
        note_grader_error(scored, [log_dir])


def fault_lines(result: RunResult) -> list[str]:
    """Faults that a run met, a line for each model."""
    lines = []
    for heading, counts in (("met on the way", result.faults), ("cases in error", result.errors)):
        for model in sorted({model for model, _ in counts}):
            counts_text = [
                f"{number:,} {kind.replace('_', ' ')}"
                for (other, kind), number in sorted(counts.items())
                if other == model
            ]
            lines.append(f"{heading}: {model}: {', '.join(counts_text)}")
    return lines


def end(result: RunResult, log_dir: Path) -> None:
    """Say what is not finished, and end with status 1 if something is.

    Raises:
        Exit: Not all was judged.
    """
    if result.complete:
        return
    for failure in result.failures:
        err().print(f"not finished: {failure}", markup=False)
    if not result.capped:
        note(_pointer_to_errors(log_dir))
    saved = f"{result.judged:,} of {result.planned:,} judgements"
    command = resume_command(log_dir, capped=result.capped)
    print_ending("not all was judged", saved, log_dir, command)
    raise typer.Exit(NOT_ALL_DONE)


def _pointer_to_errors(log_dir: Path) -> str:
    """Pointer to providers' error messages, which are not printed since they may quote queries."""
    where = quoted(log_dir)
    return f"error texts of providers are in the logs: inspect view --log-dir {where}"
