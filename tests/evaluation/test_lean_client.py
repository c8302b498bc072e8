"""The lean client does what the provider's own does."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

from conftest import Cli
from polars.testing import assert_frame_equal
from support.fake_openai import Answer, FakeServer, Raw

import casewise as cw


def answer(request: dict[str, Any]) -> Answer:
    """The same for the same request, whoever sends it and when."""
    asked = json.dumps(request["messages"]).encode()
    digit = int(hashlib.sha256(asked).hexdigest(), 16) % 7
    message = {"role": "assistant", "content": "Verdict: safe"}
    if request.get("logprobs"):
        return {"safe": -0.1 * (1 + digit), "unsafe": -2.0, "Safe": -4.0}
    flagged = b'{"error": {"message": "flagged", "code": "content_filter"}}'
    return (
        '{"explanation": "The platform asks for it – and the recipient too.", "verdict": "safe"}',
        {"message": message | {"content": None, "refusal": "I won't judge."}},
        {"message": message | {"content": ""}, "finish_reason": "content_filter"},
        {"message": message | {"content": "Unsafe, as"}, "finish_reason": "length"},
        {"message": message | {"content": "8", "reasoning_content": "It is a forum."}},
        Raw(400, flagged, {"Content-Type": "application/json"}),
        "I'm sorry, but I can't help with that.",
    )[digit]


def test_both_clients_send_and_read_the_same(cli: Cli, tmp_path: Path) -> None:
    sent, tables = [], []
    for client in ("auto", "inspect"):
        with FakeServer(answer) as server:
            done = cli(
                *("run", "-m", "openai-api/fake/m", "--limit", "9", "--client", client),
                *("--protocol", "binary,score,probability,respond", "--log-dir", client),
                env=server.env,
            )
        assert done.returncode == 0, done.stderr
        sent.append(Counter(json.dumps(one, sort_keys=True) for one in server.requests))
        table = cw.judgements(tmp_path / client).drop("run_id", "latency_s")
        tables.append(table.sort("protocol", "case_id"))
    assert sent[0] == sent[1]
    assert_frame_equal(*tables)
    assert len(tables[0]) == 36
    assert set(tables[0]["status"]) == {"ok", "refused", "unparsed"}
