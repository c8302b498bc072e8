"""The front door: load cases, plan what to ask of models, and run it."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from casewise._front_result import Cases, PathText, beside_loop, case_set, warn
from casewise.cases import (
    CaseSet,
    cases_in_memory,
    check_cache_writable,
    load_mapping,
    open_cases,
    write_cases,
)
from casewise.errors import InputError
from casewise.files import cache_dir
from casewise.options import RunOptions, takes
from casewise.sheets import Column, Kind, Row, Shown, Table, escape, figures, markdown

if TYPE_CHECKING:
    from casewise.runs import CellState, CostEstimate, RunResult
    from casewise.runs import Plan as CheckedPlan


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """Requests to models, checked and counted; nothing was sent."""

    details: "CheckedPlan"
    """All that was checked."""

    @property
    def estimates(self) -> "tuple[CostEstimate, ...]":
        """Requests, tokens and cost (dollars) of each model under each condition.

        Where a model grades replies, as many of the grader follow (``grades`` says whose).
        """
        return self.details.estimates

    @property
    def judgements(self) -> int:
        """Cases over all models and conditions, as often as each is asked."""
        return self.details.judgements

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to read beforehand."""
        return tuple(dict.fromkeys(line for cell in self.details.cells for line in cell.notes))

    def records(self) -> list[dict[str, Any]]:
        """A row for each model and condition, and for each that a model grades."""
        return [asdict(one) for one in self.estimates]

    def to_markdown(self) -> str:
        """The estimates as a table."""
        return markdown(estimates_table(self.estimates), *map(escape, self.notes))


def estimates_table(
    estimates: "Sequence[CostEstimate]",
    *,
    at_most: "Sequence[CostEstimate]" = (),
    condition: str = "condition",
    with_total: bool = False,
) -> Table:
    """Requests, tokens (estimated) and cost of every model under every condition.

    Args:
        estimates: Requests that will be sent.
        at_most: Requests that may follow, at most.
        condition: Heading of the column that tells the rows of a model apart.
        with_total: Whether the last row is the sum of the others.
    """
    from casewise.runs import total

    def row(model: str, title: str, *summed: "CostEstimate", apart: bool = False) -> Row:
        *counts, cost = total(summed)
        return Row([model, title, *counts, "unknown" if cost is None else cost], apart=apart)

    rows = [row(one.model, one.title, one) for one in estimates]
    rows += [row(one.model, f"{one.condition}, at most", one) for one in at_most]
    if with_total:
        rows.append(row("total", "", *estimates, *at_most, apart=True))
    numbers = figures(Kind.COUNT, "requests", "input tokens", "output tokens")
    columns = [Column("model"), Column(condition), *numbers, Column("cost $", Kind.MONEY)]
    return Table(columns, rows, keys=2)


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """A finished or stopped run. It stands for its folder wherever a path is taken."""

    details: "RunResult"
    """All that is known of it, such as the faults on the way."""
    log_dir: Path
    """The folder of its logs."""
    plan: Plan
    states: "tuple[CellState, ...]"
    """State of each model under each condition, in the plan's order."""

    @property
    def complete(self) -> bool:
        """Tell whether every model and condition ended well; single cases may be in error."""
        return self.details.complete

    @property
    def failures(self) -> tuple[str, ...]:
        """Model and reason, for each model and condition that did not end well."""
        return self.details.failures

    @property
    def capped(self) -> bool:
        """Tell whether it stopped because ``max_cost`` was spent."""
        return self.details.capped

    @property
    def logs(self) -> tuple[Path, ...]:
        """The logs of its models and conditions, those of earlier starts included."""
        return self.details.logs

    def __fspath__(self) -> str:
        return str(self.log_dir)

    def records(self) -> list[dict[str, Any]]:
        """A row for each model and condition, with the number of judgements."""
        return [
            {
                "model": cell.model,
                "condition": cell.estimate.condition,
                "state": str(one.state),
                "judged": one.judged,
                "total": one.total,
                "errors": one.errors,
            }
            for cell, one in zip(self.plan.details.cells, self.states, strict=True)
        ]

    def to_markdown(self) -> str:
        """The rows as a table, and the failures."""
        columns = [Column("model"), Column("condition"), Column("state")]
        columns += figures(Kind.COUNT, "judged", "total", "errors")
        rows = [Row(list(one.values())) for one in self.records()]
        said = [f"not finished: {line}" for line in self.failures]
        return markdown(Table(columns, rows, keys=2), *map(escape, said))


