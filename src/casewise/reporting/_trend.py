"""A trend as a table: the verdicts on the latest runs, then every run's four figures in time."""

from collections.abc import Iterator

from casewise.results import DatedRun, Trend, Verdict
from casewise.sheets import Column, Kind, Row, Sheet, Table, escape, markdown, terminal


def trend_sheet(trend: Trend) -> Sheet:
    """The verdict on the latest run of each kind, and a row a run."""
    lines = [one.line for one in trend.verdicts]
    tables = list(_tables(trend))
    return Sheet(
        lambda: terminal(*lines, *tables),
        lambda: markdown(*map(escape, lines), *tables),
        trend.record,
    )


def _tables(trend: Trend) -> Iterator[Table]:
    """A table of judges, and one of models that act: their figures have other names."""
    for acts in (False, True):
        runs = [one for one in trend if one.score.acts is acts]
        if runs:
            columns = (
                *(Column("ended (UTC)", Kind.DATE), Column("version"), Column("condition")),
                Column("state"),
                *(Column(figure.title) for figure in Verdict("", runs[0].score).figures),
            )
            title = "In action" if acts else "As a judge"
            yield Table(columns, list(map(_row, runs)), f"{title}, over time")


def _row(run: DatedRun) -> Row:
    verdict = Verdict("", run.score)
    shares = (figure.text for figure in verdict.figures)
    ended = f"{run.ended:%Y-%m-%d %H:%M}"
    return Row([ended, run.version, run.score.condition.text, verdict.state, *shares])
