"""Import cases from somebody's table through a mapping. Nothing is dropped in silence."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.cases._case import Case, Vote
from casewise.cases._grids import RawTable, Row, RowPlace, TableForm
from casewise.cases._load import checked_case
from casewise.cases._map_row import case_fields, is_wanted, why_unlabelled
from casewise.cases._mapping import CaseMapping
from casewise.cases._mapping_values import BUILT_IN, FILE, ROW, SPLIT, Beside, as_key
from casewise.cases._rows import columns_of, non_empty, read_table, read_tables
from casewise.cases._write_cases import to_fields
from casewise.errors import InputError


@dataclass(frozen=True, slots=True)
class Imported:
    """Fate of every row.

    ``rows``, times the cases that the mapping makes of a row, is the sum of the cases, of the four
    counts below it and of the problems; a row that can't be read at all is one problem.
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
    unlabelled: Mapping[str, int]
    """Why cases have no label that a score could be held against, with their number."""
    untaken: Mapping[str, int]
    """Columns that the mapping names nowhere, with the rows that have something there."""
    notes: tuple[str, ...]
    """Further notes."""


@dataclass(slots=True)
class _Gathering:
    """Cases so far, by id, with the place of the first row of each."""

    mapping: CaseMapping
    cases: dict[str, Case] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[InputError] = field(default_factory=list)
    unlabelled: dict[str, str] = field(default_factory=dict)
    """Reason why a case's first row gave no label, by id."""


def import_cases(path: Path | str, mapping: CaseMapping, *, split: str | None = None) -> Imported:
    """Read a file or folder through a mapping.

    Args:
        path: A CSV, TSV, spreadsheet, JSON, JSON Lines, Parquet, Arrow or text file, or a folder.
        mapping: Which column is which field.
        split: The split that is taken, before the mapping's own.

    Raises:
        InputError: The source can't be read, or lacks a column that the mapping names. Bad rows
            are listed in the result.
    """
    path = Path(path)
    form = TableForm(mapping.header, mapping.encoding, mapping.sheet)
    leave = [other.file for other in mapping.beside.values()]
    tables_read = read_tables(path, split or mapping.split, form, leave)
    folder = path if path.is_dir() else path.parent
    asking, strangers = _asking_tables(tables_read.tables, mapping)
    tables = _with_others(asking, mapping.beside, folder)
    for table in tables:
        _check_columns(table, mapping)
    gathering = _Gathering(mapping)
    taken = {column for _, column in mapping.columns()}
    untaken = dict.fromkeys((c for c in columns_of(tables) if c not in taken), 0)
    for table in tables:
        for number, (record, row) in enumerate(table.rows, start=1):
            if isinstance(row, InputError):
                gathering.problems.append(row)
                continue
            for column in non_empty(row):
                if column in untaken:
                    untaken[column] += 1
            known = {ROW: number, FILE: table.file.name, SPLIT: table.split}
            place = RowPlace(table.file, record, mapping.decimal or table.decimal)
            for case_number, mapped in enumerate(mapping.of_row):
                _take(gathering, mapped, {**known, **row}, place, case_number)
    counts = gathering.counts
    bare = (why for name, why in gathering.unlabelled.items() if not _has_label(gathering, name))
    return Imported(
        cases=tuple(gathering.cases.values()),
        files=tuple(table.file for table in tables),
        rows=sum(len(table.rows) for table in tables),
        without_query=counts["without_query"],
        filtered=counts["filtered"],
        repeated=counts["repeated"],
        joined=counts["joined"],
        problems=tuple(gathering.problems),
        unlabelled=dict(Counter(bare).most_common()),
        untaken=untaken,
        notes=(*tables_read.notes, *strangers),
    )


def _asking_tables(
    tables: Sequence[RawTable], mapping: CaseMapping
) -> tuple[Sequence[RawTable], list[str]]:
    """Tables that have what is asked, and a note on each other file of the folder."""
    asked = {column for key, column in mapping.columns() if key in ("query", "turns")}
    asking = [table for table in tables if asked.intersection(table.columns)]
    if not asking:
        # What is asked stands in a file beside the tables, or nowhere, which is told later.
        return tables, []
    lacking = ", ".join(map(repr, sorted(asked)))
    return asking, [
        f"{table.file.name} is left unread (rows: {len(table.rows)}): it has no column {lacking}"
        for table in tables
        if table not in asking
    ]


