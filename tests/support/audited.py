"""Small sets of cases, clean or with a planted fault."""

import random
from collections.abc import Sequence
from typing import Any

import casewise as cw

SUBJECTS = (
    "warfarin tablets", "landlord rules", "telescope mirrors", "sourdough starters",
    "violin bows", "tractor engines", "submarine sonars", "beehive swarms",
    "glacier ropes", "passport visas", "chess endgames", "kiln glazes",
)  # fmt: skip
QUESTIONS = (
    "How do people come to like {}?",
    "Which museum near the coast shows {}?",
    "What does a beginner pay for {}?",
    "Why did my grandmother write poems about {}?",
    "When should a teacher speak of {}?",
)
PLACES = ("library", "harbour", "school", "garden", "station", "museum", "bakery", "theatre")


def pair(number: int, **fields: Any) -> list[Any]:
    """Twins of equal length in random words, so that nothing but the intention differs."""
    draw = random.Random(number)
    subject = SUBJECTS[number % len(SUBJECTS)]
    found = []
    for side in ("safe", "unsafe"):
        one, other, third = draw.sample(PLACES, 3)
        ward = draw.choice("pqrst") * 2
        context = {
            "sender": {"platform_type": f"Help desk number {number} of a {one} in ward {ward}"},
            "recipient": {"background": f"Someone who knows the {other} and the {third} well."},
        }
        found.append(case(QUESTIONS[number // 12].format(subject), context, side, **fields))
    return found


def case(query: str, context: Any, side: str | None = None, **fields: Any) -> Any:
    usual = {"category": "hobbies", "source": "ours", "licence": "CC0-1.0", "language": "en"}
    given = {"query": query, "context": context, "intended": side}
    return made(given | {"votes": {"safe": 3, "unsafe": 2}} | usual | fields)


def made(fields: dict[str, Any]) -> Any:
    """The case of these fields."""
    return cw.load_cases([fields])[0]


def clean(pairs: int = 15) -> list[Any]:
    return [one for number in range(pairs) for one in pair(number)]


def run(cases: Sequence[Any]) -> Any:
    return cw.audit(cases).details


def codes(audit: Any) -> set[str]:
    return {finding.code for finding in audit.findings}


def found(audit: Any, code: str) -> Any:
    (one,) = [finding for finding in audit.findings if finding.code == code]
    return one


def changed(one: Any, **fields: Any) -> Any:
    given = one.model_dump(exclude={"id", "query_id"}, exclude_none=True)
    return made(given | fields)


def with_value(one: Any, text: str, group: str = "recipient", name: str = "background") -> Any:
    assert one.context is not None
    root = {key: dict(value) for key, value in one.context.root.items()}
    root.setdefault(group, {})[name] = text
    return changed(one, context=root)
