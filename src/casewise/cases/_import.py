"""Import cases from somebody's table through a mapping. Nothing is dropped in silence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.cases._case import Case, RatingRule, Ratings, Vote, to_fields
from casewise.cases._load import CaseSet, Form, checked_case
from casewise.cases._mapping import (
    BUILT_IN,
    EACH,
    FILE,
    ROW,
    SPLIT,
    Beside,
    CaseMapping,
    Each,
    MappedRow,
    as_key,
    column_of,
    inner_paths,
    path_of,
    path_root,
    value_at,
)
from casewise.cases.cells import items, opened, plain
from casewise.errors import InputError, did_you_mean, some
from casewise.files import Row, Table, TableForm, as_row, open_table, open_tables, with_label_names


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
    if isinstance(source, str | Path):
        path = Path(source)
        folder = path if path.is_dir() else path.parent
        form = TableForm(mapping.header, mapping.encoding, mapping.sheet)
        leave = [other.file for other in mapping.beside.values()]
        read = [one.whole() for one in open_tables(path, split or mapping.split, form, leave)]
    else:
        folder, read = Path(), [table_in_memory(source)]
    tables, unread = _tables_with_queries(read, mapping)
    for name, other in mapping.beside.items():
        added = open_table(folder / other.file).whole()
        tables = [_with_columns(table, added, name, other) for table in tables]
    if mapping.each is not None:
        tables = [_unfolded(table, mapping.each) for table in tables]
    for table in tables:
        _check_columns(table, mapping)
    _check_paths(tables, mapping)
    gathering = _Gathering(mapping)
    columns = columns_of(tables)
    taken = {column_of(name, columns) for _, name in mapping.columns()}
    untaken = {column: 0 for column in columns if column not in taken}
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
        rows=sum(len(list(table.rows)) for table in tables),
        without_query=counts["without_query"],
        filtered=counts["filtered"],
        repeated=counts["repeated"],
        joined=counts["joined"],
        differing=dict(gathering.differing.most_common()),
        problems=tuple(gathering.problems),
        unlabelled=dict(Counter(unlabelled).most_common()),
        untaken=untaken,
        notes=(*_notes(read, tables), *unread),
    )


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
        if list(table.rows) and "query" not in table.columns:
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


def _canonical(row: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a case in a row: those that are empty left out, JSON in texts opened."""
    return {
        name: opened(value) if name in _STRUCTURED else value
        for name, value in row.items()
        if plain(value) is not None
    }


_STRUCTURED = ("context", "history", "votes", "ratings", "tags")


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


def columns_of(tables: Sequence[Table]) -> list[str]:
    """The columns of all tables, in the order in which they come."""
    return list(dict.fromkeys(name for table in tables for name in table.columns))


def filled_columns(cells: Mapping[str, Any]) -> Iterator[str]:
    """The columns in which a row has something."""
    return (name for name, value in cells.items() if value not in (None, "", [], {}))


def _tables_with_queries(
    tables: Sequence[Table], mapping: CaseMapping
) -> tuple[Sequence[Table], list[str]]:
    """Tables with a column of queries, and a note on each other file of the folder."""
    asked = {column for key, column in mapping.columns() if key in ("query", "turns")}
    chosen = [table for table in tables if any(column_of(name, table.columns) for name in asked)]
    if not chosen:
        # The queries stand in a file beside the tables, or nowhere, which is found later.
        return tables, []
    lacking = ", ".join(map(repr, sorted(asked)))
    return chosen, [
        f"{table.file.name} is left unread: it has no column {lacking}"
        for table in tables
        if table not in chosen
    ]


def _check_columns(table: Table, mapping: CaseMapping) -> None:
    for key, column in mapping.columns():
        if column_of(column, table.columns):
            continue
        hint = did_you_mean(column, table.columns)
        if key in ("source", "licence", "language", "category") and not hint:
            hint = "for one value in every row write {constant: TEXT}; "
        expected = f"{hint}one of {', '.join(table.columns)}"
        raise InputError("no such column", table.file, field=key, found=column, expected=expected)


