"""Sentences on evidence ladders."""

import math
from collections.abc import Iterator

from casewise.results._wording import first_upper
from casewise.scores import Estimate, LadderScore
from casewise.sheets import rounded

_NAMES = {"1": "a bare claim", "5": "a verified one"}


def ladder_sentence(one: LadderScore) -> str:
    """Sentence on refusals with proof: ``A bare claim makes it refuse 11 more of 100; ...``.

    Of 100 cases that people call safe, against the query alone. Empty where neither was asked.
    """
    said = list(_clauses(one))
    if not said:
        return ""
    first, *others = said
    return f"{first_upper('; '.join([first, *others]))}."


def _clauses(one: LadderScore) -> Iterator[str]:
    makes = f" makes it {'refuse' if one.condition.acts else 'object to'}"
    of = " of 100"
    for rung in one.rungs:
        gain = rung.moved.get("gain")
        if rung.rung not in _NAMES or gain is None or math.isnan(gain.value):
            continue
        yield f"{_NAMES[rung.rung]}{makes} {_more(gain, of)}"
        makes = of = ""


def _more(gain: Estimate, of: str) -> str:
    """Change of refusals in words: ``11 more of 100``; told where chance alone may make it."""
    count, (low, high) = int(rounded(100 * abs(gain.value))), gain.interval
    if not count:
        return f"as many{of}"
    chance = "" if low > 0 or high < 0 else " (which may be chance)"
    return f"{count} {'fewer' if gain.value > 0 else 'more'}{of}{chance}"
