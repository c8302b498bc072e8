"""A study whose texts are hostile, and exports of Prolific, made up."""

from collections.abc import Sequence
from pathlib import Path

from support.studies import Record, a_case, a_study, latin_blocks, write_csv

HOSTILE = (
    "=cmd|' /C calc'!A0",
    "<script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">",
    ']]></Text><Choice value="both"/> & ${block} $context {{ 7*7 }}',
    "first line\r\nsecond\nthird\rfourth\tand a tab",
    "a \x00 and a \x07 and \x9f \x1b[31m",
    "\U0001f600 e\u0301 \u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd \ufeff",
    "'=quoted, \"twice\"; and 'once",
    "-1+1@SUM(A1) \uff1dSUM(1)",
)

ON_PROLIFIC: Record = {
    "platform": "prolific",
    "return_url": "https://x/{code}",
    "completed": "C0FFEE",
    "screened_out": "5C0DE",
    "withdrawn": "60BACC",
}
"""Recruitment by Prolific."""


def hostile_study(folder: Path) -> Path:
    """A query a text, two arms, two votes a cell, in blocks of four cases and a check."""
    turns = [{"role": "assistant", "content": "Well."}]
    cases = [
        a_case(
            text,
            arm,
            id=f"{arm}-{number}",
            context={"sender": {"platform_type": f"a desk {text}"}},
            history=[{"role": "user", "content": text}, *turns],
        )
        for number, text in enumerate(HOSTILE)
        for arm in ("safe", "unsafe")
    ]
    checks = [
        {"id": "one", "query": "=Say safe.", "expected": "safe"},
        {"id": "two", "query": "<b>Say</b> unsafe.", "expected": "unsafe"},
    ]
    return a_study(
        folder,
        cases,
        latin_blocks(len(HOSTILE), 2, 2, size=4),
        title="Which forms <b>may</b> be explained ${title}",
        instructions="Say whether it is safe to answer. ]]> <i>${x}</i> \U0001f600",
        tutorial=[],
        attention={"per_person": 1, "checks": checks},
    )


def account(number: int) -> str:
    """An id as Prolific gives them."""
    return f"5f{number:022x}"


PROLIFIC = [
    *("Submission id", "Participant id", "Status", "Custom study tncs accepted at"),
    *("Started at", "Completed at", "Reviewed at", "Archived at", "Time taken"),
    *("Completion code", "Total approvals", "Age", "Sex", "Ethnicity simplified"),
    *("Country of birth", "Country of residence", "Nationality", "Language"),
    *("Student status", "Employment status"),
]


def write_prolific(path: Path, *rows: tuple[str, str, str], **more: str) -> str:
    """Write an export of submissions.

    Args:
        rows: An id, a status and a completion code each.
        more: What other columns say of everybody.

    Returns:
        The file's name.
    """
    shown: Sequence[Record] = [
        {"Submission id": f"s{place}", "Participant id": who, "Status": status}
        | {"Completion code": code, **more}
        for place, (who, status, code) in enumerate(rows)
    ]
    write_csv(path, [dict.fromkeys(PROLIFIC, "") | row for row in shown])
    return path.name
