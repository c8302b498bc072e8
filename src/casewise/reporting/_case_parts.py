"""How a data set was divided, and its releases, for people."""

from collections.abc import Sequence

from casewise.cases import By, Part, Release
from casewise.sheets import Cell, Column, Kind, Row, Table, figures, number


def parts_table(parts: Sequence[Part], by: By) -> Table:
    """Queries by stratum and part, and the sums."""
    rows = []
    for stratum in parts[0].queries if by is not By.NONE else ():
        counts = [part.queries[stratum] for part in parts]
        rows.append(Row([stratum, *counts, sum(counts)]))
    queries = [part.n_queries for part in parts]
    shares: list[Cell] = [number(one / sum(queries)) for one in queries]
    cases = [len(part.cases) for part in parts]
    rows.append(Row(["queries", *queries, sum(queries)], apart=True))
    rows.append(Row(["share", *shares, number(1.0)]))
    rows.append(Row(["cases", *cases, sum(cases)]))
    heading = "Queries in each part" if by is By.NONE else f"Queries in each part, by {by}"
    names = (part.name for part in parts)
    return Table([Column(""), *figures(Kind.COUNT, *names, "all")], rows, heading)


def releases_table(releases: Sequence[Release]) -> Table:
    """The versions of a data set, oldest first."""
    return Table(
        [
            Column("version"),
            Column("date"),
            *figures(Kind.COUNT, "cases", "queries"),
            Column("hash"),
            Column("note"),
        ],
        [
            Row(
                [
                    one.version,
                    one.date.isoformat(),
                    one.cases,
                    one.queries,
                    one.hash,
                    one.note or "",
                ]
            )
            for one in releases
        ],
        "Releases",
    )
