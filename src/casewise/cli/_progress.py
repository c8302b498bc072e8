"""Display of a run: the estimates before it, and the progress bar on standard error."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from casewise.cli._console import note, out
from casewise.cli._late import protocols
from casewise.sheets import count, money, terminal

if TYPE_CHECKING:
    from casewise.evaluation import BatchCounts, Budget, CostEstimate, RoundStep


def note_lacking(lacking: Sequence[str]) -> None:
    """Print what a run would fail for and a dry run does without, such as a key."""
    for line in lacking:
        note(f"note: a run would end here: {line}")


def print_estimates(
    estimates: Sequence[CostEstimate],
    *,
    at_most: Sequence[CostEstimate] = (),
    condition: str = "condition",
) -> None:
    """Print requests, tokens and cost, and their sums.

    Args:
        estimates: Requests that will be sent.
        at_most: Requests that may follow, at most.
        condition: Heading of the column that tells the rows of a model apart.
    """
    from casewise._front_running import estimates_table, total

    table = estimates_table(estimates, at_most=at_most, condition=condition)
    (requests, *_, least), (more, *_, most) = total(estimates), total((*estimates, *at_most))
    bound = f", and {count(more - requests)} more at most" if at_most else ""
    grading = [estimate for estimate in estimates if estimate.grades is not None]
    graded, *_, price = total(grading)
    if grading:
        bound = f" ({count(graded)} of them to grade replies)"
    unpriced = [estimate for estimate in (*estimates, *at_most) if estimate.cost_usd is None]
    whose = dict.fromkeys("" if one.grades is None else "grader-" for one in unpriced)
    needed = " and ".join(f"--{one}price-in and --{one}price-out" for one in whose)
    cost = f"Give {needed} (dollars a million tokens) for the cost."
    if least is not None and most is not None:
        bounds = f", {money(most, '$')} at most" if at_most else ""
        share = f" ({money(price, '$')} of it to grade replies)" if grading and price else ""
        cost = f"About {money(least, '$')}{share}{bounds}."
    out().print(
        terminal(
            table,
            f"{count(requests)} requests{bound}; nothing was sent. {cost}",
            "Tokens are estimated at 4 bytes each; reasoning models write many more.",
        )
    )


LINES = 10
"""Lines of progress over a run, where there is no terminal."""


class _Rate(ProgressColumn):
    """Judgements a second, over the whole run."""

    def render(self, task: Task) -> Text:
        """The rate as text."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "", style="dim")


class _Shown(Progress):
    """Progress bar on a console while a block runs, with the faults that are met."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        super().__init__(*columns, console=console, disable=not console.is_terminal)

    def met(self, model: str, what: str) -> None:
        """Say that a kind of fault was met, so that nobody waits without knowing why."""
        self.console.print(
            f"{model}: {what} (the summary counts the others)", style="dim", markup=False
        )

    def say_outage(self, model: str, what: str) -> None:
        """Say that a server has gone away, or answers again."""
        self.console.print(f"{model}: {what}", style="yellow", markup=False)


class RunProgress(_Shown):
    """Progress of a run, in judged cases; called for each one."""

    def __init__(
        self, console: Console, total: int, before: int = 0, budget: Budget | None = None
    ) -> None:
        super().__init__(
            console,
            SpinnerColumn(),
            TextColumn("judging"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[unread]}"),
            TextColumn("{task.fields[batched]}"),
        )
        self._budget = budget
        self._total = total
        self._before = before
        self._started = time.monotonic()
        self._counts: Counter[protocols.Status] = Counter()
        self._batched = ""
        self._task = self.add_task("judging", total=total, completed=before, unread="", batched="")

    @property
    def seconds(self) -> float:
        """Seconds since the run started."""
        return time.monotonic() - self._started

    def __call__(self, status: protocols.Status) -> None:
        """Count one judged case; failed attempts are shown, not counted as judged."""
        self._counts[status] += 1
        done = self._counts.total() - self._counts[protocols.Status.ERROR]
        said = (
            []
            if self._budget is None
            else [f"${self._budget.spent:.2f} of ${self._budget.cap:.2f}"]
        )
        said += [
            f"{count} {'failed attempts' if kind is protocols.Status.ERROR else kind}"
            for kind, count in self._counts.items()
            if count and kind is not protocols.Status.OK
        ]
        unread = ", ".join(said)
        self.update(self._task, completed=self._before + done, unread=unread)
        if status is protocols.Status.ERROR:
            return
        if done == 1:
            self.console.print(f"first judgement after {self.seconds:.1f} s", style="dim")
        elif not self.console.is_terminal and done % max(1, self._total // LINES) == 0:
            rate = done / self.seconds
            left = (self._total - self._before - done) / rate
            self.console.print(
                f"{self._before + done}/{self._total} judged, {rate:.1f}/s, {left:.0f} s left"
                + (f", {unread}" if unread else "")
            )

    def batches(self, counts: BatchCounts) -> None:
        """Show the state of batches; without a terminal, when it has changed."""
        words = (
            f"batches: {counts.submitted:,} submitted, {counts.done:,} done, "
            f"{counts.failed:,} failed"
        )
        self.update(self._task, batched=words)
        if not self.console.is_terminal and words != self._batched:
            self.console.print(words, style="dim", highlight=False)
        self._batched = words


class RoundProgress(_Shown):
    """Progress of each round of the making of contexts; called for every step."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._task: TaskID | None = None

    def __call__(self, step: RoundStep) -> None:
        """Show a step; without a terminal, the end of each round and every tenth of a long one."""
        if step.done == 0 or self._task is None:
            self._task = self.add_task(step.what, total=step.total)
        self.update(self._task, completed=step.done)
        if self.console.is_terminal or not step.done:
            return
        if step.done == step.total or step.done % max(LINES, step.total // LINES) == 0:
            self.console.print(f"{step.what} {step.done}/{step.total}", style="dim")


class LineProgress(_Shown):
    """Progress through a file; called with the number of lines read so far."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console, SpinnerColumn(), TextColumn("{task.completed:,.0f} lines"), _Rate()
        )
        self._task = self.add_task("reading", total=None)
        self._next = _LINES_APART

    def __call__(self, lines: int) -> None:
        """Show the number; without a terminal, at every hundred thousand."""
        self.update(self._task, completed=lines)
        if not self.console.is_terminal and lines >= self._next:
            self._next = lines - lines % _LINES_APART + _LINES_APART
            self.console.print(f"{lines:,} lines", style="dim", highlight=False)


_LINES_APART = 100_000
