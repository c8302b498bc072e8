"""The data card: how the votes came about, and what they say."""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Any

import casewise
from casewise.annotation.study import (
    FAST_SECONDS,
    IMPOSSIBLE,
    UNDERSTOOD,
    USUAL,
    Arm,
    Balance,
    Platform,
    Range,
    Screening,
    Study,
    least_seconds,
    reading,
)
from casewise.annotation.votes._records import Collected
from casewise.annotation.votes._results import Results
from casewise.cases import Case
from casewise.statistics import Coefficient, Estimate, TwoWay

UNDEFINED = "–"

_PLATFORMS = {
    Platform.NONE: "By invitation, without a platform.",
    Platform.PROLIFIC: "On Prolific.",
    Platform.MTURK: "On Amazon Mechanical Turk.",
}


@dataclass(frozen=True, slots=True)
class CardFacts:
    """What the card says beside the results."""

    cases: Sequence[Case]
    """Of the study's cells, in their order, as they were before it."""
    balance: Balance
    """How even the blocks are."""
    cases_votes: str
    """Which votes the exported cases carry."""
    with_reasons: bool
    with_demographics: bool


def data_card(results: Results, facts: CardFacts) -> str:
    """The card as Markdown. Queries and contexts are not in it."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= _FILTERS
    environment.tests["finite"] = math.isfinite
    text = (files("casewise.data") / "study" / "data-card.md.j2").read_text("utf-8")
    return environment.from_string(text).render(**_values(results, facts))


def _values(results: Results, facts: CardFacts) -> dict[str, Any]:
    study = results.study
    path = study.path
    asked = list(dict.fromkeys(case.source or "" for case in facts.cases))
    licences = list(dict.fromkeys(case.licence or "" for case in facts.cases))
    return {
        "version": casewise.__version__,
        "study": study,
        "study_hash": hashlib.sha256(path.read_bytes()).hexdigest() if path else None,
        "funnel": results.funnel,
        "balance": facts.balance,
        "twice": _seen_twice(results.collected),
        "times": _times_in_words(results.study, facts.cases),
        "arms": results.arms,
        "contrasts": results.contrasts,
        "pairs": [(one.first, one.second) for one in results.contrasts],
        "sensitivity": results.sensitivity,
        "drift": results.drift,
        "panels": results.panels,
        "met": sum(cell.quota_met for cell in results.cells),
        "short": sum(not cell.quota_met for cell in results.cells),
        "converged": results.classes.converged,
        "platform": _PLATFORMS[study.recruitment.platform],
        "rules": rules_in_words(study.screening),
        "planned": _planned_in_words(results.study, facts.cases),
        "cases_votes": facts.cases_votes,
        "with_reasons": facts.with_reasons,
        "with_demographics": facts.with_demographics,
        "replaced": sum(
            case.votes is not None or case.published_safe_rate is not None for case in facts.cases
        ),
        "sources": [line(one) for one in asked if one],
        "licences": [line(one) for one in licences if one],
    }


def _seen_twice(collected: Collected) -> int:
    """Ids with votes on two cells of one query."""
    asked = Counter((vote.rater, vote.query_id) for vote in collected.votes)
    return len({rater for (rater, _), count in asked.items() if count > 1})


def _times_in_words(study: Study, cases: Sequence[Case]) -> str:
    """Before which answers were not taken."""
    least = study.timing.least_seconds
    if least is not None:
        return f"within {least:g} s of showing"
    words = reading(study, cases).cells
    low, high = (f"{round(least_seconds(one), 1):g}" for one in (min(words), max(words)))
    return (
        f"within the time that the page's words take at {IMPOSSIBLE:g} a minute ({low} to "
        f"{high} s of showing)"
    )


def _planned_in_words(study: Study, cases: Sequence[Case]) -> str:
    """The times that the pay is planned by."""
    read, pay = reading(study, cases), study.pay
    seconds, besides = pay.seconds_per_task, pay.minutes_besides
    pace = f"by their words at {USUAL.words:g} a minute and {USUAL.answer:g} s to answer"
    return (
        f"{read.case_seconds(USUAL) if seconds is None else seconds:.3g} s a case "
        f"({pace if seconds is None else 'as set in the study file'}) and "
        f"{read.besides_minutes(USUAL) if besides is None else besides:.2g} minutes besides"
    )


def rules_in_words(rules: Screening) -> list[str]:
    """The rules that are on, a sentence each."""
    found = []
    if rules.attention_failed is not None:
        checks = "check" if rules.attention_failed == 1 else "checks"
        found.append(f"Attention: more than {rules.attention_failed} attention {checks} failed.")
    if rules.fast_share is not None:
        found.append(
            f"Fast: more than {rules.fast_share:.0%} of votes in less than "
            + (
                f"the words of the case take at {UNDERSTOOD:g} a minute, at least "
                f"{FAST_SECONDS:g} s."
                if rules.fast_seconds is None
                else f"{rules.fast_seconds:g} s."
            )
        )
    if rules.one_answer_share is not None:
        found.append(
            f"One answer: one answer to more than {rules.one_answer_share:.0%} of at least 20 "
            "cases, where the others' answers make that unlikely (p < .01)."
        )
    if rules.agreement_p is not None:
        found.append(
            "Agreement: agrees with the others less than these do among themselves; one-sided, "
            "exact, given how many answers of a kind the person gave, against those whom nothing "
            f"else flagged; p below {rules.agreement_p:g} after Benjamini and Hochberg's "
            "adjustment for the number of people."
        )
    return found or ["No rule was on."]


def number(value: float, digits: int = 3) -> str:
    """A number, or – where it is undefined; a proper minus sign is not needed in Markdown."""
    return f"{value:.{digits}f}" if math.isfinite(value) else UNDEFINED


def interval(ends: tuple[float, float]) -> str:
    """Two ends in brackets."""
    return f"[{number(ends[0])}, {number(ends[1])}]"


def p_value(value: float) -> str:
    """A p-value; small ones as a bound."""
    if not math.isfinite(value):
        return UNDEFINED
    return "< .0005" if value < 0.0005 else f"{value:.3f}"


def line(text: str) -> str:
    """A text in one line that makes no table, heading or tag."""
    return _escape(" ".join(text.split()))


def _escape(text: str) -> str:
    for mark in ("\\", "|", "<", "`", "*", "_", "["):
        text = text.replace(mark, f"\\{mark}")
    return text


def _quote(text: str) -> str:
    return "\n".join(f"> {_escape(one.strip())}".rstrip() for one in text.splitlines())


def _estimate(one: TwoWay) -> str:
    return f"{number(one.value)} {interval(one.interval)}"


def _difference(one: TwoWay | None) -> str:
    return UNDEFINED if one is None else number(one.value)


def _coefficient(one: Coefficient) -> str:
    return f"{number(one.value)} {interval(one.interval)}"


def _slope(one: Estimate) -> str:
    if not math.isfinite(one.value):
        return UNDEFINED
    return f"{one.value:+.3f} [{', '.join(_signed(end) for end in one.interval)}]"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if math.isfinite(value) else UNDEFINED


def _percent(one: Estimate) -> str:
    """A slope of logarithms as a change in percent."""
    if not math.isfinite(one.value):
        return UNDEFINED
    ends = [f"{math.expm1(end):+.0%}" if abs(end) < 50 else UNDEFINED for end in one.interval]
    return f"{math.expm1(min(one.value, 50)):+.0%} [{', '.join(ends)}]"


def _arm(arm: Arm) -> str:
    return "no context" if arm is Arm.NONE else f"{arm.value} context"


def _range(one: Range) -> str:
    if not math.isfinite(one.least):
        return UNDEFINED
    least, most = f"{one.least:g}", f"{one.most:g}"
    return least if least == most else f"{least} to {most}"


def _spaced(name: StrEnum) -> str:
    return name.value.replace("_", " ")


_FILTERS = {
    "arm": _arm,
    "coefficient": _coefficient,
    "difference": _difference,
    "estimate": _estimate,
    "interval": interval,
    "line": line,
    "named": lambda name: line(name) if name else "not named",
    "number": number,
    "p": p_value,
    "percent": _percent,
    "quote": _quote,
    "range": _range,
    "slope": _slope,
    "spaced": _spaced,
}
