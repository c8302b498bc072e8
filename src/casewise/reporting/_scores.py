"""Scores as tables: of judges, of models that act, of pairs; and what changes them."""

import math
from collections.abc import Callable, Iterator, Sequence

from casewise.choices import Family, Measure, View
from casewise.measures import find, in_view, ladder_measures
from casewise.replies import GraderCorrection, correction_method, correction_notes
from casewise.results import (
    Scores,
    Verdict,
    ladder_sentence,
    left_open,
    remarks,
    whole_percent,
    wording,
)
from casewise.scores import (
    CALIBRATED,
    CELLS,
    SMALLEST,
    Difference,
    Escalation,
    LadderScore,
    RuleAccuracy,
    Score,
    ScoreReport,
    ScoreRow,
)
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    escape,
    figures,
    fits,
    interval,
    markdown,
    number,
    terminal,
)

ScoreColumn = tuple[Column, Callable[[Score], Cell]]
"""A column, and a function from a score to its cell."""


def baseline_text(score: Score) -> str:
    """A baseline's name in plain words."""
    name = score.condition.model.removeprefix("baseline:").replace("-", " ")
    if score.condition.of is not None:
        return f"{name}: {score.condition.of} ({score.condition.text})"
    return name


def title(scores: Sequence[Score]) -> str:
    """Title: labels that the scores are measured against, and what unread answers count as."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    against = wording(*scores).against
    policies = " and ".join(dict.fromkeys(str(score.unparsed) for score in scores))
    return f"Against {against} (labels: {rules}; unread answers: {policies})"


def number_columns(rows: Sequence[Measure]) -> list[ScoreColumn]:
    """Columns for measures of judging, the interval beside the first."""
    headline, *others = rows
    return [
        *answer_counts("read"),
        *interval_columns(headline),
        *map(measure_column, others),
    ]


def answer_counts(read: str) -> list[ScoreColumn]:
    """Columns for the number of answers, and the share that was read or graded."""
    return [
        (Column("n", Kind.COUNT), lambda score: score.n),
        (Column(read, Kind.SHARE), lambda score: score.coverage),
    ]


PAIR_COUNTS: list[ScoreColumn] = [
    (Column("queries", Kind.COUNT), lambda score: score.as_intended.clusters or None),
    (Column("pairs", Kind.COUNT), lambda score: score.as_intended.pairs or None),
]
"""Columns for the number of queries with a safe and an unsafe context, and of such pairs."""


def has_pairs(score: Score) -> bool:
    """Tell whether some query has two contexts, or one beside the query alone."""
    names = ("as_intended", "follows", "false_changes")
    return any(not math.isnan(score.measures[name].value) for name in names)


def context_columns(rows: Sequence[Measure]) -> list[ScoreColumn]:
    """Columns for measures of the two contexts of a query."""
    return [*PAIR_COUNTS, *map(measure_column, rows)]


def measure_column(row: Measure) -> ScoreColumn:
    """A column of a measure."""
    return Column(row.heading, Kind.NUMBER), lambda score: score.measures[row.name].value


def interval_columns(row: Measure) -> list[ScoreColumn]:
    """Columns for a measure and its interval."""
    ends = Column("95 %", Kind.INTERVAL), lambda score: score.measures[row.name].interval
    return [measure_column(row), ends]


def group_text(score: Score) -> str:
    """Values of the group that a score is split to; empty without a split."""
    return ", ".join(value or "–" for value in score.group.values())


ESCALATION_TURNS = 5

_MOVED = ("over_refusal", "under_refusal", "follows", "false_changes")
_WHO = (Column(""), Column("n", Kind.COUNT))


def act_title(scores: Sequence[Score]) -> str:
    """Title of the table of replies: the line that they are measured against."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    return f"Answers and refusals against {wording(*scores).line} (labels: {rules})"


def act_columns(scores: Sequence[Score]) -> list[ScoreColumn]:
    """Columns for refusals and answers; for tool calls where a model makes any."""
    columns = answer_counts("graded")
    for row in in_view(View.RATES, Family.REPLIES):
        if row.sides:
            columns += interval_columns(row)
        elif not row.is_optional:
            columns.append(measure_column(row))
        elif any(row.name in score.measures for score in scores):
            columns.append((Column(row.heading, Kind.NUMBER), tool_rate))
    return columns


