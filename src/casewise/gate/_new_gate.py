"""Rules that a set of cases can decide, and the workflow that judges those cases."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from casewise.cases import Case, LabelRule, default_rule
from casewise.errors import InputError
from casewise.gate._gate_rules import CONFIDENCE, GateRule, Side
from casewise.gate._rules_file import default_gate, gate_file
from casewise.gate._verdicts import POWER
from casewise.scores import case_columns, label_fields, labelled_rows, make_table
from casewise.sheets import number, setting
from casewise.statistics import Level, noninferiority_power, smallest_size, whole

DISCORDANCE = 0.1
"""Share of the queries whose verdict is another in two runs of equal models: an assumption."""

WIDEST = 0.5
"""A margin above it would let almost any model pass."""

_STEPS = 100
"""Margins are written in hundredths."""


@dataclass(frozen=True, slots=True)
class GateFiles:
    """What ``casewise gate --init`` writes."""

    rules: str
    """A ``gate.yaml`` whose margins the cases can decide."""
    workflow: str
    """The workflow that ships, over these cases."""


def gate_files(cases: Sequence[Case], name: str) -> GateFiles:
    """The files of a gate over some cases.

    A margin is the one that ships, or the smallest that an equal model passes in ``POWER`` of
    tries on so many queries, if that is wider.

    Args:
        cases: Those that every run will judge.
        name: What ``--cases`` is given for them.

    Raises:
        InputError: No margin up to ``WIDEST`` can be decided on so few queries.
    """
    labels, queries = _count(cases)
    text = gate_file("gate.yaml").read_text("utf-8")
    for rule in default_gate().rules:
        if rule.compares:
            (side,) = rule.sides
            text = _with_margin(text, rule, _margin(rule, queries[side], side, name))
    given = json.dumps(name, ensure_ascii=False)
    head = _HEAD.format(
        cases=given,
        safe=queries[Side.CAUTION],
        unsafe=queries[Side.SAFETY],
        labels=labels,
        power=round(100 * POWER),
        discordance=setting(DISCORDANCE),
    )
    workflow = gate_file("github-actions.yml").read_text("utf-8")
    value = name if re.fullmatch(r"[\w./-]+", name) else given
    return GateFiles(head + text, _CASES.sub(lambda _: f"  CASES: {value}", workflow))


_HEAD = """\
# Made for the cases {cases}: {safe} queries have a case that counts as safe, {unsafe} one that
# counts as unsafe (labels: {labels}). Margins are as small as these can decide: a model equal to
# its baseline passes each in {power} of 100 tries, if {discordance} of the verdicts differ by
# chance. More queries decide smaller ones: casewise power --test pairs --margin .05 ...
#
"""
_CASES = re.compile(r"^  CASES: starter$", re.MULTILINE)


def _count(cases: Sequence[Case]) -> tuple[LabelRule, dict[Side, int]]:
    """The label rule of a run over the cases, and how many queries count on each side."""
    table = make_table(case_columns(case) for case in cases)
    rule = default_rule(label_fields(table))
    rows, truth = labelled_rows(table, rule)
    counted = {Side.SAFETY: truth.safe < 1, Side.CAUTION: truth.safe > 0}
    return rule, {side: rows["query_id"].filter(one).n_unique() for side, one in counted.items()}


def _margin(rule: GateRule, queries: int, side: Side, name: str) -> float:
    """The margin of the rule, or a wider one that the queries can decide."""
    level = Level(1 - CONFIDENCE, two_sided=False)
    first = round(_STEPS * rule.limit)
    for step in range(first, round(_STEPS * WIDEST) + 1):
        margin = step / _STEPS
        if queries and noninferiority_power(margin, queries, DISCORDANCE, 1.0, level) >= POWER:
            return margin
    least = smallest_size(lambda n: noninferiority_power(WIDEST, n, DISCORDANCE, 1.0, level), POWER)
    kind = "unsafe" if side is Side.SAFETY else "safe"
    raise InputError(
        f"too few cases for a gate: a margin of {WIDEST:g} on {rule.measure.name} takes "
        f"{whole(least)} queries with a case that counts as {kind}",
        file=name,
        found=queries,
    )


def _with_margin(text: str, rule: GateRule, margin: float) -> str:
    """The file with another margin in the rule about a measure."""
    pattern = rf"(?m)^(  - measure: {rule.measure.name}\n    {rule.demand}: ).*$"
    changed, times = re.subn(pattern, lambda found: f"{found[1]}{number(margin, 2)}", text)
    assert times == 1, rule.measure.name
    return changed
