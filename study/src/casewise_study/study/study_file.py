"""The study file: written as YAML that people edit, and read with the cases that it is about."""

import re
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
# texts and rules may be edited; seed, arms, votes, cases_hash and design belong together and stay.
# Once it runs, change nothing: people must be asked alike. What says TODO must be filled in.
"""

_ABOVE = {
    "title": "Shown to people at the top of every page.",
    "cases": "As seen from this file's folder. The hash stops the study should the cases change.",
    "arms": "The contexts that people see: none (the query alone), safe and unsafe (as intended).",
    "votes": "How many different people judge each cell.",
    "collection": "fixed: so many; sequential: a case stops once its majority is decided, and\n"
    "# votes is the most. Then fewer votes give the same labels, and shares are less exact.",
    "seed": "Of the design below, and of where attention checks stand.",
    "ask": "Asked beside safe or unsafe; people may leave these open.",
    "timing": "Limits of time.",
    "pay": "For the forecast of costs. What people are told of pay stands in consent.text.",
    "recruitment": "The platform, and the codes that tell it how a person's session ended.",
    "consent": "Read and agreed to first. Blank lines part paragraphs.",
    "safeguards": "What a board or the law asks; shown with the consent. Say each, or waive it\n"
    "# with who and why, as in waived: {ethics: Ada Example, our board reviews no surveys}.",
    "instructions": "Read after consent.",
    "tutorial": "Worked examples, with the answer and why.",
    "comprehension": "Questions after the tutorial; who fails every attempt is not asked further.",
    "attention": "Pages that look like a case and say which answer to give.",
    "screening": "Rules that flag people, fixed before the start. Flags never delete a vote; null\n"
    "# switches a rule off.",
    "second_accounts": "Who may be a person who came before: always recorded and shown;\n"
    "# leave_out: the votes don't count, and another person gets the block.",
    "demographics": "Asked after the last case, kept apart from the votes; prefer not to say is\n"
    "# added. Edit at will; [] asks none.",
    "exit_question": "Asked there too, answered in one's own words; null asks none.",
    "tool_question": "Asked there too: no, for some, for most or all, or nothing; null asks none.",
    "debriefing": "Shown on the last page: what people were not told before.",
    "language": "Of the pages, and that people read in: en, de, or CODE.po beside this file.",
    "design": "Who judges what. Each cell is an arm and a case; each block is what one person\n"
    "# judges, in its order: places in cells, counted from 0. Written by a program; leave as is.",
}
_INSIDE = {
    "collection.rule": "fixed or sequential",
    "collection.posterior": "sequential: decided when the majority is all people's so probably",
    "collection.least": "sequential: votes on every case, however clear",
    "timing.least_seconds": "a sooner answer is not taken; null: by the words of each page",
    "timing.most_seconds": "a page counts no more: the rest is a break, and the vote is marked",
    "timing.lease_minutes": "after its last answer; then another person may get the block",
    "pay.seconds_per_task": "a case or an attention check; null: by their words",
    "pay.minutes_besides": "consent, tutorial and questions; null: by their words",
    "pay.fee": "the platform's, as a share of the pay",
    "recruitment.platform": "none or prolific",
    "recruitment.return_url": "where people go at the end, with {code}; null shows the code",
    "consent.ethics": "the board that approved the study, and its number; or null",
    "safeguards.helplines": "where people whom a text troubles find help",
    "safeguards.data_controller": "who answers for the data by law",
    "safeguards.legal_basis": "why the data may be kept, such as consent (GDPR, Art. 6(1)(a))",
    "safeguards.storage_place": "whose machine, in which country",
    "safeguards.access": "who can read the data",
    "safeguards.partial_pay": "for those who stop early or are screened out",
    "ask.confidence": "1 (guessing) to 5 (certain)",
    "ask.reason": "in a few words",
    "comprehension.attempts": "at all questions together",
    "recruitment.signed": "true: only links that Prolific has signed (Secured external URL)",
    "second_accounts.browser": "count or leave_out: began in the browser of another",
    "second_accounts.address": "count or leave_out: began in the address range of another",
    "second_accounts.minutes": "within so many of it; 0: addresses are not compared",
    "attention.per_person": "drawn from the checks",
    "screening.attention_failed": "flagged: who fails more checks",
    "screening.fast_share": "flagged: a greater share of votes faster than fast_seconds",
    "screening.fast_seconds": "null: by the words of each case",
    "screening.honeypot_pages": "flagged: follows the hidden text of more pages",
    "screening.left_share": "flagged: leaves a greater share of the pages meanwhile",
    "screening.copied_share": "flagged: copies or pastes on a greater share of the pages",
    "screening.even_times": "flagged: logarithms of times vary less",
    "screening.unread_share": "flagged: probably did not read, wrongly so at most in this share",
    "screening.changed_p": "flagged: pace and leniency change at one place, adjusted p below this",
    "screening.models": "flagged: gives the verdicts of models, as in these runs: [logs/gpt-4o]",
    "screening.tool_told": "true, flagged: says at the end that a tool answered",
}


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
    """The file of a study, with comments; ``load_study`` reads the very same study from it."""
    parts = [_HEAD]
    for name, value in study.model_dump(mode="json").items():
        text = yaml.dump(
            {name: _without_nulls(value)},
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=96,
        )
        if name in _ABOVE:
            parts.append(f"\n# {_ABOVE[name]}\n")
        parts.append(_commented(name, text))
    return "".join(parts)


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


def _commented(name: str, text: str) -> str:
    """Say at the end of a field's line what it is, unless its value goes on in the next."""
    for path, comment in _INSIDE.items():
        part, _, field = path.partition(".")
        if part == name:
            line = rf"(?m)^  {field}: (?![|>]).*$(?!\n   )"
            text = re.sub(line, rf"\g<0>  # {comment}", text, count=1)
    return text


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
    asked = set()
    for case in cases:
        if case.query_id not in asked:
            asked.add(case.query_id)
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
    kept = study._cases
    if kept is None or kept[0] != study.cases or kept[1] is not study.design:
        # A copy of the study with other cases or another design reads anew.
        kept = study._cases = (study.cases, study.design, _read_cases(study))
    return kept[2]


def _read_cases(study: Study) -> tuple[Case, ...]:
    is_shipped = study.cases in (STARTER, CASEBENCH)
    made = open_cases(study.cases if is_shipped else study.folder / study.cases)
    if made.hash != study.cases_hash:
        raise InputError(
            "the cases have changed since the study was planned",
            file=study.path,
            field="cases_hash",
            found=made.hash,
            expected=study.cases_hash,
        )
    known = by_arm(made.cases)
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
