"""Removing groups and parameters: what a judge is shown without them."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.sent import contexts_sent, run

SENDER = {"platform_type": "forum", "inner": {"urgency": "low"}}
TERMS = {"urgency": "high", "type": "x"}
CONTEXT = {
    "sender": SENDER,
    "recipient": {"type": "user", "background": "none"},
    "transmission_principle": TERMS,
}


@pytest.mark.parametrize(
    ("names", "left"),
    [
        ("recipient", {"sender": SENDER, "transmission_principle": TERMS}),
        (
            "recipient,urgency",
            {
                "sender": {"platform_type": "forum", "inner": {}},
                "transmission_principle": {"type": "x"},
            },
        ),
        (
            "recipient.type,sender",
            {"recipient": {"background": "none"}, "transmission_principle": TERMS},
        ),
        ("sender,recipient,transmission_principle", {}),
    ],
)
def test_what_is_left(cli: Cli, tmp_path: Path, names: str, left: dict[str, Any]) -> None:
    cases = [{"query": "q", "context": CONTEXT}]
    assert contexts_sent(cli, tmp_path, cases, "--ablate", names) == [("q", left)]


def test_cases_that_lack_a_parameter_are_kept_and_counted(cli: Cli, tmp_path: Path) -> None:
    poor = {"sender": {"platform_type": "forum"}}
    cases = [{"query": "poor", "context": poor}, {"query": "whole", "context": CONTEXT}]
    done, prompts = run(cli, tmp_path, cases, "--protocol", "binary", "--ablate", "urgency,type")
    assert done.returncode == 0, done.stderr
    assert any(json.dumps(poor) in prompt for prompt in prompts)
    note = "'urgency' stands in 1 of 2 contexts; the others stay as they are"
    assert note in " ".join(done.stderr.split())


def test_a_name_that_stands_nowhere_is_said_with_those_that_do(cli: Cli, tmp_path: Path) -> None:
    cases = [{"query": "q", "context": CONTEXT}]
    done, prompts = run(cli, tmp_path, cases, "--ablate", "recipient,urgencyy")
    assert (done.returncode, prompts) == (2, [])
    said = " ".join(done.stderr.split())
    assert "has 'urgencyy' (expected one of sender, platform_type" in said
    assert "; did you mean 'urgency'?)" in said


@pytest.mark.parametrize("names", ["recipient", "transmission_principle"])
def test_published_ablations_are_reproduced(
    casebench: Path, cli: Cli, tmp_path: Path, names: str
) -> None:
    whole = json.loads((casebench / "CASEBench_data.json").read_text("utf-8"))[:40]
    output = casebench / f"exp/safety_llama370B/output_logits_{names}.json"
    cases = [{"query": load["query"], "context": load["context"]} for load in whole]
    sent = [context for _, context in contexts_sent(cli, tmp_path, cases, "--ablate", names)]
    published = json.loads(output.read_text("utf-8"))[:40]
    assert len(sent) == 40
    assert all(load["context"] in sent for load in published)
