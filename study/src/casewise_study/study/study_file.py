"""The study file: written as YAML that people edit, and read with the cases that it is about."""

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from casewise.cases import CASEBENCH, STARTER, Case, digest, open_cases
from casewise.errors import InputError
from casewise.files import write_atomically
from casewise.files.yaml import read_model
from casewise_study.study.block_design import query_codes
from casewise_study.study.language import Language, open_language
from casewise_study.study.schema import Arm, Study

_HEAD = """\
# A study of people's votes, made by `casewise annotate plan`. Before the first person comes, all
# texts and rules may be edited; arms, votes, cases_hash and design belong together and stay.
# Once it runs, change nothing: people must be asked alike.
"""

TODO = "TODO"
"""Stands where only the people who ask can say: a study with it is not ready."""


class _Dumper(yaml.SafeDumper):
    """Paragraphs as they are read; lists indented under their name."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        plain = all(line.isprintable() for line in text.split("\n"))
        style = "|" if "\n" in text and plain else None if plain else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


_Dumper.add_representer(str, _Dumper.represent_text)


def study_yaml(study: Study) -> str:
    """The file of a study; the comments are what the fields' docstrings say.

    ``load_study`` reads the very same study from it.
    """
    unwritten = re.search(rf"[^.\n]*{TODO}[^.]*\.?", study.consent.text)
    parts = [_HEAD]
    if unwritten:
        parts.append(f"# Write this sentence of consent.text first: {unwritten[0].strip()}\n")
    for name, value in study.model_dump(mode="json").items():
        text = yaml.dump(
            {name: _without_nulls(value)},
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=96,
        )
        field = Study.model_fields[name]
        if field.description:
            parts.append("\n" + _comment(field.description))
        for inner, part in getattr(field.annotation, "model_fields", {}).items():
            if part.description:
                text = re.sub(rf"(?m)^(?=  {inner}:)", _comment(part.description, "  "), text)
        parts.append(text)
    return "".join(parts)


def _comment(text: str, indent: str = "") -> str:
    lines = textwrap.wrap(" ".join(text.split()), 96)
    return "".join(f"{indent}# {line}\n" for line in lines)


def write_study(study: Study, path: Path) -> None:
    """Write the file of a study: beside it first, then renamed."""
    write_atomically(path, study_yaml(study).encode())


def _without_nulls(value: Any) -> Any:
    """Leave absent fields out of the records of a list; elsewhere null shows what could be set."""
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    return [
        {name: inner for name, inner in record.items() if inner is not None}
        if isinstance(record, dict)
        else record
        for record in value
    ]


def study_hash(study: Study) -> str:
    """The hash of all that the file says."""
    return digest(study.model_dump(mode="json"))


MOST_BYTES = 32_000_000
"""Most bytes of a study file; a vote takes about six."""


def load_study(path: Path) -> Study:
    """Load a study from its YAML file.

    Raises:
        InputError: There is no such file, or it can't be used.
    """
    study = read_model(path, Study, "study", most_bytes=MOST_BYTES)
    study._path = path
    return study


def study_language(study: Study) -> Language:
    """The language of a study's pages, by a file beside the study, or ours.

    Raises:
        InputError: There are no texts in this language.
    """
    return open_language(study.language, study.path.parent if study.path else None)


def without_context(case: Case) -> Case:
    """The case of the arm ``none``: the query alone."""
    return Case(
        query=case.query,
        query_id=case.query_id,
        category=case.category,
        source=case.source,
        licence=case.licence,
        language=case.language,
    )


def by_arm(cases: Iterable[Case]) -> dict[tuple[Arm, str], Case]:
    """Every case that could be a cell, by its arm and id, in the order of the file.

    In the arm ``none`` is a query's own case without context and earlier turns; where there is
    none, its first case lends its query. Cases without an intended side are in no other arm.
    """
    cases = tuple(cases)
    bare = {
        case.query_id: case for case in reversed(cases) if case.context is None and not case.history
    }
    cells: dict[tuple[Arm, str], Case] = {}
    query_ids = set()
    for case in cases:
        if case.query_id not in query_ids:
            query_ids.add(case.query_id)
            alone = bare.get(case.query_id) or without_context(case)
            cells[Arm.NONE, alone.id] = alone
        if case.intended is not None and case.context is not None:
            cells[Arm(case.intended), case.id] = case
    return cells


def study_cases(study: Study) -> tuple[Case, ...]:
    """The cases of the study's cells, in their order; read once, and kept with the study.

    The study names a file, or ``starter``, or ``casebench``.

    Raises:
        InputError: The file is gone, its cases are not those that were planned, or a block holds
            a query twice.
        AssetError: CASE-Bench was not fetched yet.
    """
    cached = study._cases
    if cached is None or cached[0] != study.cases or cached[1] is not study.design:
        # A copy of the study with other cases or another design reads anew.
        cached = study._cases = (study.cases, study.design, _read_cases(study))
    return cached[2]


def _read_cases(study: Study) -> tuple[Case, ...]:
    is_shipped = study.cases in (STARTER, CASEBENCH)
    case_set = open_cases(study.cases if is_shipped else study.folder / study.cases)
    if case_set.hash != study.cases_hash:
        raise InputError(
            "the cases have changed since the study was planned",
            file=study.path,
            field="cases_hash",
            found=case_set.hash,
            expected=study.cases_hash,
        )
    known = by_arm(case_set.cases)
    cells = study.design.cells
    for number, cell in enumerate(cells, 1):
        if cell not in known:
            raise InputError(
                "no such case",
                file=study.path,
                record=f"design.cells, record {number}",
                found=f"{cell.arm} {cell.case_id}",
                expected=f"a case of {study.cases} under this arm",
            )
    cases = tuple(known[cell] for cell in cells)
    queries = query_codes(cases).tolist()
    for number, block in enumerate(study.design.blocks, 1):
        if len({queries[place] for place in block}) < len(block):
            raise InputError(
                "two cells of one query",
                file=study.path,
                record=f"design.blocks, record {number}",
                expected="nobody sees a query twice",
            )
    return cases
