"""Plan a study: from cases and a few numbers to its file, and to what it will cost."""

import math
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from casewise.annotation.study._design import make_design
from casewise.annotation.study._reading import reading
from casewise.annotation.study._study import (
    Arm,
    Attention,
    Cell,
    Pay,
    Platform,
    Recruitment,
    Study,
)
from casewise.annotation.study._study_file import by_arm
from casewise.annotation.study._texts import Asker, default_texts, pay_each
from casewise.cases import CASEBENCH, STARTER, Case, CaseSet
from casewise.errors import UsageError

PAPER_VOTES = 21
"""People per case in the CASE-Bench paper (Sun et al. 2025, arXiv 2501.14940)."""

USUAL_TASKS = 20
PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete?cc={code}"


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What a person decides about a study."""

    title: str
    arms: tuple[Arm, ...] = tuple(Arm)
    votes: int = PAPER_VOTES
    tasks: int | None = None
    """The most cases a person; None is 20, or fewer where there are fewer queries."""
    attention: int = 2
    """Checks a person."""
    seed: int = 0
    platform: Platform = Platform.NONE
    pay: Pay = field(default_factory=Pay)
    asker: Asker = field(default_factory=Asker)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a study asks of people and purse. Money is in ``Study.pay.currency``."""

    people: int
    """One a block: who finish."""
    recruit: int
    """To be invited, so that as many finish."""
    minutes: float
    """The longest session, at the planned speed."""
    hours: float
    """Of all who finish."""
    pay_each: float
    pay: float
    fee: float
    """The platform's."""
    cost: float
    """``pay`` and ``fee``, for those who finish."""


def plan_study(made: CaseSet, source: str | Path, path: Path, plan: StudyPlan) -> Study:
    """Lay out a study over cases.

    Args:
        made: The cases.
        source: Where they are from: a path, or ``starter`` or ``casebench``.
        path: The study file that is to be; gives the study its id, and is not written.
        plan: What was decided.

    Raises:
        UsageError: An arm without cases, too many cases a person, or too many attention checks.
    """
    known = by_arm(made.cases)
    for arm in plan.arms:
        if not any(one is arm for one, _ in known):
            raise UsageError(
                f"--arms {arm}: {made.name} has no case in it (a context whose intended side is "
                f"{arm}); leave the arm out"
            )
    chosen = {key: case for key, case in known.items() if key[0] in plan.arms}
    cases = tuple(chosen.values())
    tasks = plan.tasks or min(USUAL_TASKS, len({case.query_id for case in cases}))
    design = make_design(
        cases, [Cell(*key) for key in chosen], votes=plan.votes, tasks=tasks, seed=plan.seed
    )
    most = max(map(len, design.blocks))
    # The minutes count the words of the consent that names them: a number is a word, whichever.
    texts = default_texts(plan.arms, plan.asker, plan.pay, tasks=most, minutes=0)
    if plan.attention > len(texts.checks):
        raise UsageError(
            f"--attention {plan.attention}: there are {len(texts.checks)} checks to draw from; "
            "write more into the study file, and raise attention.per_person there"
        )
    study = Study(
        id=_name(path.stem),
        title=plan.title,
        cases=_seen_from(path, source),
        cases_hash=made.hash,
        arms=plan.arms,
        votes=plan.votes,
        seed=plan.seed,
        pay=plan.pay,
        recruitment=_recruitment(plan.platform),
        consent=texts.consent,
        instructions=texts.instructions,
        tutorial=texts.tutorial,
        comprehension=texts.comprehension,
        attention=Attention(checks=texts.checks, per_person=plan.attention),
        design=design,
    )
    minutes = forecast(study, cases=cases).minutes
    told = default_texts(plan.arms, plan.asker, plan.pay, tasks=most, minutes=minutes)
    return study.model_copy(update={"consent": told.consent})


def forecast(
    study: Study,
    dropout: float = 0,
    *,
    tasks: int | None = None,
    cases: Sequence[Case] | None = None,
) -> Forecast:
    """People, time and money that a study will take.

    Time follows from the words that people read, at the usual pace; seconds and minutes of the
    study file go before it.

    Args:
        study: With its pay.
        dropout: The share of those invited who won't finish, in 0..1, 1 excluded.
        tasks: What if a person judged at most so many cases; None is as designed.
        cases: Of the study's cells, in their order; None reads them.

    Raises:
        InputError: The file of cases is gone, or has changed.
    """
    read = reading(study, cases)
    votes = len(study.design.cells) * study.votes
    if tasks == max(map(len, study.design.blocks)):
        tasks = None
    people = len(study.design.blocks) if tasks is None else -(-votes // tasks)
    longest = read.planned_minutes(None if tasks is None else -(-votes // people))
    each = pay_each(study.pay, longest)
    pay = each * people
    return Forecast(
        people=people,
        recruit=math.ceil(round(people / (1 - dropout), 9)),
        minutes=longest,
        hours=read.planned_hours(people),
        pay_each=each,
        pay=pay,
        fee=pay * study.pay.fee,
        cost=pay * (1 + study.pay.fee),
    )


def other_tasks(study: Study, queries: int) -> tuple[int, ...]:
    """The most cases a person as designed, and half and twice as many, as far as queries allow."""
    now = max(map(len, study.design.blocks))
    return tuple(sorted({max(1, now // 2), now, max(now, min(2 * now, queries))}))


def _recruitment(platform: Platform) -> Recruitment:
    """With codes that can't be guessed where they are worth money."""
    if platform is Platform.NONE:
        return Recruitment()
    codes: Sequence[str] = [secrets.token_hex(4).upper() for _ in range(3)]
    return Recruitment(
        platform=platform,
        return_url=PROLIFIC_RETURN if platform is Platform.PROLIFIC else None,
        completed=f"C{codes[0]}",
        screened_out=f"S{codes[1]}",
        withdrawn=f"W{codes[2]}",
    )


def _name(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64] or "study"


def _seen_from(path: Path, source: str | Path) -> str:
    """The cases as seen from the study file's folder, so that both can be moved together."""
    if source in (STARTER, CASEBENCH):
        return str(source)
    try:
        seen = Path(os.path.relpath(source, path.parent)).as_posix()
    except ValueError:  # another drive
        return Path(source).resolve().as_posix()
    return f"./{seen}" if seen in (STARTER, CASEBENCH) else seen
