"""Import cases from somebody's table through a mapping. Nothing is dropped in silence."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

from casewise.cases.cells import inner_paths, items, opened, plain, value_at
from casewise.cases.files import (
    CaseSet,
    checked_case,
    raise_first,
    row_record,
    validated,
)
from casewise.cases.mapping import BUILT_IN, EACH, ROW, CaseMapping, MappedRow, Unpivot
from casewise.cases.model import Case, Context
from casewise.errors import InputError, one_of
from casewise.files import Row, Table, TableForm, as_row, open_tables


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: cases, and a count of every row that made none.

    ``rows``, times the cases that the mapping makes of a row, is the sum of the cases, of
    ``other_rows`` and of the problems; a row that can't be read at all is one problem.
    """

    cases: tuple[Case, ...]
    files: tuple[Path, ...]
    rows: int
    other_rows: Mapping[str, int]
    """Number of rows that begin no case, by what became of them."""
    queryless: tuple[str, ...]
    """Places of the rows without a query."""
    abstentions: int
    """Number of people's verdicts on the cases that take no side."""
    problems: tuple[InputError, ...]
    """One error for each bad row."""
    unlabelled: int
    """Number of cases without a label to score against."""
    unused_columns: Mapping[str, int]
    """Number of filled cells by column that the mapping names nowhere."""
    notes: tuple[str, ...]
    """Remarks on the source: splits, encodings, files left unread."""

    def check_filled(self) -> None:
        """Refuse to go on without any case.

        Raises:
            InputError: No row became a case; the message says what became of them.
        """
        if not self.cases:
            reasons = "".join(f", {count} {what}" for what, count in self.other_rows.items())
            raise InputError(f"no row became a case (of {self.rows}{reasons})", self.files[0])


def import_cases(source: Any, mapping: CaseMapping) -> Imported:
    """Read a file, a folder or rows in memory through a mapping.

    Args:
        source: The path of a table or of a folder of them, or dictionaries.
        mapping: Which column is which field.

    Raises:
        InputError: The source can't be read, or lacks a column that the mapping names. Bad rows
            are listed in the result.
    """
    if isinstance(source, str | Path):
        form = TableForm(mapping.header, mapping.encoding, mapping.sheet)
        tables = open_tables(Path(source), form)
    else:
        tables = [table_in_memory(source)]
    importer = _Import(mapping)
    for table in tables:
        importer.take_table(reduce(unpivot, mapping.each, table))
    importer.check_names(tables[0].file)
    notes = [note for table in tables for note in table.notes]
    return importer.result(tuple(table.file for table in tables), notes)


def table_in_memory(rows: Any) -> Table:
    """The table of dictionaries, or of a polars frame.

    Raises:
        InputError: It is neither.
    """
    file = Path("rows")
    rows = rows.iter_rows(named=True) if hasattr(rows, "iter_rows") else rows
    if isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
        expected = "dictionaries: frame.to_dict('records') of pandas, to_list() of a data set"
        raise InputError("no rows to read", file, found=type(rows), expected=expected)
    placed = [(f"row {number}", row) for number, row in enumerate(rows, start=1)]
    return Table(file, (), [(place, as_row(row, file, place)) for place, row in placed])


def cases_of(source: Any, mapping: CaseMapping | None = None) -> CaseSet:
    """Cases of rows in memory, or of a table through a mapping.

    Args:
        source: Dictionaries, a polars frame, or a path, which needs a mapping.
        mapping: Which column is which field; None takes the fields of a case by their names.

    Raises:
        InputError: A row can't be used: the message names the first and counts the others.
    """
    if mapping is not None:
        imported = import_cases(source, mapping)
        raise_first(imported.problems)
        imported.check_filled()
        return CaseSet(imported.cases, imported.files[0].name, imported.notes)
    table = table_in_memory(source)
    placed = ((place, row_record(row, place, table.file)) for place, row in table.rows)
    cases, problems = validated(placed, table.file)
    raise_first(problems)
    return CaseSet(tuple(cases), table.file.name)


def _no_column(name: str, columns: Iterable[str], file: Path, key: str) -> InputError:
    expected = one_of(name, columns)
    if key in ("source", "licence", "language", "category"):
        expected += "; for one value in every row write {constant: TEXT}"
    return InputError("no such column", file, field=key, found=name, expected=expected)