def _check_paths(tables: Sequence[Table], mapping: CaseMapping) -> None:
    """Refuse a path that finds nothing in any row: its last parts are misspelled."""
    rows = [row for table in tables for _, row in table.rows if not isinstance(row, InputError)]
    columns = (*columns_of(tables), *BUILT_IN)
    for key, name in mapping.columns():
        root = path_root(name)
        if not rows or root is None or name in columns:
            continue
        if any(_finds(row, name) for row in rows):
            continue
        inside = list(
            dict.fromkeys(
                path for row in rows for path in inner_paths(row.get(root), path_of(root))
            )
        )
        expected = f"{did_you_mean(name, inside)}one of {some(inside, 12)}"
        raise InputError(
            "the path finds nothing in any row",
            tables[0].file,
            field=key,
            found=name,
            expected=expected,
        )


def _finds(row: Mapping[str, Any], name: str) -> bool:
    try:
        return value_at(row, name) not in (None, [], {})
    except ValueError:
        return True  # a bad row, which is named when it is read


def _notes(source: Sequence[Table], tables: Sequence[Table]) -> list[str]:
    """Notes on the reading, each once."""
    return list(dict.fromkeys(note for table in (*source, *tables) for note in table.notes))


def _unfolded(table: Table, each: Each) -> Table:
    """The table from wide to long: a row for each filled cell of the columns, or for each item.

    Raises:
        InputError: It has no such columns.
    """
    lacking = [
        name
        for name in each.columns
        if name not in table.columns
        and (each.name is not None or column_of(name, table.columns) is None)
    ]
    if lacking:
        expected = f"{did_you_mean(lacking[0], table.columns)}one of {', '.join(table.columns)}"
        problem = "no such column"
        raise InputError(problem, table.file, field="each", found=lacking[0], expected=expected)
    kept = [name for name in table.columns if each.name is None or name not in each.columns]
    rows: list[tuple[str, Row]] = []
    empty = 0
    for record, row in table.rows:
        if isinstance(row, InputError):
            rows.append((record, row))
            continue
        shared = {name: row.get(name) for name in kept}
        if each.name is not None:
            parts = [(name, plain(row.get(name))) for name in each.columns]
        elif isinstance(held := opened(value_at(row, each.columns[0])), dict):
            parts = [(str(key), plain(item)) for key, item in held.items()]
        else:
            parts = [(str(number), item) for number, item in enumerate(items(held, None), start=1)]
        filled = [part for part in parts if part[1] is not None]
        empty += len(parts) - len(filled) or not parts
        for part, value in filled:
            place = f"{record}, {'item' if each.name is None else 'column'} {part!r}"
            named = {} if each.name is None else {each.name: part}
            rows.append((place, {**shared, **named, each.value: value, EACH: part}))
    note = f"each: {empty} empty cells of {table.file.name} make no row"
    return replace(
        table,
        columns=tuple(dict.fromkeys((*kept, *filter(None, [each.name]), each.value))),
        rows=rows,
        notes=[*table.notes, *([note] if empty else [])],
    )


def _with_columns(table: Table, added: Table, name: str, beside: Beside) -> Table:
    """A table with the columns of another, by a column of both or in the order of the rows.

    Raises:
        InputError: They have no such column, or unequal numbers of rows.
    """
    alone = [column for column in added.columns if column != beside.key]
    # The one column of a second file goes by the file's name in the mapping.
    names = {column: name if len(alone) == 1 else f"{name}.{column}" for column in alone}
    others: Iterable[Row]
    if beside.by is None:
        if len(list(added.rows)) != len(list(table.rows)):
            raise InputError(
                f"{len(list(added.rows))} rows beside {len(list(table.rows))} of {table.file.name}",
                added.file,
                field=f"beside.{name}",
                expected="as many rows, in the same order; or a column of both to tell them by "
                f"({{file: {beside.file}, by: COLUMN}})",
            )
        others = (row for _, row in added.rows)
    else:
        by, key = beside.by, beside.key or beside.by
        for one, wanted in ((table, by), (added, key)):
            if wanted not in one.columns:
                hint = did_you_mean(wanted, one.columns)
                raise InputError(
                    "no such column",
                    one.file,
                    field=f"beside.{name}.by",
                    found=wanted,
                    expected=f"{hint}one of {', '.join(one.columns)}",
                )
        by_key = _by_key(added, key)
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


