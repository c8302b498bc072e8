"""Contexts as people read them."""

import json
from pathlib import Path

from conftest import Cli

NESTED = {
    "sender": {"platform_type": "a forum – open", "ages": {"from": 18, "to": None}},
    "recipient": {"type": "user", "verified": True, "roles": ["a", "b"]},
    "transmission_principle": {},
}


def test_text_keeps_every_value_and_its_order(cli: Cli, tmp_path: Path) -> None:
    cases = [{"id": "a", "query": "q", "context": NESTED}, {"id": "b", "query": "q"}]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    assert (
        "Sender:\n"
        "  Platform type: a forum – open\n"
        "  Ages:\n"
        "    From: 18\n"
        "    To: none\n"
        "Recipient:\n"
        "  Type: user\n"
        "  Verified: yes\n"
        "  Roles: a; b\n"
        "Transmission principle: none\n"
    ) in cli("cases", "show", "cases.jsonl", "a").stdout
    assert "\n(no context)\n" in cli("cases", "show", "cases.jsonl", "b").stdout