def _root(name: str, columns: Collection[str]) -> str | None:
    """The column that a name, or a path into its cells, begins in."""
    if name in columns:
        return name
    return next((column for column in columns if f"{name}.".startswith(f"{column}.")), None)


def unpivot(table: Table, each: Unpivot) -> Table:
    """The table from wide to long: a row for each filled cell of the columns, or for each item.

    After the last row it raises an InputError where no row had such a column.
    """
    return replace(table, columns=(), rows=_unpivoted(table, each))


def _unpivoted(table: Table, each: Unpivot) -> Iterator[tuple[str, Row]]:
    new = each.value or str(each.column).rsplit(".", 1)[-1]
    empty, columns = 0, dict[str, None]()
    for place, row in table.rows:
        if isinstance(row, InputError):
            yield place, row
            continue
        if row.keys() - columns.keys():
            columns |= dict.fromkeys(row)
        if each.column is None:
            parts = [(name, plain(row.get(name))) for name in each.columns]
        elif isinstance(nested := opened(value_at(row, each.column)), dict):
            parts = [(str(key), plain(item)) for key, item in nested.items()]
        else:
            parts = [(str(n), item) for n, item in enumerate(items(nested), start=1)]
        empty += sum(item is None for _, item in parts) or not parts
        shared = {name: cell for name, cell in row.items() if name not in each.columns}
        for part, value in parts:
            if value is not None:
                named = {} if each.name is None else {each.name: part}
                numbers = f"{row[EACH]}:{part}" if EACH in row else part
                within = f"{place}, {'item' if each.name is None else 'column'} {part!r}"
                yield within, {**shared, **named, new: value, EACH: numbers}
    for name in each.columns or (str(each.column),) if columns else ():
        if _root(name, columns) is None:
            raise _no_column(name, columns, table.file, "each")
    if empty:
        table.notes.append(f"each: {empty} empty cells of {table.file.name} make no row")


# --- rows to cases --------------------------------------------------------------------------------

_OF_ANY_ROW = ("category", "language", "source", "licence")
"""Fields in which the rows of a case may differ: the first row's stay."""
_EMPTY: tuple[Any, ...] = (None, "", [], {})
FILTERED, NO_QUERY, REPEATED, JOINED = (
    "left out by the mapping's 'where'",
    "without a query",
    "that repeat a case and count once",
    "joined with a case there already",
)
"""What became of rows that begin no case."""


class ContradictionError(InputError):
    """Rows of one case that don't agree."""


