"""An analysis as a table, a row a line and a column a figure, and as Markdown."""

from casewise.measures import measures
from casewise.reporting.names import run_names
from casewise.results import Analysis
from casewise.sheets import Column, Kind, Row, Table, escape, figures, markdown


def as_table(analysis: Analysis) -> Table:
    """The figures that a reader is shown; the parts of a single run under their own names."""
    runs = list(dict.fromkeys(line.run for line in analysis.lines))
    names = dict(zip(runs, run_names(runs), strict=True))
    rows = []
    for line in analysis.lines:
        name = ": ".join(filter(None, (names[line.run], line.part)))
        if len(runs) == 1:
            name = line.part or line.run.title
        rows.append(Row([name, line.n, *map(line.figures.get, analysis.columns)]))
    columns = [Column(""), Column("n", Kind.COUNT)]
    labels = {measure.name: measure.label for measure in measures()}
    words = (labels.get(name, name.replace("_", " ")) for name in analysis.columns)
    columns += figures(Kind.ESTIMATE, *words)
    return Table(columns, rows, f"{analysis.title} (95 %)", " ".join(analysis.notes))


def as_markdown(analysis: Analysis) -> str:
    """The question as a heading, how to read it, and the table."""
    return markdown(f"### {escape(analysis.question)}", escape(analysis.text), as_table(analysis))
