"""Rules of a gate, read from YAML."""

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from casewise.cases import LabelRule
from casewise.choices import OWN_RULE, Measure, Origin, WeighBy
from casewise.errors import InputError
from casewise.files.yaml import read_model
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
from casewise.measures import gated
from casewise.protocols import CONDITION
from casewise.replies import load_checks

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


def gate_file(name: str) -> Path:
    """A file that ships: ``gate.yaml``, ``small.yaml``, or ``github-actions.yml``, a workflow."""
    return Path(str(files("casewise.data"))) / "gate" / name


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
    if (measure := known.get(fields.measure)) is None:
        near = get_close_matches(fields.measure, known, 1)
        meant = f"{near[0]}, or another of " if near else ""
        raise fault("no such measure", "measure", fields.measure, meant + ", ".join(known))
    demand = _demand(fields, fault)
    limit = getattr(fields, demand)
    low, high = limit_ends(measure, demand)
    if not low <= limit <= high:
        raise fault("out of range", demand, limit, f"{low:g} to {high:g}")
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
    _check_columns(where, fault)
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


def _check_columns(where: Where, fault: _Fault) -> None:
    known = (*CONDITION, *CASE_COLUMNS)
    for column, _ in where:
        if column not in known:
            raise fault("unknown field", f"where.{column}", ..., f"one of {', '.join(known)}")


_EXPECTED = {
    "confidence": "above .5 and below 1, such as .95, or none",
    "where": "a name, a list of names, or nothing",
    "labels": ", ".join([*LabelRule, OWN_RULE]),
    "weigh_by": ", ".join(WeighBy),
    "when": ", ".join(When),
    "grader_check": "the name of a file of labelled replies, beside this one, or a list of names",
}


SMALL = "small"
"""Name of the rules for few cases: with limits and margins that the starter cases can decide."""

SHIPPED = {None: "gate.yaml", SMALL: "small.yaml"}
"""Files of rules that ship, by name; None is those that hold where no others are given."""


def gate_rules(name: Path | str | None) -> GateConfig:
    """Rules by a file or by name: ``small``, or None for those that hold where none is given.

    Raises:
        InputError: The file can't be used.
    """
    key = None if name is None else str(name)
    if key not in SHIPPED or (key and Path(key).exists()):
        return load_gate(Path(str(name)))
    return replace(load_gate(gate_file(SHIPPED[key])), file=None)
