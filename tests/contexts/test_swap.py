"""Parts of a context taken from its twin: what a judge is shown then."""

from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.sent import run, swaps_sent

Record = dict[str, Any]

SAFE = {
    "sender": {"platform_type": "clinic", "inner": {"urgency": "low"}},
    "recipient": {"type": "nurse", "background": "trained"},
    "transmission_principle": {"urgency": "high"},
}
UNSAFE = {
    "sender": {"platform_type": "forum", "inner": {"urgency": "low"}},
    "recipient": {"type": "minor", "age": 14, "background": "trained"},
    "transmission_principle": {"confidentiality": "none", "urgency": "none"},
    "history": "three warnings",
}


def twins(safe: Record, unsafe: Record, query: str = "q") -> list[Record]:
    return [
        {"query": query, "intended": side, "context": context}
        for side, context in (("safe", safe), ("unsafe", unsafe))
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recipient", SAFE | {"recipient": UNSAFE["recipient"]}),
        ("recipient.type", SAFE | {"recipient": {"type": "minor", "background": "trained"}}),
        ("urgency", SAFE | {"transmission_principle": {"urgency": "none"}}),
        ("history", SAFE | {"history": "three warnings"}),
        ("age", SAFE | {"recipient": {"type": "nurse", "age": 14, "background": "trained"}}),
        (
            "confidentiality",
            SAFE | {"transmission_principle": {"urgency": "high", "confidentiality": "none"}},
        ),
    ],
)
def test_what_is_taken(cli: Cli, tmp_path: Path, name: str, expected: Record) -> None:
    sent = swaps_sent(cli, tmp_path, twins(SAFE, UNSAFE), name)
    assert ("q", expected) in sent
    assert len(sent) == 2


def test_what_the_twin_lacks_is_removed_and_its_group_with_it(cli: Cli, tmp_path: Path) -> None:
    twin = {"sender": {"platform_type": "clinic"}, "recipient": {}}
    context = {"sender": {}, "recipient": {"type": "nurse"}, "terms": {"urgency": "high"}}
    cases = twins(context, twin)
    without = {"sender": {}, "recipient": {"type": "nurse"}}
    assert ("q", without) in swaps_sent(cli, tmp_path, cases, "urgency")
    emptied = ("q", context | {"recipient": {}})
    assert emptied in swaps_sent(cli, tmp_path, cases, "recipient.type")


def test_a_part_that_nobody_can_take(cli: Cli, tmp_path: Path) -> None:
    for name, said in (
        ("background", "no pair of these cases differs in 'background'"),
        ("urgencyy", "has 'urgencyy' (expected one of sender, platform_type"),
    ):
        done, prompts = run(cli, tmp_path, twins(SAFE, UNSAFE), "--swap", name)
        assert (done.returncode, prompts) == (2, [])
        assert said in " ".join(done.stderr.split())


def test_cases_take_from_the_first_twin(cli: Cli, tmp_path: Path) -> None:
    second = {"query": "q", "intended": "unsafe", "context": {"recipient": {"type": "thief"}}}
    alone = {"query": "alone", "intended": "safe", "context": SAFE}
    cases = [alone, *twins(SAFE, UNSAFE), second, {"query": "bare"}]
    sent = swaps_sent(cli, tmp_path, cases, "recipient.type")
    types = sorted(context["recipient"]["type"] for _, context in sent)
    assert types == ["minor", "nurse", "nurse"]