def load_cases(cases: Any, mapping: PathText | Mapping[str, Any] | None = None) -> CaseSet:
    """Load a set of cases.

    Args:
        cases: ``starter`` (bundled), ``casebench`` (fetched before), or a file of cases; a data
            frame of pandas or polars, a pyarrow table, a data set of Hugging Face's ``datasets``
            (one split), or dictionaries. With a mapping also any table or folder.
        mapping: Which column is which field: a shipped mapping's name, a YAML file, or its keys.
            Without one, the columns are the fields of a case.

    Returns:
        A sequence of cases, with ``.hash`` (16 hexadecimal characters over every case) and
        ``.version`` (that their file gives them, or None); ``to_dicts()`` and
        ``to_polars()`` give them back.

    Raises:
        InputError: The file or one of its records can't be used.
        AssetError: CASE-Bench was not fetched yet.
    """
    if isinstance(cases, CaseSet) or (mapping is None and isinstance(cases, str | os.PathLike)):
        return case_set(cases)
    source = Path(cases) if isinstance(cases, str | os.PathLike) else cases
    if mapping is None:
        return cases_in_memory(source)
    keys = mapping if isinstance(mapping, Mapping) else os.fspath(mapping)
    loaded = cases_in_memory(source, load_mapping(keys))
    warn(loaded.notes)
    return loaded


@takes(RunOptions, "cases", "model", "protocol")
def plan(asked: dict[str, Any]) -> Plan:
    """Check and count what would be asked of models; nothing is sent.

    The options are those of ``casewise run``: one value of each, or of most a list, whose every
    product is a condition. ``cases`` may also be cases; those that no file holds are written to
    casewise's cache, under their hash, so that logs can name them.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
        ModelError: A provider that gives no log-probabilities under ``probability``.
    """
    # Inspect takes seconds to import.
    from casewise.runs import make_plan

    if (cases := asked.get("cases")) is not None:
        several = isinstance(cases, list) and all(
            isinstance(one, str | os.PathLike) for one in cases
        )
        asked["cases"] = [_name_of(one) for one in (cases if several else [cases])]
    return Plan(make_plan(asked))


def run(
    plan: Plan,
    log_dir: PathText,
    *,
    max_cost: float | None = None,
    same_server: bool = False,
) -> Run:
    """Ask the models; the same folder again asks only what is still open.

    It works inside a running event loop, as in a notebook, too: then it runs in a thread, for
    which the caller waits. An interrupt stops it; what was judged is in the folder.

    Args:
        plan: Requests to send.
        log_dir: The folder of the logs, or an address such as ``s3://bucket/folder``.
        max_cost: Dollars after which it stops, earlier starts in the folder included.
        same_server: Whether a model at another address than before is the same.

    Returns:
        The state of the run; ``complete`` says whether all ended well, ``failures`` why not.

    Raises:
        ModelError: A model can't be used or reached, or can't do what the protocol needs.
        UsageError: Another process runs in the folder, or it holds a stopped run and nothing of
            this one, or answers from another address; or a price is needed and unknown.
        OSError: The folder can't be written.
    """
    stop = _Stop()
    tell = stop.on_start
    return beside_loop(lambda: _run(plan, log_dir, max_cost, same_server, tell), stop)


async def run_async(
    plan: Plan,
    log_dir: PathText,
    *,
    max_cost: float | None = None,
    same_server: bool = False,
) -> Run:
    """Ask the models as ``run`` does, while the event loop of the caller goes on.

    Cancelled, it stops the run and waits until its logs are written.

    Args:
        plan: Requests to send.
        log_dir: The folder of the logs.
        max_cost: Dollars after which it stops.
        same_server: As of ``run``.

    Raises:
        ModelError: As ``run``.
        UsageError: As ``run``.
        OSError: As ``run``.
    """
    stop = _Stop()
    given = (max_cost, same_server, stop.on_start)
    running = asyncio.create_task(asyncio.to_thread(_run, plan, log_dir, *given))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait([running])
        raise


class _Stop:
    """Stop of a run in another thread, also of one that has not begun to ask yet."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked = False
        self._stop: Callable[[], object] | None = None

    def on_start(self, stop: Callable[[], object]) -> None:
        with self._lock:
            self._stop = stop
            if self._asked:
                stop()

    def __call__(self) -> None:
        with self._lock:
            self._asked = True
            if self._stop is not None:
                # Its loop is closed where the run has ended meanwhile.
                with suppress(RuntimeError):
                    self._stop()


def _run(
    plan: Plan,
    log_dir: PathText,
    max_cost: float | None,
    same_server: bool,
    tell_stop: Callable[[Callable[[], object]], object],
) -> Run:
    from casewise.logs import LogFolder
    from casewise.runs import Observers, make_budget, read_done, resume, run_cells

    folder = LogFolder.at(Path(log_dir))
    cells, done = resume(plan.details.cells, folder, same_server=same_server)
    budget = None if max_cost is None else make_budget(cells, done, max_cost)
    found = run_cells(cells, folder, budget=budget, observers=Observers(stop=tell_stop))
    return Run(found, folder.path, plan, read_done(cells, folder).states)


def _name_of(cases: Cases) -> str:
    """Name of cases in a plan: their path, for whoever reads the logs."""
    if isinstance(cases, str | os.PathLike):
        return os.fspath(cases)
    held = case_set(cases)
    if held.source is not None:
        if open_cases(held.source).hash != held.hash:
            problem = "was changed since these cases were loaded from it: load them again"
            raise InputError(problem, file=held.source)
        return held.source
    path = cache_dir() / "cases" / f"{held.hash}.jsonl"
    check_cache_writable(path.parent)
    write_cases(held, path)
    return str(path)
