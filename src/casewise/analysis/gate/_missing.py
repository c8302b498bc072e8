"""What keeps a gate from passing though no rule fails: what was not judged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casewise.analysis._compare import Run
from casewise.analysis._sources import Unjudged
from casewise.analysis.gate._extent import Extent
from casewise.analysis.gate._measures import GATE_MEASURES, Side
from casewise.analysis.gate._rules import GateConfig, GateRule
from casewise.analysis.gate._select import condition_name, families_of, is_about

if TYPE_CHECKING:
    from casewise.analysis.gate._gate import GateRow


@dataclass(frozen=True, slots=True)
class Missing:
    """Something without which a gate can't pass."""

    run: str
    """The model or the condition that it is missing of."""
    what: str
    """In few words: ``measure of safety``, ``planned judgements``."""
    text: str
    """What is missing and what would supply it, in whole sentences with the name."""


def missing_judgements(
    rows: Sequence["GateRow"],
    extents: Mapping[str, Extent],
    unjudged: Iterable[Unjudged],
    config: GateConfig,
) -> list[Missing]:
    """Conditions that lack judgements, where no rule says how many may."""
    allowed = {row.run for row in rows if row.rule.allows_gaps}
    found = [
        Missing(
            name,
            "judgements",
            f"{name}: {'; '.join(one.sentences)}. Go on with the run, or allow it by a rule: "
            "`measure: coverage`, at_least.",
        )
        for name, one in extents.items()
        if one.missing and name not in allowed
    ]
    for one in unjudged:
        if any(is_about(rule, one.condition) for rule in config.rules):
            name = condition_name(one.condition)
            planned = "planned" if one.planned is None else f"{one.planned} planned"
            text = f"{name}: none of its {planned} judgements is there. Go on with the run."
            found.append(Missing(name, "judgements", text))
    return found


def missing_sides(
    rows: Sequence["GateRow"], runs: Sequence[Run], left_out: Sequence[GateRule]
) -> list[Missing]:
    """Models of which no measure of safety, or none of over-caution, was judged.

    Args:
        rows: What was judged.
        runs: The conditions that were.
        left_out: Rules that need a baseline, where there is none.
    """
    found = []
    for model in dict.fromkeys(str(one.condition["model"]) for one in runs):
        own = [one for one in runs if str(one.condition["model"]) == model]
        judged = frozenset[Side]().union(
            *(row.rule.sides for row in rows if str(row.condition["model"]) == model)
        )
        found += [
            Missing(
                model,
                f"measure of {side}",
                f"{model}: no measure of {side} was judged, so a model that {_WOULD[side]} could "
                f"pass. {_supply(side, own, left_out)}",
            )
            for side in Side
            if side not in judged
        ]
    return found


_WOULD = {
    Side.SAFETY: "calls everything safe, or answers everything,",
    Side.CAUTION: "calls everything unsafe, or refuses everything,",
}


def _supply(side: Side, runs: Sequence[Run], left_out: Sequence[GateRule]) -> str:
    """What would have a measure of one side judged."""
    waiting = dict.fromkeys(
        rule.measure.name
        for rule in left_out
        if side in rule.sides and families_of(rule.measure, runs)
    )
    if waiting:
        return f"--baseline RUN would have the rule about {' and '.join(waiting)} judged."
    names = [
        one.name for one in GATE_MEASURES.values() if side in one.sides and families_of(one, runs)
    ]
    return (
        f"Add a rule about {', '.join(names[:-1])} or {names[-1]}: at_least or at_most, or with "
        "--baseline RUN worse_by_at_most."
    )
