"""The blocks of a study as plain CSV, for people who judge with another tool."""

from casewise.cases import Case
from casewise.contexts import render_text
from casewise.files import csv_text
from casewise_study.study.reading_times import pages_of
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases

_ROLES = {"system": "System", "user": "User", "assistant": "Chatbot", "tool": "Tool"}
_COLUMNS = ("block", "position", "case_id", "query_id", "arm", "check", "query", "context")


def blocks_csv(study: Study) -> bytes:
    """A row a page, in the order of blocks and pages: a case, or an attention check.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    cases = study_cases(study)
    shown = [_with_history(case) for case in cases]
    rows = list[tuple[object, ...]]()
    for block in range(len(study.design.blocks)):
        for page in pages_of(study, block):
            here = (block, page.position)
            if page.place is None:
                check = study.check(page.check)
                context = render_text(check.context)
                rows.append((*here, None, None, None, check.id, check.query, context))
            else:
                case, arm = cases[page.place], study.design.cells[page.place].arm
                cells = (case.id, case.query_id, arm, None, case.query, shown[page.place])
                rows.append((*here, *cells))
    return csv_text(_COLUMNS, rows).encode("utf-8", "replace")


def _with_history(case: Case) -> str:
    turns = [f"{_ROLES[turn.role]}: {turn.text}" for turn in case.history]
    earlier = ["Earlier in the conversation:", *turns, ""] if turns else []
    return "\n".join([*earlier, render_text(case.context)])
