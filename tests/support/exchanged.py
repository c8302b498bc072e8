"""Studies on platforms, made up: hostile texts, and files as the platforms write them."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from support.studies import fields, on_disk

from casewise.annotation.exchange.sittings import Tasks, plan_tasks
from casewise.annotation.study.schema import (
    Arm,
    Study,
)
from casewise.annotation.study.study_file import by_arm
from casewise.annotation.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise.cases import Case, Context, Side, Turn

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
    at_once: bool = False,
) -> Collected:
    """The truth, written down without the code under test.

    Args:
        tasks: The study's.
        crowd: In the order of coming.
        name: The pseudonym of an account.
        panel: Where they were recruited.
        at_once: Whether a platform keeps the time of submission alone.
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
                ended=last if complete or at_once else None,
                attempts=1 if at_once else 0,
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
                    time=last if at_once else answered_at(number, page.position),
                    seconds=told.seconds,
                    confidence=told.confidence,
                    reason=told.reason,
                )
            )
    return Collected(tuple(people), tuple(votes), tuple(checks))


def label_studio_export(
    tasks: Tasks, crowd: Sequence[Came], *, minimal: bool = False, first: int = 0
) -> str:
    """As Label Studio exports tasks, with a draft and a prediction on each.

    ``first`` is the number of the first annotation.
    """
    exported = []
    for number, came in enumerate(crowd):
        for page, told in zip(tasks.blocks[came.block], came.told, strict=False):
            serial = first + 1000 * number + page.position
            data = {
                "study": tasks.mark,
                "block": page.block,
                "position": page.position,
                "query": page.query,
                "context": page.context,
            }
            time = answered_at(number, page.position).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            exported.append(
                _minimal(serial, data, told, came, time)
                if minimal
                else _full(serial, data, told, came, time)
            )
    return json.dumps(exported, ensure_ascii=False)


def _full(serial: int, data: dict[str, Any], told: Told, came: Came, time: str) -> dict[str, Any]:
    common = {"to_name": "query", "origin": "manual"}
    result: list[dict[str, Any]] = [
        {"value": {"choices": [told.verdict]}, "id": "a", "from_name": "verdict", **common}
        | {"type": "choices"}
    ]
    if told.confidence:
        value = {"rating": told.confidence}
        result.append(
            {"value": value, "id": "b", "from_name": "confidence", "type": "rating", **common}
        )
    if told.reason:
        value_of = {"text": [told.reason]}
        result.append(
            {"value": value_of, "id": "c", "from_name": "reason", "type": "textarea", **common}
        )
    annotation = {
        "id": serial,
        "completed_by": int(came.account),
        "result": result,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": time,
        "updated_at": time,
        "draft_created_at": time,
        "lead_time": told.seconds,
        "prediction": {},
        "result_count": len(result),
        "unique_id": "d3a6b0f0-0000-4000-8000-000000000000",
        "task": serial,
        "project": came.block,
        "updated_by": 1,
        "parent_prediction": None,
        "parent_annotation": None,
        "last_created_by": None,
    }
    return {
        "id": serial,
        "annotations": [annotation],
        "file_upload": "0a1b2c3d-block-0.json",
        "drafts": [{"id": 5, "user": "eve", "result": []}],
        "predictions": [{"result": [{"value": {"choices": ["unsafe"]}, "from_name": "verdict"}]}],
        "data": data,
        "meta": {},
        "created_at": time,
        "updated_at": time,
        "inner_id": serial,
        "total_annotations": 1,
        "cancelled_annotations": 0,
        "total_predictions": 1,
        "project": came.block,
    }


def _minimal(
    serial: int, data: dict[str, Any], told: Told, came: Came, time: str
) -> dict[str, Any]:
    flat: dict[str, Any] = {**data, "id": serial, "verdict": told.verdict}
    if told.confidence:
        flat["confidence"] = [{"rating": told.confidence}]
    if told.reason:
        flat["reason"] = told.reason
    return {
        **flat,
        "annotator": int(came.account),
        "annotation_id": serial,
        "created_at": time,
        "updated_at": time,
        "lead_time": told.seconds,
    }


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


def turk_time(time: datetime) -> str:
    return time.astimezone(timezone(timedelta(hours=-8))).strftime("%a %b %d %H:%M:%S PST %Y")


def turk_rows(
    tasks: Tasks, crowd: Sequence[Came], batch: bytes, *, form: str = "together"
) -> list[dict[str, str]]:
    """Rows as Mechanical Turk writes them: every column of the batch comes back.

    Args:
        tasks: The study's.
        crowd: Who came.
        batch: The input file.
        form: ``together`` (one column of JSON), ``apart`` (a column a value), ``plain``.
    """
    sent = list(csv.DictReader(io.StringIO(batch.decode(), newline="")))
    rows = []
    for number, came in enumerate(crowd):
        last = answered_at(number, len(came.told) - 1)
        row = dict.fromkeys(TURK, "") | {
            "HITId": f"3HIT{came.block}",
            "Reward": "$3.00",
            "AssignmentId": f"3ASSIGN{number}",
            "WorkerId": came.account,
            "AssignmentStatus": "Approved" if number % 2 else "Submitted",
            "AcceptTime": turk_time(begun(number)),
            "SubmitTime": turk_time(last),
            "WorkTimeInSeconds": str(int((last - begun(number)).total_seconds())),
            "LifetimeApprovalRate": "100% (4/4)",
        }
        row |= {f"Input.{name}": cell for name, cell in sent[came.block].items()}
        row |= _turk_answers(came, form)
        rows.append(row)
    return rows


def _turk_answers(came: Came, form: str) -> dict[str, str]:
    chosen: dict[str, tuple[str, Sequence[str]]] = {}
    typed = {"attempts": "1"}
    for position, told in enumerate(came.told):
        chosen[f"verdict_{position}"] = (told.verdict, ("safe", "unsafe"))
        chosen[f"confidence_{position}"] = (str(told.confidence or ""), "12345")
        typed[f"reason_{position}"] = told.reason or ""
        typed[f"seconds_{position}"] = f"{told.seconds:.3f}"
    if form == "together":
        radios = {
            name: {one: one == value for one in options}
            for name, (value, options) in chosen.items()
        }
        return {"Answer.taskAnswers": json.dumps([{**radios, **typed}], ensure_ascii=False)}
    plain = {f"Answer.{name}": text for name, text in typed.items()}
    if form == "plain":
        return plain | {f"Answer.{name}": value for name, (value, _) in chosen.items()}
    return plain | {
        f"Answer.{name}.{one}": str(one == value).lower()
        for name, (value, options) in chosen.items()
        for one in options
    }


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
