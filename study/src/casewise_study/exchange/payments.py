"""Payments by Prolific's own names for people: a list for whoever runs the study alone.

The study keeps no platform id. Prolific's export of submissions brings them, and each is
matched with the person who came under it; without a platform, people are named by personal code.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from casewise.errors import UsageError
from casewise_study.exchange.submissions import KIND, OPEN, Submission, read_submissions
from casewise_study.study.planning import forecast
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_rules import Rule
from casewise_study.votes.collected import (
    Collected,
    PersonRecord,
    PersonStatus,
    active_minutes,
)
from casewise_study.votes.result_files import row_of, to_csv
from casewise_study.votes.screening import Flag, PersonScreen, screen

_LEAST_FAILED = 2
"""Attention checks: fewer failed ones are no ground to refuse a pay."""


class Proposal(StrEnum):
    """Proposal for a submission; a person decides."""

    PAY = "pay"
    BONUS = "bonus"
    """The pay, and more: the work took longer than it was planned for."""
    ASK = "ask"
    """Look at the answers, and write to the person, before anything is decided."""
    REJECT = "reject"
    NOTHING = ""
    """Nothing is left to decide."""


@dataclass(frozen=True, slots=True)
class Payment:
    """A submission, and what is proposed for it. Money is in the currency of the study."""

    platform_id: str
    """Empty without a platform."""
    submission: str
    """The platform's name for what the person sent in."""
    platform_status: str
    rater: str
    personal_code: str
    """Without a platform, what the person names in its place."""
    code: str
    """The completion code that the study showed, empty where it showed none."""
    status: PersonStatus | None
    started: datetime | None
    ended: datetime | None
    minutes: float | None
    """At work, breaks left out."""
    checks: int
    checks_failed: int
    flags: str
    proposed: Proposal = Proposal.NOTHING
    pay: float | None = None
    bonus: float | None = None
    why: str = ""


def propose_payments(
    study: Study,
    collected: Collected,
    files: Sequence[Path],
    *,
    name: Callable[[str], str],
    codes: Mapping[str, str],
) -> tuple[Payment, ...]:
    """Propose what each submission is paid.

    Args:
        study: With its pay, rules and codes.
        collected: What the study collected.
        files: The platform's exports of submissions; none without a platform.
        name: The pseudonym of a platform's id; any other text for a stranger.
        codes: Personal codes by pseudonym, where the study runs without a platform.

    Raises:
        InputError: A file that isn't such an export.
        UsageError: Files without a platform, or a platform without files.
    """
    alone = study.recruitment.platform is Platform.NONE
    if alone and files:
        raise UsageError("the study runs without a platform: give no export of one")
    if not alone and not files:
        raise UsageError(f"give {KIND}: platform ids are in no other place")
    given: list[tuple[Submission | None, str]]
    if alone:
        given = [(None, person.rater) for person in collected.people]
    else:
        rows = (row for path in files for row in read_submissions(path))
        given = [(row, name(row.account)) for row in rows if row.account]
    return tuple(_payments(study, collected, given, codes))


def _payments(
    study: Study,
    collected: Collected,
    given: Sequence[tuple[Submission | None, str]],
    codes: Mapping[str, str],
) -> Iterator[Payment]:
    each = forecast(study).pay_each or None
    minutes = active_minutes(study, collected)
    people = {person.rater: person for person in collected.people}
    screened = {person.rater: _flags(person) for person in screen(study, collected).people}
    checks, failed = collected.checked
    undecided = Counter(rater for row, rater in given if row and row.status in OPEN)
    for row, rater in given:
        person, flags = people.get(rater), screened.get(rater, [])
        payment = Payment(
            platform_id=row.account if row else "",
            submission=row.name if row else "",
            platform_status=row.status if row else "",
            rater=getattr(person, "rater", ""),
            personal_code="" if row else codes.get(rater, ""),
            code=_shown_code(study, person),
            status=getattr(person, "status", None),
            started=getattr(person, "started", None),
            ended=getattr(person, "ended", None),
            minutes=round(minutes[rater], 1) if rater in minutes else None,
            checks=checks[rater],
            checks_failed=failed[rater],
            flags=";".join(flag.rule for flag in flags),
        )
        if row and row.status not in (*OPEN, _PAID):
            proposed, why = Proposal.NOTHING, "nothing is left to decide"
        elif undecided[rater] > 1:
            proposed, why = Proposal.ASK, "several submissions of one person await a decision"
        elif row and row.code and payment.code and row.code != payment.code:
            proposed, why = Proposal.ASK, f"sent the code {row.code}, and was shown another"
        else:
            proposed, why = _propose(person, payment, flags)
        yield _priced(replace(payment, proposed=proposed, why=why), study, each)


_PAID = "APPROVED"


_WITHOUT_CODE = (PersonStatus.STARTED, PersonStatus.ACTIVE, PersonStatus.EXCLUDED)


def _shown_code(study: Study, person: PersonRecord | None) -> str:
    if person is None or person.status in _WITHOUT_CODE:
        return ""
    return study.recruitment.code_of(person.status)


_ASK = {
    PersonStatus.STARTED: "began, and saw no case",
    PersonStatus.ACTIVE: "has not finished",
    PersonStatus.ABANDONED: "left before the end, and the place went to another person",
    PersonStatus.SCREENED_OUT: "missed the questions about the instructions: no case was shown",
    PersonStatus.WITHDRAWN: "withdrew, and the answers are deleted",
}
"""Why nothing can be proposed for who did not finish: what they get is what consent promised."""


def _propose(
    person: PersonRecord | None, payment: Payment, flags: Sequence[Flag]
) -> tuple[Proposal, str]:
    """Return the proposal for an undecided submission, and why."""
    if person is None:
        return Proposal.ASK, "nobody came to the study under this id"
    if person.status is PersonStatus.EXCLUDED:
        return Proposal.ASK, f"excluded: {person.excluded}"
    if person.status is not PersonStatus.COMPLETED:
        return Proposal.ASK, _ASK[person.status]
    if not flags:
        return Proposal.PAY, "finished"
    reasons = "; ".join(flag.reason for flag in flags)
    if any(flag.rule is Rule.ATTENTION for flag in flags):
        certain = payment.checks_failed >= _LEAST_FAILED
        return (Proposal.REJECT if certain else Proposal.ASK), reasons
    # Platforms let pay be refused for failed checks: other flags are odds, to be looked at.
    return Proposal.ASK, reasons


def _flags(screened: PersonScreen) -> list[Flag]:
    """The flags of a person; who says that a tool answered was promised the same pay."""
    return [flag for flag in screened.flags if flag.rule is not Rule.TOOL]


def _priced(payment: Payment, study: Study, each: float | None) -> Payment:
    """Add the pay, and a bonus where the time at work comes to more by the hourly pay."""
    if payment.proposed is not Proposal.PAY:
        return payment
    paid = payment.platform_status == _PAID
    due = round(study.pay.per_hour * (payment.minutes or 0) / 60 - (each or 0), 2)
    why = "paid already" if paid else payment.why
    if due > 0:
        why = f"{why}; {payment.minutes:.0f} minutes come to more by the hourly pay"
        payment = replace(payment, proposed=Proposal.BONUS, bonus=due)
    elif paid:
        payment = replace(payment, proposed=Proposal.NOTHING)
    return replace(payment, pay=None if paid else each, why=why)


def payments_csv(made: Sequence[Payment]) -> bytes:
    """The list as CSV, its cells guarded against formulas."""
    return to_csv([field.name for field in fields(Payment)], map(row_of, made)).encode()