def bounds_table(scores: Sequence[Score]) -> list[Table]:
    """Table of the rates' bounds over replies on neither side; none where every reply has one."""
    opened = [score for score in scores if score.bounds and left_open(score)]
    if not opened:
        return []
    columns: list[ScoreColumn] = [
        (Column("replies on\nneither side"), lambda score: ", ".join(left_open(score))),
        *(_bounds_column(find(name)) for name in opened[0].bounds),
    ]
    heading = "Bounds of the rates: replies on neither side counted on either"
    return [_scores_table(heading, opened, columns)]


def _bounds_column(row: Measure) -> ScoreColumn:
    return Column(row.heading, Kind.INTERVAL), lambda score: score.bounds[row.name]


def tool_rate(score: Score) -> float | None:
    """The share of graded replies that call a tool; None without replies."""
    if score.calls_tools:
        return score.measures["tool_call_rate"].value
    return 0.0 if score.classes else None


def pair_columns() -> list[ScoreColumn]:
    """Columns for the outcomes of pairs of contexts."""
    return [*PAIR_COUNTS, *map(measure_column, in_view(View.PAIRS, Family.REPLIES))]


def act_tables(report: ScoreReport) -> list[Table]:
    """Tables on replies beside the table of rates, those that have rows."""
    return [
        table
        for table in (
            correction_table(report),
            _plain_changes(report),
            _escalations(report),
            *change_tables(report),
            _trust(report),
            *ladder_tables(report, acts=True),
            _judge_act(report),
        )
        if table.rows
    ]


def correction_table(report: ScoreReport) -> Table:
    """Rates of replies as graded and corrected; no rows without labelled replies."""
    found = [row.correction for row in report.rows if row.correction is not None]
    return Table(
        [
            Column(""),
            *(Column("as graded", Kind.NUMBER), Column("95 %", Kind.INTERVAL)),
            *(Column("corrected", Kind.NUMBER), Column("95 %", Kind.INTERVAL)),
        ],
        [
            Row(
                [rate_name(name), raw.value, raw.interval, fixed.value, fixed.interval],
                group=f"{one.condition.title}, {correction_method(one)}",
            )
            for one in found
            for name, raw in one.raw.items()
            for fixed in [one.corrected[name]]
        ],
        "Corrected for the grader's errors",
        " ".join(correction_notes(found)),
    )


def corrected_table(corrections: Sequence[GraderCorrection], rows: Sequence[Difference]) -> Table:
    """Corrected rates of two runs, and their differences."""
    return Table(
        difference_columns("before", "after"),
        [Row(difference_cells(rate_name(one.metric), one)) for one in rows],
        f"Corrected for the grader's errors, {correction_method(corrections[0])}",
        " ".join(correction_notes(corrections)),
    )


def difference_columns(before: str, after: str) -> list[Column]:
    """Columns of a figure, its values in two runs, and the change."""
    return [
        *(Column(""), *figures(Kind.NUMBER, before, after), Column("change", Kind.CHANGE)),
        *(Column("95 %", Kind.INTERVAL), *figures(Kind.P_VALUE, "p", "Holm")),
    ]


def difference_cells(name: str, one: Difference) -> list[Cell]:
    """The cells under ``difference_columns``."""
    change = one.difference
    ends = interval(change.interval, with_signs=True)
    return [name, one.before.value, one.after.value, change.value, ends, change.p, one.p_holm]


def rate_name(name: str) -> str:
    """Name of a rate of replies: ``over-refusal``, ``partial``."""
    return name.replace("_rate", "").replace("_", "-")


def change_tables(report: ScoreReport) -> list[Table]:
    """Tables of the changes that flip a model, and of the parts that it says it leans on."""
    return [table for table in (_counterfactuals(report), _faithfulness(report)) if table.rows]


def _plain_changes(report: ScoreReport) -> Table:
    return Table(
        [*_WHO, *figures(Kind.ESTIMATE, *(find(one).heading for one in _MOVED))],
        [
            Row([score.condition.title, change.n, *(change.change[one] for one in _MOVED)])
            for score, change in ((row.score, row.change) for row in report.rows)
            if change is not None and score.acts
        ],
        "Change against the plain conversation (95 %)",
    )


def _escalations(report: ScoreReport) -> Table:
    turns = [f"turn\n{turn}" for turn in range(1, ESCALATION_TURNS + 1)]
    return Table(
        [*_WHO, *figures(Kind.SHARE, *turns)],
        [Row([one.condition.title, one.n, *_held(one)]) for one in report.escalations],
        "Share that has not complied, by turn",
    )


def _held(one: Escalation) -> list[Cell]:
    """The share at each turn; it stays as it was where nobody was asked further."""
    held = dict(zip(one.curve.turns.tolist(), one.curve.survival.tolist(), strict=True))
    shares: list[Cell] = []
    last = 1.0
    for turn in range(1, ESCALATION_TURNS + 1):
        last = held.get(turn, last)
        shares.append(last if one.n else None)
    return shares


