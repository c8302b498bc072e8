"""Rules of a gate: what a measure may come to, read from YAML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    model_validator,
)

from casewise.cases import LabelRule
from casewise.choices import Better, Measure, Side
from casewise.errors import InputError, one_of
from casewise.files.yaml import fault, read_model
from casewise.measures import gated_measures
from casewise.protocols import CONDITION
from casewise.replies import CheckFile, load_checks

CONFIDENCE = 0.95
"""The default: how sure a one-sided bound is."""


class Demand(StrEnum):
    """Kind of limit on a measure."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    WORSE_BY_AT_MOST = "worse_by_at_most"
    """Against the baseline: not worse by more than the limit."""


def _measure(name: object) -> Measure:
    known = gated_measures()
    if not isinstance(name, str) or name not in known:
        raise fault("no such measure", found=name, expected=one_of(str(name), known))
    return known[name]


def _known_columns(where: Mapping[str, Any]) -> Mapping[str, Any]:
    for column in where:
        if column not in CONDITION:
            raise fault("unknown field", column, expected=f"one of {', '.join(CONDITION)}")
    return where


Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Confidence = Annotated[float, Field(strict=True, gt=0.5, lt=1)] | Literal["none"]
Values = str | None | Annotated[list[str | None], Field(min_length=1)]


class GateRule(BaseModel):
    """One rule of a gate, as it stands in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    measure: Annotated[InstanceOf[Measure], BeforeValidator(_measure)]
    at_most: Number | None = None
    at_least: Number | None = None
    worse_by_at_most: Number | None = None
    confidence: Confidence | None = None
    """Confidence of each one-sided bound; ``none`` compares the value alone. None is the file's."""
    where: Annotated[dict[str, Values], AfterValidator(_known_columns)] = Field(
        default_factory=dict
    )
    """Fields of the condition, and the values of each; one may hold ``*``, None is no value."""

    @property
    def demand(self) -> Demand:
        """Kind of its limit."""
        return next(demand for demand in Demand if getattr(self, demand) is not None)

    @property
    def limit(self) -> float:
        """Limit in the unit of the measure."""
        return float(getattr(self, self.demand))

    @property
    def level(self) -> float | None:
        """Confidence of its bounds; None compares the value alone."""
        confidence = "none" if self.measure.name == "coverage" else self.confidence
        return None if confidence == "none" else confidence or CONFIDENCE

    @property
    def compares(self) -> bool:
        """Tell whether it needs a baseline."""
        return self.demand is Demand.WORSE_BY_AT_MOST

    @property
    def sign(self) -> int:
        """1 where a higher figure is what the rule wants, -1 where a lower one is."""
        if self.compares:
            return -1 if self.measure.better is Better.LOWER else 1
        return 1 if self.demand is Demand.AT_LEAST else -1

    @property
    def threshold(self) -> float:
        """Value that the figure must not be on the wrong side of."""
        return -self.sign * self.limit if self.compares else self.limit

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the figure that is held to the limit."""
        low, high = self.measure.low, self.measure.high
        return (low - high, high - low) if self.compares else (low, high)

    @property
    def limits(self) -> tuple[float, float]:
        """The limits that make sense; a bound from a sample can pass none at the far end."""
        ends = (0.0, self.ends[1]) if self.compares else self.ends
        return ends if self.demand is Demand.AT_LEAST else ends[::-1]

    @property
    def binds(self) -> bool:
        """Tell if it keeps the measure from its worst value: not a limit that all values keep."""
        is_good = self.measure.better is Better.HIGHER
        right_way = self.compares or is_good is (self.demand is Demand.AT_LEAST)
        return right_way and self.limit != self.limits[0]

    @property
    def sides(self) -> tuple[Side, ...]:
        """The kinds of mistake that it keeps in bounds."""
        return self.measure.sides if self.binds else ()

    @property
    def allows_gaps(self) -> bool:
        """Tell if it says how much of a run may be missing: a least coverage."""
        return self.measure.name == "coverage" and self.binds

    def values(self, column: str) -> tuple[str | None, ...]:
        """Values that a column of ``where`` may have."""
        values = self.where[column]
        return tuple(values) if isinstance(values, list) else (values,)


class _GateFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    confidence: Confidence | None = None
    labels: LabelRule | None = None
    skip_other_protocols: Annotated[bool, Field(strict=True)] = False
    rules: Annotated[list[GateRule], Field(min_length=1)]
    without_baseline: list[GateRule] = []
    """Rules in place of the others where no baseline is given."""
    grader_check: str | Annotated[list[str], Field(min_length=1)] = []

    @model_validator(mode="after")
    def _complete(self) -> "_GateFile":
        """Give each rule what the file has for all, and check its limit."""
        for name in ("rules", "without_baseline"):
            rules = getattr(self, name)
            for place, rule in enumerate(rules):
                _check_demand(rule, name, place)
                confidence = rule.confidence or self.confidence
                rules[place] = rule.model_copy(update={"confidence": confidence})
                _check_limit(rules[place], rule, name, place)
        return self


def _check_demand(rule: GateRule, *at: str | int) -> None:
    kinds = [demand for demand in Demand if getattr(rule, demand) is not None]
    if len(kinds) != 1:
        problem = "a rule has one limit, this one has several" if kinds else "the rule has no limit"
        names = ", ".join(kinds) if kinds else ...
        raise fault(problem, *at, found=names, expected=f"one of {', '.join(Demand)}")


def _check_limit(rule: GateRule, written: GateRule, *at: str | int) -> None:
    low, high = sorted(rule.limits)
    if not low <= rule.limit <= high:
        raise fault(
            "out of range", *at, rule.demand, found=rule.limit, expected=f"{low:g} to {high:g}"
        )
    if rule.measure.name == "coverage" and isinstance(written.confidence, float):
        raise fault(
            "coverage is counted, not sampled, so it has no confidence",
            *(*at, "confidence"),
            found=written.confidence,
            expected="none, or no such field",
        )
    if rule.level is not None and rule.limit == rule.limits[1]:
        expected = "a limit that leaves room, or confidence: none to compare the value alone"
        raise fault(
            "no sample can show that", *at, rule.demand, found=rule.limit, expected=expected
        )
    if rule.compares and at[0] != "rules":
        raise fault("a margin needs a baseline", *at, rule.demand, found=rule.limit)


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The rules of a gate, and the file that they come from."""

    rules: Sequence[GateRule]
    file: Path | None = None
    labels: LabelRule | None = None
    """None takes each condition's default, as ``casewise score`` does."""
    skips: bool = False
    """True if rules about measures that no protocol of the run has are left out."""
    checks: tuple[CheckFile, ...] = ()
    """Labelled replies, to correct the rates of replies by."""
    shipped: str = ""
    """Name of rules that ship; empty of a person's own."""

    def number(self, rule: GateRule) -> int:
        """Place of a rule in the file, from 1."""
        return 1 + next(place for place, other in enumerate(self.rules) if other is rule)

    def fault(self, rule: GateRule, problem: str, **about: Any) -> InputError:
        """The refusal of a rule; ``about`` may have ``field``, ``found`` and ``expected``."""
        record = f"rule {self.number(rule)}"
        if self.shipped:
            record = f"the {self.shipped} rules' {rule.measure.name}"
        return InputError(problem, file=self.file, record=record, **about)


