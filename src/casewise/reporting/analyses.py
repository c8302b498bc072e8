"""An analysis as a table, a row a line and a column a figure, and as Markdown."""

from casewise.measures import measures
from casewise.reporting.names import run_names
from casewise.results import Analysis
from casewise.sheets import Column, Kind, Row, Table, escape, figures, markdown


def as_table(one: Analysis) -> Table:
    """The figures that a reader is shown; the parts of a single run under their own names."""
    runs = list(dict.fromkeys(line.run for line in one.lines))
    names = dict(zip(runs, run_names(runs), strict=True))
    rows = []
    for line in one.lines:
        name = ": ".join(filter(None, (names[line.run], line.part)))
        if len(runs) == 1:
            name = line.part or line.run.title
        rows.append(Row([name, line.n, *map(line.figures.get, one.columns)]))
    columns = [Column(""), Column("n", Kind.COUNT)]
    labels = {measure.name: measure.label for measure in measures()}
    words = (labels.get(name, name.replace("_", " ")) for name in one.columns)
    columns += figures(Kind.ESTIMATE, *words)
    return Table(columns, rows, f"{one.title} (95 %)", " ".join(one.notes))


def as_markdown(one: Analysis) -> str:
    """The question as a heading, how to read it, and the table."""
    return markdown(f"### {escape(one.question)}", escape(one.text), as_table(one))
