"""Payments: what each submission rests on, for whoever runs the study alone.

The study keeps no platform id. Prolific's export of submissions brings them, and each is
matched with the person who came under it; without a platform, people are named by personal code.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from casewise.errors import UsageError
from casewise_study.exchange.submissions import KIND, Submission, read_submissions
from casewise_study.study.planning import forecast
from casewise_study.study.schema import Platform, Study
from casewise_study.study.study_rules import Rule
from casewise_study.votes.collected import Collected, PersonStatus, active_minutes
from casewise_study.votes.screening import screen


@dataclass(frozen=True, slots=True)
class Payment:
    """A submission, and what is known of it. Money is in the currency of the study."""

    platform_id: str
    """Empty without a platform."""
    submission: str
    """The platform's name for what the person sent in."""
    platform_status: str
    code_sent: str
    """The completion code that the person brought to the platform."""
    code_shown: str
    """The one that the study showed, empty where it showed none."""
    rater: str
    """Empty if nobody came under this id."""
    personal_code: str
    """Without a platform, what the person names in its place."""
    status: str
    minutes: float | None
    """At work, breaks left out."""
    checks: int
    checks_failed: int
    flags: str
    """Why the screening flags the person; whoever says that a tool answered was promised the pay.
    """
    pay: float | None
    """Of a session, for people who completed it, excluded afterwards or not."""
    due: float | None
    """What the hourly pay comes to for the minutes, where that is more: a bonus is the rest."""


def list_payments(
    study: Study,
    collected: Collected,
    files: Sequence[Path],
    *,
    name: Callable[[str], str],
    codes: Mapping[str, tuple[str, PersonStatus | None]],
) -> tuple[Payment, ...]:
    """List submissions with what their pay rests on; you decide.

    Args:
        study: With its pay, rules and codes.
        collected: What the study collected.
        files: The platform's exports of submissions; none without a platform.
        name: The pseudonym of a platform's id; empty for a stranger.
        codes: Personal codes by pseudonym, and the ends whose codes were shown.

    Raises:
        InputError: A file that isn't such an export.
        UsageError: Files without a platform, or a platform without files.
    """
    alone = study.recruitment.platform is Platform.NONE
    if alone and files:
        raise UsageError("the study runs without a platform: give no export of one")
    if not alone and not files:
        raise UsageError(f"give {KIND}: platform ids are in no other place")
    submissions = [row for path in files for row in read_submissions(path) if row.account]
    rows = [(row, name(row.account)) for row in submissions]
    if alone:
        rows = [(Submission("", "", "", ""), person.rater) for person in collected.people]
    minutes = active_minutes(study, collected)
    people = {person.rater: person for person in collected.people}
    flags = {
        person.rater: "; ".join(flag.reason for flag in person.flags if flag.rule is not Rule.TOOL)
        for person in screen(study, collected).people
    }
    checks, failed = collected.checked
    each = forecast(study).pay_each
    payments = []
    for row, rater in rows:
        person, duration = people.get(rater), minutes.get(rater)
        due = round(study.pay.per_hour * (duration or 0) / 60, 2)
        personal, outcome = codes.get(rater, ("", None))
        is_done = outcome is PersonStatus.COMPLETED
        payments.append(
            Payment(
                platform_id=row.account,
                submission=row.name,
                platform_status=row.status,
                code_sent=row.code,
                code_shown=study.recruitment.code_of(outcome) if outcome else "",
                rater=person.rater if person else "",
                personal_code=personal if alone else "",
                status=person.status if person else "",
                minutes=None if duration is None else round(duration, 1),
                checks=checks[rater],
                checks_failed=failed[rater],
                flags=flags.get(rater, ""),
                pay=each if is_done and each else None,
                due=due if is_done and due > each else None,
            )
        )
    return tuple(payments)