def _counterfactuals(report: ScoreReport) -> Table:
    return Table(
        [*_WHO, *figures(Kind.ESTIMATE, "one\nparameter", "one\ngroup", "none\nasked")],
        [
            Row([one.condition.title, one.n, *(one.smallest[kind] for kind in SMALLEST)])
            for one in report.counterfactuals
        ],
        "Smallest change towards the twin that flips it (shares, 95 %)",
    )


def _faithfulness(report: ScoreReport) -> Table:
    moved = [(one, one.verdict) for one in report.faithfulness]
    return Table(
        [Column(""), *figures(Kind.ESTIMATE, "mentioned", "unmentioned", "difference")],
        [
            Row([one.condition.title, verdict.mentioned, verdict.unmentioned, verdict.difference])
            for one, verdict in moved
        ],
        "Verdicts that change when a parameter is removed (95 %)",
    )


def _trust(report: ScoreReport) -> Table:
    return Table(
        [*_WHO, *figures(Kind.ESTIMATE, "verified\ncontext", "claimed\ncontext", "spoofing\ngap")],
        [
            Row(
                [
                    one.condition.model,
                    one.n,
                    one.context_gain.all if one.context_gain is not None else None,
                    one.claim_gain.all if one.claim_gain is not None else None,
                    one.spoofing_gap,
                ]
            )
            for one in report.trust
        ],
        "How far a context moves the model the right way (95 %)",
    )


def ladder_tables(report: ScoreReport, *, acts: bool) -> Iterator[Table]:
    """Safe cases refused, or called unsafe, at each rung of an evidence ladder, a row a model."""
    if found := [one for one in report.ladders if one.condition.acts is acts]:
        yield _ladder_table(found, "refused" if acts else "called unsafe")


def _ladder_table(ladders: Sequence[LadderScore], what: str) -> Table:
    rungs = list(dict.fromkeys(rung.rung for one in ladders for rung in one.rungs))
    several = ladder_measures()

    def refused(one: LadderScore) -> Iterator[Cell]:
        shares = {rung.rung: rung.safe.value for rung in one.rungs}
        return (shares.get(rung) for rung in rungs)

    said = (f"{one.who}: {ladder_sentence(one)}" for one in ladders)
    return Table(
        [
            *_WHO,
            *figures(Kind.SHARE, *(f"rung\n{rung}" for rung in rungs)),
            *figures(Kind.ESTIMATE, *(row.label.replace(" ", "\n", 1) for row in several)),
        ],
        [
            Row(
                [
                    *(one.who, one.n, *refused(one)),
                    *(one.measures[row.name] for row in several),
                ]
            )
            for one in ladders
        ],
        f"Evidence ladder: share {what} of what people allow, rung by rung (95 %)",
        " ".join(said),
    )


def _judge_act(report: ScoreReport) -> Table:
    called = any(one.tool_calls for one in report.judge_act)
    return Table(
        [
            *(*_WHO, *figures(Kind.SHARE, *map(_words, CELLS)), Column("partial", Kind.COUNT)),
            *([Column("tool\ncall", Kind.COUNT)] if called else []),
        ],
        [
            Row(
                [
                    one.judged.title,
                    one.n,
                    *(one.shares[cell].value for cell in CELLS),
                    one.partial,
                    *([one.tool_calls] if called else []),
                ]
            )
            for one in report.judge_act
        ],
        "What it says of a case, and does in it",
    )


def _words(cell: str) -> str:
    said, did = cell.removeprefix("says_").split("_")
    return f"says {said},\n{did}"


WIDE = 100
"""Least width of a terminal that shows columns of wide tables, as many as fit; other formats have
them all."""

_CHANGES = (
    *("accuracy", "safe_recall", "unsafe_recall", "pcc", "brier"),
    *("follows", "false_changes"),
)


def score_sheet(
    result: Scores, others: Sequence[Sequence[RuleAccuracy]] = (), width: int | None = None
) -> Sheet:
    """The tables, with the accuracy under other label rules and the remarks below them.

    Args:
        result: The scores.
        others: The rows of judges under each label rule.
        width: Columns of a terminal, which decide how many measures it shows; None shows all.
    """
    return Sheet(
        lambda: terminal(*_parts(result, others, width)),
        lambda: markdown(
            *(escape(one) if isinstance(one, str) else one for one in _parts(result, others, None))
        ),
        result.record,
    )