def _check_columns(table: RawTable, mapping: CaseMapping) -> None:
    for key, column in mapping.columns():
        if column in table.columns or column in BUILT_IN:
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


def _with_others(
    tables: Sequence[RawTable], beside: Mapping[str, Beside], folder: Path
) -> Sequence[RawTable]:
    """The tables with the columns of the files beside them."""
    for name, other in beside.items():
        added = read_table(folder / other.file)
        tables = [_joined(table, added, name, other) for table in tables]
    return tables


def _joined(table: RawTable, added: RawTable, name: str, beside: Beside) -> RawTable:
    """A table with the columns of another, by a column of both or in the order of the rows.

    Raises:
        InputError: They have no such column, or unequal numbers of rows.
    """
    alone = [column for column in added.columns if column != beside.by]
    # The one column of a second file goes by the file's name in the mapping.
    names = {column: name if len(alone) == 1 else f"{name}.{column}" for column in alone}
    if beside.by is None:
        if len(added.rows) != len(table.rows):
            raise InputError(
                f"{len(added.rows)} rows beside {len(table.rows)} of {table.file.name}",
                file=added.file,
                field=f"beside.{name}",
                expected="as many rows, in the same order; or a column of both to tell them by "
                f"({{file: {beside.file}, by: COLUMN}})",
            )
        others: Sequence[Row | None] = [row for _, row in added.rows]
    else:
        for one in (table, added):
            if beside.by not in one.columns:
                expected = f"one of {', '.join(one.columns)}"
                field_name = f"beside.{name}.by"
                raise InputError(
                    "no such column",
                    file=one.file,
                    field=field_name,
                    found=beside.by,
                    expected=expected,
                )
        by_key = _by_key(added, beside.by)
        others = [
            None if isinstance(row, InputError) else by_key.get(as_key(row.get(beside.by)))
            for _, row in table.rows
        ]
    rows: list[tuple[str, Row]] = []
    for (record, row), other in zip(table.rows, others, strict=True):
        bad = next((one for one in (row, other) if isinstance(one, InputError)), None)
        if bad is not None or isinstance(row, InputError) or isinstance(other, InputError):
            rows.append((record, bad or InputError("unreadable", file=table.file, record=record)))
        else:
            cells = other or {}
            rows.append((record, {**row, **{new: cells.get(old) for old, new in names.items()}}))
    columns = (*table.columns, *names.values())
    return replace(table, columns=columns, rows=rows, decimal=table.decimal or added.decimal)


def _by_key(added: RawTable, on: str) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for record, row in added.rows:
        if isinstance(row, InputError):
            raise row
        key = as_key(row.get(on))
        if key in rows:
            problem = "the value stands twice"
            raise InputError(problem, file=added.file, record=record, field=on, found=row.get(on))
        rows[key] = row
    return rows


def _take(
    gathering: _Gathering,
    mapping: CaseMapping,
    row: Mapping[str, Any],
    place: RowPlace,
    number: int,
) -> None:
    if not is_wanted(row, mapping):
        gathering.counts["filtered"] += 1
        return
    try:
        fields = case_fields(row, mapping, place)
        if fields is None:
            gathering.counts["without_query"] += 1
            return
        if number and fields.get("id") and mapping.id == gathering.mapping.id:
            # One id for all cases of a row: those after the first say which they are.
            fields["id"] = f"{fields['id']}:{number + 1}"
        case = checked_case(fields, place.file, place.record)
        before = gathering.cases.get(case.id)
        if before is None:
            gathering.cases[case.id] = case
            gathering.places[case.id] = place.record
            if not _has_label(gathering, case.id):
                gathering.unlabelled[case.id] = why_unlabelled(row, mapping)
            return
        gathering.cases[case.id] = _together(before, case, mapping, gathering, place)
    except InputError as problem:
        gathering.problems.append(problem)


def _has_label(gathering: _Gathering, name: str) -> bool:
    case = gathering.cases[name]
    voted = (case.votes_safe or 0) + (case.votes_unsafe or 0) > 0
    return voted or case.intended is not None or case.published_safe_rate is not None


def _together(
    before: Case, case: Case, mapping: CaseMapping, gathering: _Gathering, place: RowPlace
) -> Case:
    """One case of two rows.

    Raises:
        InputError: They contradict each other.
    """
    first = gathering.places[case.id]
    differing = _differing(before, case)
    votes = mapping.vote is not None
    allowed = {"tags"} if gathering.mapping.join or votes else set()
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
