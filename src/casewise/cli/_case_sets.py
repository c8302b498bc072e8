"""``casewise cases``: split, sample, merge, diff."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from casewise.choices import By
from casewise.cli import _complete as complete
from casewise.cli._console import Format, FormatOption, note, print_as
from casewise.cli._main import case_files, reporting
from casewise.cli._options import (
    argument,
    flag,
    is_same_file,
    note_versions,
    open_cases,
    option,
    out_option,
    seed_option,
    warn_of_content,
)
from casewise.cli.arguments import File
from casewise.errors import UsageError
from casewise.sheets import plural

DIFFERENT = 1
"""Exit status of ``diff`` where the versions differ, as of the program of that name."""

_SUFFIXES = (".yaml", ".csv")
_SHARE = re.compile(r"\d*\.?\d{1,12}|\d{1,6}\.|\d{1,6}/[1-9]\d{0,5}")
_NAME = re.compile(r"\w[\w.-]*")

StratifyBy = Annotated[
    By, option("The field whose values each draw has in proportion; none: not stratified.")
]
Seed = Annotated[int, seed_option("Seed of the draw.")]
Out = Annotated[Path, out_option("What to write: .jsonl, .yaml or .csv.")]


def split(
    file: File,
    into: Annotated[
        str,
        option(
            "The parts and their shares of the queries, which sum to 1; thirds: 1/3.",
            metavar="NAME=SHARE,...",
        ),
    ],
    out_dir: Annotated[Path, option("The folder of the parts.", metavar="DIR")],
    by: StratifyBy = By.CATEGORY,
    seed: Seed = 0,
) -> None:
    """Split a file into parts, stratified, with whole queries in each.

    Twins, and cases with the same question under two ids, stay together. Each part has its
    share of every stratum, as closely as whole queries allow, whatever the order of the file.
    DIR/NAME has the form of FILE (JSON becomes JSON Lines); a file of that name is overwritten.

    [bold]Examples[/]

    casewise cases split mine.jsonl --into train=.8,test=.2 --out-dir parts

    casewise cases split starter --into a=1/2,b=1/2 --by intended --out-dir .
    """
    shares = _shares(into)
    loaded = _open(file)
    note_versions(loaded)
    suffix = Path(file).suffix if file.endswith(_SUFFIXES) else ".jsonl"
    targets = {name: out_dir / f"{name}{suffix}" for name in shares}
    for target in targets.values():
        _keep_source(file, target)
    for name, part in case_files.split_cases(loaded.cases, shares, by=by, seed=seed).items():
        _write(part, targets[name])


def sample(
    file: File,
    to: Out,
    n: Annotated[int, option("How many queries, with all their cases.", None, "N", None, "-n")],
    by: StratifyBy = By.CATEGORY,
    seed: Seed = 0,
) -> None:
    """Draw a stratified sample of whole queries, each at most once.

    N counts queries, not cases: a query comes with all its contexts, so 10
    queries in pairs are 20 cases. A file of the name of --out is overwritten.

    [bold]Examples[/]

    casewise cases sample casebench -n 45 --out few.jsonl

    casewise cases sample mine.yaml -n 20 --by source --seed 7 --out few.yaml
    """
    _keep_source(file, to)
    loaded = _open(file)
    note_versions(loaded)
    _write(case_files.sample_cases(loaded.cases, n, by=by, seed=seed), to)


def merge(
    files: Annotated[
        list[str], argument("A B...", "Files of cases, starter or casebench.", complete.cases)
    ],
    to: Out,
) -> None:
    """Unite files; identical cases count once, a contradiction is an error.

    Cases are matched by id; each keeps its source and its licence. A file of the name of --out
    is overwritten.

    [bold]Example[/]

    casewise cases merge ours.yaml theirs.jsonl --out all.jsonl
    """
    sets = [_open(file) for file in files]
    merged = case_files.merge_sets(sets)
    note_versions(*sets)
    if identical := sum(map(len, sets)) - len(merged):
        note(f"note: records identical to a case there already and left out: {identical}")
    _write(merged, to)


def diff(
    old: Annotated[str, argument("OLD", "A file of cases, as it was.")],
    new: Annotated[str, argument("NEW", "The file as it is.")],
    format: FormatOption = Format.TABLE,
    reveal: Annotated[
        bool, flag("--reveal", "Show changed texts, not only their lengths.")
    ] = False,
) -> None:
    """List what changed between two versions of a file, case by case.

    Cases are matched by their ids. A case whose text and id changed is reworded if exactly one
    case of OLD and one of NEW fit. Votes are compared as counts. The form of the files doesn't
    matter; their order does, since the hash in results depends on it. Votes that would stand on
    another text are named.

    [bold]Exit status[/]: 0 the same, 1 different, 2 bad input.

    [bold]Examples[/]

    casewise cases diff mine-1.jsonl mine-2.jsonl

    casewise cases diff old.yaml new.yaml --format markdown > changes.md
    """
    difference = case_files.diff_sets(_open(old), _open(new))
    if reveal:
        warn_of_content()
    print_as(format, reporting.diff_sheet(difference, reveal=reveal))
    if not difference.same:
        raise typer.Exit(DIFFERENT)


def _open(file: str) -> case_files.CaseSet:
    """Load cases under the path given: two files of one name in two folders are told apart."""
    return replace(open_cases(file), name=file)


def _write(cases: tuple[case_files.Case, ...], path: Path) -> None:
    case_files.write_cases(cases, path)
    queries = len(case_files.whole_queries(cases))
    counts = f"{plural(len(cases), 'case')} of {plural(queries, 'query')}"
    note(f"{path}: {counts} (hash {case_files.dataset_hash(cases)})")


def _keep_source(file: str, target: Path) -> None:
    """Refuse to write a part over the whole, whose rest would be lost."""
    if is_same_file(Path(file), target):
        raise UsageError(f"{target}: would overwrite the file that it is drawn from")


def _shares(text: str) -> dict[str, Fraction]:
    shares: dict[str, Fraction] = {}
    for item in text.split(","):
        name, equals, share = (part.strip() for part in item.partition("="))
        if not (equals and _NAME.fullmatch(name) and _SHARE.fullmatch(share)):
            raise UsageError(f"--into has {item!r}: write NAME=SHARE,... as in train=.8,test=.2")
        # Names of files; some file systems don't tell capitals.
        if name.casefold() in (other.casefold() for other in shares):
            raise UsageError(f"--into names the part {name!r} twice")
        shares[name] = Fraction(share)
    return shares
