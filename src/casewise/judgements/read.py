"""Reading of paths (logs, tables, published outputs, folders of them) into one judgement table.

The cases that were judged are put together again from the rows.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import polars as pl

from casewise.cases import Case, SharedCases, is_output, load_output
from casewise.errors import InputError, some
from casewise.files import address_of, is_elsewhere, parse_json, place_of, read_bytes, read_text
from casewise.judgements.logs import read_judgements
from casewise.judgements.runs import RunRecord, folder_of, recorded_command, run_record
from casewise.judgements.table import (
    OF_CASE,
    WHOLE,
    make_table,
    read_case_rows,
    read_table,
)
from casewise.logs import LoggedRun, list_logs, read_header, runs_of
from casewise.protocols import CONDITION, RunCondition, published_protocol

_FIELDS = ("query_id", "query", "context", "category", "intended", "published_safe_rate")


def _gather(case_rows: dict[str, Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]) -> None:
    """Keep what rows with ``TEXTS`` say of cases that are new.

    A shortened or swapped context keeps its case's id; so only rows of whole contexts count, and
    rows with a context are preferred to rows without.
    """
    for row in rows:
        if row["query"] is None or _changes_contexts(row.get("ablation"), row.get("variant")):
            continue
        stored_row = case_rows.setdefault(row["case_id"], row)
        if stored_row["context"] is None and row["context"] is not None:
            case_rows[row["case_id"]] = row


@cache
def _changes_contexts(ablation: str | None, variant: str | None) -> bool:
    condition = RunCondition.of_row({"ablation": ablation, "variant": variant})
    return bool(condition.ablation) or condition.swap is not None


def _case(row: Mapping[str, Any]) -> Case:
    """The case of a row: whole of a published output; a log has counts of the votes alone."""
    if WHOLE in row:
        return row[WHOLE]  # type: ignore[no-any-return]
    votes = {"safe": row["votes_safe"], "unsafe": row["votes_unsafe"]}
    return Case.model_validate(
        {name: row[name] for name in _FIELDS}
        | {
            "id": row["case_id"],
            "history": row["history"] or (),
            "votes": votes if None not in votes.values() else None,
        }
    )


_HOUSEKEEPING = {"eval-set.json", "logs.json", ".eval-set-id", "README.md"}
"""Files passed over without a note: Inspect's own, and those on a folder."""


Kind = Literal["log", "table", "output", "other"]


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A run that was begun and holds no judgement."""

    condition: RunCondition
    planned: int | None
    """Judgements that it was to make; None where its log doesn't say."""


@dataclass(frozen=True, slots=True)
class Judgements:
    """A judgement table, with notes on its making."""

    table: pl.DataFrame
    notes: tuple[str, ...]
    cases: Mapping[str, Case] = field(default_factory=dict)
    """The judged cases by id, with their texts, where the paths hold them and texts were read."""
    unjudged: tuple[Unjudged, ...] = ()
    """Runs beside those of the table that hold no judgement."""


def read_paths(paths: Sequence[Path], *, texts: bool = False, apart: bool = False) -> Judgements:
    """Read judgements from log folders, ``.eval`` files, tables, and published output files.

    In a folder, files of other kinds are passed over with a note; a file that is named must be
    one of these kinds.

    Args:
        paths: Files and folders.
        texts: Read answers and explanations of logs whole, and gather the cases (slower).
        apart: Name the path of each run that judged the same cases under the condition of another.

    Raises:
        InputError: A path is missing or can't be read, nothing was recognised, or nothing was
            judged yet.
    """
    kinds, notes = _expand(paths)
    frames: dict[Path, pl.DataFrame] = {}
    case_rows: dict[str, Mapping[str, Any]] = {}
    for path in _of(kinds, "table"):
        frames[path] = read_table(path)
        if texts:
            _gather(case_rows, read_case_rows(path))
    shared_cases = SharedCases()
    for path in _of(kinds, "output"):
        rows = list(read_outputs(path, shared_cases))
        frames[path] = make_table(rows)
        if texts:
            _gather(case_rows, rows)
    runs, log_notes = _choose_logs(_of(kinds, "log"), set(paths), alone=not frames)
    unjudged = []
    for run in runs:
        table, rows = read_judgements(run, texts=texts)
        frames[run.first.path] = table
        if texts:
            _gather(case_rows, rows)
        if not len(table):
            unjudged.append(Unjudged(run.condition, run.planned))
    if not frames:
        raise InputError(
            "nothing to score: no log, judgement table or CASE-Bench output was recognised",
            file=_places(paths),
        )
    # A judgement may stand in several of the paths.
    keys = ["run_id", *CONDITION, "case_id", "epoch"]
    table = pl.concat(frames.values()).unique(keys, maintain_order=True)
    if not len(table):
        raise nothing_judged(runs, paths)
    if apart:
        table = _with_paths(table, frames)
    cases = {id: _case(row) for id, row in case_rows.items()}
    return Judgements(table, (*notes, *log_notes), cases, tuple(unjudged))


