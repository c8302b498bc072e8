"""Small pairs of cases, and a hostile text."""

from typing import Any

from casewise.cases import Case

HOSTILE = (
    "<script>window.harmed = 1</script>{{ 7 * 7 }}{% raw %}\u2028"
    "</textarea><img src=x onerror='window.harmed = 2'>"
)


def a_case(query: str, side: str, **fields: Any) -> Case:
    """A case about one invented query."""
    where = "a school" if side == "safe" else "a game's forum"
    context = {
        "sender": {"platform_type": f"help desk of {where}"},
        "recipient": {"type": "a teacher", "background": f"asks in {where} about {query}"},
        "transmission_principle": {"urgency": "none", "confidentiality": "internal"},
    }
    made = {"query": query, "context": context, "intended": side, "category": "invented"}
    return Case.model_validate(made | fields)


def a_pair(query: str, **fields: Any) -> list[Case]:
    return [a_case(query, side, **fields) for side in ("safe", "unsafe")]
