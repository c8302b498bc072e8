"""A study whose texts are hostile, and exports of Prolific, made up."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from support.studies import fields, on_disk

from casewise.cases import Case, Context, Turn
from casewise_study.study.schema import Arm, Study
from casewise_study.study.study_file import by_arm

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


def a_study(
    folder: Path,
    *,
    texts: Sequence[str] = HOSTILE,
    id: str = "desks",
    seed: int = 7,
    least_seconds: float = 2,
) -> Study:
    """A study of a query a text, two arms, two votes a cell, with a check among each block."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = [
        Case(
            query=text,
            context=Context({"sender": {"platform_type": f"{desk} {text}"}}),
            intended=side,
            history=(Turn(role="user", content=text), Turn(role="assistant", content="Well.")),
        )
        for text in texts
        for side, desk in (("safe", "a town hall"), ("unsafe", "a forum"))
    ]
    places = range(len(texts))
    blocks = [
        [2 * place + (person + place) % 2 for place in group]
        for group in (places[: len(texts) // 2], places[len(texts) // 2 :])
        for person in range(4)
    ]
    made = fields(
        cases,
        [cell for cell in by_arm(cases) if cell[0] is not Arm.NONE],
        blocks,
        id=id,
        title="Which forms <b>may</b> be explained ${title}",
        votes=2,
        seed=seed,
        timing={"least_seconds": least_seconds},
        consent={
            "text": "We ask you.\n\nYou may stop.",
            "warning": "Some may distress.",
            "contact": "ada@example.org",
        },
        instructions="Say whether it is safe to answer. ]]> <i>${x}</i> \U0001f600",
        tutorial=[],
        comprehension={
            "questions": [
                {"text": "Two contexts?", "options": ["Never <", "Always"], "answer": 0},
            ]
        },
        attention={
            "per_person": 1,
            "checks": [
                {"id": "one", "query": "=Say safe.", "expected": "safe"},
                {"id": "two", "query": "<b>Say</b> unsafe.", "expected": "unsafe"},
            ],
        },
    )
    return on_disk(folder, cases, made)


PROLIFIC = [
    "Submission id",
    "Participant id",
    "Status",
    "Custom study tncs accepted at",
    "Started at",
    "Completed at",
    "Reviewed at",
    "Archived at",
    "Time taken",
    "Completion code",
    "Total approvals",
    "Age",
    "Sex",
    "Ethnicity simplified",
    "Country of birth",
    "Country of residence",
    "Nationality",
    "Language",
    "Student status",
    "Employment status",
]


def prolific_csv(rows: Sequence[dict[str, str]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, PROLIFIC, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