def _of(kinds: Mapping[Path, Kind], wanted: Kind) -> list[Path]:
    return [path for path, kind in kinds.items() if kind == wanted]


def _with_paths(table: pl.DataFrame, frames: Mapping[Path, pl.DataFrame]) -> pl.DataFrame:
    """Table in which runs under one condition over the same cases have their paths' names."""
    top = os.path.commonpath([path.absolute().parent for path in frames])
    places = {
        run: os.path.relpath(path, top)
        for path, rows in frames.items()
        for run in rows["run_id"].unique()
    }
    keys = (*CONDITION, "dataset_hash")
    again = pl.struct(*keys, "case_id", "epoch").is_duplicated().any().over(keys)
    place = "from=" + pl.col("run_id").replace_strict(places, default=None)
    variant = pl.concat_str("variant", place, separator=";", ignore_nulls=True)
    return table.with_columns(pl.when(again).then(variant).otherwise("variant").alias("variant"))


def nothing_judged(logs: Sequence[LoggedRun], paths: Iterable[Path]) -> InputError:
    """Error for paths that hold no judgement; where there are logs, with the command to go on."""
    if not logs:
        return InputError("no judgement is in it", file=_places(paths), expected="some rows")
    command = recorded_command(logs[0].first.path)
    return InputError(
        "nothing was judged yet: the run was stopped before its first judgements were written"
        + (f". To go on: {command}" if command else ""),
        file=_places(paths),
    )


def _places(paths: Iterable[Path]) -> str:
    return ", ".join(dict.fromkeys(address_of(path) for path in paths))


def find_logs(paths: Sequence[Path]) -> tuple[list[LoggedRun], list[str]]:
    """Logged runs among the paths, and notes on what is passed over.

    Raises:
        InputError: A path is missing or can't be read, or there is no log.
    """
    kinds, notes = _expand(paths)
    logs = _of(kinds, "log")
    if not logs:
        raise InputError(
            "no Inspect log here", file=_places(paths), expected="a log folder or .eval files"
        )
    others = [path.name for path, kind in kinds.items() if kind != "log"]
    notes += [f"skipped, as they are no logs: {some(others)}"] if others else []
    chosen, log_notes = _choose_logs(logs, set(paths), alone=True)
    return chosen, [*notes, *log_notes]


def _choose_logs(
    paths: Sequence[Path], named: set[Path], *, alone: bool
) -> tuple[list[LoggedRun], list[str]]:
    """Logged runs; a log in a folder that can't be used is passed over with a note.

    Where there is nothing else, or where a person named the file, that is an error.
    """
    if not paths:
        return [], []
    headers, passed_over = [], []
    for path in paths:
        try:
            headers.append(read_header(path))
        except InputError as error:
            if path in named:
                raise
            passed_over.append(error)
    if passed_over and alone and not headers:
        raise passed_over[0]
    runs = sorted(runs_of(headers), key=lambda run: run.first.order)
    notes = [f"passed over {error}" for error in passed_over]
    for run in runs:
        if why := run.stopped:
            place = address_of(run.first.path if run.alone else folder_of(run.first.path))
            notes.append(f"{place}: the run ended early ({why}); what it has counts")
    return runs, notes


