"""The front door for Python: a function for each command, and the results that they give.

Each result is a table that shows itself: as records, as a data frame, as Markdown, in a notebook.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from casewise import LazyModule
from casewise.cases import (
    Case,
    CaseSet,
    Ties,
    cases_of,
    check_cache_writable,
    load_mapping,
    open_cases,
    read_label_rule,
    write_cases,
)
from casewise.choices import PowerInputs, PowerTest, Split, UnreadPolicy
from casewise.errors import InputError, UsageError, choose_from
from casewise.files import cache_dir, place_of
from casewise.options import RunOptions, takes
from casewise.sheets import (
    Column,
    Kind,
    ResultView,
    Row,
    Sheet,
    Table,
    escape,
    figures,
    markdown,
    plain_rows,
)

if TYPE_CHECKING:
    import polars as pl

    import casewise.gate as gates
    import casewise.judgements as tables
    from casewise import dataset, measures, replies, reporting, results, runs, statistics
else:
    # The front door has functions called gate and judgements.
    names = ("dataset", "measures", "replies", "reporting", "runs", "statistics")
    dataset, measures, replies, reporting, runs, statistics = (
        LazyModule(f"casewise.{name}") for name in names
    )
    # A result shows itself by the tables of reporting.
    results = LazyModule("casewise.results", "casewise.reporting")
    gates, tables, pl = map(LazyModule, ("casewise.gate", "casewise.judgements", "polars"))

PathText = str | os.PathLike[str]
"""A path, or an address such as ``s3://bucket/folder``."""

Cases = PathText | Sequence[Case]
"""``starter``, ``casebench``, a file of cases, or cases."""

Source = Any
"""A judgement table (a frame of polars), or where judgements are: log folders, ``.eval``
files, tables, and CASE-Bench output files; or several of them."""

Files = PathText | Sequence[PathText]
"""A file, or several."""

Choice = TypeVar("Choice", bound=StrEnum)
Outcome = TypeVar("Outcome")


# --- what is shared ---------------------------------------------------------------------------


def case_set(cases: Cases) -> CaseSet:
    """Load cases by name or path; cases that are loaded stay as they are.

    Raises:
        InputError: The file can't be used.
        AssetError: CASE-Bench was not fetched yet.
    """
    if isinstance(cases, CaseSet):
        return cases
    if isinstance(cases, str | os.PathLike):
        loaded = open_cases(os.fspath(cases))
        warn(loaded.notes)
        return loaded
    return CaseSet(tuple(cases), "cases")


LOOK_UP_S = 0.2
"""Seconds that Ctrl-C may go unnoticed while a thread is waited for."""


def run_off_loop(work: Callable[[], Outcome], stop: Callable[[], object] = lambda: None) -> Outcome:
    """Do what needs an event loop of its own: in a thread, where one is running already.

    Args:
        work: What to do; the caller waits for it.
        stop: Called if the wait is interrupted; the work is waited for all the same.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, thread_name_prefix="casewise") as thread:
        done = thread.submit(work)
        try:
            # Looking up now and then: a library's handler of Ctrl-C, such as Polars' own, may let a
            # wait without end go on.
            while not done.done():
                wait([done], LOOK_UP_S)
        except BaseException:
            stop()
            raise
        return done.result()


def choose(kind: type[Choice], value: str, name: str) -> Choice:
    """A member of an enumeration by its text.

    Raises:
        UsageError: There is none.
    """
    try:
        return kind(value)
    except ValueError:
        raise UsageError(f"{name}={value!r}: {choose_from(value, kind)}") from None


def warn(notes: Iterable[str]) -> None:
    """Warn of what a command would note beside its result."""
    for line in dict.fromkeys(notes):
        warnings.warn(line, stacklevel=4)


# --- sets of cases --------------------------------------------------------------------------


def load_cases(cases: Any, mapping: PathText | Mapping[str, Any] | None = None) -> CaseSet:
    """Load a set of cases.

    Args:
        cases: ``starter`` (bundled), ``casebench`` (fetched before), or a file of cases;
            dictionaries, or a polars frame. With a mapping also any table or folder.
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
        return cases_of(source)
    keys = mapping if isinstance(mapping, Mapping) else os.fspath(mapping)
    loaded = cases_of(source, load_mapping(keys))
    warn(loaded.notes)
    return loaded


