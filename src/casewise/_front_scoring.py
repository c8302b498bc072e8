"""The front door: from judgements to scores, comparisons, the gate and pages."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from casewise import scores
from casewise._front_result import (
    Cases,
    PathText,
    beside_loop,
    case_set,
    choose,
    warn,
)
from casewise.cases import Ties, read_label_rule
from casewise.errors import InputError, UsageError, choose_from, first_line
from casewise.files import write_atomically
from casewise.gate import gate_rules, run_gate
from casewise.judgements import SCHEMA, Judgements, read_paths
from casewise.measures import Scoring, compared, of_rung
from casewise.replies import CheckFile, load_checks
from casewise.results import Comparisons, Gate, Scores


class PandasFrame(Protocol):
    """A frame of pandas, by the methods that are used; pandas itself is not needed."""

    columns: Any

    def astype(self, dtype: Any) -> Any: ...

    def notna(self) -> Any: ...


Frame = pl.DataFrame | pl.LazyFrame | PandasFrame
"""A judgement table in memory: of polars or pandas."""

Source = Frame | PathText | Sequence[Frame | PathText]
"""A judgement table, or where judgements are: log folders, ``.eval`` files, tables, and CASE-Bench
output files; or several of them."""

Files = PathText | Sequence[PathText]
"""A file, or several."""


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
    weigh_by: str = "query",
    calibrate: bool = False,
    grader_check: Files = (),
    seed: int = 0,
) -> Scores:
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
        weigh_by: What weighs alike in figures of pairs of contexts, where queries have unequal
            numbers of contexts: each ``query``, or each ``pair``.
        calibrate: Whether to recalibrate probabilities on held-out queries.
        grader_check: Replies that people labelled (from ``casewise graders sample``, or as
            ``casewise graders check`` reads them): correct the rates of replies for the grader's
            errors.
        seed: Seed of folds and simulations.

    Raises:
        InputError: The judgements, or labelled replies, can't be read.
        UsageError: An option that doesn't exist or doesn't fit.
    """
    if by is not None and (calibrate or grader_check):
        others = "calibrate= and grader_check="
        raise UsageError(f"by= splits scores; leave it out with {others}")
    table = _read(source, apart=True).table
    return Scores.of(
        scores.report_scores(
            table,
            _scoring(labels, unparsed, ties, weigh_by),
            by=None if by is None else choose(scores.Split, by, "by"),
            seed=seed,
            calibrate=calibrate,
            checks=_checks(grader_check, table),
        )
    )


def compare(
    before: Source,
    after: Source,
    *,
    labels: str | None = None,
    unparsed: str = "honest",
    ties: str = "half",
    weigh_by: str = "query",
    metrics: Sequence[str] = (),
    grader_check: Files = (),
    force: bool = False,
    every_pair: bool = False,
) -> Comparisons:
    """Compare two runs over the same cases: is the difference more than chance?

    A change is after minus before, with an error clustered by query.

    Args:
        before: The run that comes first.
        after: The run that is held against it.
        labels: As in ``score``.
        unparsed: As in ``score``.
        ties: As in ``score``.
        weigh_by: As in ``score``.
        metrics: The measures to compare; empty is all. ``gain_5`` and the like add a rung of
            evidence ladders.
        grader_check: As in ``score``; the differences are corrected, both runs by one method.
        force: Whether runs over different versions of the data are compared, over the cases that
            both have.
        every_pair: Whether different models are compared where their names recur.

    Raises:
        InputError: The judgements or labelled replies can't be read, or runs are over different
            versions of the data.
        UsageError: An option that doesn't exist, or one run only.
    """
    known = compared()
    for name in metrics:
        if name not in known and of_rung(name) is None:
            raise UsageError(f"no measure is called {name!r}: {choose_from(name, known)}")
    scoring = _scoring(labels, unparsed, ties, weigh_by)
    return Comparisons.of(
        _compare(before, after, scoring, metrics, grader_check, force=force, every=every_pair)
    )


