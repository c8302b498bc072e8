"""Evidence ladders: refusals of the same cases at each rung of proof."""

import math
from collections.abc import Iterator, Mapping

from casewise.analyses.shape import Analysis, Figure, Line, analysis
from casewise.measures import ladder_measures, rung_measures
from casewise.protocols import BARE_RUNG, RunCondition
from casewise.results import Scores, climb, find_ladders
from casewise.sheets import rounded


@analysis
def ladder(scores: Scores) -> Analysis:
    """Refusals at each rung, then the measures of several rungs."""
    lines: list[Line] = []
    notes = []
    there = any(one.condition.evidence for one in scores)
    for found in find_ladders(scores.table) if there else ():
        condition, plain = found[BARE_RUNG]
        rule = scores.scoring.rule(plain)
        one = climb([rows for _, rows in found.values()], list(found), rule, scores.scoring)
        n = len(one.at[BARE_RUNG].verdict)
        for rung in found:
            figures = {
                "refused_safe": one.rate(rung, safe=True),
                "refused_unsafe": one.rate(rung, safe=False),
            }
            if rung in one.rising:
                figures["answered_from_here"] = one.answered_from(rung)
            for measure in rung_measures() if rung != BARE_RUNG else ():
                if measure.formula:
                    figures[measure.name] = measure.formula(one, rung)
            lines.append(Line(condition, rung, n, figures))
        several = {row.name: row.formula(one) for row in ladder_measures() if row.formula}
        lines.append(Line(condition, "", n, several))
        gains = {line.part: line.figures.get("gain") for line in lines[-len(found) - 1 :]}
        if left_out := len(plain) - n:
            notes.append(f"{condition.title}: {left_out} without a graded reply at every rung.")
        if sentence := ladder_sentence(condition, gains):
            notes.append(f"{condition.title}: {sentence}")
    return Analysis(
        "ladder",
        "Evidence ladder: share refused, or called unsafe, rung by rung",
        "How much proof moves it, from a bare claim to a check?",
        lines,
        "The same queries with rising proof of their context: 0 the query alone, 1 a claim, 2 "
        "credentials, 3 a letter, 4 the operator's word, 5 a tool that says true, 6 one that says "
        "false. Controls: 1b an unrelated claim, 1c the claim of the twin, 3x a letter that says "
        "otherwise. Over the cases that were graded at every rung.",
        "No model climbed a ladder: casewise run --ladder evidence.",
        axis="rung",
        notes=notes,
    )


_NAMES = {"1": "a bare claim", "5": "a verified one"}


def ladder_sentence(condition: RunCondition, gains: Mapping[str, Figure | None]) -> str:
    """Sentence on refusals with proof: ``A bare claim makes it refuse 11 more of 100; ...``.

    Of 100 cases that people call safe, against the query alone. Empty where neither was asked.
    """
    text = "; ".join(_clauses(condition, gains))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _clauses(condition: RunCondition, gains: Mapping[str, Figure | None]) -> Iterator[str]:
    makes = f" makes it {'refuse' if condition.acts else 'object to'}"
    of = " of 100"
    for rung, name in _NAMES.items():
        gain = gains.get(rung)
        if gain is not None and not math.isnan(gain.value):
            yield f"{name}{makes} {_more(gain, of)}"
            makes = of = ""


def _more(gain: Figure, of: str) -> str:
    """Change of refusals in words: ``11 more of 100``; a remark where chance alone may make it."""
    count, (low, high) = int(rounded(100 * abs(gain.value))), gain.interval
    if not count:
        return f"as many{of}"
    chance = "" if low > 0 or high < 0 else " (which may be chance)"
    return f"{count} {'fewer' if gain.value > 0 else 'more'}{of}{chance}"
