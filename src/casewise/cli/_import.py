"""``casewise cases import``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from casewise.cli import _complete as complete
from casewise.cli._cases import print_problems
from casewise.cli._console import err, note, note_all, working, write_out
from casewise.cli._main import case_files, contexts
from casewise.cli._options import argument, flag, is_same_file, option, out_option
from casewise.errors import InputError, UsageError
from casewise.files import quoted, write_atomically

SHOWN = 5
"""Cases that a dry run shows."""


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
    split: Annotated[
        str | None, option("The split of a data set. Default: the mapping's, else all.")
    ] = None,
    skip_bad: Annotated[bool, flag("--skip-bad", "Leave bad rows out, and say how many.")] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", "Show the first cases and all counts; write nothing.")
    ] = False,
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

    casewise cases import saved/ --map mapping.yaml --split test --dry-run
    """
    if example is not None:
        write_out(case_files.example_mapping(example))
        return
    if source is None:
        raise UsageError("what to import: give FILE or FOLDER")
    if draft:
        _draft(source, split, map, to, answer or ())
        return
    if to is None and not dry_run:
        raise UsageError("where to? give --out FILE, or --dry-run")
    mapping = case_files.load_mapping(map or _drafted(source, split, answer or ()))
    with working("reading the rows"):
        imported = case_files.import_cases(source, mapping, split=split)
    if to is not None and any(is_same_file(to, file) for file in imported.files):
        raise UsageError(f"{to}: would overwrite the file that is imported")
    print_problems("bad row", imported.problems)
    if imported.problems and not skip_bad and not dry_run:
        err().print("Nothing was written; --skip-bad leaves bad rows out.", markup=False)
        raise typer.Exit(2)
    _note_counts(imported)
    if not imported.cases:
        raise InputError("no row became a case", file=source)
    if dry_run:
        write_out("".join(f"{_line(case)}\n" for case in islice(imported.cases, SHOWN)))
        note("nothing was written")
    elif to is not None:
        hash = case_files.write_cases(imported.cases, to)
        note(f"{to}: {len(imported.cases)} cases (hash {hash})")


def _drafted(source: Path, split: str | None, answers: Sequence[str]) -> dict[str, Any]:
    """Keys of the mapping that is drafted from a table, once all questions are answered."""
    given = list(answers)
    while True:
        with working("reading the rows"):
            found = case_files.draft_mapping(source, split=split, answers=given)
        question = next((one for one in found.questions if one.answers), None)
        if question is None or not sys.stdin.isatty():
            break
        given.append(_ask(question))
    for one in found.questions:
        note(f"open: {_with_answers(one)}")
    if found.questions:
        how = "give --answer" if question else "edit the mapping that --draft writes"
        raise UsageError(f"{source}: it can be read in several ways; {how}")
    lines = [line.partition("  #")[0] for line in found.text.splitlines() if line[:1] != "#"]
    note(f"read by this mapping (--draft writes it): {'; '.join(lines)}")
    keys: dict[str, Any] = yaml.safe_load(found.text)
    return keys


def _ask(question: case_files.Question) -> str:
    while True:
        answer: str = typer.prompt(_with_answers(question), err=True)
        if answer in question.answers:
            return answer


def _with_answers(question: case_files.Question) -> str:
    listed = " | ".join(question.answers[:MOST_LINES])
    return f"{question.text} [{listed}]" if listed else question.text


def _draft(
    source: Path, split: str | None, map: str | None, to: Path | None, answers: Sequence[str]
) -> None:
    if map is not None:
        raise UsageError("--draft writes a mapping, --map uses one: give one of the two")
    if to is not None and to.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"{to}: a mapping is a .yaml file")
    with working("reading the rows"):
        draft = case_files.draft_mapping(source, split=split, answers=answers)
    note(f"{draft.rows} rows were read")
    note_all(f"open: {_with_answers(question)}" for question in draft.questions)
    text = draft.text + "".join(f"# {line}".rstrip() + "\n" for line in _examples(draft.examples))
    if to is None:
        write_out(text)
        return
    write_atomically(to, text.encode())
    note(
        f"{to}: check it, then casewise cases import {quoted(source)} --map {quoted(to)} "
        "--out cases.jsonl"
    )


MOST_LINES = 12
"""Lines of one example beside a draft."""


def _examples(cases: Sequence[case_files.Case]) -> Iterator[str]:
    """Cases as people would read them, line by line."""
    if cases:
        yield f"{len(cases)} case{'s' * (len(cases) > 1)} as people would read them:"
    for number, case in enumerate(cases, start=1):
        label = ", ".join(_labels(case)) or "no label"
        side = f" ({case.intended})" if case.intended else ""
        yield f"--- {number}: {label}{side}"
        text = f"{case.query}\n{contexts.render_text(case.context)}"
        lines = [line for line in text.splitlines() if line.strip()]
        for line in lines[:MOST_LINES]:
            yield "".join(char if char.isprintable() else "?" for char in line)
        if len(lines) > MOST_LINES:
            yield f"... and {len(lines) - MOST_LINES} more lines"


def _note_counts(imported: case_files.Imported) -> None:
    note_all(imported.notes)
    cases = imported.cases
    queries = len({case.query_id for case in cases})
    bare = sum(case.context is None for case in cases)
    note(f"{imported.rows} rows: {len(cases)} cases of {queries} queries, {bare} without context")
    labels = Counter(label for case in cases for label in _labels(case))
    named = [f"{count} with {label}" for label, count in labels.items()]
    note(f"labels: {', '.join(named) or 'none'}")
    for why, count in imported.unlabelled.items():
        note(f"cases without a label, which no score counts: {count}, since {why}")
    counts = [
        ("left out by the mapping's 'where'", imported.filtered),
        ("without a query", imported.without_query),
        ("that repeat a case and count once", imported.repeated),
        ("joined with a case there already", imported.joined),
        ("of people who take no side", imported.abstained),
        ("bad and left out", len(imported.problems)),
    ]
    for what, count in counts:
        if count:
            note(f"rows {what}: {count}")
    if imported.differing:
        differing = ", ".join(f"{name} {count}" for name, count in imported.differing.items())
        note(f"rows that repeat a case and differ from it, by what differs: {differing}")
    if imported.untaken:
        names = ", ".join(f"{name} {count}" for name, count in imported.untaken.items())
        note(f"columns not taken, with their filled cells: {names}")


def _labels(case: case_files.Case) -> Iterator[str]:
    """Labels that a score could be measured against, in words."""
    rule = case.ratings.rule if case.ratings is not None else None
    if (case.votes_safe or 0) + (case.votes_unsafe or 0):
        yield "people's ratings, as votes (rule: sides)" if rule == "sides" else "people's votes"
    if case.published_safe_rate is not None:
        made = rule == "position"
        yield "a mean rating, as a share (rule: position)" if made else "a published share"
    if case.intended is not None:
        yield "the side that the authors mean"


def _line(case: case_files.Case) -> str:
    parts = (case.intended or "none", case.language or "-", case.category or "-", *case.tags)
    return f"{case.id}  {'  '.join(parts)}  ({len(case.query)} characters)"