def gate(
    run: Source,
    rules: PathText | None = None,
    *,
    baseline: Source | None = None,
    force: bool = False,
    grader_check: Files = (),
) -> Gate:
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
    read = _read(run)
    held_to = gate_rules(None if rules is None else Path(rules))
    if grader_check:
        held_to = replace(held_to, checks=_checks(grader_check, read.table))
    report = run_gate(
        read.table,
        held_to,
        None if baseline is None else _read(baseline).table,
        across_versions=force,
        unjudged=read.unjudged,
    )
    return Gate.of(report)


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
    weigh_by: str = "query",
    grader_check: Files = (),
    force: bool = False,
    seed: int = 0,
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
        weigh_by: As in ``score``.
        grader_check: As in ``score``: the corrected rates stand beside the others.
        force: Whether runs over different versions of the data are compared.
        seed: Seed of simulated ceilings.

    Returns:
        The path that was written.

    Raises:
        InputError: The judgements, or labelled replies, can't be read.
        UsageError: Another kind of file, or an option that doesn't exist.
        OSError: The file can't be written.
    """
    from casewise.reporting import evaluation_card, report_page

    to = Path(out)
    kind = to.suffix.lower()
    if kind not in (".html", ".htm", ".md"):
        raise UsageError(f"{to}: end the name in .html (the page) or .md (the card)")
    scoring = _scoring(labels, unparsed, ties, weigh_by)
    sources = _several(source)
    comparisons: tuple[scores.Comparison, ...] = ()
    if before is not None:
        sources = [*_several(before), *sources]
        comparisons = _compare(before, source, scoring, (), grader_check, force=force)
    read = _read(sources, texts=True, apart=before is None and not trend)
    known = {} if cases is None else {case.id: case for case in case_set(cases)}
    overview = scores.make_overview(
        read,
        scoring,
        cases=known,
        comparisons=comparisons,
        checks=_checks(grader_check, read.table),
        seed=seed,
    )
    paths = _paths(sources)
    facts = beside_loop(lambda: scores.evaluation_facts(paths, read, overview, scoring, seed=seed))
    if len(paths) < len(sources):
        # A card's command can't name a table in memory.
        facts = replace(facts, sources=(*facts.sources, "TABLE"))
    if kind == ".md":
        text = evaluation_card(overview, facts)
    else:
        text = report_page(overview, title=title, reveal=reveal, facts=facts, trend=trend)
    to.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(to, text.encode())
    return to


def _read(source: Source, *, texts: bool = False, apart: bool = False) -> Judgements:
    sources = _several(source)
    paths = _paths(sources)
    tables = [_table(one) for one in sources if not isinstance(one, str | os.PathLike)]
    if tables and not paths:
        read = Judgements(pl.concat(tables), ())
    else:
        read = beside_loop(lambda: read_paths(paths, texts=texts, apart=apart))
        read = replace(read, table=pl.concat([read.table, *tables]))
    warn(read.notes)
    return read


def _table(frame: Frame) -> pl.DataFrame:
    """A judgement table in polars.

    Raises:
        InputError: A column is missing, or holds what it can't.
        UsageError: Neither a table nor a path.
    """
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    in_polars = isinstance(frame, pl.DataFrame)
    if not in_polars and not (hasattr(frame, "astype") and hasattr(frame, "columns")):
        raise UsageError(
            f"judgements can't be read from a {type(frame).__name__}: give a table of polars or "
            "pandas, the path of a log folder or file, or several"
        )
    columns = list(frame.columns)
    lacking = [name for name in SCHEMA if name not in columns]
    if lacking:
        raise InputError("not a judgement table: a column is missing", field=lacking[0])
    if isinstance(frame, pl.DataFrame):
        return frame.select(*SCHEMA)
    # Pandas has a number, NaT or NA of its own where nothing is.
    filled = frame.astype(object).where(frame.notna(), None)
    try:
        return pl.DataFrame(
            [
                pl.Series(name, filled[name].to_list(), strict=False).cast(kind)
                for name, kind in SCHEMA.items()
            ]
        )
    except (pl.exceptions.PolarsError, TypeError) as error:
        raise InputError(f"not a judgement table: {first_line(error)}") from None


def _checks(files: Files, *tables: pl.DataFrame) -> tuple[CheckFile, ...]:
    return load_checks(_paths(_several(files)), tables)


def _several(source: Source) -> list[Frame | PathText]:
    """A source, or several, as a list."""
    if isinstance(source, Sequence) and not isinstance(source, str | os.PathLike):
        return list(source)
    return [source]


def _paths(sources: Sequence[Frame | PathText]) -> list[Path]:
    """The sources that are no tables."""
    return [Path(one) for one in sources if isinstance(one, str | os.PathLike)]


def _compare(
    before: Source,
    after: Source,
    scoring: Scoring,
    metrics: Sequence[str],
    grader_check: Files,
    *,
    force: bool,
    every: bool = False,
) -> tuple[scores.Comparison, ...]:
    tables = {
        os.fspath(source) if isinstance(source, str | os.PathLike) else name: _read(source).table
        for name, source in (("before", before), ("after", after))
    }
    checks = _checks(grader_check, *tables.values())
    runs = scores.find_runs(tables)
    if len(runs) < 2:
        raise UsageError("there is one run only: give another folder, file or table to compare")
    pairs = scores.pairs_of_runs(runs, across_versions=force, every=every)
    return tuple(scores.compare_runs(pairs, scoring, metrics, checks))


def _scoring(labels: str | None, unparsed: str, ties: str, weigh_by: str) -> Scoring:
    return Scoring(
        labels=None if labels is None else read_label_rule(labels, "labels="),
        unparsed=choose(scores.UnreadPolicy, unparsed, "unparsed"),
        ties=choose(Ties, ties, "ties"),
        weigh_by=choose(scores.WeighBy, weigh_by, "weigh_by"),
    )