def load_gate(path: Path, *, has_baseline: bool) -> GateConfig:
    """Read a gate's rules, those that hold with a baseline or those without.

    Raises:
        InputError: What is wrong, with the file, the rule's number and the field; or the file of
            labelled replies that it names can't be used.
    """
    nouns = {"rules": "rule", "without_baseline": "rule without_baseline"}
    read = read_model(path, _GateFile, "gate", nouns=nouns)
    named = [read.grader_check] if isinstance(read.grader_check, str) else read.grader_check
    checks = load_checks([path.parent / name for name in named])
    rules = read.rules if has_baseline else read.without_baseline or read.rules
    return GateConfig(tuple(rules), path, read.labels, read.skip_other_protocols, checks)


SMALL = "small"
"""Name of the rules for few cases: with limits and margins that the starter cases can decide."""

SHIPPED = {None: "gate.yaml", SMALL: "small.yaml"}
"""Files of rules that ship, by name; None is those that hold where no others are given."""


def gate_file(name: str) -> Path:
    """A file that ships: ``gate.yaml``, ``small.yaml``, or ``github-actions.yml``, a workflow."""
    return Path(str(files("casewise.data"))) / "gate" / name


def gate_rules(name: Path | str | None, *, has_baseline: bool) -> GateConfig:
    """Rules by a file or by name: ``small``, or None for those that hold where none is given.

    Args:
        name: The file or name.
        has_baseline: Whether the run is held against a baseline.

    Raises:
        InputError: The file can't be used.
    """
    key = None if name is None else str(name)
    if key not in SHIPPED or (key and Path(key).exists()):
        return load_gate(Path(str(name)), has_baseline=has_baseline)
    config = load_gate(gate_file(SHIPPED[key]), has_baseline=has_baseline)
    return replace(config, file=None, shipped=key or "default")
