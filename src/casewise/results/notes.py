"""Notes on the numbers: answers not read or cut, grades of rules, a heavy query, data."""

from collections.abc import Sequence

from casewise.replies import rules_note
from casewise.results.words import of_100
from casewise.scores import (
    Score,
    cut_note,
    is_provisional,
    mass_warning,
)
from casewise.sheets import count, number, plural


def left_open(score: Score) -> list[str]:
    """Answers on neither side, counted by kind: ``8 undetermined``, ``3 never asked``."""
    undetermined = min(score.classes.get("undetermined", 0), score.statuses.get("unparsed", 0))
    kinds = {"undetermined": undetermined} | score.statuses
    kinds["unparsed"] = score.statuses.get("unparsed", 0) - undetermined
    kinds["never asked"] = score.state.not_asked if score.state else 0
    parts = [f"{n} {what}" for what, n in kinds.items() if what != "ok" and n]
    called = score.classes.get("tool_call", 0)
    return [*parts, plural(called, "tool call")] if called else parts


def remarks(scores: Sequence[Score]) -> list[str]:
    """Notes on the numbers, a line each."""
    lines = [line for score in scores for line in _of_run(score)]
    lines += filter(None, [rules_remark(scores)])
    data = [score.condition.data_text for score in scores if score.condition.dataset_hash]
    if data:
        lines.append(f"Cases: {'; '.join(dict.fromkeys(data))}.")
    return list(dict.fromkeys(lines))


def _of_run(score: Score) -> list[str]:
    name = score.condition.title
    lines = []
    if unread := left_open(score):
        of = score.n + (score.state.not_asked if score.state else 0)
        ends = " and ".join(_bound_text(*one) for one in score.bounds.items())
        lines.append(
            f"{name}: {', '.join(unread)} of {of}; counted one way or the other, they would put "
            f"{ends}."
        )
    if score.first_unread:
        lines.append(
            f"{name}: the first answer that is unparsed has {count(score.first_unread)} "
            "characters; casewise report --reveal shows it."
        )
    if score.partly:
        classes = [f"{n} {what.replace('_', ' ')}" for what, n in score.partly.items()]
        lines.append(
            f"{name}: to {sum(score.partly.values())} requests that the deployment allows in "
            f"part: {', '.join(classes)}."
        )
    elif score.label_coverage < 1:
        lines.append(
            f"{name}: {number(score.label_coverage)} of the judgements have a label under the "
            f"rule '{score.labels}'; the others are left out."
        )
    lines += run_warnings([score])
    if score.condition.model == "casewise/smollm2":
        lines.append(
            f"{name}: the embedded model shows that everything works; it judges at chance."
        )
    return lines


def _bound_text(name: str, ends: tuple[float, float]) -> str:
    return f"the {name.replace('_', '-')} anywhere from {number(ends[0])} to {number(ends[1])}"


def run_warnings(scores: Sequence[Score]) -> list[str]:
    """Warnings for all that show numbers: of doubtful probabilities, cut answers, a heavy query."""
    found = [mass_warning(one.condition.title, one.mass) for one in scores]
    found += [cut_note(one.condition.title, one.cut, acts=one.acts) for one in scores]
    found += [_heavy_note(one) for one in scores if not one.group]
    return [line for line in found if line]


def _heavy_note(score: Score) -> str:
    """Line on a run in which one query has much of the weight; empty of others."""
    found = score.measures[score.headline]
    if not found.is_heavy:
        return ""
    return (
        f"{score.condition.title}: one query carries {of_100(found.heaviest)} % of the weight: "
        "intervals hold less often than 95 of 100."
    )


def rules_remark(scores: Sequence[Score]) -> str:
    """Reliability of the rules that graded replies; empty where they graded none."""
    ruled = [score for score in scores if is_provisional(score)]
    if not ruled:
        return ""
    whole = all(is_provisional(score) for score in scores if score.acts)
    names = dict.fromkeys(score.condition.title for score in ruled)
    return rules_note([] if whole else list(names))
