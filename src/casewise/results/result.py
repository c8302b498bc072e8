"""What was found of some runs: scores, comparisons, a gate's verdicts, a trend.

Each is a frozen sequence of rows with the state of its runs, its baselines and its verdicts. Every
view, and the front door, is a function of it.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar, overload

from casewise.analyses import Analysis, Scored, analyse, line_records
from casewise.gate import GateReport, GateRow, GateVerdict, as_gate_record
from casewise.judgements import RunState
from casewise.results.failures import failure_record
from casewise.results.trend import DatedRun, dated_runs
from casewise.results.verdict import Verdict
from casewise.scores import (
    Comparison,
    Failure,
    Overview,
    RunCondition,
    Score,
    ScoreReport,
    are_comparable,
    compare_runs,
    comparison_records,
    correction_record,
    find_runs,
    make_browser,
)
from casewise.sheets import Shown, plain_rows, plural

Row = TypeVar("Row")


@dataclass(frozen=True, repr=False)
class Result(Shown, Sequence[Row], Generic[Row]):
    """Rows, with the state of the runs that they are of, and the verdicts on them."""

    rows: tuple[Row, ...]
    states: Mapping[str, RunState] = field(default_factory=dict)
    """State of each run against its plan, by name."""
    baselines: tuple[Score, ...] = ()
    """Baselines that need no model, on the same cases."""
    verdicts: tuple[Verdict, ...] = ()
    """What is said of each run, or of each two runs."""

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        return self.rows[place]

    @property
    def leading(self) -> list[Verdict]:
        """The verdicts to begin with: one on a judge, one on a model that acts, as there are."""
        found: dict[bool, Verdict] = {}
        for one in self.verdicts:
            found.setdefault(one.score.acts, one)
        return [found[acts] for acts in sorted(found)]

    @abstractmethod
    def record(self) -> Any:
        """The JSON values that the command prints; what is undefined is NaN."""

    def to_markdown(self) -> str:
        """The result as Markdown, as the command prints it with ``--format markdown``."""
        # The one way up: a result shows itself.
        from casewise.reporting import sheet_of

        return sheet_of(self).markdown()


def _states(scores: Iterable[Score]) -> dict[str, RunState]:
    return {one.condition.title: one.state for one in scores if one.state is not None}


@dataclass(frozen=True, repr=False)
class Scores(Result[Score]):
    """A score for each model under each condition (and group); baselines apart."""

    report: ScoreReport = field(kw_only=True)
    """The rows, with what else is known of their conditions."""

    @classmethod
    def of(cls, report: ScoreReport) -> Self:
        """Scores with a verdict on each run."""
        scores = report.scores
        verdicts = (Verdict(one.condition.title, one) for one in scores)
        states = _states([*scores, *report.ranked])
        return cls(scores, states, report.baselines, tuple(verdicts), report=report)

    @property
    def leading(self) -> list[Verdict]:
        """The verdict on the best run of each kind; on the first where none can be told."""
        found = []
        for acts in (False, True):
            kind = [one for one in self.verdicts if one.score.acts is acts]
            running = [one for one in kind if one.score.can_lead]
            if running:
                best = max(running, key=lambda one: right(one.score))
                models = {one.score.condition.model for one in running}
                level = {
                    one.score.condition.model
                    for one in running
                    if right(one.score) == right(best.score)
                }
                ties = f", with {plural(len(level) - 1, 'other')}," if len(level) > 1 else ""
                more = (
                    f", right most often{ties} of {len(models)} models" if len(models) > 1 else ""
                )
                found.append(replace(best, subject=f"{best.subject}{more}"))
                found += [one for one in running if one.score.condition.place and one is not best]
            else:
                found += kind[:1]
        return found

    @cached_property
    def analyses(self) -> list[Analysis]:
        """Every analysis of the same judgements; those without lines say how to get them."""
        return self.analysed()

    def analysed(self, *names: str) -> list[Analysis]:
        """Analyses by name, or all; of parts of a run there are none."""
        report = self.report
        scored = Scored(
            report.table,
            self.rows,
            report.scoring,
            report.ranked,
            report.corrections,
            report.seed,
            report.calibrate,
        )
        return [] if report.is_split else analyse(scored, *names)

    def to_markdown(self, *, whole: bool = False) -> str:
        """The scores as Markdown; whole, with every measure and analysis."""
        from casewise.reporting import sheet_of

        return sheet_of(self, whole=whole).markdown()

    def failures(self, most: int) -> list[Failure]:
        """The wrong answers that are furthest from people, of runs with whole contexts if any."""
        report = self.report
        browser = make_browser(report.table, {}, report.scoring)
        found = browser.failures()
        return [one for one in found if one.run.plain][:most] or found[:most]

    def record(self) -> list[dict[str, Any]]:
        """An object for each row, with its verdict and its analyses; the baselines last."""
        analysed: dict[RunCondition, list[dict[str, Any]]] = {}
        for one in self.analyses:
            for line in one.lines:
                analysed.setdefault(line.run, []).extend(line_records(one, line))
        said = {
            id(one.score): {"verdict": list(one.said), "finding": one.finding}
            for one in self.verdicts
        }
        corrected = {one.condition: correction_record(one) for one in self.report.corrections}
        return [
            row.record()
            | ({"grader_check": found} if (found := corrected.get(row.condition)) else {})
            | said.get(id(row), {})
            | ({"analyses": figures} if (figures := analysed.get(row.condition)) else {})
            for row in (*self.rows, *self.report.ranked, *self.baselines)
        ]

    def records(self) -> list[dict[str, Any]]:
        """The rows of ``casewise score --format json``, the baselines last."""
        return plain_rows(self.record())


def right(score: Score) -> float:
    """Share of right answers of a run."""
    return score.measures[score.headline].value


@dataclass(frozen=True, repr=False)
class Comparisons(Result[Comparison]):
    """Every two runs that were subtracted: after minus before."""

    @classmethod
    def of(cls, found: Iterable[Comparison], baselines: tuple[Score, ...] = ()) -> Self:
        """Comparisons with a verdict on each."""
        rows = tuple(found)
        states = _states(score for one in rows for score in one.scores)
        return cls(rows, states, baselines, tuple(map(Verdict.of_change, rows)))

    def record(self) -> dict[str, Any]:
        """``pairs`` by two runs and measure; ``comparisons`` by two runs, with their verdicts."""
        record = comparison_records(self.rows)
        for part, verdict in zip(record["comparisons"], self.verdicts, strict=True):
            part |= {"verdict": list(verdict.said), "finding": verdict.finding}
        return record

    def records(self) -> list[dict[str, Any]]:
        """``pairs`` of ``casewise compare --format json``: a row for each two runs and measure."""
        return plain_rows(comparison_records(self.rows)["pairs"])


@dataclass(frozen=True, repr=False)
class Gate(Result[GateRow]):
    """A run held to rules: a row for each rule and condition."""

    report: GateReport = field(kw_only=True)
    """What is missing, and the notes on the verdicts."""

    @classmethod
    def of(cls, report: GateReport) -> Self:
        """A gate of its report, with a verdict on each run, against its baseline if it has one.

        The runs that fail most rules are first.
        """
        states = {name: one.state for name, one in report.completeness.items()}
        counted = Counter((row.condition, row.verdict) for row in report.rows)

        def worst(verdict: Verdict) -> tuple[int, int]:
            run = verdict.conditions[-1]
            return -counted[run, GateVerdict.FAIL], -counted[run, GateVerdict.UNDECIDED]

        found = [
            *Comparisons.of(report.comparisons).verdicts,
            *(Verdict(one.condition.title, one) for one in report.scores),
        ]
        verdicts = tuple(sorted(found, key=worst))
        return cls(report.rows, states, (), verdicts, report=report)

    @property
    def lines(self) -> list[str]:
        """The verdict on each run; of many, a count of runs, and the one that fails most rules."""
        runs = len(self.verdicts)
        if runs <= MOST_TOLD:
            return [one.line for one in self.verdicts]
        by_run: dict[str, set[GateVerdict]] = {}
        for row in self.rows:
            by_run.setdefault(row.run, set()).add(row.verdict)
        failed = sum(GateVerdict.FAIL in found for found in by_run.values())
        passed = sum(found == {GateVerdict.PASS} for found in by_run.values())
        counted = (
            f"Of {runs} runs {failed} fail a rule, {len(by_run) - failed - passed} are undecided, "
            f"and {passed} pass; casewise gate --json has the verdict on each."
        )
        worst = f"Failing most, {self.verdicts[0].line}" if failed else self.verdicts[0].line
        return [counted, worst]

    @property
    def verdict(self) -> GateVerdict:
        """``pass``, ``fail`` or ``undecided``."""
        return self.report.verdict

    @property
    def passed(self) -> bool:
        """Tell whether it passes; neither a failure nor too few cases to tell does."""
        return self.verdict is GateVerdict.PASS

    def record(self) -> dict[str, Any]:
        """One object: verdict, exit status, rules, notes, cases that changed or are newly wrong."""
        failures = [
            {**failure_record(one), "run": name}
            for name, found in self.report.failures.items()
            for one in found
        ]
        runs = [{"run": one.subject, "verdict": list(one.said)} for one in self.verdicts]
        return as_gate_record(self.report) | {"runs": runs, "failures": failures}

    def records(self) -> list[dict[str, Any]]:
        """A row for each rule and condition: ``rules`` of ``casewise gate --json``."""
        return plain_rows(self.record()["rules"])


MOST_TOLD = 3
"""Most runs of which a gate prints every verdict."""

LEAST_DATED = 2
"""Runs with a date that a trend takes."""

NO_TREND = "a trend takes two runs with a log each: logs say when a run ended"


@dataclass(frozen=True, repr=False)
class Trend(Result[DatedRun]):
    """Runs by the time at which they ended, the earliest first."""

    steps: tuple[tuple[RunCondition, RunCondition], ...] = field(default=(), kw_only=True)
    """The latest run of each kind, after the last one like it."""

    @classmethod
    def of(cls, overview: Overview) -> Self:
        """The runs with unchanged contexts whose logs have a date; fewer than two are no trend.

        The verdicts are on the latest run of each kind, of those with whole contexts if there are
        any, and of a ladder's of one rung: against the first like it over the same data.
        """
        runs = dated_runs(overview)
        rows = tuple(runs) if len(runs) >= LEAST_DATED else ()
        latest, steps = [], []
        for acts in (False, True):
            kind = [one for one in rows if one.score.acts is acts]
            if whole := [one for one in kind if one.score.condition.plain] or kind:
                rung = whole[-1].score.condition.evidence
                there = [one for one in whole if one.score.condition.evidence == rung]
                like = _like_the_last(there, overview)
                latest.append(_latest(there, like, overview))
                steps += [(one.score.condition, there[-1].score.condition) for one in like[-1:]]
        states = _states(overview.scores)
        return cls(rows, states, overview.report.baselines, tuple(latest), steps=tuple(steps))

    def record(self) -> list[dict[str, Any]]:
        """An object for each figure of each run: when it ended, its version, the share."""
        return [figure for run in self.rows for figure in run.records()]

    def records(self) -> list[dict[str, Any]]:
        """The same as rows."""
        return self.record()


def _like_the_last(dated: Sequence[DatedRun], overview: Overview) -> list[DatedRun]:
    """Earlier runs that can be subtracted from the last, those of its model if there are any."""
    last = dated[-1].score.condition
    runs = {one.condition: one for one in find_runs({"": overview.report.table})}
    like = [
        one
        for one in dated[:-1]
        for earlier in [one.score.condition]
        if earlier.same_but("model") == last.same_but("model")
        and earlier.has_data_of(last)
        and are_comparable(runs[earlier], runs[last], overview.report.scoring)
    ]
    return [one for one in like if one.score.condition.model == last.model] or like


def _latest(dated: Sequence[DatedRun], like: Sequence[DatedRun], overview: Overview) -> Verdict:
    """The verdict on the latest of some runs, against the first like it if there is one.

    It names the worst of the changes from the first to a run between them, and from that to it.
    """
    last = dated[-1]
    more = f", the latest of {len(dated)} runs" if len(dated) > 1 else ""
    alone = Verdict(f"{last.name}{more}", last.score)
    if not like:
        return alone
    runs = {one.condition: one for one in find_runs({"": overview.report.table})}
    before, *between = like
    steps = [(before, last), *(step for one in between for step in ((before, one), (one, last)))]
    pairs = [(runs[a.score.condition], runs[b.score.condition]) for a, b in steps]
    compared = compare_runs(pairs, overview.report.scoring, checks=overview.checks)
    falls = [
        (right(verdict.score), f"{b.name}, compared with {a.name}: {verdict.sentence}")
        for one, (a, b) in zip(compared[1:], steps[1:], strict=True)
        for verdict in [Verdict.of_change(one)]
        if verdict.sentence.startswith("Worse")
    ]
    return replace(
        alone,
        subject=f"{alone.subject}, compared with {before.name}",
        score=compared[0].scores[1],
        comparison=compared[0],
        between=f"On the way, {min(falls)[1]}" if falls else "",
    )


def leading(overview: Overview, trend: Trend | None = None) -> Result[Any]:
    """The result that a page begins with: what changed, else the trend, else the scores."""
    if overview.comparisons:
        return Comparisons.of(overview.comparisons, overview.report.baselines)
    return trend or Scores.of(overview.report)
