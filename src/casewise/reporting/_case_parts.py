"""How a data set was divided, and its releases, for people."""

from collections.abc import Sequence

from rich.text import Text

from casewise.cases import By, Part, Release
from casewise.reporting._scores import number
from casewise.reporting._tables import PlainTable, plain_table


def parts_renderable(parts: Sequence[Part], by: By) -> PlainTable:
    """Queries by stratum and part, and the sums."""
    heading = "Queries in each part" if by is By.NONE else f"Queries in each part, by {by}"
    table = plain_table(heading, ["", *(part.name for part in parts), "all"])
    for stratum in parts[0].queries if by is not By.NONE else ():
        counts = [part.queries[stratum] for part in parts]
        table.add_row(stratum, *map(str, (*counts, sum(counts))))
    table.add_section()
    queries = [part.n_queries for part in parts]
    table.add_row("queries", *map(str, (*queries, sum(queries))))
    shares = [number(one / sum(queries)) for one in queries]
    table.add_row("share", *shares, number(1.0))
    cases = [len(part.cases) for part in parts]
    table.add_row("cases", *map(str, (*cases, sum(cases))))
    return table


def releases_renderable(releases: Sequence[Release]) -> PlainTable:
    """The versions of a data set, oldest first."""
    table = plain_table("Releases", ["version"])
    for head in ("date", "cases", "queries", "hash", "note"):
        table.add_column(head, right=head in ("cases", "queries"))
    for one in releases:
        counts = [str(one.cases), str(one.queries)]
        table.add_row(one.version, one.date.isoformat(), *counts, one.hash, Text(one.note or ""))
    return table
