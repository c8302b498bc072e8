"""Import cases from somebody's table through a mapping. Nothing is dropped in silence."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.cases.cells import as_key, items, opened, plain
from casewise.cases.files import CaseSet, Form, SharedParts, checked_case
from casewise.cases.mapping import (
    BUILT_IN,
    EACH,
    FILE,
    ROW,
    SPLIT,
    Beside,
    CaseMapping,
    Each,
    MappedRow,
    inner_paths,
    path_of,
    path_root,
    value_at,
)
from casewise.cases.model import Case, RatingRule
from casewise.errors import InputError, did_you_mean, some
from casewise.files import Row, Table, TableForm, as_row, open_table, open_tables, with_label_names

Rows = Iterator[tuple[str, Row]]


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: cases, and a count of every row that made none.

    ``rows``, times the cases that the mapping makes of a row, is the sum of the cases, of the five
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
    abstained: int
    """Rows of an earlier case whose rater takes no side."""
    differing: Mapping[str, int]
    """Number of rows that repeat a case and differ from it, by what differs (not votes)."""
    problems: tuple[InputError, ...]
    """One error for each bad row."""
    unlabelled: Mapping[str, int]
    """Number of cases without a label to score against, by reason."""
    untaken: Mapping[str, int]
    """Number of filled cells by column that the mapping names nowhere."""
    notes: tuple[str, ...]
    """Remarks on the source: splits, encodings, files left unread."""


def import_cases(source: Any, mapping: CaseMapping, *, split: str | None = None) -> Imported:
    """Read a file, a folder or rows in memory through a mapping.

    Args:
        source: The path of a CSV, TSV, spreadsheet, JSON, JSON Lines, Parquet, Arrow or text file,
            or of a folder; or rows (see ``table_in_memory``), whose second files are looked for in
            the working directory.
        mapping: Which column is which field.
        split: The split that is taken, before the mapping's own.

    Raises:
        InputError: The source can't be read, or lacks a column that the mapping names. Bad rows
            are listed in the result.
    """
    folder = Path()
    if isinstance(source, str | Path):
        path = Path(source)
        folder = path if path.is_dir() else path.parent
        form = TableForm(mapping.header, mapping.encoding, mapping.sheet)
        leave = [other.file for other in mapping.beside.values()]
        tables = open_tables(path, split or mapping.split, form, leave)
    else:
        tables = [source if isinstance(source, Table) else table_in_memory(source)]
    tables, unread = _with_queries(tables, mapping)
    found = _Import(mapping)
    for table in tables:
        joined = [
            (name, other, open_table(folder / other.file).whole())
            for name, other in mapping.beside.items()
        ]
        columns, rows = table.columns, iter(table.rows)
        for name, other, added in joined:
            columns, rows = _beside(table.file, columns, rows, name, other, added)
            table.decimal = table.decimal or added.decimal
        for each in mapping.each:
            columns, rows = _each(table, columns, rows, each)
        if columns:
            found.check_columns(columns, table.file)
        found.take_table(replace(table, columns=columns, rows=rows))
    found.check_paths(tables[0].file)
    notes = [note for table in tables for note in table.notes]
    return found.result(tuple(table.file for table in tables), (*dict.fromkeys(notes), *unread))


def _with_queries(tables: list[Table], mapping: CaseMapping) -> tuple[list[Table], list[str]]:
    """Tables with a column of queries, and a note on each other file of the folder."""
    asked = {column for key, column in mapping.names() if key in ("query", "turns")}
    roots = {*asked, *map(path_root, asked)}
    if len(tables) > 1 or mapping.each or mapping.beside:
        tables = [table if table.columns else table.whole() for table in tables]
    chosen = [table for table in tables if roots & {*table.columns}]
    if not chosen:
        # The queries stand in a file beside the tables, or nowhere, which is found later.
        return tables, []
    lacking = ", ".join(map(repr, sorted(asked)))
    others = [table.file.name for table in tables if table not in chosen]
    return chosen, [f"{name} is left unread: it has no column {lacking}" for name in others]


# --- rows in memory -------------------------------------------------------------------------------


def table_in_memory(data: Any) -> Table:
    """The table in a data frame of pandas or polars, a data set or table of others, or a list.

    Args:
        data: What has rows: ``polars.DataFrame``, ``pandas.DataFrame``, ``pyarrow.Table``,
            ``datasets.Dataset``, or dictionaries.

    Raises:
        InputError: It is none of these, or two of its columns have one name.
    """
    name = Path(type(data).__name__)
    records: Any = data
    if hasattr(data, "iter_rows"):  # polars
        records = data.iter_rows(named=True)
    elif hasattr(data, "to_pylist"):  # pyarrow
        records = data.to_pylist()
    elif hasattr(data, "features") and hasattr(data, "to_list"):  # datasets
        labels = {
            column: names
            for column, feature in data.features.items()
            if (names := getattr(feature, "names", None))
        }
        records = (with_label_names(row, labels) for row in data.to_list())
    elif hasattr(data, "iloc"):  # pandas
        if not data.columns.is_unique:
            twice = data.columns[data.columns.duplicated()][0]
            raise InputError("the column stands twice", name, field=str(twice))
        records = data.astype(object).where(data.notna(), None).to_dict("records")
    elif isinstance(data, Mapping) or not isinstance(data, Iterable) or isinstance(data, str):
        expected = (
            "a data frame of pandas or polars, a pyarrow Table, one split of a data set, or "
            "dictionaries"
        )
        raise InputError("no rows to read", name, found=type(data), expected=expected)
    else:
        name = Path("rows")
    placed = ((f"row {number}", _of_python(one)) for number, one in enumerate(records, start=1))
    return Table(name, (), ((place, as_row(row, name, place)) for place, row in placed)).whole()


def _of_python(value: Any) -> Any:
    """A value without the arrays and numbers of numpy."""
    if isinstance(value, Mapping):
        return {str(key): _of_python(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_of_python(inner) for inner in value]
    return _of_python(value.tolist()) if hasattr(value, "tolist") else value


def cases_in_memory(source: Any, mapping: CaseMapping | None = None) -> CaseSet:
    """Cases of a data frame, a data set or dictionaries.

    Args:
        source: The rows (see ``table_in_memory``), or a path, which needs a mapping.
        mapping: Which column is which field; None takes the fields of a case by their names.

    Raises:
        InputError: A row can't be used: the message names the first and counts the others.
    """
    if mapping is not None:
        found = import_cases(source, mapping)
        cases, problems, name = found.cases, list(found.problems), found.files[0].name
        notes = found.notes
    else:
        table = table_in_memory(source)
        if table.columns and "query" not in table.columns:
            expected = f"a mapping, or the fields of a case; there are {', '.join(table.columns)}"
            raise InputError("no such column", table.file, field="query", expected=expected)
        name, notes, problems, made = table.file.name, (), [], []
        for record, row in table.rows:
            try:
                if isinstance(row, InputError):
                    raise row
                made.append(checked_case(_canonical(row), table.file, record))
            except InputError as problem:
                problems.append(problem)
        cases = tuple(made)
    if problems:
        more = f"\n(and {len(problems) - 1} more bad rows)" if len(problems) > 1 else ""
        problems[0].args = (f"{problems[0]}{more}",)
        raise problems[0]
    return CaseSet(cases, name, Form.JSONL, notes)


_STRUCTURED = ("context", "history", "votes", "ratings", "tags")


def _canonical(row: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a case in a row: those that are empty left out, JSON in texts opened."""
    return {
        name: opened(value) if name in _STRUCTURED else value
        for name, value in row.items()
        if plain(value) is not None
    }


