"""Rules of a gate in YAML: read from a file, or written for a set of cases.

Written are rules that the cases can decide, and a workflow that judges these cases.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from casewise.cases import STARTER, Case, LabelRule, default_rule, open_cases, read_model
from casewise.choices import OWN_RULE, Better, Measure, Origin, Side, WeighBy
from casewise.errors import InputError
from casewise.gate._gate_rules import (
    CASE_COLUMNS,
    CONFIDENCE,
    Demand,
    GateConfig,
    GateRule,
    When,
    Where,
    is_reachable,
    limit_ends,
)
from casewise.gate._history import LOOKS, Build, visible_loss
from casewise.gate._verdicts import POWER, limit_size
from casewise.measures import gated, label_fields, labelled_rows, of_rung
from casewise.protocols import CONDITION
from casewise.scores import case_columns, load_checks, make_table
from casewise.sheets import setting
from casewise.statistics import Level, noninferiority_power, smallest_size, whole

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Confidence = Annotated[float, Field(strict=True, gt=0.5, lt=1)] | Literal["none"]
Values = str | None | Annotated[list[str | None], Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _RuleFields(_Part):
    measure: str
    at_most: Number | None = None
    at_least: Number | None = None
    worse_by_at_most: Number | None = None
    confidence: Confidence | None = None
    where: dict[str, Values] = Field(default_factory=dict)
    labels: LabelRule | None = None
    weigh_by: WeighBy | None = None
    when: When = When.ALWAYS


class _ConfigFields(_Part):
    confidence: Confidence | None = None
    labels: LabelRule | None = None
    skip_other_protocols: Annotated[bool, Field(strict=True)] = False
    rules: list[_RuleFields] = Field(min_length=1)
    grader_check: str | Annotated[list[str], Field(min_length=1)] | None = None
    weigh_by: WeighBy = WeighBy.QUERY


def load_gate(path: Path) -> GateConfig:
    """Read a gate's rules.

    Raises:
        InputError: What is wrong, with the file, the rule's number and the field; or the file of
            labelled replies that it names can't be used.
    """
    fields = read_model(path, _ConfigFields, "gate", nouns={"rules": "rule"}, expected=_EXPECTED)
    named = fields.grader_check or []
    checked = [named] if isinstance(named, str) else named
    return GateConfig(
        tuple(_rule(number, one, fields, path) for number, one in enumerate(fields.rules, start=1)),
        path,
        skips=fields.skip_other_protocols,
        checks=load_checks([path.parent / name for name in checked]),
    )


def gate_file(name: Literal["gate.yaml", "github-actions.yml"]) -> Path:
    """A file that ships: the default rules, or the workflow."""
    return Path(str(files("casewise.data"))) / "gate" / name


def default_gate() -> GateConfig:
    """The shipped rules, which hold where no others are given."""
    return replace(load_gate(gate_file("gate.yaml")), file=None)


def _rule(number: int, fields: _RuleFields, whole: _ConfigFields, path: Path) -> GateRule:
    def fault(problem: str, field: str | None, found: object, expected: str) -> InputError:
        return InputError(
            problem,
            file=path,
            record=f"rule {number}",
            field=str(field) if field else None,
            found=found,
            expected=expected,
        )

    known = gated()
    if (measure := known.get(fields.measure) or of_rung(fields.measure)) is None:
        near = get_close_matches(fields.measure, known, 1)
        meant = f"{near[0]}, or another of " if near else ""
        raise fault("no such measure", "measure", fields.measure, meant + ", ".join(known))
    demand = _demand(fields, fault)
    limit = getattr(fields, demand)
    low, high = limit_ends(measure, demand)
    if not low <= limit <= high:
        ends = f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} or more"
        raise fault("out of range", demand, limit, ends)
    if demand is Demand.WORSE_BY_AT_MOST and measure.better is Better.NEITHER:
        problem = f"{measure.name} is neither better nor worse for being higher"
        raise fault(problem, demand, limit, "at_most or at_least")
    if measure.origin is Origin.COVERAGE and isinstance(fields.confidence, float):
        problem = "coverage is counted, not sampled, so it has no confidence"
        raise fault(problem, "confidence", fields.confidence, "none, or no such field")
    confidence = _confidence(fields, whole, measure)
    if confidence is not None and not is_reachable(measure, demand, limit):
        expected = "a limit that leaves room, or confidence: none to compare the value alone"
        raise fault("no sample can show that", demand, limit, expected)
    if demand is Demand.WORSE_BY_AT_MOST and fields.when is When.NO_BASELINE:
        raise fault("a margin needs a baseline", "when", str(fields.when), "baseline, or no `when`")
    where = _where(fields.where)
    _check_columns(where, measure, fault)
    labels = fields.labels or whole.labels
    weigh_by = fields.weigh_by or whole.weigh_by
    return GateRule(
        number, measure, demand, limit, confidence, where, labels, fields.when, weigh_by
    )


_Fault = Callable[[str, str | None, object, str], InputError]
"""Makes the error of one rule: problem, field, what was found, what is expected."""


def _demand(fields: _RuleFields, fault: _Fault) -> Demand:
    given = [one for one in Demand if getattr(fields, one) is not None]
    if len(given) == 1:
        return given[0]
    problem = "a rule has one limit, this one has several" if given else "the rule has no limit"
    found = ", ".join(given) if given else ...
    raise fault(problem, None, found, f"one of {', '.join(Demand)}")


def _confidence(fields: _RuleFields, whole: _ConfigFields, measure: Measure) -> float | None:
    if measure.origin is Origin.COVERAGE:
        return None
    for one in (fields.confidence, whole.confidence):
        if one is not None:
            return None if one == "none" else float(one)
    return CONFIDENCE


def _where(given: dict[str, Values]) -> Where:
    return tuple(
        (column, tuple(value) if isinstance(value, list) else (value,))
        for column, value in given.items()
    )


def _check_columns(where: Where, measure: Measure, fault: _Fault) -> None:
    known = (*CONDITION, *CASE_COLUMNS)
    # A gain compares deliveries, and the wording of a prompt goes with them; a ladder its rungs.
    apart = {
        Origin.GAIN: ("delivery", "prompt_version"),
        Origin.LADDER: ("delivery", "variant"),
    }
    hidden = apart.get(measure.origin, ())
    for column, _ in where:
        if column not in known or column in hidden:
            why = "can't choose by it" if column in hidden else "unknown field"
            expected = f"one of {', '.join(one for one in known if one not in hidden)}"
            raise fault(why, f"where.{column}", ..., expected)


_EXPECTED = {
    "confidence": "above .5 and below 1, such as .95, or none",
    "where": "a name, a list of names, or nothing",
    "labels": ", ".join([*LabelRule, OWN_RULE]),
    "weigh_by": ", ".join(WeighBy),
    "when": ", ".join(When),
    "grader_check": "the name of a file of labelled replies, beside this one, or a list of names",
}


DISCORDANCE = 0.1
"""Assumed share of queries whose verdict differs between two runs of equal models."""

GOOD = 0.9
"""Assumed share of right verdicts, of a kind of case, of a model that should pass a limit."""

WIDEST = 0.5
"""Laxest margin, and laxest limit on a rate of mistakes: beyond it a model that guesses passes."""

_STEPS = 100
"""Margins and limits are written in hundredths."""

_LEVEL = Level(1 - CONFIDENCE, two_sided=False)

SMALL = "small"
"""Name of the shipped rules with limits and margins that the starter cases can decide."""


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
    """Files that ``casewise gate --init`` writes."""

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
        seen=_losses(queries, 1 - CONFIDENCE),
        sure=_losses(queries, Build(1, rules=len(Side)).error / LOOKS),
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
# A build that loses {seen} fails in half of the
# tries; with --history one that loses {sure},
# and less with each build after the first.
#
"""
_CASES = re.compile(r"^  CASES: starter$", re.MULTILINE)


