"""Import cases from somebody's table through a mapping. Nothing is dropped in silence."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casewise.cases._case import Case, Vote
from casewise.cases._load import checked_case
from casewise.cases._map_row import RowPlace, case_fields, is_wanted
from casewise.cases._mapping import CaseMapping
from casewise.cases._rows import RawTable, columns_of, non_empty, read_tables
from casewise.cases._write_cases import to_fields
from casewise.errors import InputError


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of every row.

    ``rows`` is the sum of the cases, of the four counts below it and of the problems.
    """

    cases: tuple[Case, ...]
    files: tuple[Path, ...]
    rows: int
    without_query: int
    filtered: int
    """Left out by the mapping's ``where``."""
    repeated: int
    """The same as a case there already."""
    joined: int
    """Put together with a case there already: another vote, other tags."""
    problems: tuple[InputError, ...]
    """The bad rows, one each."""
    untaken: Mapping[str, int]
    """Columns that the mapping names nowhere, with the rows that have something there."""
    notes: tuple[str, ...]
    """What else a person should know."""


@dataclass(slots=True)
class _Gathering:
    """Cases so far, by id, with the place of the first row of each."""

    mapping: CaseMapping
    cases: dict[str, Case] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[InputError] = field(default_factory=list)


def import_cases(path: Path | str, mapping: CaseMapping, *, split: str | None = None) -> Imported:
    """Read a file or folder through a mapping.

    Args:
        path: A CSV, TSV, JSON, JSON Lines, Parquet or Arrow file, or a folder of them.
        mapping: Which column is which field.
        split: The split that is taken, before the mapping's own.

    Raises:
        InputError: The source can't be read, or lacks a column that the mapping names. Bad rows
            are listed in the result.
    """
    tables_read = read_tables(Path(path), split or mapping.split)
    for table in tables_read.tables:
        _check_columns(table, mapping)
    gathering = _Gathering(mapping)
    taken = {column for _, column in mapping.columns()}
    untaken = dict.fromkeys((c for c in columns_of(tables_read.tables) if c not in taken), 0)
    for table in tables_read.tables:
        for record, row in table.rows:
            if isinstance(row, InputError):
                gathering.problems.append(row)
                continue
            for column in non_empty(row):
                if column in untaken:
                    untaken[column] += 1
            _take(gathering, row, RowPlace(table.file, record))
    counts = gathering.counts
    return Imported(
        cases=tuple(gathering.cases.values()),
        files=tuple(table.file for table in tables_read.tables),
        rows=sum(len(table.rows) for table in tables_read.tables),
        without_query=counts["without_query"],
        filtered=counts["filtered"],
        repeated=counts["repeated"],
        joined=counts["joined"],
        problems=tuple(gathering.problems),
        untaken=untaken,
        notes=tables_read.notes,
    )


def _check_columns(table: RawTable, mapping: CaseMapping) -> None:
    for key, column in mapping.columns():
        if column in table.columns:
            continue
        near = difflib.get_close_matches(column, table.columns, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        constant = key in ("source", "licence", "language", "category") and not near
        hint += "for one value in every row write {constant: TEXT}; " if constant else ""
        raise InputError(
            "no such column",
            file=table.file,
            field=key,
            found=column,
            expected=f"{hint}one of {', '.join(table.columns)}",
        )


def _take(gathering: _Gathering, row: Mapping[str, Any], place: RowPlace) -> None:
    mapping = gathering.mapping
    if not is_wanted(row, mapping):
        gathering.counts["filtered"] += 1
        return
    try:
        fields = case_fields(row, mapping, place)
        if fields is None:
            gathering.counts["without_query"] += 1
            return
        case = checked_case(fields, place.file, place.record)
        before = gathering.cases.get(case.id)
        if before is None:
            gathering.cases[case.id] = case
            gathering.places[case.id] = place.record
            return
        gathering.cases[case.id] = _together(before, case, gathering, place)
    except InputError as problem:
        gathering.problems.append(problem)


def _together(before: Case, case: Case, gathering: _Gathering, place: RowPlace) -> Case:
    """One case of two rows.

    Raises:
        InputError: They contradict each other.
    """
    mapping, first = gathering.mapping, gathering.places[case.id]
    differing = _differing(before, case)
    votes = mapping.vote is not None
    allowed = {"tags"} if mapping.join or votes else set()
    if votes:
        allowed.add("votes")
    strange = next((name for name in differing if name not in allowed), None)
    if strange is not None:
        expected = "rows of one case to agree, or ids of their own"
        if strange == "tags":
            expected += "; 'join: true' in the mapping puts tags together"
        raise InputError(
            f"contradicts {first}, a row of the same case",
            file=place.file,
            record=place.record,
            field=strange,
            expected=expected,
        )
    rows = _votes_of(before), _votes_of(case)
    if not differing and not (votes and rows[1] and rows[1][0].rater is None):
        gathering.counts["repeated"] += 1
        return before
    tags = tuple(dict.fromkeys((*before.tags, *case.tags)))
    merged = _vote_rows(*rows, first, place) if votes else None
    if before.tags == tags and votes and merged == rows[0]:
        gathering.counts["repeated"] += 1
        return before
    gathering.counts["joined"] += 1
    return before.model_copy(update={"tags": tags} | ({"votes": merged or None} if votes else {}))


def _differing(before: Case, case: Case) -> Sequence[str]:
    old, other = to_fields(before), to_fields(case)
    return [name for name in dict.fromkeys((*old, *other)) if old.get(name) != other.get(name)]


def _votes_of(case: Case) -> tuple[Vote, ...]:
    return case.votes if isinstance(case.votes, tuple) else ()


def _vote_rows(
    before: tuple[Vote, ...], new: tuple[Vote, ...], first: str, place: RowPlace
) -> tuple[Vote, ...]:
    """The votes of both; a rater counts once.

    Raises:
        InputError: A rater says both.
    """
    by_rater = {vote.rater: vote for vote in before if vote.rater is not None}
    added = []
    for vote in new:
        earlier = by_rater.get(vote.rater) if vote.rater is not None else None
        if earlier is None:
            added.append(vote)
        elif earlier.verdict != vote.verdict:
            raise InputError(
                f"the rater voted otherwise before (the case begins at {first})",
                file=place.file,
                record=place.record,
                field="rater",
                found=vote.rater,
                expected="one vote of a rater on a case",
            )
    return (*before, *added)
