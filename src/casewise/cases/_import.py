"""Import cases from somebody's table through a mapping. Nothing is dropped in silence."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.cases._case import Case, Vote, to_fields
from casewise.cases._grids import RawTable, Row, TableForm
from casewise.cases._load import checked_case
from casewise.cases._mapping import (
    BUILT_IN,
    FILE,
    ROW,
    SPLIT,
    Beside,
    CaseMapping,
    MappedRow,
    as_key,
)
from casewise.cases._rows import columns_of, filled_columns, read_table, read_tables
from casewise.errors import InputError, did_you_mean


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: cases, and a count of every row that made none.

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
    """Identical with an earlier case."""
    joined: int
    """Merged into an earlier case: another vote, other tags."""
    problems: tuple[InputError, ...]
    """One error for each bad row."""
    unlabelled: Mapping[str, int]
    """Number of cases without a label to score against, by reason."""
    untaken: Mapping[str, int]
    """Number of filled cells by column that the mapping names nowhere."""
    notes: tuple[str, ...]
    """Remarks on the source: splits, encodings, files left unread."""


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
    source = read_tables(path, split or mapping.split, form, leave)
    tables, unread = _tables_with_queries(source, mapping)
    for name, other in mapping.beside.items():
        added = read_table((path if path.is_dir() else path.parent) / other.file)
        tables = [_with_columns(table, added, name, other) for table in tables]
    for table in tables:
        _check_columns(table, mapping)
    gathering = _Gathering(mapping)
    taken = {column for _, column in mapping.columns()}
    untaken = {column: 0 for column in columns_of(tables) if column not in taken}
    for table in tables:
        decimal = mapping.decimal or table.decimal
        for number, (record, row) in enumerate(table.rows, start=1):
            if isinstance(row, InputError):
                gathering.problems.append(row)
                continue
            for column in filled_columns(row):
                if column in untaken:
                    untaken[column] += 1
            cells = {ROW: number, FILE: table.file.name, SPLIT: table.split, **row}
            for case_number, mapped in enumerate(mapping.of_row, start=1):
                mapped_row = MappedRow(cells, mapped, table.file, record, decimal)
                gathering.take(mapped_row, case_number)
    cases, counts = gathering.cases, gathering.counts
    unlabelled = (why for id, why in gathering.unlabelled.items() if not _has_label(cases[id]))
    return Imported(
        cases=tuple(cases.values()),
        files=tuple(table.file for table in tables),
        rows=sum(len(table.rows) for table in tables),
        without_query=counts["without_query"],
        filtered=counts["filtered"],
        repeated=counts["repeated"],
        joined=counts["joined"],
        problems=tuple(gathering.problems),
        unlabelled=dict(Counter(unlabelled).most_common()),
        untaken=untaken,
        notes=(*(note for table in source for note in table.notes), *unread),
    )


def _tables_with_queries(
    tables: Sequence[RawTable], mapping: CaseMapping
) -> tuple[Sequence[RawTable], list[str]]:
    """Tables with a column of queries, and a note on each other file of the folder."""
    asked = {column for key, column in mapping.columns() if key in ("query", "turns")}
    chosen = [table for table in tables if asked.intersection(table.columns)]
    if not chosen:
        # The queries stand in a file beside the tables, or nowhere, which is found later.
        return tables, []
    lacking = ", ".join(map(repr, sorted(asked)))
    return chosen, [
        f"{table.file.name} is left unread (rows: {len(table.rows)}): it has no column {lacking}"
        for table in tables
        if table not in chosen
    ]


def _check_columns(table: RawTable, mapping: CaseMapping) -> None:
    for key, column in mapping.columns():
        if column in (*table.columns, *BUILT_IN):
            continue
        hint = did_you_mean(column, table.columns)
        if key in ("source", "licence", "language", "category") and not hint:
            hint = "for one value in every row write {constant: TEXT}; "
        expected = f"{hint}one of {', '.join(table.columns)}"
        raise InputError("no such column", table.file, field=key, found=column, expected=expected)


def _with_columns(table: RawTable, added: RawTable, name: str, beside: Beside) -> RawTable:
    """A table with the columns of another, by a column of both or in the order of the rows.

    Raises:
        InputError: They have no such column, or unequal numbers of rows.
    """
    alone = [column for column in added.columns if column != beside.by]
    # The one column of a second file goes by the file's name in the mapping.
    names = {column: name if len(alone) == 1 else f"{name}.{column}" for column in alone}
    others: Iterable[Row]
    if beside.by is None:
        if len(added.rows) != len(table.rows):
            raise InputError(
                f"{len(added.rows)} rows beside {len(table.rows)} of {table.file.name}",
                added.file,
                field=f"beside.{name}",
                expected="as many rows, in the same order; or a column of both to tell them by "
                f"({{file: {beside.file}, by: COLUMN}})",
            )
        others = (row for _, row in added.rows)
    else:
        by = beside.by
        for one in (table, added):
            if by not in one.columns:
                expected = f"one of {', '.join(one.columns)}"
                raise InputError(
                    "no such column",
                    one.file,
                    field=f"beside.{name}.by",
                    found=by,
                    expected=expected,
                )
        by_key = _by_key(added, by)
        others = (
            row if isinstance(row, InputError) else by_key.get(as_key(row.get(by)), {})
            for _, row in table.rows
        )
    rows: list[tuple[str, Row]] = []
    for (record, row), other in zip(table.rows, others, strict=True):
        if isinstance(row, InputError) or isinstance(other, InputError):
            rows.append((record, row if isinstance(row, InputError) else other))
        else:
            rows.append((record, {**row, **{new: other.get(old) for old, new in names.items()}}))
    columns = (*table.columns, *names.values())
    return replace(table, columns=columns, rows=rows, decimal=table.decimal or added.decimal)


def _by_key(added: RawTable, column: str) -> dict[str, Row]:
    """Rows by the value of a column, which no two share."""
    rows: dict[str, Row] = {}
    for record, row in added.rows:
        if isinstance(row, InputError):
            raise row
        value = row.get(column)
        if rows.setdefault(as_key(value), row) is not row:
            problem = "the value stands twice"
            raise InputError(problem, added.file, record, field=column, found=value)
    return rows


def _has_label(case: Case) -> bool:
    return bool(
        case.votes_safe
        or case.votes_unsafe
        or case.intended
        or case.published_safe_rate is not None
    )


def _votes_of(case: Case) -> tuple[Vote, ...]:
    return case.votes if isinstance(case.votes, tuple) else ()


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

    def take(self, row: MappedRow, number: int) -> None:
        """Take the case of a row, the ``number``-th of several; or count the reason why not."""
        if not row.is_wanted:
            self.counts["filtered"] += 1
            return
        try:
            fields = row.case_fields()
            if fields is None:
                self.counts["without_query"] += 1
                return
            if number > 1 and fields.get("id") and row.mapping.id == self.mapping.id:
                # One id for all cases of a row: those after the first say which they are.
                fields["id"] = f"{fields['id']}:{number}"
            case = checked_case(fields, row.file, row.record)
            if case.id in self.cases:
                self.cases[case.id] = self._merged(case, row)
                return
            self.cases[case.id] = case
            self.places[case.id] = row.record
            if not _has_label(case):
                self.unlabelled[case.id] = row.why_unlabelled()
        except InputError as problem:
            self.problems.append(problem)

    def _merged(self, case: Case, row: MappedRow) -> Case:
        """Merge a case with that of earlier rows.

        Raises:
            InputError: They contradict each other.
        """
        before = self.cases[case.id]
        old, new = to_fields(before), to_fields(case)
        differing = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        single_votes = row.mapping.vote is not None
        allowed = {"tags"} if self.mapping.join or single_votes else set()
        if single_votes:
            allowed.add("votes")
        strange = next((name for name in differing if name not in allowed), None)
        if strange is not None:
            expected = "rows of one case to agree, or ids of their own"
            if strange == "tags":
                expected += "; 'join: true' in the mapping puts tags together"
            problem = f"contradicts {self.places[case.id]}, a row of the same case"
            raise InputError(problem, row.file, row.record, field=strange, expected=expected)
        changes: dict[str, Any] = {"tags": tuple(dict.fromkeys((*before.tags, *case.tags)))}
        if single_votes:
            changes["votes"] = self._united_votes(before, case, row) or None
        is_same = all(getattr(before, name) == value for name, value in changes.items())
        if is_same and (single_votes or not differing):
            self.counts["repeated"] += 1
            return before
        self.counts["joined"] += 1
        return before.model_copy(update=changes)

    def _united_votes(self, before: Case, case: Case, row: MappedRow) -> tuple[Vote, ...]:
        """Votes of both cases; a rater counts once.

        Raises:
            InputError: A rater says both.
        """
        votes = _votes_of(before)
        by_rater = {vote.rater: vote.verdict for vote in votes if vote.rater is not None}
        added = []
        for vote in _votes_of(case):
            if vote.rater not in by_rater:
                added.append(vote)
            elif vote.verdict != by_rater[vote.rater]:
                first = self.places[case.id]
                raise InputError(
                    f"the rater voted otherwise before (the case begins at {first})",
                    row.file,
                    row.record,
                    field="rater",
                    found=vote.rater,
                    expected="one vote of a rater on a case",
                )
        return (*votes, *added)
