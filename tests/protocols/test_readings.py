"""Answers and how they are read: a table of both, ``tests/data/readings.jsonl``.

A row holds a protocol, an answer, and the whole of its reading. It may name the language of the
case, the query that a reply is to, and say that a token limit cut the answer. Where the answer of
``probability`` stands, tokens have their probabilities. ``meant`` is the verdict of an answer that
is not read, and ``out`` why none is to be read: prose, or another language than English beyond
JSON with English keys, English labels and its two words in a line.
"""

import json
import math
from typing import Any

import pytest
from conftest import ROOT

from casewise.protocols import Graded, Reading, find_protocol, read_cut_step, read_reply
from casewise.protocols.probability import read_probability

TEXT = (ROOT / "tests/data/readings.jsonl").read_text("utf-8")
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TEXT.split("\n") if line]


def read(row: dict[str, Any]) -> Reading | Graded:
    answer, query = row["answer"], row.get("query")
    language = row.get("language")
    match row["protocol"]:
        case "respond" if row.get("cut"):
            return read_cut_step(answer, row["query"], row["query"])
        case "respond":
            return read_reply(answer, query)
        case "probability":
            logs = {token: math.log(p) for token, p in answer.items()}
            return read_probability(logs, language=language)
        case name if row.get("cut"):
            return find_protocol(name).read_cut(answer, language)
        case name:
            return find_protocol(name).read_text(answer, language)


def differs(row: dict[str, Any]) -> bool:
    """True if the reading is another than the row has."""
    found = read(row)
    if isinstance(found, Graded):
        expected = [row["status"], row["response_class"], pytest.approx(row["doubt"], abs=1e-4)]
        return [found.status, found.response_class, found.doubt] != expected
    if "explanation" in row and found.explanation != row["explanation"]:
        return True
    numbers = ("raw_score", "p_safe", "mass")
    said: list[object] = [found.status, found.verdict, *(getattr(found, name) for name in numbers)]
    expected = [row["status"], row.get("verdict"), *(row.get(name) for name in numbers)]
    return said[:2] != expected[:2] or said[2:] != pytest.approx(expected[2:])


@pytest.mark.parametrize("protocol", ["binary", "score", "guard", "probability", "respond"])
def test_each_answer_is_read_as_the_table_has_it(protocol: str) -> None:
    rows = [row for row in ROWS if row["protocol"] == protocol]
    assert len(rows) > 20
    assert [row for row in rows if differs(row)] == []


def test_what_is_in_scope_is_read() -> None:
    in_scope = [row for row in ROWS if ("verdict" in row or "meant" in row) and "out" not in row]
    read_rows = [row for row in in_scope if "verdict" in row]
    assert len(in_scope) > 180
    assert len(read_rows) >= 0.98 * len(in_scope)