def _expand(paths: Sequence[Path]) -> tuple[dict[Path, Kind], list[str]]:
    """The files that paths name or hold, by kind, and notes on what is passed over."""
    kinds: dict[Path, Kind] = {}
    notes = []
    for path in paths:
        if is_elsewhere(path):
            kinds |= dict.fromkeys(_logs_elsewhere(path), "log")
            continue
        path = place_of(path)
        if not path.exists():
            raise InputError("no such file or folder", file=path)
        file_kinds = {file: _kind(file) for file in (_files(path) if path.is_dir() else [path])}
        others = [file.name for file, kind in file_kinds.items() if kind == "other"]
        if others and not path.is_dir():
            if path.suffix.lower() == ".json":
                parse_json(read_text(path), path)
            raise InputError(
                "not recognised",
                file=path,
                expected="a log folder, an .eval file, a judgement table (.parquet, .csv), "
                "or a CASE-Bench output file; of cases, casewise run makes judgements",
            )
        notes += [f"{path}: passed over {some(others)}"] if others else []
        kinds |= file_kinds
    return kinds, notes


def _logs_elsewhere(path: Path) -> list[Path]:
    if path.suffix == ".eval":
        return [path]
    paths = list_logs(path)
    if not paths:
        raise InputError("no Inspect log here", file=address_of(path), expected="a log folder")
    return paths


def _files(folder: Path) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.is_file()
        and file.name not in _HOUSEKEEPING
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )


def _kind(path: Path) -> Kind:
    """Tell a file's kind by its first bytes, then by its content; once for a file as it stands."""
    return _kind_of(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1024)
def _kind_of(path: Path, _changed: int) -> Kind:
    start = read_bytes(path, 4096).removeprefix(b"\xef\xbb\xbf")
    if path.suffix == ".eval":
        return "log"
    if start.startswith(b"PAR1") or path.suffix == ".parquet":
        return "table"
    if path.suffix == ".csv":
        return "table" if start.startswith(b"run_id,") else "other"
    text = start.lstrip()
    if text.startswith(b"{") and b'"eval"' in start and b'"version"' in start:
        return "log"
    return "output" if text.startswith(b"[") and is_output(path) else "other"


def run_records(paths: Sequence[Path]) -> list[RunRecord]:
    """Records of the runs whose logs are among the paths; empty where there is no log."""
    try:
        runs, _ = find_logs(paths)
    except InputError:  # the judgements came from tables or published outputs alone
        return []
    return list(map(run_record, runs))


# --- published outputs -------------------------------------------------------------------------


def read_outputs(path: Path, shared: SharedCases) -> Iterator[dict[str, Any]]:
    """Rows of a published output file: one a model's answer.

    Args:
        path: The file.
        shared: The cases of files that were read before.

    Raises:
        InputError: The file can't be used.
    """
    for output in load_output(path, shared):
        run = hashlib.sha256(path.read_bytes() + output.model.encode()).hexdigest()[:16]
        protocol = published_protocol(output.mode)
        condition = {
            "run_id": run,
            "model": output.model,
            "protocol": protocol.name,
            "delivery": "judge",
            "ablation": output.ablation,
            "variant": "published",
            "prompt_version": "upstream",
            "dataset_hash": output.data_hash,
            "dataset_version": output.data_version,
            "epoch": 1,
        }
        for case, answer in zip(output.cases, output.answers, strict=True):
            reading = protocol.read_published(answer)
            yield {
                **condition,
                **case_columns(case),
                **{"query": case.query, "context": case.context, WHOLE: case},
                "status": str(reading.status),
                **{name: getattr(reading, name) for name in ("verdict", "p_safe", "raw_score")},
                "answer": str(answer),
            }


def case_columns(case: Case) -> dict[str, Any]:
    """Columns of a case: what a deployment expects is none of its own."""
    columns = {name: getattr(case, name, None) for name in OF_CASE}
    return columns | {"case_id": case.id, "no_context": case.context is None or None}