@dataclass(frozen=True, repr=False)
class DetailedResult(ResultView):
    """A result that is made from details."""

    details: Any
    """All that was computed."""

    @property
    def sheet(self) -> Sheet:
        """The tables of the command."""
        return reporting.sheet_of(self.details)

    def to_markdown(self, **_: Any) -> str:
        """The result as the command prints it with ``--format markdown``."""
        return self.sheet.markdown()

    def _record(self) -> Any:
        """JSON of the command."""
        return plain_rows([self.sheet.record()])[0]


class Description(DetailedResult):
    """The human side of a data set."""

    details: dataset.Description

    def records(self) -> list[dict[str, Any]]:
        """One row: the figures of ``casewise describe --format json``, names joined by dots."""
        return [dict(_flatten(self._record()))]


class Audit(DetailedResult):
    """Findings on a set of cases; no text of theirs is shown."""

    details: dataset.Audit

    def records(self) -> list[dict[str, Any]]:
        """A row for each finding, worst first."""
        findings: list[dict[str, Any]] = self._record()["findings"]
        return findings


class Power(DetailedResult):
    """Size that a study needs, or power that it has."""

    details: statistics.Plan
    """Inputs, the defaults filled in, and the answers."""

    @property
    def answers(self) -> tuple[statistics.Answer, ...]:
        """Answers, each with its quantity and value."""
        return self.details.answers

    def records(self) -> list[dict[str, Any]]:
        """A row for each answer; what was given is in columns that begin with ``given_``."""
        record = self._record()
        inputs = {f"given_{name}": value for name, value in record["inputs"].items()}
        return [answer | inputs for answer in record["answers"]]


def _flatten(record: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value


def describe(cases: Cases) -> Description:
    """Describe the human side of a data set: do people agree, is it sound?

    Args:
        cases: A name, a file, or cases.

    Raises:
        InputError: The file can't be used.
    """
    return Description(dataset.describe_cases(case_set(cases)))


def audit(cases: Cases) -> Audit:
    """Look for what is wrong with a set of cases, before anybody judges them; no model is run.

    Args:
        cases: A name, a file, or cases.

    Raises:
        InputError: The file can't be used.
    """
    return Audit(dataset.audit_cases(case_set(cases)))


@takes(PowerInputs, "test")
def power(inputs: dict[str, Any]) -> Power:
    """Work out how many votes, cases or pairs a study needs, or what a number can show.

    Of the difference, the number (``n``) and the power, give two: the third is worked out.

    Raises:
        UsageError: What was given is too little, too much, or out of range.
    """
    inputs["test"] = choose(PowerTest, inputs.get("test") or "", "test")
    return Power(statistics.plan_power(PowerInputs(**inputs)))


# --- runs -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Plan(ResultView):
    """Requests to models, checked and counted; nothing was sent."""

    details: runs.Plan
    """All that was checked."""

    @property
    def estimates(self) -> tuple[runs.CostEstimate, ...]:
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
        return self.details.notes

    def records(self) -> list[dict[str, Any]]:
        """A row for each model and condition, and for each that a model grades."""
        return [asdict(estimate) for estimate in self.estimates]

    def to_markdown(self, **_: Any) -> str:
        """The estimates as a table."""
        return markdown(estimates_table(self.estimates), *map(escape, self.notes))


def estimates_table(estimates: Sequence[runs.CostEstimate]) -> Table:
    """Requests, tokens (estimated) and cost of every model under every condition."""
    rows = []
    for estimate in estimates:
        cost = "unknown" if estimate.cost_usd is None else estimate.cost_usd
        counts = estimate.requests, estimate.input_tokens, estimate.output_tokens
        rows.append(Row([estimate.model, estimate.title, *counts, cost]))
    numbers = figures(Kind.COUNT, "requests", "input tokens", "output tokens")
    columns = [Column("model"), Column("condition"), *numbers, Column("cost $", Kind.MONEY)]
    return Table(columns, rows)


@dataclass(frozen=True, repr=False)
class Run(ResultView):
    """A finished or stopped run. It stands for its folder wherever a path is taken."""

    details: runs.RunResult
    """All that is known of it, such as the faults on the way."""
    log_dir: Path
    """The folder of its logs."""
    plan: Plan
    states: tuple[runs.CellState, ...]
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
                "judged": state.judged,
                "total": state.total,
                "errors": state.errors,
            }
            for cell, state in zip(self.plan.details.cells, self.states, strict=True)
        ]

    def to_markdown(self, **_: Any) -> str:
        """The rows as a table, and the failures."""
        columns = [Column("model"), Column("condition")]
        columns += figures(Kind.COUNT, "judged", "total", "errors")
        rows = [Row(list(record.values())) for record in self.records()]
        failures = [f"not finished: {line}" for line in self.failures]
        return markdown(Table(columns, rows), *map(escape, failures))