# --- rows made of rows ----------------------------------------------------------------------------


def _no_column(name: str, columns: Sequence[str], file: Path, key: str) -> InputError:
    expected = f"{did_you_mean(name, columns)}one of {', '.join(columns)}"
    return InputError("no such column", file, field=key, found=name, expected=expected)


def _each(
    table: Table, columns: Sequence[str], rows: Rows, each: Each
) -> tuple[tuple[str, ...], Rows]:
    """From wide to long: a row for each filled cell of the columns, or for each item.

    Raises:
        InputError: The table has no such columns.
    """
    for name in each.columns or (str(each.column),):
        if columns and name not in columns and (each.columns or path_root(name) not in columns):
            raise _no_column(name, columns, table.file, "each")
    new = each.value or str(each.column).rsplit(".", 1)[-1]
    kept = (name for name in columns if name not in each.columns)
    made = tuple(dict.fromkeys((*kept, each.name or new, new)))

    def unfolded() -> Rows:
        empty = 0
        for record, row in rows:
            if isinstance(row, InputError):
                yield record, row
                continue
            if each.column is None:
                parts = [(name, plain(row.get(name))) for name in each.columns]
            elif isinstance(held := opened(value_at(row, each.column)), dict):
                parts = [(str(key), plain(item)) for key, item in held.items()]
            else:
                parts = [(str(n), item) for n, item in enumerate(items(held, None), start=1)]
            empty += sum(item is None for _, item in parts) or not parts
            shared = {name: cell for name, cell in row.items() if name not in each.columns}
            for part, value in parts:
                if value is not None:
                    place = f"{record}, {'item' if each.name is None else 'column'} {part!r}"
                    named = {} if each.name is None else {each.name: part}
                    numbers = f"{row[EACH]}:{part}" if EACH in row else part
                    yield place, {**shared, **named, new: value, EACH: numbers}
        if empty:
            table.notes.append(f"each: {empty} empty cells of {table.file.name} make no row")

    return made if columns else (), unfolded()