def short_sheet(result: Scores, width: int | None = None) -> Sheet:
    """The verdicts and figures of all runs in short, with ladders and ranked pairs.

    Every table stands in it where none of these is. Arguments are those of ``score_sheet``.
    """
    parts = list(_short_parts(result))
    if not any(isinstance(one, Table) for one in parts):
        return score_sheet(result, width=width)
    shown = [*parts, *remarks(result.rows)]
    return Sheet(
        lambda: terminal(*shown),
        lambda: markdown(*(escape(one) if isinstance(one, str) else one for one in shown)),
        result.record,
    )


def _short_parts(result: Scores) -> Iterator[Table | str]:
    # The table of a ladder has its rungs.
    yield from _opening(result, lambda one: one.score.condition.evidence is None)
    for acts in (False, True):
        yield from ladder_tables(result.report, acts=acts)
    yield from _ranked(result.report)


def _opening(result: Scores, is_shown: Callable[[Verdict], bool]) -> Iterator[Table | str]:
    """State of the runs, the verdicts to begin with, and the figures of some in short."""
    yield from result.state_lines
    for one in result.leading:
        yield from (f"{one.subject}", *one.said, "")
    for acts in (False, True):
        yield from _in_short(list(filter(is_shown, _of_kind(result, acts))))


def _of_kind(result: Scores, acts: bool) -> list[Verdict]:
    """Verdicts on judges, or on models that act, without those of a group of cases."""
    return [one for one in result.verdicts if one.score.acts is acts and not one.score.group]


def _parts(
    result: Scores, others: Sequence[Sequence[RuleAccuracy]], width: int | None
) -> Iterator[Table | str]:
    yield from _opening(result, lambda one: one.score.condition.plain)
    if result.report.shape is not None:
        yield from (*result.report.shape.sentences(), "")
    yield from _judging(result, [one for one in result if not one.acts], others, width)
    yield from ladder_tables(result.report, acts=False)
    yield from _acting(result.report, [one for one in result if one.acts])
    yield from _ranked(result.report)
    yield from remarks(result.rows)


def _ranked(report: ScoreReport) -> Iterator[Table]:
    if report.ranked:
        yield _scores_table(View.RANKED, report.ranked, _ranked_columns())


def _ranked_columns() -> list[ScoreColumn]:
    headline, *rows = in_view(View.RANKED, Family.PAIRS)
    return [
        (Column("pairs", Kind.COUNT), lambda score: score.n),
        (Column("queries", Kind.COUNT), lambda score: score.queries),
        (Column("read", Kind.SHARE), lambda score: score.coverage),
        *interval_columns(headline),
        *map(measure_column, rows),
    ]


def _ranked_text(score: Score) -> str:
    of = score.condition.of
    return score.condition.text if of is None else f"{score.condition.text}, by its {of}"


def _judging(
    result: Scores,
    scores: Sequence[Score],
    others: Sequence[Sequence[RuleAccuracy]],
    width: int | None,
) -> list[Table]:
    if not scores:
        return []
    report, baselines = result.report, result.baselines

    def numbers(rows: Sequence[Measure]) -> Table:
        return _scores_table(title(scores), scores, number_columns(rows), baselines)

    def pairs(rows: Sequence[Measure]) -> Table:
        # Others know no context.
        sees = ("as_intended", "inverted")
        beside = [one for one in baselines if any(one.measures[name].value > 0 for name in sees)]
        return _scores_table(View.PAIRS, paired, context_columns(rows), beside)

    parts = [_fitted(View.SCORES, width, numbers)]
    paired = [score for score in scores if has_pairs(score) and not score.group]
    if paired:
        parts.append(_fitted(View.PAIRS, width, pairs))
    rules = _other_rules(scores, others)
    if rules:
        parts.append(_scores_table("Accuracy under other labels", scores, rules))
    extra = (_changes(report.rows), _shapley(report.rows), _calibration(report.rows))
    return [*parts, *(table for table in extra if table.rows)]


def _fitted(view: View, width: int | None, make: Callable[[Sequence[Measure]], Table]) -> Table:
    """A table with as many of the columns of wide tables as fit, the first ones first."""
    rows = in_view(view)
    if width is None:
        return make(rows)
    wide = [row for row in rows if row.wide]
    while wide and (width < WIDE or not fits(make(rows), width)):
        rows.remove(wide.pop())
    return make(rows)


def _acting(report: ScoreReport, scores: Sequence[Score]) -> list[Table]:
    if not scores:
        # Swaps and explanations are a judge's too.
        return change_tables(report)
    tables = [_scores_table(act_title(scores), scores, act_columns(scores)), *bounds_table(scores)]
    paired = [score for score in scores if has_pairs(score) and not score.group]
    if paired:
        heading = "What it does in a safe and an unsafe context of a query"
        tables.append(_scores_table(heading, paired, pair_columns()))
    return [*tables, *act_tables(report)]


