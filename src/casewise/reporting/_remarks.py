"""What must be said beside the numbers."""

from collections.abc import Sequence

from casewise.analysis import Score, by_rules, data_text, mass_warning, rules_note
from casewise.reporting._scores import condition_text
from casewise.sheets import number


def _bound_text(name: str, ends: tuple[float, float]) -> str:
    words = {"appropriate": "the share that is appropriate"}.get(
        name, f"the {name.replace('_', '-')}"
    )
    return f"{words} anywhere from {number(ends[0])} to {number(ends[1])}"


def rules_remark(scores: Sequence[Score]) -> str:
    """How far the rules that graded replies can be trusted; empty where they graded none."""
    ruled = [score for score in scores if by_rules(score)]
    if not ruled:
        return ""
    if all(by_rules(score) for score in scores if score.acts):
        return rules_note()
    names = [f"{score.condition['model']} ({condition_text(score)})" for score in ruled]
    return rules_note(list(dict.fromkeys(names)))


def mass_warnings(scores: Sequence[Score]) -> list[str]:
    """A warning for each score whose probabilities mean little, for all that show numbers."""
    found = (
        mass_warning(f"{one.condition['model']} ({condition_text(one)})", one.mass)
        for one in scores
    )
    return [line for line in found if line is not None]


def remarks(scores: Sequence[Score]) -> list[str]:
    """What must be said beside the numbers, a line each."""
    lines = []
    for score in scores:
        name = f"{score.condition['model']} ({condition_text(score)})"
        if score.coverage < 1:
            unread = ", ".join(f"{n} {what}" for what, n in score.statuses.items() if what != "ok")
            lines.append(
                f"{name}: {unread} of {score.n}; counted one way or the other, they would put "
                + " and ".join(_bound_text(*one) for one in score.bounds.items())
                + "."
            )
        if score.partly:
            replies = ", ".join(f"{n} {what}" for what, n in score.partly.items())
            lines.append(
                f"{name}: to {sum(score.partly.values())} requests that the deployment allows in "
                f"part: {replies}."
            )
        elif score.label_coverage < 1:
            lines.append(
                f"{name}: {number(score.label_coverage)} of the judgements have a label under "
                f"the rule '{score.labels}'; the others are left out."
            )
        lines += mass_warnings([score])
        if score.condition["model"] == "casewise/smollm2":
            lines.append(
                f"{name}: the embedded model shows that everything works; it judges at chance."
            )
    lines += [line for line in (rules_remark(scores),) if line]
    data = [data_text(score.condition) for score in scores if score.condition["dataset_hash"]]
    if data:
        lines.append(f"Cases: {'; '.join(dict.fromkeys(data))}.")
    return list(dict.fromkeys(lines))