def unfold(table: Table, each: Each) -> Rows:
    """Rows of a table, a row for each item or column."""
    return _each(table, table.columns, iter(table.rows), each)[1]


def _beside(
    file: Path, columns: Sequence[str], rows: Rows, name: str, beside: Beside, added: Table
) -> tuple[tuple[str, ...], Rows]:
    """The rows with the columns of another table, by a column of both or in their order.

    Raises:
        InputError: They have no such column, or unequal numbers of rows.
    """
    by, key = beside.keys or ("", "")
    for wanted, own, place in ((by, columns, file), (key, added.columns, added.file)):
        if wanted and own and wanted not in own:
            raise _no_column(wanted, own, place, f"beside.{name}.by")
    alone = [column for column in added.columns if column != key]
    # The one column of a second file goes by the file's name in the mapping.
    names = {column: name if len(alone) == 1 else f"{name}.{column}" for column in alone}
    others = [row for _, row in added.rows]
    by_key = _by_key(added, key) if key else {}

    def joined() -> Rows:
        number = -1
        for number, (record, row) in enumerate(rows):
            other: Row = others[number] if not key and number < len(others) else {}
            if key and isinstance(row, dict):
                other = by_key.get(as_key(row.get(by)), {})
            bad = next((one for one in (row, other) if isinstance(one, InputError)), None)
            if bad is not None or isinstance(row, InputError) or isinstance(other, InputError):
                yield record, bad or row
            else:
                yield record, {**row, **{new: other.get(old) for old, new in names.items()}}
        if not key and number + 1 != len(others):
            raise InputError(
                f"{len(others)} rows beside {number + 1} of {file.name}",
                added.file,
                field=f"beside.{name}",
                expected="as many rows, in the same order; or a column of both to tell them by "
                f"({{file: {beside.file}, by: COLUMN}})",
            )

    return (*columns, *names.values()) if columns else (), joined()


def _by_key(added: Table, column: str) -> dict[str, Row]:
    """Rows by the value of a column, which no two share."""
    rows: dict[str, Row] = {}
    for record, row in added.rows:
        if isinstance(row, InputError):
            raise row
        if rows.setdefault(as_key(row.get(column)), row) is not row:
            raise InputError(
                "the value stands twice",
                added.file,
                record,
                field=column,
                found=row.get(column),
                expected="one row of each in the second file; import the file with several, and "
                "name the other under 'beside'",
            )
    return rows


# --- rows to cases --------------------------------------------------------------------------------

_LABELS = ("query_id", "intended", "votes", "published_safe_rate", "ratings", "query", "context")
"""Fields on which the rows of a case must agree."""
_MADE = ("votes", "ratings", "published_safe_rate", "tags")
"""Fields that the rows of a case add to, where each is one person's."""
_EMPTY: tuple[Any, ...] = (None, "", [], {})