def _by_key(added: Table, column: str) -> dict[str, Row]:
    """Rows by the value of a column, which no two share."""
    rows: dict[str, Row] = {}
    for record, row in added.rows:
        if isinstance(row, InputError):
            raise row
        value = row.get(column)
        if rows.setdefault(as_key(value), row) is not row:
            raise InputError(
                "the value stands twice",
                added.file,
                record,
                field=column,
                found=value,
                expected="one row of each in the second file; import the file with several, and "
                "name the other under 'beside'",
            )
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


_LABELS = ("intended", "votes", "published_safe_rate", "ratings", "query", "context", "history")
"""Fields on which the rows of a case must agree."""


def _united_ratings(before: Case, case: Case) -> dict[str, Any]:
    """Ratings of both cases, and the share that their rule makes of all."""
    if before.ratings is None or case.ratings is None:
        rated = before if before.ratings is not None else case
        return {"ratings": rated.ratings, "published_safe_rate": rated.published_safe_rate}
    values = (*before.ratings.values, *case.ratings.values)
    ratings = before.ratings.model_copy(update={"values": values})
    share = ratings.position() if ratings.rule is RatingRule.POSITION else None
    return {"ratings": ratings, "published_safe_rate": share}


@dataclass(slots=True)
class _Gathering:
    """Cases so far, by id, with the place of the first row of each."""

    mapping: CaseMapping
    cases: dict[str, Case] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[InputError] = field(default_factory=list)
    differing: Counter[str] = field(default_factory=Counter)
    rated: dict[tuple[str, str], Ratings | None] = field(default_factory=dict)
    """A rater's rating of a case, where a row is one person's."""
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
            if fields.get("id") and EACH in row.cells and not row.mapping.is_row_each:
                fields["id"] = f"{fields['id']}:{row.cells[EACH]}"
            case = checked_case(fields, row.file, row.record)
            if self._is_rated_again(case, row):
                self.counts["repeated"] += 1
                return
            if case.id in self.cases:
                self.cases[case.id] = self._merged(case, row)
                return
            self.cases[case.id] = case
            self.places[case.id] = row.record
            if not _has_label(case):
                self.unlabelled[case.id] = row.why_unlabelled()
        except InputError as problem:
            self.problems.append(problem)

    def _is_rated_again(self, case: Case, row: MappedRow) -> bool:
        """Tell whether the rater of a row has rated the case already.

        Raises:
            InputError: They rated it otherwise.
        """
        rater = row.rater()
        if case.ratings is None or rater is None:
            return False
        first = self.rated.setdefault((case.id, rater), case.ratings)
        if first is case.ratings:
            return False
        if first != case.ratings:
            problem = "the rater rated otherwise before"
            expected = "one rating of a rater on a case"
            raise InputError(
                problem, row.file, row.record, field="rater", found=rater, expected=expected
            )
        return True

    def _merged(self, case: Case, row: MappedRow) -> Case:
        """Merge a case with that of earlier rows.

        Raises:
            InputError: They contradict each other.
        """
        before = self.cases[case.id]
        old, new = to_fields(before), to_fields(case)
        single = row.mapping.is_row_each
        made = {"votes", "ratings", "published_safe_rate"} if single else set()
        differing = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        strange = [name for name in differing if name not in made]
        self.differing.update(strange)
        refused = [
            name
            for name in strange
            if name in (*_LABELS, "query_id")
            or not (self.mapping.join or (single and name == "tags"))
        ]
        if refused:
            expected = "rows of one case to agree, or ids of their own"
            if refused[0] not in (*_LABELS, "query_id"):
                expected += "; 'join: true' in the mapping makes one case of them"
            problem = f"contradicts {self.places[case.id]}, a row of the same case"
            raise InputError(problem, row.file, row.record, field=refused[0], expected=expected)
        changes: dict[str, Any] = {"tags": tuple(dict.fromkeys((*before.tags, *case.tags)))}
        if single:
            changes["votes"] = self._united_votes(before, case, row) or None
            changes |= _united_ratings(before, case)
        is_same = all(getattr(before, name) == value for name, value in changes.items())
        if is_same and (single or not differing):
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
