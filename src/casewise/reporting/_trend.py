"""A trend as a table: the verdicts on the latest runs, then every run's four figures in time."""

from collections.abc import Iterator

from casewise.results import DatedRun, Trend, kind_of
from casewise.sheets import Column, Kind, Row, Sheet, Table, escape, markdown, terminal


def trend_sheet(trend: Trend) -> Sheet:
    """The state of the runs, the verdict on the latest of each kind, and a row a run."""
    said = [*trend.state_lines, *(one.line for one in trend.verdicts)]
    tables = list(_tables(trend))
    return Sheet(
        lambda: terminal(*said, *tables),
        lambda: markdown(*map(escape, said), *tables),
        trend.record,
    )


def _tables(trend: Trend) -> Iterator[Table]:
    """A table of judges, and one of models that act: their figures have other names."""
    for acts in (False, True):
        runs = [one for one in trend if one.verdict.score.acts is acts]
        if runs:
            verdict = runs[-1].verdict
            columns = (
                *(Column("ended (UTC)", Kind.DATE), Column("version"), Column("condition")),
                *(Column("n", Kind.COUNT), Column("read", Kind.NUMBER)),
                *(Column(figure.title) for figure in verdict.figures),
            )
            yield Table(columns, list(map(_row, runs)), f"{kind_of(verdict.score)}, over time")


def _row(run: DatedRun) -> Row:
    score = run.verdict.score
    told = (figure.text for figure in run.verdict.figures)
    ended = f"{run.ended:%Y-%m-%d %H:%M}"
    return Row([ended, run.version, score.condition.text, score.n, score.coverage, *told])
