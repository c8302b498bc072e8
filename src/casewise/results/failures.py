"""Words of a failure: how its contexts differ, what people and the model said, why it is wrong."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from casewise.cases import LabelRule
from casewise.choices import FailureGroup
from casewise.results.words import mistake_verbs, run_wording
from casewise.scores import ContextDifference, Failure, RunCondition
from casewise.sheets import number


def group_titles(runs: Sequence[RunCondition], labels: LabelRule) -> Mapping[FailureGroup, str]:
    """Heading of each group, on the page and in the terminal.

    Args:
        runs: Runs whose failures are listed; judges refuse nothing, they call unsafe.
        labels: Rule of their labels.
    """
    words = run_wording(labels, runs)
    refuses, answers = mistake_verbs([run.acts for run in runs] or (True, False))
    return {
        FailureGroup.REFUSES: f"{refuses} {words.safe}",
        FailureGroup.ANSWERS: f"{answers} {words.unsafe}",
        FailureGroup.NEW: "newly wrong",
        FailureGroup.MENDED: "newly right",
        FailureGroup.PAIR: "misses the change of context",
        FailureGroup.JUDGE_ACT: "acts against its own verdict",
        FailureGroup.DOUBT: "the grader is unsure",
    }


_DEEDS = {
    "safe": "calls it safe",
    "unsafe": "calls it unsafe",
    "compliance": "answers",
    "refusal": "refuses",
    "partial": "answers in part",
    "tool_call": "calls a tool",
    "undetermined": "replies, and whether it answers can't be told",
}

MOST_NAMES = 3
"""Parameters that a sentence names; of more it says how many."""


def deed(said: str | None) -> str | None:
    """Predicate for a verdict or a class of reply: ``calls it safe``, ``refuses``."""
    return None if said is None else _DEEDS.get(said, said)


def people_clause(
    votes_safe: int | None,
    votes_unsafe: int | None,
    published: float | None,
    intended: str | None,
) -> str:
    """Clause on what people said of a case: ``17 of 20 people call it safe``."""
    if votes_safe is not None and votes_unsafe is not None and votes_safe + votes_unsafe:
        total = votes_safe + votes_unsafe
        if votes_safe == votes_unsafe:
            return f"{total} people are divided, {votes_safe} to {votes_unsafe}"
        side = "safe" if votes_safe > votes_unsafe else "unsafe"
        return f"{max(votes_safe, votes_unsafe)} of {total} people call it {side}"
    if published is not None:
        return f"the published safe rate is {number(published, 2)}"
    return f"its author meant it to be {intended}" if intended else "nobody has voted"


def difference_clause(difference: ContextDifference | None) -> str:
    """Clause on the contexts of a query: ``the contexts differ in recipient type and urgency``.

    Only parameters of the published form are named: other names are a person's own text.
    """
    if difference is None:
        return "no other context of this query is known"
    names, alike, others = difference.names, difference.alike, difference.others
    if not names and not others:
        return "the contexts of this query are alike"
    told = list(map(_parameter, names))
    if len(names) > MOST_NAMES and not others:
        total = len(names) + len(alike)
        if not alike:
            return f"the contexts differ in all {total} parameters"
        but = f": all but {_listed(map(_parameter, alike))}" if len(alike) <= MOST_NAMES else ""
        return f"the contexts differ in {len(names)} of {total} parameters{but}"
    if others:
        noun = "parameter" if others == 1 else "parameters"
        told = told if len(told) <= MOST_NAMES else [f"{len(told)} parameters"]
        told.append(f"{others} {'other ' if told else ''}{noun}")
    return f"the contexts differ in {_listed(told)}"


def _parameter(place: str) -> str:
    """Short name of a parameter: ``recipient type``, ``urgency``."""
    group, leaf = place.split(".")
    return f"{group} {leaf}" if group == "recipient" else leaf.replace("_", " ")


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)}{' and ' if first else ''}{last}"


def label_clause(label: float | None, note: str | None) -> str:
    """Clause on the label that decides: ``the label is safe (a tie, which ...)``."""
    text = {
        1.0: "the label is safe",
        0.0: "the label is unsafe",
        0.5: "the label is a tie, so either answer is half right",
    }.get(-1.0 if label is None else label, "there is no label")
    return f"{text} ({note})" if note else text


def failure_sentence(failure: Failure) -> str:
    """Sentences on a failure: contexts, people, the model, and why it counts as wrong."""
    known = failure.difference is not None
    parts = [difference_clause(failure.difference)] if known else []
    parts += [f"{_people(failure)}; {_model(failure)}"]
    if failure.wrong:
        of = f" in {failure.wrong} of {failure.answers} answers" if failure.answers > 1 else ""
        parts.append(f"wrong{of}, as {label_clause(failure.label, failure.label_note)}")
    else:
        parts.append(label_clause(failure.label, failure.label_note))
    return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)


def failure_record(failure: Failure) -> dict[str, Any]:
    """A failure as JSON values, with its sentence."""
    difference = failure.difference
    return asdict(failure) | {
        "run": failure.run.title,
        "groups": list(map(str, failure.groups)),
        "difference": None if difference is None else list(difference.names),
        "other_differences": None if difference is None else difference.others,
        "sentence": failure_sentence(failure),
    }


def _people(failure: Failure) -> str:
    return people_clause(
        failure.votes_safe, failure.votes_unsafe, failure.published_safe_rate, failure.intended
    )


def _model(failure: Failure) -> str:
    text = f"the model {deed(failure.said or 'undetermined')}"
    if failure.p_safe is not None:
        text += f" at P(safe) {number(failure.p_safe, 2)}"
    if failure.before is not None and FailureGroup.NEW in failure.groups:
        text += f", where the run before {deed(failure.before)}"
    if failure.judged is not None and FailureGroup.JUDGE_ACT in failure.groups:
        text += f", and as a judge {deed(failure.judged)}"
    if failure.doubt:
        text += f" (the grader's doubt is {number(failure.doubt, 2)})"
    return text
