"""Rules that a set of cases can decide, and the workflow that judges those cases."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from casewise.cases import STARTER, Case, LabelRule, default_rule, open_cases
from casewise.errors import InputError
from casewise.gate._gate_rules import CONFIDENCE, Demand, GateConfig, GateRule, Side
from casewise.gate._rules_file import default_gate, gate_file, load_gate
from casewise.gate._verdicts import POWER, limit_size
from casewise.scores import case_columns, label_fields, labelled_rows, make_table
from casewise.sheets import setting
from casewise.statistics import Level, noninferiority_power, smallest_size, whole

DISCORDANCE = 0.1
"""Share of the queries whose verdict is another in two runs of equal models: an assumption."""

GOOD = 0.9
"""Share of the cases of a kind that a model has right which should pass: an assumption."""

WIDEST = 0.5
"""A margin above it would let almost any model pass, and a limit below it one that guesses."""

_STEPS = 100
"""Margins and limits are written in hundredths."""

_LEVEL = Level(1 - CONFIDENCE, two_sided=False)

SMALL = "small"
"""The name of the rules that ship, with limits and margins that the starter cases can decide."""


def gate_rules(name: Path | str | None) -> GateConfig:
    """Rules by a file or by name: ``small``, or None for those that ship.

    Raises:
        InputError: The file can't be used.
    """
    if name is None:
        return default_gate()
    if str(name) == SMALL and not Path(name).exists():
        return _fitted(_count(open_cases(STARTER).cases)[1], STARTER)
    return load_gate(Path(name))


@dataclass(frozen=True, slots=True)
class GateFiles:
    """What ``casewise gate --init`` writes."""

    rules: str
    """A ``gate.yaml`` whose limits and margins the cases can decide."""
    workflow: str
    """The workflow that ships, over these cases."""


def gate_files(cases: Sequence[Case], name: str) -> GateFiles:
    """The files of a gate over some cases.

    A margin or a limit is the one that ships, or the strictest that ``POWER`` of tries decide on
    so many queries, if that is laxer: a margin passes a model that is equal to its baseline, a
    limit one that has ``GOOD`` of the cases right.

    Args:
        cases: Those that every run will judge.
        name: What ``--cases`` is given for them.

    Raises:
        InputError: No margin or limit up to ``WIDEST`` can be decided on so few queries.
    """
    labels, queries = _count(cases)
    text = gate_file("gate.yaml").read_text("utf-8")
    for rule in _fitted(queries, name).rules:
        if rule.sides:
            text = _with_limit(text, rule)
    given = json.dumps(name, ensure_ascii=False)
    head = _HEAD.format(
        cases=given,
        safe=queries[Side.CAUTION],
        unsafe=queries[Side.SAFETY],
        labels=labels,
        power=round(100 * POWER),
        discordance=setting(DISCORDANCE),
        good=setting(GOOD),
    )
    workflow = gate_file("github-actions.yml").read_text("utf-8")
    value = name if re.fullmatch(r"[\w./-]+", name) else given
    return GateFiles(head + text, _CASES.sub(lambda _: f"  CASES: {value}", workflow))


_HEAD = """\
# Made for the cases {cases}: {safe} queries have a case that counts as safe, {unsafe} one that
# counts as unsafe (labels: {labels}). Margins and limits are as strict as these can decide: in
# {power} of 100 tries a model equal to its baseline passes each margin, if {discordance} of the
# verdicts differ by chance, and one that has {good} of the cases right passes each limit. More
# queries decide stricter ones: casewise power --test pairs --margin .05 ...
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


def _fitted(queries: Mapping[Side, int], name: str) -> GateConfig:
    """The rules that ship, as strict as so many queries of each side can decide."""
    config = default_gate()
    rules = []
    for rule in config.rules:
        if rule.sides:
            (side,) = rule.sides
            rule = replace(rule, limit=_limit(rule, queries[side], side, name))
        rules.append(rule)
    return replace(config, rules=tuple(rules))


def _limit(rule: GateRule, queries: int, side: Side, name: str) -> float:
    """The margin or limit of the rule, or the next laxer one that the queries can decide."""
    # A recall that may fall is turned, so that more is laxer as in margins and rates.
    turned = rule.demand is Demand.AT_LEAST
    first = round(_STEPS * (1 - rule.limit if turned else rule.limit))
    for step in range(first, round(_STEPS * WIDEST) + 1):
        if queries and _needs(rule, step / _STEPS) <= queries:
            return (_STEPS - step if turned else step) / _STEPS
    kind = "unsafe" if side is Side.SAFETY else "safe"
    what = "a margin" if rule.compares else "a limit"
    raise InputError(
        f"too few cases for a gate: {what} of {WIDEST:g} on {rule.measure.name} takes "
        f"{whole(_needs(rule, WIDEST))} queries with a case that counts as {kind}",
        file=name,
        found=queries,
    )


def _needs(rule: GateRule, limit: float) -> float:
    """Queries that decide a margin, or the most mistakes that a limit allows."""
    if not rule.compares:
        return limit_size(1 - GOOD, limit, _LEVEL)
    return smallest_size(lambda n: noninferiority_power(limit, n, DISCORDANCE, 1.0, _LEVEL), POWER)


def _with_limit(text: str, rule: GateRule) -> str:
    """The file with another limit in the rule about a measure."""
    pattern = rf"(?m)^(  - measure: {rule.measure.name}\n    {rule.demand}: ).*$"
    changed, times = re.subn(pattern, lambda found: f"{found[1]}{setting(rule.limit)}", text)
    assert times == 1, rule.measure.name
    return changed
