"""Studies judged elsewhere, made up: hostile texts, answers, and exports of platforms."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from support.studies import fields, on_disk

from casewise.cases import Case, Context, Side, Turn
from casewise.files import csv_text
from casewise_study.exchange.sittings import Tasks, plan_tasks
from casewise_study.study.schema import (
    Arm,
    Study,
)
from casewise_study.study.study_file import by_arm
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)

START = datetime(2026, 3, 4, 9, tzinfo=UTC)

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


def tasks_of(folder: Path, **options: Any) -> Tasks:
    return plan_tasks(a_study(folder, **options))


@dataclass(frozen=True)
class Told:
    """What a person answered on a page."""

    verdict: Side
    seconds: float
    confidence: int | None
    reason: str | None


@dataclass(frozen=True)
class Came:
    """A person who judged a block: the pages up to the last answered."""

    account: str
    block: int
    told: tuple[Told, ...]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
tellings = st.builds(
    Told,
    st.sampled_from(["safe", "unsafe"]),
    st.integers(0, 10_000_000).map(lambda thousandths: thousandths / 1000),
    st.none() | st.integers(1, 5),
    st.none() | texts.filter(bool),
)


@st.composite
def crowds(draw: st.DrawFn, tasks: Tasks, accounts: Callable[[int], str]) -> list[Came]:
    """People, each at a block of its own; some stop early."""
    blocks = draw(st.lists(st.integers(0, len(tasks.blocks) - 1), unique=True, max_size=4))
    crowd = []
    for number, block in enumerate(blocks or [0]):
        pages = len(tasks.blocks[block])
        answered = draw(st.just(pages) | st.integers(1, pages))
        told = draw(st.lists(tellings, min_size=answered, max_size=answered))
        crowd.append(Came(accounts(number), block, tuple(told)))
    return crowd


def begun(number: int) -> datetime:
    return START + timedelta(hours=number)


def answered_at(number: int, position: int) -> datetime:
    return begun(number) + timedelta(minutes=position)


def collected_of(
    tasks: Tasks,
    crowd: Sequence[Came],
    *,
    name: Callable[[str], str],
    panel: str,
) -> Collected:
    """The truth, written down without the code under test.

    Args:
        tasks: The study's.
        crowd: In the order of coming.
        name: The pseudonym of an account.
        panel: Where they were recruited.
    """
    people, votes, checks = [], [], []
    for number, came in enumerate(crowd):
        pages = tasks.blocks[came.block]
        complete = len(came.told) == len(pages)
        last = answered_at(number, len(came.told) - 1)
        people.append(
            PersonRecord(
                name(came.account),
                PersonStatus.COMPLETED if complete else PersonStatus.ACTIVE,
                panel=panel,
                block=came.block,
                started=begun(number),
                ended=last if complete else None,
            )
        )
        for page, told in zip(pages, came.told, strict=False):
            if page.check:
                passed = told.verdict == page.check.expected
                checks.append(
                    CheckRecord(
                        name(came.account), page.check.id, passed, page.position, told.seconds
                    )
                )
                continue
            assert page.case_id is not None
            assert page.query_id is not None
            assert page.arm is not None
            votes.append(
                VoteRecord(
                    name(came.account),
                    page.case_id,
                    page.query_id,
                    page.arm,
                    told.verdict,
                    page.position,
                    time=answered_at(number, page.position),
                    seconds=told.seconds,
                    confidence=told.confidence,
                    reason=told.reason,
                )
            )
    return Collected(tuple(people), tuple(votes), tuple(checks))


NAMES = (
    *("study", "rater", "block", "position", "verdict"),
    *("time", "seconds", "confidence", "reason"),
)


def answers_csv(tasks: Tasks, crowd: Sequence[Came]) -> bytes:
    """The plain CSV of answers, a row a page."""
    rows = [
        (
            tasks.mark,
            came.account,
            str(came.block),
            str(position),
            told.verdict,
            answered_at(number, position).isoformat(),
            repr(told.seconds),
            str(told.confidence or ""),
            told.reason or "",
        )
        for number, came in enumerate(crowd)
        for position, told in enumerate(came.told)
    ]
    return csv_text(NAMES, rows).encode()


TURK = [
    "HITId",
    "HITTypeId",
    "Title",
    "Description",
    "Keywords",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "RequesterAnnotation",
    "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds",
    "Expiration",
    "NumberOfSimilarHITs",
    "LifetimeInSeconds",
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "AutoApprovalTime",
    "ApprovalTime",
    "RejectionTime",
    "RequesterFeedback",
    "WorkTimeInSeconds",
    "LifetimeApprovalRate",
    "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
]


def turk_csv(rows: Sequence[dict[str, str]]) -> str:
    names = list(
        dict.fromkeys([*TURK, *(name for row in rows for name in row), "Approve", "Reject"])
    )
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names, restval="", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


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
