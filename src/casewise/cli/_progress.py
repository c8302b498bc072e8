"""A progress bar on standard error; lines instead where that is no terminal."""

import time
from collections import Counter
from types import TracebackType
from typing import Protocol, Self

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

from casewise.protocols import Status

LINES = 10
"""Lines of progress over a run, where there is no terminal."""


class _Rate(ProgressColumn):
    """Judgements a second, over the whole run."""

    def render(self, task: Task) -> Text:
        """The rate as text."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "", style="dim")


class Money(Protocol):
    """What a run may cost, and what it has cost."""

    cap: float
    """Dollars."""

    @property
    def spent(self) -> float:
        """Dollars."""


class Batched(Protocol):
    """How far the batches of a run are, in requests."""

    @property
    def submitted(self) -> int:
        """Sent in a batch."""

    @property
    def done(self) -> int:
        """Answered."""

    @property
    def failed(self) -> int:
        """Ended in an error."""


class RunProgress:
    """Counts judged cases; called by the run for each one."""

    def __init__(
        self, console: Console, total: int, before: int = 0, money: Money | None = None
    ) -> None:
        self._console = console
        self._money = money
        self._total = total
        self._before = before
        self._started = time.monotonic()
        self._counts: Counter[Status] = Counter()
        self._batched = ""
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("judging"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[unread]}"),
            TextColumn("{task.fields[batched]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(
            "judging", total=total, completed=before, unread="", batched=""
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    @property
    def seconds(self) -> float:
        """Since the run started."""
        return time.monotonic() - self._started

    def __call__(self, status: Status) -> None:
        """Count one judged case; failed attempts are shown, not counted as judged."""
        self._counts[status] += 1
        done = sum(count for one, count in self._counts.items() if one is not Status.ERROR)
        unread = ", ".join(
            f"{count} {'failed attempts' if one is Status.ERROR else one}"
            for one, count in self._counts.items()
            if one is not Status.OK
        )
        if self._money is not None:
            spent = f"${self._money.spent:.2f} of ${self._money.cap:.2f}"
            unread = f"{spent}, {unread}" if unread else spent
        self._bar.update(self._task, completed=self._before + done, unread=unread)
        if status is Status.ERROR:
            return
        if done == 1:
            self._console.print(f"first judgement after {self.seconds:.1f} s", style="dim")
        elif not self._console.is_terminal and done % max(1, self._total // LINES) == 0:
            rate = done / self.seconds
            left = (self._total - self._before - done) / rate
            self._console.print(
                f"{self._before + done}/{self._total} judged, {rate:.1f}/s, {left:.0f} s left"
                + (f", {unread}" if unread else "")
            )

    def batches(self, counts: Batched) -> None:
        """Show how far batches are; without a terminal, when that has changed."""
        words = (
            f"batches: {counts.submitted:,} submitted, {counts.done:,} done, "
            f"{counts.failed:,} failed"
        )
        self._bar.update(self._task, batched=words)
        if not self._console.is_terminal and words != self._batched:
            self._console.print(words, style="dim", highlight=False)
        self._batched = words

    def met(self, model: str, what: str) -> None:
        """Say that a kind of fault was met, so that nobody waits without knowing why."""
        _print_fault(self._console, model, what)

    def say_outage(self, model: str, what: str) -> None:
        """Say that a server has gone away, or answers again."""
        _print_outage(self._console, model, what)


def _print_fault(console: Console, model: str, what: str) -> None:
    console.print(f"{model}: {what} (further ones are only counted)", style="dim", markup=False)


def _print_outage(console: Console, model: str, what: str) -> None:
    console.print(f"{model}: {what}", style="yellow", markup=False)


class Round(Protocol):
    """What a step of a round tells of itself."""

    @property
    def what(self) -> str:
        """``writing``, ``reviewing`` or ``repairing``."""

    @property
    def done(self) -> int:
        """Requests that are answered."""

    @property
    def total(self) -> int:
        """Requests of the round."""


class RoundProgress:
    """How far each round of the making of contexts is; called for every step."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def met(self, model: str, what: str) -> None:
        """Say that a kind of fault was met."""
        _print_fault(self._console, model, what)

    def say_outage(self, model: str, what: str) -> None:
        """Say that a server has gone away, or answers again."""
        _print_outage(self._console, model, what)

    def __call__(self, step: Round) -> None:
        """Show a step; without a terminal, the end of each round and every tenth of a long one."""
        if step.done == 0 or self._task is None:
            self._task = self._bar.add_task(step.what, total=step.total)
        self._bar.update(self._task, completed=step.done)
        if self._console.is_terminal or not step.done:
            return
        if step.done == step.total or step.done % max(LINES, step.total // LINES) == 0:
            self._console.print(f"{step.what} {step.done}/{step.total}", style="dim")
