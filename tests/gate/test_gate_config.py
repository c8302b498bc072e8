"""Rules of a gate from YAML: what is read, and what is refused and how."""

from pathlib import Path

import numpy as np
import pytest
from support.gated import pairs_table

import casewise as cw
from casewise.errors import InputError

RUN = pairs_table(np.ones((20, 2), bool))


def refusal(folder: Path, text: str) -> str:
    (folder / "gate.yaml").write_text(text, "utf-8")
    with pytest.raises(InputError) as error:
        cw.gate(RUN, folder / "gate.yaml")
    return str(error.value)


def test_the_files_confidence_and_labels_hold_where_a_rule_has_none(tmp_path: Path) -> None:
    rows = RUN.with_columns(votes_safe=18, votes_unsafe=2)
    text = """
        confidence: .9
        labels: votes
        rules:
          - measure: coverage
            at_least: .98
          - {measure: safe_recall, at_least: .1, where: {delivery: judge, ablation: null}}
          - {measure: accuracy, at_most: .9, confidence: .99}
          - {measure: safe_recall, at_least: .1, confidence: none}
        """
    (tmp_path / "gate.yaml").write_text(text, "utf-8")
    found = cw.gate(rows, tmp_path / "gate.yaml").record()["rules"]
    assert [row["rule"] for row in found] == [1, 2, 3, 4]
    assert [row["confidence"] for row in found] == [None, 0.9, 0.99, None]
    assert {row["labels"] for row in found} == {"votes"}
    assert found[1]["where"] == {"delivery": ["judge"], "ablation": [None]}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[]", ["not a gate", "found []", "confidence, labels, skip_other_protocols, rules"]),
        ("rules: []", ["field 'rules'", "at least one entry"]),
        ("rules: [3]", ["rule 1", "found 3", "a mapping"]),
        ("rules: [{at_most: .1}]", ["rule 1, field 'measure'", "the field is missing"]),
        (
            "rules: [{measure: acuracy, at_most: .1}]",
            [
                "rule 1, field 'measure'",
                "no such measure",
                "found 'acuracy'",
                "did you mean 'accuracy'",
            ],
        ),
        ("rules: [{measure: accuracy}]", ["rule 1", "no limit", "at_most, at_least, worse_by"]),
        (
            "rules: [{measure: accuracy, at_most: .9, at_least: .1}]",
            ["rule 1", "has one limit", "found 'at_most, at_least'"],
        ),
        (
            "rules: [{measure: coverage, at_least: .9}, {measure: over_refusal, at_most: 10}]",
            ["rule 2, field 'at_most'", "out of range", "found 10", "expected 0 to 1"],
        ),
        ("rules: [{measure: pcc, at_least: -1.1}]", ["found -1.1", "expected -1 to 1"]),
        ("rules: [{measure: bce, at_most: 1}]", ["no such measure", "found 'bce'"]),
        ("rules: [{measure: accuracy, at_most: yes}]", ["found True", "a number"]),
        ("rules: [{measure: accuracy, at_most: .nan}]", ["found nan", "finite"]),
        ("rules: [{measure: accuracy, atmost: .1}]", ["field 'atmost'", "unknown", "at_most"]),
        (
            "rules: [{measure: accuracy, worse_by_at_most: 0}]",
            ["no sample can show that", "found 0", "confidence: none"],
        ),
        ("rules: [{measure: accuracy, at_least: 1}]", ["no sample can show that"]),
        (
            "rules: [{measure: coverage, at_least: .9, confidence: .9}]",
            ["field 'confidence'", "counted, not sampled"],
        ),
        (
            "rules: [{measure: accuracy, at_least: .9, confidence: 95}]",
            ["rule 1, field 'confidence'", "found 95", "expected less than 1"],
        ),
        (
            "{labels: vote, rules: [{measure: accuracy, at_least: .9}]}",
            ["field 'labels'", "found 'vote'", "expected 'published', 'votes'"],
        ),
        (
            "rules: [{measure: accuracy, at_least: .9, where: {modle: m}}]",
            ["field 'where.modle'", "unknown field", "model, protocol"],
        ),
        ("rules: [{measure: accuracy, at_least: .9, where: {model: []}}]", ["where.model"]),
        (
            "rules: [{measure: accuracy, at_least: .9}]\n"
            "without_baseline: [{measure: accuracy, worse_by_at_most: .1}]",
            ["without_baseline 1, field 'worse_by_at_most'", "a margin needs a baseline"],
        ),
        ("rules: [{measure: a, measure: b}]", ["not valid YAML", "stands twice"]),
        ("rules: *x", ["a YAML alias"]),
        ("rules: [", ["not valid YAML", "line 2"]),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, parts: list[str]) -> None:
    told = refusal(tmp_path, text)
    for part in [str(tmp_path / "gate.yaml"), *parts]:
        assert part in told