def _scores_table(
    heading: str,
    scores: Sequence[Score],
    columns: Sequence[ScoreColumn],
    baselines: Sequence[Score] = (),
) -> Table:
    """Rows under the name of their model, named by condition and group; baselines last, dimmed."""

    def cells(name: str, score: Score) -> list[Cell]:
        named = ": ".join(filter(None, (name, group_text(score))))
        return [named, *(cell(score) for _, cell in columns)]

    rows = [Row(cells(_ranked_text(one), one), one.condition.model) for one in scores]
    rows += [Row(cells(baseline_text(one), one), "baselines", dim=True) for one in baselines]
    names = [Column(""), *(column for column, _ in columns)]
    return Table(names, rows, heading, groups="model")


def _other_rules(
    scores: Sequence[Score], others: Sequence[Sequence[RuleAccuracy]]
) -> list[ScoreColumn]:
    """A column for the accuracy under each label rule but the table's own."""
    places = {id(score): place for place, score in enumerate(scores)}
    columns: list[ScoreColumn] = []
    for rows in others:
        if len(rows) != len(scores) or all(
            row.n == 0 or row.labels is score.labels
            for row, score in zip(rows, scores, strict=True)
        ):
            continue

        def cell(score: Score, rows: Sequence[RuleAccuracy] = rows) -> str:
            row = rows[places[id(score)]]
            cases = f" ({row.n})" if row.label_coverage < 1 else ""
            return number(row.accuracy) + cases

        columns.append((Column(str(rows[0].labels), Kind.SHARE), cell))
    return columns


def _change_columns() -> list[Column]:
    names = (name.replace("_", "\n") for name in _CHANGES)
    return [Column(""), Column("n", Kind.COUNT), *figures(Kind.ESTIMATE, *names)]


def _changes(rows: Sequence[ScoreRow]) -> Table:
    return Table(
        _change_columns(),
        [
            Row([score.condition.title, change.n, *(change.change[one] for one in _CHANGES)])
            for score, change in ((row.score, row.change) for row in rows)
            if change is not None and not score.acts
        ],
        "Change when parts of the context are removed (95 %)",
    )


def _shapley(rows: Sequence[ScoreRow]) -> Table:
    return Table(
        _change_columns(),
        [
            Row(
                [part.replace("_", " "), found.n, *(shares[one] for one in _CHANGES)],
                group=score.condition.title,
            )
            for score, found in ((row.score, row.shapley) for row in rows)
            if found is not None and not score.acts
            for part, shares in found.shares.items()
        ],
        "Shapley shares of the parts of the context (95 %)",
    )


def _calibration(rows: Sequence[ScoreRow]) -> Table:
    return Table(
        [Column(""), *figures(Kind.NUMBER, *(find(one).label for one in CALIBRATED))],
        [line for row in rows for line in _calibrated(row)],
        "Recalibrated on held-out queries",
    )


def _calibrated(row: ScoreRow) -> Iterator[Row]:
    if (found := row.calibration) is None:
        return
    names = {
        "before": "as it is",
        "temperature": f"temperature {number(found.mean_temperature, 2)}",
        "isotonic": "isotonic",
    }
    for field, name in names.items():
        values = (one.value for one in getattr(found, field).values())
        yield Row([name, *values], group=row.score.condition.title)


def _in_short(whole: Sequence[Verdict]) -> Iterator[Table]:
    """The figures of runs, under their models; nothing where there is none."""
    if not whole:
        return
    rows = []
    for one in whole:
        model, pairs = one.score.condition.model, one.figures[:2]
        rows.append(Row([one.score.condition.text, *(each.cell for each in one.figures)], model))
        coins = [each.baseline and whole_percent(each.baseline[1]) for each in pairs]
        if any(coins):
            rows.append(Row(["a coin", *coins, None, None], model, dim=True))
    for held in dict.fromkeys(tuple(each.baseline for each in one.figures[2:]) for one in whole):
        told = [one for one in held if one is not None]
        if len(told) == len(held):
            cells = [told[0][0], None, None, *(whole_percent(value) for _, value in told)]
            rows.append(Row(cells, "baselines", dim=True))
    titles = (one.title for one in whole[0].figures)
    heads = (one.replace(" what", "\nwhat").replace(" where", "\nwhere") for one in titles)
    yield Table([Column(""), *map(Column, heads)], rows, "In short", groups="model")
