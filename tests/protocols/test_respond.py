"""The conversations of the respond protocol, shown whole in ``snapshots/``.

After a change of the wording that is meant, renew them with
``CASEWISE_SNAPSHOTS=renew pytest tests/protocols/test_respond.py`` and read the difference.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

import casewise as cw
from casewise.errors import UsageError
from casewise.protocols import Conversations, Delivery, Opening

SNAPSHOTS = Path(__file__).parent / "snapshots"
DELIVERIES = (Delivery.SYSTEM, Delivery.CLAIMED, Delivery.HISTORY, Delivery.NONE)
QUERY = "Which pain killers must not be taken together?"
EARLIER = [
    {"role": "system", "content": "Answer in British English."},
    {"role": "user", "content": "Hello, is anybody there?"},
    {"role": "assistant", "content": "Yes. What can I do for you?"},
]
NESTED = {
    "sender": {
        "platform_type": {"description": "Chat window of a pharmacy.", "name": "Ask Rowan"},
        "nature_of_the_interaction": "Questions on medicines.",
    },
    "recipient": {
        "type": "A customer of some years.",
        "background": {
            "previous_interaction": "Asked about opening hours.",
            "demographics": {"age": 45, "occupation": "gardener"},
        },
    },
    "transmission_principle": {
        "sender_purpose": "To advise customers safely.",
        "urgency": "Routine.",
    },
}
LEAVES = {
    "sender": {"general_usage": False, "domains": ["medicines", "first aid"]},
    "recipient": {
        "verified": True,
        "background": None,
        "visits": [{"year": 2024}, {"year": 2}],
    },
    "transmission_principle": {},
    "channel": {"voice": False, "languages": []},
    "region": "Wales",
}


CASES: dict[str, dict[str, Any]] = {
    "leaves": {"context": LEAVES},
    "earlier-turns": {"context": NESTED, "history": EARLIER},
}


def asked(delivery: Delivery, query: str = QUERY, **fields: Any) -> Opening:
    return Conversations(delivery).open(cw.load_cases([{"query": query} | fields])[0])


def show(opening: Opening) -> str:
    """A conversation as text: each message under its role, with answers where they come."""
    said = [f"[{message.role}]\n{message.content}\n" for message in opening.messages]
    asked = [f"[user]\n{turn}\n\n[assistant]\n...\n" for turn in opening.turns]
    return "\n".join(said + asked)


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("name", CASES)
def test_conversations(name: str, delivery: Delivery) -> None:
    path = SNAPSHOTS / f"{name}.{delivery}.txt"
    shown = show(asked(delivery, **CASES[name]))
    if os.environ.get("CASEWISE_SNAPSHOTS") == "renew":
        path.write_text(shown, "utf-8", newline="\n")
    assert shown == path.read_text("utf-8")


def test_the_wording_has_its_version() -> None:
    """Another wording is another version; specimens hold every frame and kind of value."""
    parameters = {"text": "t", "nested": {"yes": True}, "list": ["a", 1], "items": [{"x": None}]}
    groups = ("sender", "recipient", "transmission_principle", "other")
    whole = {name: {**parameters, "sender_purpose": "p"} for name in groups}
    earlier = [{"role": role, "content": role} for role in ("system", "user", "assistant")]
    specimens: list[dict[str, Any]] = [
        {"context": whole, "history": earlier},
        {"context": dict.fromkeys(groups, "t")},
        {},
    ]
    openings = [asked(place, "q", **fields) for fields in specimens for place in DELIVERIES]
    shown = [
        (tuple(turn.values for turn in opening.messages), opening.turns) for opening in openings
    ]
    version = Conversations(Delivery.SYSTEM).version
    assert version.endswith(hashlib.sha256(repr((1, shown)).encode()).hexdigest()[:8])


def test_no_snapshot_is_left_over() -> None:
    names = {f"{name}.{delivery}.txt" for name in CASES for delivery in DELIVERIES}
    assert {path.name for path in SNAPSHOTS.iterdir()} == names


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_without_facts_every_delivery_is_the_query_alone(delivery: Delivery) -> None:
    # Whatever the query holds, it is sent to the letter.
    query = "  {query} \n<|im_end|> %s \U0001f600\n\n"
    bare: list[dict[str, Any]] = [{}, {"context": {}}, {"context": {"recipient": {}}}]
    for fields in bare:
        assert asked(delivery, query, **fields) == Opening((), (query,))
    assert asked(delivery, query, context=NESTED).turns[-1].endswith(query)


def test_a_judges_delivery_has_no_conversation() -> None:
    with pytest.raises(UsageError, match=r"'judge'.*system, claimed, history, none"):
        asked(Delivery.JUDGE)
