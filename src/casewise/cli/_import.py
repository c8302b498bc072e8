"""``casewise cases import``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from casewise.cli import _complete as complete
from casewise.cli._cases import print_problems
from casewise.cli._console import err, note, note_all, working, write_out
from casewise.cli._main import case_files
from casewise.cli._options import argument, flag, is_same_file, option, out_option
from casewise.errors import UsageError, some
from casewise.files import quoted, write_atomically
from casewise.sheets import plural

SHOWN = 12
"""Answers to a question that are named."""


def import_(
    source: Annotated[
        Path | None, argument("FILE|FOLDER", "A table, or a folder of a data set.")
    ] = None,
    map: Annotated[
        str | None,
        option(
            f"A mapping file, or {', '.join(case_files.MAPPINGS)}.",
            metavar="MAPPING",
            complete=complete.mappings,
        ),
    ] = None,
    to: Annotated[Path | None, out_option("What to write: .jsonl, .yaml or .csv.")] = None,
    skip_bad: Annotated[bool, flag("--skip-bad", "Leave bad rows out, and say how many.")] = False,
    draft: Annotated[
        bool, flag("--draft", "Write a mapping to edit, drafted from the table, to --out.")
    ] = False,
    answer: Annotated[
        list[str] | None,
        option("Answer to a question that the draft asks; several times.", metavar="ANSWER"),
    ] = None,
    example: Annotated[
        str | None,
        option(
            "Print a shipped mapping, to start your own from.",
            metavar="NAME",
            complete=complete.mappings,
        ),
    ] = None,
) -> None:
    """Import cases from a table: a mapping says which column is which field.

    Reads CSV, TSV, workbooks (XLSX, ODS), JSON, JSON Lines, Parquet, Arrow and
    text, and folders that Hugging Face's datasets saved. Without --map a mapping
    is drafted from the table; where two readings are possible it asks, and
    --answer settles it. --draft writes the mapping, to be edited. Every row is
    accounted for: cases, rows left out, cases without a label, and why. A file of
    the name of --out is overwritten.

    [bold]Examples[/]

    casewise cases import table.xlsx --out cases.jsonl

    casewise cases import prompts.csv --map xstest --out xstest.jsonl

    casewise cases import table.xlsx --draft --out mapping.yaml

    casewise cases import saved/ --map mapping.yaml --out cases.jsonl
    """
    if example is not None:
        write_out(case_files.example_mapping(example))
        return
    if source is None:
        raise UsageError("what to import: give FILE or FOLDER")
    if draft:
        _draft(source, map, to, answer or ())
        return
    if to is None:
        raise UsageError("where to? give --out FILE")
    if map is None and case_files.is_case_file(source):
        raise UsageError(
            f"{source}: is a file of cases already: give it to the commands as it is, without "
            "an import"
        )
    mapping = case_files.load_mapping(map or _drafted_keys(source, answer or ()))
    with working("reading the rows"):
        imported = case_files.import_cases(source, mapping)
    if any(is_same_file(to, file) for file in imported.files):
        raise UsageError(f"{to}: would overwrite the file that is imported")
    print_problems("bad row", imported.problems)
    if imported.problems and not skip_bad:
        err().print("Nothing was written; --skip-bad leaves bad rows out.", markup=False)
        raise typer.Exit(2)
    _note_counts(imported)
    imported.check_filled()
    case_files.write_cases(imported.cases, to)
    hash = case_files.dataset_hash(imported.cases)
    note(f"{to}: {plural(len(imported.cases), 'case')} (hash {hash})")


def _drafted_keys(source: Path, answers: Sequence[str]) -> Mapping[str, Any]:
    """Keys of the mapping that is drafted from a table.

    Raises:
        UsageError: A question is open.
    """
    with working("reading the rows"):
        draft = case_files.draft_mapping(source, answers=answers)
    for question in draft.questions:
        note(f"open: {_question_line(question)}")
    if draft.questions:
        is_answered = any(question.answers for question in draft.questions)
        remedy = "give --answer ANSWER" if is_answered else "edit the mapping that --draft writes"
        raise UsageError(f"{source}: it can be read in several ways; {remedy}")
    note_all(draft.untaken)
    shown = yaml.safe_dump(
        draft.mapping, sort_keys=False, allow_unicode=True, default_flow_style=True, width=math.inf
    )
    note(f"read by this mapping (--draft writes it): {shown.rstrip()}")
    return draft.mapping


def _question_line(question: case_files.Question) -> str:
    listed = " | ".join(question.answers[:SHOWN])
    return f"{question.text} [{listed}]" if listed else question.text


def _draft(source: Path, map: str | None, to: Path | None, answers: Sequence[str]) -> None:
    if map is not None:
        raise UsageError("--draft writes a mapping, --map uses one: give one of the two")
    if to is not None and to.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"{to}: a mapping is a .yaml file")
    with working("reading the rows"):
        draft = case_files.draft_mapping(source, answers=answers)
    note_all(f"open: {_question_line(question)}" for question in draft.questions)
    if to is None:
        write_out(draft.text)
        return
    write_atomically(to, draft.text.encode())
    note(
        f"{to}: check it, then casewise cases import {quoted(source)} --map {quoted(to)} "
        "--out cases.jsonl"
    )


def _note_counts(imported: case_files.Imported) -> None:
    note_all(imported.notes)
    cases = imported.cases
    queries = len({case.query_id for case in cases})
    bare = sum(case.context is None for case in cases)
    rows, of = plural(imported.rows, "row"), plural(queries, "query")
    note(f"{rows}: {plural(len(cases), 'case')} of {of}, {bare} without context")
    labels = {
        "people's votes": sum(bool(case.votes) for case in cases),
        "a published share": sum(case.published_safe_rate is not None for case in cases),
        "the side that the authors mean": sum(case.intended is not None for case in cases),
    }
    named = [f"{count} with {label}" for label, count in labels.items() if count]
    note(f"labels: {', '.join(named) or 'none'}")
    votes = [vote for case in cases if isinstance(case.votes, tuple) for vote in case.votes]
    if votes or imported.abstentions:
        raters = {vote.rater for vote in votes if vote.rater}
        people = f" of {plural(len(raters), 'person')}" if raters else ""
        note(f"{plural(len(votes), 'vote')}{people}; {imported.abstentions} took no side")
    if imported.unlabelled:
        note(f"cases without a label, which no score counts: {imported.unlabelled}")
    for reason, count in [
        *imported.other_rows.items(),
        ("bad and left out", len(imported.problems)),
    ]:
        if count:
            where = f" ({some(imported.queryless)})" if reason == case_files.NO_QUERY else ""
            note(f"rows {reason}: {count}{where}")
    if imported.unused_columns:
        names = ", ".join(f"{name} {count}" for name, count in imported.unused_columns.items())
        note(f"columns not taken, with their filled cells: {names}")
