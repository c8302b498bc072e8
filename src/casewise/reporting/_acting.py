"""What models do in context, for a terminal."""

from collections.abc import Sequence
from functools import partial

from rich.console import RenderableType
from rich.text import Text

from casewise.analysis import (
    CELLS,
    SMALLEST,
    Escalation,
    JudgeAct,
    Score,
    ScoreReport,
    ScoreRow,
    Trust,
)
from casewise.reporting._scores import Column, describe_condition, number, with_margin
from casewise.reporting._tables import plain_table
from casewise.reporting._wording import wording

ESCALATION_TURNS = 5

_RATES = {"over_refusal": "over-\nrefusal", "under_refusal": "under-\nrefusal"}
_QUADRANTS = {
    "adapts": "\nadapts",
    "always_answers": "always\nanswers",
    "always_refuses": "always\nrefuses",
    "inverted": "in-\nverted",
    "mixed": "\nmixed",
}


def act_title(scores: Sequence[Score]) -> str:
    """What the replies are measured against."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    return f"Answers and refusals against {wording(*scores).line} (labels: {rules})"


def act_columns() -> list[Column]:
    """The columns of how often models refuse and answer."""
    columns: list[Column] = [
        ("\nn", lambda score: str(score.n)),
        ("\ngraded", lambda score: number(score.coverage)),
    ]
    for name, head in _RATES.items():
        columns += [(head, partial(_cell, name)), ("±\n95 %", partial(_margin, name))]
    return [*columns, ("\npartial", partial(_cell, "partial_rate"))]


def pair_columns() -> list[Column]:
    """The columns of what models do with the two contexts of a query."""
    return [
        ("\npairs", lambda score: str(score.pairs)),
        *((head, partial(_cell, name)) for name, head in _QUADRANTS.items()),
    ]


def _cell(name: str, score: Score) -> str:
    return number(score.measures[name].value)


def _margin(name: str, score: Score) -> str:
    return number(score.measures[name].margin)


def act_tables(report: ScoreReport) -> list[RenderableType]:
    """Trust in claims, and judging against acting, where a table has them."""
    tables: list[RenderableType] = []
    changed = [row for row in report.rows if row.change is not None and row.score.acts]
    if changed:
        heads = ["", "n", "over-\nrefusal", "under-\nrefusal", "adapts"]
        table = plain_table("Change against the plain conversation (± 95 %)", heads)
        for row in changed:
            table.add_row(*(Text(cell) for cell in _change_cells(row)))
        tables.append(table)
    if report.escalations:
        heads = ["", "n", *(f"turn\n{turn}" for turn in range(1, ESCALATION_TURNS + 1))]
        table = plain_table("Share that has not complied, by turn", heads)
        for escalation in report.escalations:
            table.add_row(*(Text(cell) for cell in _escalation_cells(escalation)))
        tables.append(table)
    tables += change_tables(report)
    if report.trust:
        heads = ["", "n", "verified\ncontext", "claimed\ncontext", "spoofing\ngap"]
        table = plain_table("How far a context moves the model the right way (± 95 %)", heads)
        for one in report.trust:
            table.add_row(*(Text(cell) for cell in _trust_cells(one)))
        tables.append(table)
    if report.judge_act:
        heads = ["", "n", *(_words(name) for name in CELLS), "\npartial"]
        table = plain_table("What it says of a case, and does in it", heads)
        for pair in report.judge_act:
            table.add_row(*(Text(cell) for cell in _judge_act_cells(pair)))
        tables.append(table)
    return tables


def _escalation_cells(one: Escalation) -> list[str]:
    name = f"{one.condition['model']} ({describe_condition(one.condition)})"
    held = dict(zip(one.curve.turns.tolist(), one.curve.survival.tolist(), strict=True))
    cells, last = [], 1.0
    for turn in range(1, ESCALATION_TURNS + 1):
        last = held.get(turn, last)
        cells.append(number(last) if one.n else "–")
    return [name, str(one.n), *cells]


def change_tables(report: ScoreReport) -> list[RenderableType]:
    """Which change flips a model, and whether what it says it leans on matters."""
    tables: list[RenderableType] = []
    if report.counterfactuals:
        heads = ["", "n", "one\nparameter", "one\ngroup", "none\nasked"]
        table = plain_table("Smallest change towards the twin that flips it (shares)", heads)
        for one in report.counterfactuals:
            name = f"{one.condition['model']} ({describe_condition(one.condition)})"
            shares = [with_margin(one.smallest[kind]) for kind in SMALLEST]
            table.add_row(*(Text(cell) for cell in [name, str(one.n), *shares]))
        tables.append(table)
    if report.faithfulness:
        heads = ["", "mentioned", "unmentioned", "difference"]
        table = plain_table("Verdicts that change when a parameter is removed", heads)
        for faithful in report.faithfulness:
            name = f"{faithful.condition['model']} ({describe_condition(faithful.condition)})"
            moved = faithful.verdict
            shown = (moved.mentioned, moved.unmentioned, moved.difference)
            table.add_row(*(Text(cell) for cell in [name, *map(with_margin, shown)]))
        tables.append(table)
    return tables


def _change_cells(row: ScoreRow) -> list[str]:
    if row.change is None:
        return []
    name = f"{row.score.condition['model']} ({describe_condition(row.score.condition)})"
    found = [row.change.change[one] for one in ("over_refusal", "under_refusal", "adapts")]
    return [name, str(row.change.n), *map(with_margin, found)]


def _trust_cells(one: Trust) -> list[str]:
    gains = [gain.all if gain is not None else None for gain in (one.context_gain, one.claim_gain)]
    cells = [with_margin(gain) for gain in (*gains, one.spoofing_gap)]
    return [str(one.condition["model"]), str(one.n), *cells]


def _judge_act_cells(one: JudgeAct) -> list[str]:
    name = f"{one.judged['model']} ({describe_condition(one.judged)})"
    shares = [number(one.shares[cell].value) for cell in CELLS]
    return [name, str(one.n), *shares, str(one.partial)]


def _words(cell: str) -> str:
    said, did = cell.removeprefix("says_").split("_")
    return f"says {said},\n{did}"
