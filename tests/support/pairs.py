"""Small files of cases to revise: pairs with and without votes, with every kind of value."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from casewise.cases import Case, write_cases

HOSTILE = (
    "<script>window.harmed = 1</script>{{ 7 * 7 }}{% raw %}\u2028"
    "</textarea><img src=x onerror='window.harmed = 2'>"
)


def a_case(
    query: str, side: str = "safe", *, votes: tuple[int, int] | None = None, **fields: Any
) -> Case:
    """A case about one invented query."""
    where = "a school" if side == "safe" else "a game's forum"
    context = {
        "sender": {"platform_type": f"help desk of {where}"},
        "recipient": {"type": "a teacher", "background": f"asks in {where} about {query}"},
        "transmission_principle": {"urgency": "none", "confidentiality": "internal"},
    }
    made = {"query": query, "context": context, "intended": side, "category": "invented"}
    if votes is not None:
        made["votes"] = {"safe": votes[0], "unsafe": votes[1]}
    return Case.model_validate(made | fields)


def a_pair(query: str, **fields: Any) -> list[Case]:
    return [a_case(query, side, **fields) for side in ("safe", "unsafe")]


def every_kind() -> list[Case]:
    """A pair whose contexts hold every kind of value, nested, in an order of their own."""
    context = {
        "sender": {
            "platform_type": "a desk",
            "open_to_all": True,
            "years": 3.0,
            "users": 12345678901234567890,
            "2": "a name that looks like a number",
            "__proto__": "a name that means something to browsers",
            "nothing": None,
            "topics": ["wiring", "tools", 2, False],
            "empty": [],
            "rules": {"kept": "yes", "deep": {"er": "down"}},
            "no_rules": {},
        },
        "place": "plain text where a group is usual",
        "recipient": {"type": "one\r\nline and another"},
    }
    other = {**context, "sender": {**context["sender"], "open_to_all": False}}  # type: ignore[dict-item]
    history = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}]
    return [
        Case.model_validate(
            {"query": "Every kind?", "context": one, "intended": side, "history": history}
        )
        for one, side in ((context, "safe"), (other, "unsafe"))
    ]


def write(path: Path, cases: Iterable[Case]) -> Path:
    write_cases(cases, path)
    return path