@dataclass
class _Import:
    """Cases so far, and a count of all else."""

    mapping: CaseMapping
    cases: dict[str, tuple[dict[str, Any], str, Path]] = field(default_factory=dict)
    """Fields of each case, and place and file of its first row."""
    rows: int = 0
    other_rows: Counter[str] = field(default_factory=Counter)
    queryless: list[str] = field(default_factory=list)
    abstentions: int = 0
    problems: list[InputError] = field(default_factory=list)
    differing: Counter[str] = field(default_factory=Counter)
    unused_columns: Counter[str] = field(default_factory=Counter)
    used_paths: set[str] = field(default_factory=set)
    columns: dict[str, None] = field(default_factory=dict)
    """Columns of the rows so far."""
    sample: Mapping[str, Any] = field(default_factory=dict)
    """The first row."""

    @cached_property
    def names(self) -> frozenset[str]:
        """Columns and paths that the mapping names."""
        listed = (each.column for each in self.mapping.each if each.column)
        return frozenset((*(name for _, name in self.mapping.names()), *listed, *BUILT_IN))

    @cached_property
    def path_prefixes(self) -> frozenset[str]:
        """Columns and paths in which others begin that it names."""
        points = (
            (name, match.start()) for name in self.names for match in re.finditer(r"\.", name)
        )
        return frozenset(name[:point] for name, point in points)

    def check_names(self, file: Path) -> None:
        """Refuse a column that no row has, and a path that leads to nothing: it is misspelled."""
        for key, name in self.mapping.names() if self.columns else ():
            root = _root(name, (*self.columns, *BUILT_IN))
            if root is None:
                raise _no_column(name, self.columns, file, key)
            if root != name and name not in self.used_paths:
                paths = inner_paths(self.sample.get(root), root)
                problem = "the path finds nothing in any row"
                expected = one_of(name, paths, 12)
                raise InputError(problem, file, field=key, found=name, expected=expected)

    def take_table(self, table: Table) -> None:
        """Take all rows of a table."""
        for number, (place, row) in enumerate(table.rows, start=1):
            self.rows += 1
            if isinstance(row, InputError):
                self.problems.append(row)
                continue
            self._count_unused(row)
            if row.keys() - self.columns.keys():
                self.columns |= dict.fromkeys(name for name in row if name not in BUILT_IN)
            self.sample = self.sample or row
            cells = {ROW: number, **row}
            for index, own in enumerate(self.mapping.of_row, start=1):
                at = table.file, place, table.decimal
                try:
                    self._take(
                        MappedRow(cells, own, *at, self.used_paths, self.unused_columns), index
                    )
                except InputError as problem:
                    self.problems.append(problem)

    def _count_unused(self, cells: Mapping[str, Any], start: str = "") -> None:
        """Count the filled cells that no entry takes, and what is inside of those taken in part."""
        for name, cell in cells.items():
            path = f"{start}{name}"
            if cell in _EMPTY or path in self.names:
                continue
            if path not in self.path_prefixes:
                self.unused_columns[path] += 1
            elif isinstance(cell, dict):
                self._count_unused(cell, f"{path}.")

    def _take(self, row: MappedRow, number: int) -> None:
        """Take the case of a row, the ``number``-th of several; or count the reason why not."""
        if not row.is_wanted:
            self.other_rows[FILTERED] += 1
            return
        fields = row.case_fields()
        if fields is None:
            self.other_rows[NO_QUERY] += 1
            self.queryless.append(row.place)
            return
        if "id" in fields:
            # One id for all cases of a row: each says which it is.
            is_one = any(each.value in row.mapping.where for each in self.mapping.each)
            if EACH in row.cells and not (is_one or row.mapping.vote):
                fields["id"] += f":{row.cells[EACH]}"
            if number > 1 and row.mapping.id == self.mapping.id:
                fields["id"] += f":{number}"
        text = (fields["query"], fields.get("context"), fields.get("history"))
        key = fields.get("id") or repr(text)
        if key in self.cases:
            self.other_rows[self._merge(key, fields, row)] += 1
        else:
            self.cases[key] = fields, row.place, row.file
            self.abstentions += row.abstentions

    def _merge(self, key: str, fields: dict[str, Any], row: MappedRow) -> str:
        """Merge a row with the case of earlier rows; what became of it.

        Raises:
            InputError: They contradict each other.
        """
        old, place, _ = self.cases[key]
        names = {**old, **fields}.keys() - {"tags", "votes" if row.mapping.vote else ""}
        differing = sorted(name for name in names if old.get(name) != fields.get(name))
        vote = fields["votes"][0] if row.mapping.vote and "votes" in fields else {}
        rater = vote.get("rater")
        same = [
            old_vote
            for old_vote in old.get("votes", ())
            if rater and old_vote.get("rater") == rater
        ]
        if same and same != [vote]:
            differing.insert(0, "rater")
        for name in differing:
            if name not in _OF_ANY_ROW:
                problem = f"contradicts {place}, a row of the same case"
                expected = "rows of one case, and votes of one rater on it, to agree; or other ids"
                raise ContradictionError(
                    problem, row.file, row.place, field=name, expected=expected
                )
        self.differing.update(differing)
        if tags := list(dict.fromkeys((*old.get("tags", ()), *fields.get("tags", ())))):
            old["tags"] = tags
        if same or not row.mapping.vote:
            return REPEATED
        self.abstentions += row.abstentions
        if vote:
            old["votes"] = [*old.get("votes", ()), vote]
        return JOINED

    def result(self, files: tuple[Path, ...], notes: Iterable[str]) -> Imported:
        """The cases, checked, and the counts."""
        cases: list[Case] = []
        contexts: dict[str, Context] = {}
        unlabelled = 0
        for each in list(self.cases):
            # Fields and cases of all rows at once would take twice the memory.
            fields, place, file = self.cases.pop(each)
            try:
                cases.append(checked_case(fields, file, place, contexts))
            except InputError as problem:
                self.problems.append(problem)
                continue
            unlabelled += not {"votes", "intended", "published_safe_rate"} & fields.keys()
        for name, count in self.differing.items():
            notes = [*notes, f"rows whose {name} differs from that of their case: {count}"]
        return Imported(
            tuple(cases),
            files,
            self.rows,
            dict(self.other_rows),
            tuple(self.queryless),
            self.abstentions,
            tuple(self.problems),
            unlabelled,
            dict(self.unused_columns),
            tuple(dict.fromkeys(notes)),
        )
