"""Contexts as deployers and users tell them: every value, as it is, in order."""

import json
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

import casewise as cw
from casewise.protocols import Conversations, Delivery


def leaves(value: JsonValue) -> Iterator[str]:
    """The texts that must be told, in order, found without the code under test."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, list):
        yield "; ".join(text for item in value for text in leaves(item)) or "none"
    elif isinstance(value, bool):
        yield "yes" if value else "no"
    elif isinstance(value, str):
        yield value if value.strip() else "none"
    else:
        yield "none" if value is None else str(value)


def assert_tells(message: str, texts: list[str]) -> None:
    at = 0
    for text in texts:
        found = message.find(f": {text}", at)
        assert found >= 0
        at = found + 2 + len(text)


def assert_all_tell(context: dict[str, JsonValue]) -> int:
    """Hold every delivery against the context's values; return how many turns claim them."""
    (case,) = cw.load_cases([{"query": "q", "context": context}])
    texts = list(leaves(context))
    (told, claimed, turns) = (
        Conversations(delivery).open(case)
        for delivery in (Delivery.SYSTEM, Delivery.CLAIMED, Delivery.HISTORY)
    )
    # One order for all, so what is in one is in the others.
    assert_tells("".join(str(message.content) for message in told.messages), texts)
    assert_tells(claimed.turns[0], texts)
    groups = [list(leaves(value)) for value in context.values()]
    *each, query = turns.turns
    assert query == "q"
    for turn, group in zip(each, filter(None, groups), strict=True):
        assert_tells(turn, group)
    return len(each)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.sampled_from(["sender", "recipient", "transmission_principle"]) | st.text()


@given(st.dictionaries(GROUPS, VALUES, max_size=4))
def test_no_value_is_lost(context: dict[str, JsonValue]) -> None:
    assert_all_tell(context)


def test_no_published_value_is_lost(casebench: Path) -> None:
    records = json.loads((casebench / "CASEBench_data.json").read_text("utf-8"))
    for record in records:
        assert assert_all_tell(record["context"]) == 3