@takes(RunOptions, "cases", "model", "protocol")
def plan(options: dict[str, Any]) -> Plan:
    """Check and count what would be asked of models; nothing is sent.

    The options are those of ``casewise run``: one value of each, or of most a list, whose every
    product is a condition. ``cases`` may also be cases; those that no file holds are written to
    casewise's cache, under their hash, so that logs can name them.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
        ModelError: A provider that gives no log-probabilities under ``probability``.
    """
    if (cases := options.get("cases")) is not None:
        several = isinstance(cases, list) and all(
            isinstance(case, str | os.PathLike) for case in cases
        )
        options["cases"] = [_path_of_cases(case) for case in (cases if several else [cases])]
    return Plan(runs.make_plan(options))


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
    return run_off_loop(lambda: _run(plan, log_dir, max_cost, same_server, tell), stop)


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
    settings = (max_cost, same_server, stop.on_start)
    running = asyncio.create_task(asyncio.to_thread(_run, plan, log_dir, *settings))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait([running])
        raise


class _Stop:
    """Stop of a run in another thread, also of one that has not begun to ask yet."""

    _is_requested = False
    _stop: Callable[[], object] = staticmethod(lambda: None)

    def on_start(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        if self._is_requested:
            stop()

    def __call__(self) -> None:
        self._is_requested = True
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
    folder = place_of(Path(log_dir))
    cells, done = runs.resume(plan.details.cells, folder, same_server=same_server)
    budget = None if max_cost is None else runs.make_budget(cells, done, max_cost)
    result = runs.run_cells(cells, folder, budget=budget, observers=runs.Observers(stop=tell_stop))
    return Run(result, folder, plan, runs.read_progress(cells, folder).states)


def _path_of_cases(cases: Cases) -> str:
    """Name of cases in a plan: their path, for whoever reads the logs."""
    if isinstance(cases, str | os.PathLike):
        return os.fspath(cases)
    loaded = case_set(cases)
    if loaded.source is not None:
        if open_cases(loaded.source).hash != loaded.hash:
            problem = "was changed since these cases were loaded from it: load them again"
            raise InputError(problem, file=loaded.source)
        return loaded.source
    path = cache_dir() / "cases" / f"{loaded.hash}.jsonl"
    check_cache_writable(path.parent)
    write_cases(loaded, path)
    return str(path)


# --- judgements -------------------------------------------------------------------------------


def judgements(source: Source) -> pl.DataFrame:
    """Read judgements: one row a model, condition, case and epoch (docs/reference/scores.md).

    Args:
        source: Where they are.

    Raises:
        InputError: A path is missing or can't be read, or nothing was judged yet.
    """
    return _read(source).table


def score(
    source: Source,
    labels: str | None = None,
    unparsed: str = "honest",
    by: str | None = None,
    *,
    ties: str = "half",
    calibrate: bool = False,
    grader_check: Files = (),
    seed: int = 0,
) -> results.Scores:
    """Score judgements against people's votes, published rates, or what authors meant.

    Fractions are in 0..1, correlations in -1..1; errors are clustered by query.

    Args:
        source: A judgement table, or where judgements are.
        labels: ``published``, ``votes``, ``consensus``, ``intended`` or ``votes:SHARE``;
            None takes ``published`` where it exists, else ``votes``, else ``intended``.
        unparsed: What an unread answer counts as: ``honest`` leaves it out and names the coverage,
            ``reference`` does as the published script.
        by: Split every row by ``category`` or ``intended``.
        ties: An exact tie of votes (labels ``votes``): ``half`` credit, or ``drop``.
        calibrate: Whether to recalibrate probabilities on held-out queries.
        grader_check: Replies that people labelled (from ``casewise graders sample``, or as
            ``casewise graders check`` reads them): correct the rates of replies for the grader's
            errors.
        seed: Seed of folds.

    Raises:
        InputError: The judgements, or labelled replies, can't be read.
        UsageError: An option that doesn't exist or doesn't fit.
    """
    if by is not None and (calibrate or grader_check):
        others = "calibrate= and grader_check="
        raise UsageError(f"by= splits scores; leave it out with {others}")
    table = _read(source, apart=True).table
    return results.score_table(
        table,
        _scoring(labels, unparsed, ties),
        by=None if by is None else choose(Split, by, "by"),
        seed=seed,
        calibrate=calibrate,
        checks=_checks(grader_check, table),
    )


def compare(
    before: Source,
    after: Source,
    *,
    labels: str | None = None,
    unparsed: str = "honest",
    ties: str = "half",
    grader_check: Files = (),
    force: bool = False,
) -> results.Comparisons:
    """Compare two runs over the same cases: is the difference more than chance?

    A change is after minus before, with an error clustered by query.

    Args:
        before: The run that comes first.
        after: The run that is held against it.
        labels: As in ``score``.
        unparsed: As in ``score``.
        ties: As in ``score``.
        grader_check: As in ``score``; the differences are corrected, both runs by one method.
        force: Whether runs over different versions of the data are compared, over the cases that
            both have.

    Raises:
        InputError: The judgements or labelled replies can't be read, or runs are over different
            versions of the data.
        UsageError: An option that doesn't exist, or one run only.
    """
    by_place = {place: part.table for place, part in _before_after(before, after).items()}
    pairs = results.find_pairs(results.find_runs(by_place), across_versions=force)
    scoring = _scoring(labels, unparsed, ties)
    checks = _checks(grader_check, *by_place.values())
    return results.Comparisons.of(results.compare_runs(pairs, scoring, checks))


def gate(
    run: Source,
    rules: PathText | None = None,
    *,
    baseline: Source | None = None,
    force: bool = False,
    grader_check: Files = (),
) -> gates.Gate:
    """Hold a run to rules, with bounds that are clustered by query.

    Args:
        run: The run's judgements.
        rules: A file of rules (YAML); ``small`` has limits that few cases can decide, None takes
            those that ship.
        baseline: What the run must not be worse than; a change is the run minus this.
        force: Whether the baseline may be over another version of the data.
        grader_check: As in ``score``, in place of the files that the rules name: rules about rates
            of replies are held against the corrected figures.

    Raises:
        InputError: The judgements, labelled replies, or the rules can't be used.
    """
    judged = _read(run)
    path = None if rules is None else Path(rules)
    return gates.run_gate(
        judged,
        gates.gate_rules(path, has_baseline=baseline is not None),
        None if baseline is None else _read(baseline).table,
        checks=_checks(grader_check, judged.table),
        across_versions=force,
    )


def report(
    source: Source,
    out: PathText,
    *,
    title: str = "Safety in context",
    reveal: bool = False,
    cases: Cases | None = None,
    before: Source | None = None,
    trend: bool = False,
    labels: str | None = None,
    unparsed: str = "honest",
    ties: str = "half",
    grader_check: Files = (),
    force: bool = False,
) -> Path:
    """Write a page that shows the scores and every case, or an evaluation card.

    Args:
        source: A judgement table, or where judgements are.
        out: The page (``.html``; one file that opens offline) or the card (``.md``).
        title: The page's title.
        reveal: Whether queries, contexts and replies are shown, behind a content warning.
        cases: Where texts are that the judgements lack.
        before: An earlier run: the page begins with what changed since.
        trend: Whether the page begins with the measures over time, by version of the model.
        labels: As in ``score``.
        unparsed: As in ``score``.
        ties: As in ``score``.
        grader_check: As in ``score``: the corrected rates stand beside the others.
        force: Whether runs over different versions of the data are compared.

    Returns:
        The path that was written.

    Raises:
        InputError: The judgements, or labelled replies, can't be read.
        UsageError: Another kind of file, or an option that doesn't exist.
        OSError: The file can't be written.
    """
    to = Path(out)
    kind = to.suffix.lower()
    if kind not in (".html", ".htm", ".md"):
        raise UsageError(f"{to}: end the name in .html (the page) or .md (the card)")
    if before is None:
        parts = {"": _read(source, texts=True, apart=not trend)}
    else:
        parts = _before_after(before, source, texts=True)
    sources = [source] if before is None else [before, source]
    paths = _paths([part for place in sources for part in _as_list(place)])
    overview = results.make_overview(
        parts,
        _scoring(labels, unparsed, ties),
        cases=() if cases is None else case_set(cases),
        checks=_checks(grader_check, *(part.table for part in parts.values())),
        records=run_off_loop(lambda: tables.run_records(paths)),
        compare=before is not None,
        across_versions=force,
        trend=trend,
    )
    reporting.write_report(overview, to, title=title, reveal=reveal, trend=trend)
    return to


def _read(source: Source, *, texts: bool = False, apart: bool = False) -> tables.Judgements:
    sources = _as_list(source)
    paths = _paths(sources)
    frames = [_frame(frame) for frame in sources if not isinstance(frame, str | os.PathLike)]
    if frames and not paths:
        read = tables.Judgements(pl.concat(frames), ())
    else:
        read = run_off_loop(lambda: tables.read_paths(paths, texts=texts, apart=apart))
        read = replace(read, table=pl.concat([read.table, *frames]))
    warn(read.notes)
    return read


def _frame(frame: Any) -> pl.DataFrame:
    """A judgement table.

    Raises:
        InputError: A column is missing.
        UsageError: Neither a table nor a path.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, pl.DataFrame):
        raise UsageError(
            f"judgements can't be read from a {type(frame).__name__}: give a table of polars (of "
            "pandas: polars.from_pandas), the path of a log folder or file, or several"
        )
    lacking = [name for name in tables.SCHEMA if name not in frame.columns]
    if lacking:
        raise InputError("not a judgement table: a column is missing", field=lacking[0])
    return frame.select(*tables.SCHEMA)


def _checks(files: Files, *tables: pl.DataFrame) -> tuple[replies.CheckFile, ...]:
    return replies.load_checks(_paths(_as_list(files)), tables)


def _as_list(source: Source) -> list[Any]:
    """A source, or several, as a list."""
    if isinstance(source, Sequence) and not isinstance(source, str | os.PathLike):
        return list(source)
    return [source]


def _paths(sources: Sequence[Any]) -> list[Path]:
    """The sources that are no tables."""
    return [Path(source) for source in sources if isinstance(source, str | os.PathLike)]


def _before_after(
    before: Source, after: Source, *, texts: bool = False
) -> dict[str, tables.Judgements]:
    """Two sources read, by their paths; those without one are ``before`` and ``after``."""
    return {
        os.fspath(source) if isinstance(source, str | os.PathLike) else name: _read(
            source, texts=texts
        )
        for name, source in (("before", before), ("after", after))
    }


def _scoring(labels: str | None, unparsed: str, ties: str) -> measures.Scoring:
    return measures.Scoring(
        labels=None if labels is None else read_label_rule(labels, "labels="),
        unparsed=choose(UnreadPolicy, unparsed, "unparsed"),
        ties=choose(Ties, ties, "ties"),
    )