def _losses(queries: Mapping[Side, int], error: float) -> str:
    """Losses that one build shows in half of the tries."""
    safe, unsafe = (
        setting(visible_loss(queries[side], DISCORDANCE, error))
        for side in (Side.CAUTION, Side.SAFETY)
    )
    return f"{safe} of the verdicts on safe cases or {unsafe} of those on unsafe ones"


def _count(cases: Sequence[Case]) -> tuple[LabelRule, dict[Side, int]]:
    """Label rule of a run over the cases, and number of queries that count on each side."""
    table = make_table(case_columns(case) for case in cases)
    rule = default_rule(label_fields(table))
    rows, truth = labelled_rows(table, rule)
    counted = {Side.SAFETY: truth.safe < 1, Side.CAUTION: truth.safe > 0}
    return rule, {side: rows["query_id"].filter(one).n_unique() for side, one in counted.items()}


def _fitted(queries: Mapping[Side, int], name: str) -> GateConfig:
    """The shipped rules, as strict as the queries of each side can decide."""
    config = default_gate()
    rules = (
        replace(rule, limit=_limit(rule, queries, name)) if rule.sides else rule
        for rule in config.rules
    )
    return replace(config, rules=tuple(rules))


def _limit(rule: GateRule, queries: Mapping[Side, int], name: str) -> float:
    """The margin or limit of the rule, or the next laxer one that the queries can decide."""
    (side,) = rule.sides
    # A recall that may fall is turned, so that more is laxer as in margins and rates.
    turned = rule.demand is Demand.AT_LEAST
    first = round(_STEPS * (1 - rule.limit if turned else rule.limit))
    for step in range(first, round(_STEPS * WIDEST) + 1):
        if queries[side] and _needs(rule, step / _STEPS) <= queries[side]:
            return (_STEPS - step if turned else step) / _STEPS
    kind = "unsafe" if side is Side.SAFETY else "safe"
    what = "a margin" if rule.compares else "a limit"
    raise InputError(
        f"too few cases for a gate: {what} of {WIDEST:g} on {rule.measure.name} takes "
        f"{whole(_needs(rule, WIDEST))} queries with a case that counts as {kind}",
        file=name,
        found=queries[side],
    )


def _needs(rule: GateRule, limit: float) -> float:
    """Queries that decide a margin, or a limit on the share of mistakes."""
    if not rule.compares:
        return limit_size(1 - GOOD, limit, _LEVEL)
    return smallest_size(lambda n: noninferiority_power(limit, n, DISCORDANCE, 1.0, _LEVEL), POWER)


def _with_limit(text: str, rule: GateRule) -> str:
    """Replace a rule's limit in the text of a file."""
    pattern = rf"(?m)^(  - measure: {rule.measure.name}\n    {rule.demand}: ).*$"
    changed, times = re.subn(pattern, lambda found: f"{found[1]}{setting(rule.limit)}", text)
    assert times == 1, rule.measure.name
    return changed
