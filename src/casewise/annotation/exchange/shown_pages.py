"""The text that a person is shown on each page, plain or as inert HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from casewise.annotation.study.reading_times import Page, ReadingTimes, pages_of, reading
from casewise.annotation.study.schema import Arm, AttentionCheck, Study
from casewise.annotation.study.study_file import study_cases
from casewise.cases import Case, digest
from casewise.contexts import render_text

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 .,;:!?()/_-]")
_ROLES = {"system": "System", "user": "User", "assistant": "Chatbot", "tool": "Tool"}


@dataclass(frozen=True, slots=True)
class ShownPage:
    """One page of a block: a case under its arm, or an attention check."""

    block: int
    position: int
    query: str
    context: str
    """As the judges' people read it, earlier turns before it."""
    case_id: str | None
    query_id: str | None
    arm: Arm | None
    check: AttentionCheck | None


@dataclass(frozen=True, slots=True)
class Tasks:
    """A study as pages to be shown to people."""

    study: Study
    mark: str
    """What tells this study's files from another's."""
    blocks: tuple[tuple[ShownPage, ...], ...]
    """The pages of each block, in the order of showing."""
    reading: ReadingTimes
    """Of the pages' words."""


def study_mark(study: Study) -> str:
    """What tells this study's files from another's: its id, and a hash of its plan.

    Block 7 of a study that was planned anew is another block 7.
    """
    plan = study.model_dump(mode="json", include={"cases_hash", "design", "attention", "seed"})
    return f"{study.id}@{digest(plan)[:8]}"


def plan_tasks(study: Study) -> Tasks:
    """The pages of every block, with the study's cases read.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    cases = study_cases(study)
    shown = [_with_history(case) for case in cases]
    blocks = []
    for number in range(len(study.design.blocks)):
        pages = pages_of(study, number)
        blocks.append(tuple(_shown(study, cases, shown, number, page) for page in pages))
    return Tasks(study, study_mark(study), tuple(blocks), reading(study))


def _shown(
    study: Study, cases: Sequence[Case], shown: Sequence[str], block: int, page: Page
) -> ShownPage:
    if page.check is not None:
        check = next(check for check in study.attention.checks if check.id == page.check)
        context = render_text(check.context)
        return ShownPage(block, page.position, check.query, context, None, None, None, check)
    assert page.place is not None
    case, arm = cases[page.place], study.design.cells[page.place].arm
    return ShownPage(
        block, page.position, case.query, shown[page.place], case.id, case.query_id, arm, None
    )


def _with_history(case: Case) -> str:
    turns = [f"{_ROLES[turn.role]}: {turn.text}" for turn in case.history]
    earlier = ["Earlier in the conversation:", *turns, ""] if turns else []
    return "\n".join([*earlier, render_text(case.context)])


_PICTURES = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
_VISIBLE = dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], "\ufffd") | {
    code: picture for code, picture in _PICTURES.items() if chr(code) not in "\n\t"
}
"""Characters that databases and browsers refuse, and what is shown for them."""


def visible(text: str) -> str:
    """The text with pictures for control characters, which databases and browsers refuse.

    Every line end becomes a line feed; tabs stay. Half a surrogate pair becomes U+FFFD.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_VISIBLE)


def as_html(text: str) -> str:
    """The text as HTML in plain ASCII without markup, quotes, line ends or ``$``.

    Mechanical Turk refuses characters beyond U+FFFF in its input, and reads ``${...}`` as a field;
    spreadsheets run a cell that starts with ``=``, ``+``, ``-`` or ``@``. Each is written as a
    numeric character reference, which a browser shows as the character itself.
    """
    written = _NOT_PLAIN.sub(lambda char: f"&#{ord(char[0])};", visible(text))
    return re.sub(r"^( *)-", r"\1&#45;", written)
