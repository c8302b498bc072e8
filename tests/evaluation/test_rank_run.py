"""Runs under ``rank`` by judges whose bias is known: what score, gate and the page make of them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import cli_in
from support.fake_openai import FakeServer
from support.scores import model_rows

VOTES = {
    # query: votes for safe of 20 people, by context
    "one": (20, 0),  # margin 1
    "two": (15, 10),  # margin .25
    "three": (10, 10),  # no margin: it counts for nothing
}
"""The first context of each is the more appropriate."""


def write_pairs(path: Path) -> None:
    records = [
        {
            "id": f"{query}-{place}",
            "query": f"The query {query}",
            "context": {"sender": {"platform_type": f"{place} of {query}"}},
            "intended": ("safe", "unsafe")[number],
            "votes": {"safe": votes[number], "unsafe": 20 - votes[number]},
        }
        for query, votes in VOTES.items()
        for number, place in enumerate(("ward", "forum"))
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def contexts(prompt: str) -> tuple[str, str]:
    """The platforms of situations A and B."""
    first, second = re.findall(r"(ward|forum) of \w+", prompt)
    return first, second


def sees(prompt: str) -> str:
    return "A" if contexts(prompt)[0] == "ward" else "B"


JUDGES: dict[str, tuple[Callable[[str], str], float, float]] = {
    # what it says; ranked as labels do, same in both orders
    "sees": (sees, 1.0, 1.0),
    "inverted": (lambda prompt: {"A": "B", "B": "A"}[sees(prompt)], 0.0, 1.0),
    "first": (lambda prompt: "A", 0.5, 0.0),
    # Right on "one", the place on the others: (1 * 1 + .25 * .5) / 1.25 = .9; the same in
    # both orders on one of three pairs.
    "half": (lambda prompt: sees(prompt) if "query one" in prompt else "A", 0.9, 1 / 3),
}


def judge(request: dict[str, Any]) -> str:
    prompt = str(request["messages"][-1]["content"])
    letter = JUDGES[str(request["model"])][0](prompt)
    return json.dumps({"explanation": "It is so.", "answer": letter})


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the logs of every judge under ``rank``."""
    folder = tmp_path_factory.mktemp("ranked")
    write_pairs(folder / "cases.jsonl")
    models = [text for name in JUDGES for text in ("-m", f"openai-api/fake/{name}")]
    with FakeServer(judge) as server:
        run = ("run", "--cases", "cases.jsonl", "--log-dir", "logs", "--protocol", "rank")
        for _ in range(2):
            cli_in(folder).ok(*run, *models, env=server.env)
        assert len(server.requests) == len(JUDGES) * 3 * 2  # and none of them twice
    return folder


def test_the_measures_of_a_known_bias_are_exact(ranked: Path) -> None:
    rows = model_rows(cli_in(ranked).ok("score", "logs", "--format", "json").stdout)
    found = {row["model"]: row for row in rows}
    for name, (_, right, same) in JUDGES.items():
        record = found[f"openai-api/fake/{name}"]
        assert record["ranked_as_labels"] == pytest.approx(right)
        assert record["same_in_both_orders"] == pytest.approx(same)
        assert (record["n"], record["queries"], record["coverage"]) == (3, 3, 1.0)