@dataclass(slots=True)
class _Found:
    """A case so far: its fields, and the place of its first row."""

    fields: dict[str, Any]
    place: str
    file: Path
    said: dict[str, Any]
    """Vote or rating by rater, where a row is one person's."""
    reason: str | None
    """Reason why the first row gives no label."""


@dataclass(slots=True)
class _Import:
    """Cases so far, and a count of all else."""

    mapping: CaseMapping
    found: dict[Any, _Found] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[InputError] = field(default_factory=list)
    differing: Counter[str] = field(default_factory=Counter)
    untaken: Counter[str] = field(default_factory=Counter)
    reached: set[str] = field(default_factory=set)
    columns: dict[str, None] = field(default_factory=dict)
    """Columns of the rows so far."""
    samples: list[Mapping[str, Any]] = field(default_factory=list)
    """The first rows."""

    def check_columns(self, columns: Sequence[str], file: Path) -> None:
        """Refuse columns that the mapping names and the table lacks."""
        known = {*columns, *BUILT_IN}
        for key, name in self.mapping.names():
            if name in known or path_root(name) in known:
                continue
            error = _no_column(name, columns, file, key)
            if key in ("source", "licence", "language", "category") and "did" not in f"{error}":
                hint = "for one value in every row write {constant: TEXT}; "
                expected = f"{hint}{error.expected}"
                error = InputError(error.problem, file, field=key, found=name, expected=expected)
            raise error

    def check_paths(self, file: Path) -> None:
        """Refuse a path that leads to nothing in any row: its last parts are misspelled."""
        if self.columns:
            self.check_columns(tuple(self.columns), file)
        for key, name in self.mapping.names():
            root = path_root(name)
            is_column = name in self.columns or name in BUILT_IN
            if not self.samples or root is None or is_column or name in self.reached:
                continue
            paths = (inner_paths(row.get(root), path_of(root)) for row in self.samples)
            inside = list(dict.fromkeys(path for own in paths for path in own))
            expected = f"{did_you_mean(name, inside)}one of {some(inside, 12)}"
            problem = "the path finds nothing in any row"
            raise InputError(problem, file, field=key, found=name, expected=expected)

    def take_table(self, table: Table) -> None:
        """Take all rows of a table."""
        mapping = self.mapping
        names = {name for _, name in mapping.names()}
        whole, roots = names | {one.column for one in mapping.each}, {*map(path_root, names)}
        self.untaken.update({name: 0 for name in table.columns if name not in whole | roots})
        decimal = mapping.decimal or table.decimal
        for number, (record, row) in enumerate(table.rows, start=1):
            self.counts["rows"] += 1
            if isinstance(row, InputError):
                self.problems.append(row)
                continue
            for column, cell in row.items():
                if cell in _EMPTY or column in whole or column in BUILT_IN:
                    continue
                if column not in roots:
                    self.untaken[column] += 1
                elif isinstance(cell, dict):
                    self._count_inside(column, cell, names)
            if row.keys() - self.columns.keys():
                self.columns |= dict.fromkeys(name for name in row if name not in BUILT_IN)
            if len(self.samples) < 100:
                self.samples.append(row)
            cells = {ROW: number, FILE: table.file.name, SPLIT: table.split, **row}
            for case_number, own in enumerate(mapping.of_row, start=1):
                mapped = MappedRow(cells, own, table.file, record, decimal)
                mapped.reached, mapped.untaken = self.reached, self.untaken
                try:
                    self._take(mapped, case_number)
                except InputError as problem:
                    self.problems.append(problem)

    def _count_inside(self, column: str, cell: Mapping[str, Any], names: set[str]) -> None:
        """Count what a mapping in a cell holds and no path takes."""
        for key, inner in cell.items():
            path = f"{column}.{path_of(key)}"
            is_taken = any(name.startswith((path, f"{column}[")) for name in names)
            if inner not in _EMPTY and not is_taken:
                self.untaken[path] += 1

    def _take(self, row: MappedRow, number: int) -> None:
        """Take the case of a row, the ``number``-th of several; or count the reason why not."""
        if not row.is_wanted:
            self.counts["filtered"] += 1
            return
        fields = row.case_fields()
        if fields is None:
            self.counts["without_query"] += 1
            return
        if fields.get("id"):
            if number > 1 and row.mapping.id == self.mapping.id:
                # One id for all cases of a row: those after the first say which they are.
                fields["id"] = f"{fields['id']}:{number}"
            is_one = any(each.value in row.mapping.where for each in self.mapping.each)
            if EACH in row.cells and not (row.mapping.is_row_each or is_one):
                fields["id"] = f"{fields['id']}:{row.cells[EACH]}"
        text = (fields["query"], fields.get("context"), fields.get("history"))
        key = fields.get("id") or json.dumps(text, default=str)
        before = self.found.get(key)
        rater = row.rater() if row.mapping.is_row_each else None
        said = fields.get("votes") or fields.get("ratings")
        if before is None:
            reason = None if _is_labelled(fields) else row.why_unlabelled()
            whose = {rater: said} if rater and said else {}
            self.found[key] = _Found(fields, row.record, row.file, whose, reason)
        else:
            self._merge(before, fields, row, rater, said)

    def _merge(
        self, before: _Found, fields: dict[str, Any], row: MappedRow, rater: str | None, said: Any
    ) -> None:
        """Merge a case with that of earlier rows.

        Raises:
            InputError: They contradict each other.
        """
        old, single = before.fields, row.mapping.is_row_each
        differing = [name for name in {**old, **fields} if old.get(name) != fields.get(name)]
        strange = [name for name in differing if not single or name not in _MADE]
        self.differing.update(strange)
        refused = [name for name in strange if name in _LABELS or not self.mapping.join]
        if refused:
            expected = "rows of one case to agree, or ids of their own"
            if refused[0] not in _LABELS:
                expected += "; 'join: true' in the mapping makes one case of them"
            problem = f"contradicts {before.place}, a row of the same case"
            raise InputError(problem, row.file, row.record, field=refused[0], expected=expected)
        tags = list(dict.fromkeys((*old.get("tags", ()), *fields.get("tags", ()))))
        is_known = not single or not said
        if single and said and rater in before.said:
            if before.said[rater] != said:
                problem = f"the rater voted otherwise before (the case begins at {before.place})"
                expected = "one vote of a rater on a case"
                raise InputError(
                    problem, row.file, row.record, field="rater", found=rater, expected=expected
                )
            is_known = True
        if is_known and tags == old.get("tags", []) and (single or not differing):
            self.counts["repeated" if said or not single else "abstained"] += 1
            return
        self.counts["joined"] += 1
        if tags:
            old["tags"] = tags
        if is_known:
            return
        if rater:
            before.said[rater] = said
        if votes := fields.get("votes"):
            old["votes"] = [*old.get("votes", ()), *votes]
        if ratings := fields.get("ratings"):
            values = (*(old["ratings"].values if "ratings" in old else ()), *ratings.values)
            old["ratings"] = ratings.model_copy(update={"values": values})
            if ratings.rule is RatingRule.POSITION:
                old["published_safe_rate"] = old["ratings"].position()

    def result(self, files: tuple[Path, ...], notes: tuple[str, ...]) -> Imported:
        """The cases, checked, and the counts."""
        cases: list[Case] = []
        shared, unlabelled = SharedParts(), Counter[str]()
        for each in list(self.found):
            # Fields and cases of all rows at once would take twice the memory.
            own = self.found.pop(each)
            try:
                record, key = shared.take(own.fields)
                cases.append(shared.hold(checked_case(record, own.file, own.place), key))
            except InputError as problem:
                self.problems.append(problem)
                continue
            if own.reason and not _is_labelled(own.fields):
                unlabelled[own.reason] += 1
        counts = self.counts
        return Imported(
            cases=tuple(cases),
            files=files,
            rows=counts["rows"],
            without_query=counts["without_query"],
            filtered=counts["filtered"],
            repeated=counts["repeated"],
            joined=counts["joined"],
            abstained=counts["abstained"],
            differing=dict(self.differing.most_common()),
            problems=tuple(self.problems),
            unlabelled=dict(unlabelled.most_common()),
            untaken=dict(self.untaken),
            notes=notes,
        )


def _is_labelled(fields: Mapping[str, Any]) -> bool:
    votes = fields.get("votes")
    return bool(
        (any(votes.values()) if isinstance(votes, dict) else votes)
        or fields.get("intended")
        or fields.get("published_safe_rate") is not None
    )
