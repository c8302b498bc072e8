"""Parts of a context taken from its twin: what a judge is shown then."""

import json
import random
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
        ("urgencyy", "has 'urgencyy'; they have sender, rec"),
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


def test_differing_parameters_are_named_as_they_are_asked_for(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, twins(SAFE, UNSAFE))))
    found = json.loads(cli("contexts", "check", "c.jsonl", "--format", "json").stdout)
    assert found["pairs"][0]["differing"] == [
        "platform_type",
        "type",
        "age",
        "transmission_principle.urgency",  # another stands under sender.inner
        "confidentiality",
        "history",
    ]


def tree(draw: random.Random, depth: int = 0) -> Record:
    """A context of few names, so that most stand in both twins, at places that differ."""
    leaves = ("x", "y", 1, True, None, ["x", 1])
    return {
        name: tree(draw, depth + 1) if depth < 2 and draw.random() < 0.6 else draw.choice(leaves)
        for name in draw.sample(("a", "b", "c", "a.b"), draw.randint(0, 3))
    }


@pytest.mark.parametrize("name", ["a", "b"])
def test_swapping_back_restores(cli: Cli, tmp_path: Path, name: str) -> None:
    draw = random.Random(7)
    pairs = {
        f"q{n}": [tree(draw) | {"own": {"is": side}} for side in ("safe", "unsafe")]
        for n in range(30)
    }

    def swapped(pairs: dict[str, list[Record]]) -> dict[str, Record]:
        cases = [one for query, both in pairs.items() for one in twins(both[0], both[1], query)]
        sent = swaps_sent(cli, tmp_path, cases, name)
        return {query: context for query, context in sent if context["own"]["is"] == "safe"}

    there = swapped(pairs)
    assert len(there) > 5
    # The other twin has now what the first had.
    back = swapped(
        {query: [one, pairs[query][0] | {"own": {"is": "unsafe"}}] for query, one in there.items()}
    )
    for query, one in back.items():
        assert one == pairs[query][0], query
    assert back.keys() == there.keys()


def test_published_pairs(casebench: Path, cli: Cli, tmp_path: Path) -> None:
    """No two contexts of a published query have the same recipient."""
    records = json.loads((casebench / "CASEBench_data.json").read_text("utf-8"))[:40]
    cases = [
        one
        for safe, unsafe in zip(records[::2], records[1::2], strict=True)
        for one in twins(safe["context"], unsafe["context"], safe["query"])
    ]
    sent = [context for _, context in swaps_sent(cli, tmp_path, cases, "recipient")]
    for one, other in zip(cases[::2], cases[1::2], strict=True):
        assert one["context"] | {"recipient": other["context"]["recipient"]} in sent
        assert other["context"] | {"recipient": one["context"]["recipient"]} in sent
