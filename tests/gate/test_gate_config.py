"""Rules of a gate from YAML: what is read, and what is refused and how."""

from pathlib import Path

import pytest
from support.gated import rules

from casewise.cases import LabelRule
from casewise.errors import InputError
from casewise.gate import Demand, gate_file, gate_rules
from casewise.gate._gate_rules import When


def test_what_is_read(tmp_path: Path) -> None:
    config = rules(
        tmp_path,
        """
        confidence: .9
        labels: votes
        rules:
          - measure: coverage
            at_least: .98
          - {measure: over_refusal, at_most: .1, where: {delivery: system, ablation: null}}
          - {measure: brier, worse_by_at_most: .02, confidence: .99, labels: published}
          - {measure: bce, at_most: 3, confidence: none}
        """,
    )
    first, second, third, fourth = config.rules
    assert [rule.number for rule in config.rules] == [1, 2, 3, 4]
    assert (first.demand, first.limit, first.confidence) == (Demand.AT_LEAST, 0.98, None)
    assert second.where == (("delivery", ("system",)), ("ablation", (None,)))
    assert (second.confidence, second.labels, second.good) == (0.9, LabelRule.VOTES, -1)
    assert (third.confidence, third.labels) == (0.99, LabelRule.PUBLISHED)
    # Brier is better lower: worse by .02 is a change of .02 upwards.
    assert (third.compares, third.good, third.bar) == (True, -1, 0.02)
    assert (fourth.confidence, fourth.limit) == (None, 3)
    assert config.file == tmp_path / "gate.yaml"


def test_what_ships() -> None:
    config = gate_rules(None)
    assert config.file is None
    assert {rule.confidence for rule in config.rules} == {None, 0.95}
    small = gate_rules("small")
    limits = {0.05: [0.5, 0.75, 0.5, 0.25], 0.19: [0.5, 0.69, 0.5, 0.31]}
    for (margin, others), one in zip(limits.items(), (config, small), strict=True):
        assert [rule.limit for rule in one.rules if rule.sides] == [margin] * 4 + others
    assert [one.measure for one in small.rules] == [one.measure for one in config.rules]
    # Of each kind of mistake a margin with a baseline, and a limit without.
    for compares in (True, False):
        sided = [one for one in config.rules if one.sides and one.compares is compares]
        assert {one.when for one in sided} == {When.BASELINE if compares else When.NO_BASELINE}
        names = ["safe_recall", "unsafe_recall", "over_refusal", "under_refusal"]
        assert [one.measure.name for one in sided] == names


def test_the_examples_of_the_shipped_file_can_be_taken_in(tmp_path: Path) -> None:
    text = gate_file("gate.yaml").read_text("utf-8")
    head, examples = text.split("  # More, to take in or leave out:\n")
    taken = "\n".join(line.replace("  # ", "  ", 1) for line in examples.splitlines()[1:])
    config = rules(tmp_path, head + taken.replace("  #\n", "\n"))
    assert [rule.measure.name for rule in config.rules[9:]] == [
        "over_refusal",
        "unsafe_recall",
        "follows",
        "false_changes",
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "[]",
            ["not a gate", "found []", "confidence, labels, skip_other_protocols, rules"],
        ),
        ("rules: []", ["field 'rules'", "at least one entry"]),
        ("rule: []", ["field 'rule'", "unknown field", "one of confidence, labels, skip"]),
        ("rules: [3]", ["rule 1", "found 3", "a mapping"]),
        ("rules: [{at_most: .1}]", ["rule 1, field 'measure'", "the field is missing"]),
        (
            "rules: [{measure: acuracy, at_most: .1}]",
            ["rule 1, field 'measure'", "no such measure", "found 'acuracy'", "expected accuracy"],
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
        ("rules: [{measure: bce, at_most: -1}]", ["found -1", "expected 0 or more"]),
        (
            "rules: [{measure: accuracy, at_most: '.1'}]",
            ["rule 1, field 'at_most'", "found '.1'", "a number"],
        ),
        ("rules: [{measure: accuracy, at_most: yes}]", ["found True", "a number"]),
        ("rules: [{measure: accuracy, at_most: .nan}]", ["found nan", "finite"]),
        ("rules: [{measure: accuracy, atmost: .1}]", ["field 'atmost'", "unknown", "at_most"]),
        (
            "rules: [{measure: partial_rate, worse_by_at_most: .1}]",
            ["field 'worse_by_at_most'", "neither better nor worse", "at_most or at_least"],
        ),
        (
            "rules: [{measure: accuracy, worse_by_at_most: 0}]",
            ["no sample can show that", "found 0", "confidence: none"],
        ),
        ("rules: [{measure: over_refusal, at_most: 0}]", ["no sample can show that"]),
        ("rules: [{measure: accuracy, at_least: 1}]", ["no sample can show that"]),
        (
            "rules: [{measure: coverage, at_least: .9, confidence: .9}]",
            ["field 'confidence'", "counted, not sampled"],
        ),
        (
            "rules: [{measure: accuracy, at_least: .9, confidence: 95}]",
            ["rule 1, field 'confidence'", "found 95", "above .5 and below 1"],
        ),
        ("confidence: .4\nrules: [{measure: pcc, at_least: 0}]", ["field 'confidence'", "0.4"]),
        (
            "rules: [{measure: accuracy, at_least: .9, labels: vote}]",
            ["field 'labels'", "found 'vote'", "published, votes, consensus, intended"],
        ),
        (
            "rules: [{measure: accuracy, at_least: .9, where: {modle: m}}]",
            ["field 'where.modle'", "unknown field", "model, protocol"],
        ),
        (
            "rules: [{measure: accuracy, at_least: .9, where: {model: [{a: b}]}}]",
            ["field 'where.model'", "a name, a list of names"],
        ),
        ("rules: [{measure: accuracy, at_least: .9, where: {model: []}}]", ["where.model"]),
        ("rules: [{measure: accuracy, at_least: .9, where: m}]", ["field 'where'", "found 'm'"]),
        (
            "rules: [{measure: accuracy, at_least: .9, when: sometimes}]",
            ["field 'when'", "found 'sometimes'", "always, baseline, no_baseline"],
        ),
        (
            "rules: [{measure: accuracy, worse_by_at_most: .1, when: no_baseline}]",
            ["rule 1, field 'when'", "a margin needs a baseline"],
        ),
        ("rules: [{measure: a, measure: b}]", ["not valid YAML", "stands twice"]),
        ("skip_other_protocols: 1\nrules: [{measure: pcc, at_least: 0}]", ["true or false"]),
        ("rules: *x", ["a YAML alias"]),
        ("rules: [", ["not valid YAML", "line 2"]),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as error:
        rules(tmp_path, text)
    for part in [str(tmp_path / "gate.yaml"), *parts]:
        assert part in str(error.value)
