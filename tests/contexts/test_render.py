"""Contexts as judges and people read them."""

import json

import pytest

from casewise.cases import Context
from casewise.contexts import render_json, render_text

NESTED = {
    "sender": {"platform_type": "a forum – open", "ages": {"from": 18, "to": None}},
    "recipient": {"type": "user", "verified": True, "roles": ["a", "b"]},
    "transmission_principle": {},
}


def test_json_is_what_json_dumps_writes() -> None:
    assert render_json(Context(NESTED)) == json.dumps(NESTED)
    assert "\\u2013" in render_json(Context(NESTED))
    assert render_json(None) == "{}"


def test_text_keeps_every_value_and_its_order() -> None:
    assert render_text(Context(NESTED)) == (
        "Sender:\n"
        "  Platform type: a forum – open\n"
        "  Ages:\n"
        "    From: 18\n"
        "    To: none\n"
        "Recipient:\n"
        "  Type: user\n"
        "  Verified: yes\n"
        "  Roles: a; b\n"
        "Transmission principle: none"
    )


@pytest.mark.parametrize("context", [None, Context({})])
def test_no_context(context: Context | None) -> None:
    assert render_text(context) == "(no context)"
