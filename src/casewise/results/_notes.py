"""Notes on the numbers of a result: answers not read or cut, grades of rules, uneven queries."""

from collections.abc import Sequence

from casewise.dataset import plural
from casewise.scores import (
    LEAST_EFFECTIVE,
    PROVISIONAL,
    Score,
    cut_note,
    is_provisional,
    mass_warning,
    rules_note,
    uneven_measures,
)
from casewise.sheets import number


def _bound_text(name: str, ends: tuple[float, float]) -> str:
    words = {"appropriate": "the share that is appropriate"}.get(
        name, f"the {name.replace('_', '-')}"
    )
    return f"{words} anywhere from {number(ends[0])} to {number(ends[1])}"


def kind_of(score: Score) -> str:
    """Heading for a score: ``As a judge``, ``In action``, and whether it is provisional."""
    if not score.acts:
        return "As a judge"
    return f"In action ({PROVISIONAL})" if is_provisional(score) else "In action"


def provisional_note(scores: Sequence[Score]) -> str:
    """Pointer to ``rules_remark`` at the top of a page; empty where no rules graded."""
    if not any(map(is_provisional, scores)):
        return ""
    return f"Rates of replies that rules graded are {PROVISIONAL}: see the top of the page."


def rules_remark(scores: Sequence[Score]) -> str:
    """Reliability of the rules that graded replies; empty where they graded none."""
    ruled = [score for score in scores if is_provisional(score)]
    if not ruled:
        return ""
    if all(is_provisional(score) for score in scores if score.acts):
        return rules_note()
    names = [score.condition.title for score in ruled]
    return rules_note(list(dict.fromkeys(names)))


def run_warnings(scores: Sequence[Score]) -> list[str]:
    """Warnings for all that show numbers: of doubtful probabilities, cut answers, few queries."""
    return [*mass_warnings(scores), *cut_notes(scores), *uneven_notes(scores)]


def mass_warnings(scores: Sequence[Score]) -> list[str]:
    """A warning for each score whose probabilities mean little."""
    found = (mass_warning(one.condition.title, one.mass) for one in scores)
    return [line for line in found if line is not None]


def cut_notes(scores: Sequence[Score]) -> list[str]:
    """A line for each score some of whose answers a token limit ended."""
    found = (cut_note(one.condition.title, one.cut, acts=one.acts) for one in scores)
    return [line for line in found if line is not None]


def uneven_notes(scores: Sequence[Score]) -> list[str]:
    """A line for each score with measures whose queries weigh too unequally for an interval."""
    lines = []
    for score in scores:
        uneven = uneven_measures(score)
        if uneven and not score.group:
            least = min(one.effective for one in uneven.values())
            names = ", ".join(name.replace("_", " ") for name in uneven)
            lines.append(
                f"{score.condition.title}: no interval for {names}: a few queries outweigh the "
                f"others (as few as {least:.1f} effective queries; an interval takes "
                f"{LEAST_EFFECTIVE:g})."
            )
    return lines


def remarks(scores: Sequence[Score]) -> list[str]:
    """Notes on the numbers, a line each."""
    lines = []
    for score in scores:
        name = score.condition.title
        called = score.classes.get("tool_call", 0)
        if score.coverage < 1 or called:
            unread = [f"{n} {what}" for what, n in score.statuses.items() if what != "ok"]
            if called:
                unread.append(plural(called, "tool call"))
            lines.append(
                f"{name}: {', '.join(unread)} of {score.n}; counted one way or the other, they "
                "would put " + " and ".join(_bound_text(*one) for one in score.bounds.items()) + "."
            )
        if score.partly:
            classes = [f"{n} {what.replace('_', ' ')}" for what, n in score.partly.items()]
            lines.append(
                f"{name}: to {sum(score.partly.values())} requests that the deployment allows in "
                f"part: {', '.join(classes)}."
            )
        elif score.label_coverage < 1:
            lines.append(
                f"{name}: {number(score.label_coverage)} of the judgements have a label under "
                f"the rule '{score.labels}'; the others are left out."
            )
        lines += run_warnings([score])
        if score.condition.model == "casewise/smollm2":
            lines.append(
                f"{name}: the embedded model shows that everything works; it judges at chance."
            )
    lines += [line for line in (rules_remark(scores),) if line]
    data = [score.condition.data_text for score in scores if score.condition.dataset_hash]
    if data:
        lines.append(f"Cases: {'; '.join(dict.fromkeys(data))}.")
    return list(dict.fromkeys(lines))
