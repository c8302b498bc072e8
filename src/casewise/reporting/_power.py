"""Views of answers to questions of power: sentences and tables; JSON."""

from dataclasses import fields
from typing import get_args

from casewise.dataset import (
    PAPER_VOTES,
    Answer,
    PaperInput,
    PaperSearch,
    Plan,
    PowerInputs,
    PowerTest,
    Quantity,
    as_paper_record,
    as_plan_record,
)
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    escape,
    markdown,
    number,
    plural,
    rounded,
    terminal,
)

_TESTS = {
    PowerTest.T: "t-test of the grades on two cases",
    PowerTest.MANN_WHITNEY: "Mann-Whitney test of the grades on two cases",
    PowerTest.PROPORTIONS: "test of the shares of safe votes on two cases",
    PowerTest.PAIRS: "test of the accuracies of two models on the same cases",
    PowerTest.RANK_AGREEMENT: "test of ordering a query's contexts as people do, against chance",
    PowerTest.PCC_WITHIN_QUERY: "test of the correlation with people within queries",
    PowerTest.CONTEXT_SHARE: "interval of the share of variance between contexts of one query",
    PowerTest.SEEN_CHANGE: "test that seeing the context changes the share of safe",
}

_NONINFERIORITY = "test that a model is not worse than another by a margin, on the same cases"

_PER = {Quantity.VOTES: "votes a case"}
"""Names of quantities whose own name doesn't say what they are counted by."""

_TOTALS = {
    Quantity.VOTES: "votes on the two cases of a pair",
    Quantity.PAIRS: "cases",
    Quantity.QUERIES: "cases",
}

_COLUMNS = (
    *(Column(name) for name in ("test", "method", "difference")),
    Column("alpha", Kind.NUMBER, 2),
    Column("sides"),
    Column("power", Kind.SHARE, 2),
    Column("votes a case", Kind.NUMBER, 2),
)


def answer_text(answer: Answer, inputs: PowerInputs) -> str:
    """An answer in words: ``20.03 votes a case, so 21 (42 in all)``."""
    text = _figure_text(answer, inputs)
    if answer.contexts is not None and answer.needed is None:
        text += f" ({plural(answer.contexts, 'context')} a query)"
    if answer.half_width is not None:
        text += f"; the figure's {_reach(answer.half_width, inputs)}"
    return text


def _reach(half_width: float, inputs: PowerInputs) -> str:
    sure = f"{100 * (1 - inputs.alpha):g} %"
    return f"{sure} interval reaches {number(half_width)} to either side"


def _figure_text(answer: Answer, inputs: PowerInputs) -> str:
    value = answer.value
    match answer.quantity:
        case Quantity.POWER:
            found = "find the difference" if inputs.margin is None else "pass an equal model"
            studies = f"{rounded(100 * value):.0f} of 100 such studies"
            return f"power {number(value)}: {studies} would {found}"
        case Quantity.COHENS_D:
            return f"the smallest difference found is d = {number(value)} standard deviations"
        case Quantity.SUPERIORITY:
            return f"the smallest difference found is P(X < Y) = {number(value)} (Noether)"
        case Quantity.P2_ABOVE:
            return f"a share of {number(value)} or more is told from the given one"
        case Quantity.P2_BELOW:
            return f"a share of {number(value)} or less is told from the given one"
        case Quantity.DIFFERENCE:
            points = f"{rounded(100 * value, 1):.1f} points in a hundred"
            return f"the smallest difference of accuracy found is {number(value, 4)} ({points})"
        case Quantity.RANK_AGREEMENT:
            return f"the smallest share of pairs told from chance is {number(value)}"
        case Quantity.PCC_WITHIN_QUERY:
            return f"the smallest correlation found is {number(value)}"
        case Quantity.SEEN_CHANGE:
            return f"the smallest change in the share of safe found is {number(value)}"
        case Quantity.HALF_WIDTH:
            return f"the {_reach(value, inputs)}"
    return _count_text(answer)


def _count_text(answer: Answer) -> str:
    name = _PER.get(answer.quantity, answer.quantity.value)
    if answer.needed == 1:
        name = name.removesuffix("s")
    if answer.contexts is not None:
        name += f" in {plural(answer.contexts, 'context')}"
    text = f"{answer.needed} {name}"
    if answer.value != answer.needed:
        text = f"{number(answer.value, 2)} {name}, so {answer.needed}"
    if answer.quantity in _TOTALS:
        text += f" ({answer.total} {_TOTALS[answer.quantity]})"
    if answer.power is not None:
        text += f", with power {number(answer.power)}"
    if answer.holds_to is not None:
        text += f"; every number from {answer.needed} to {answer.holds_to} has the power"
    return text


def plan_heading(inputs: PowerInputs) -> str:
    """The test, its sides and its level."""
    sides = "two-sided" if inputs.two_sided else "one-sided"
    test = _TESTS[inputs.test] if inputs.margin is None else _NONINFERIORITY
    return f"{test}, {sides}, alpha {number(inputs.alpha, 4).rstrip('0')}"


def given_text(inputs: PowerInputs) -> str:
    """The other inputs, defaults included."""
    last = ("n", "power", "interval")
    ordered = sorted(fields(inputs), key=lambda field: field.name in last)
    shown = {
        get_args(field.type)[1].label or field.name: getattr(inputs, field.name)
        for field in ordered
        if field.name not in ("test", "alpha", "two_sided")
    }
    return ", ".join(
        f"{name} {f'{value:g}' if isinstance(value, float) else value}"
        for name, value in shown.items()
        if value is not None
    )


def plan_sheet(plan: Plan) -> Sheet:
    """The answers, the inputs, and notes."""
    answers = [answer_text(answer, plan.inputs) for answer in plan.answers]
    heading, given = plan_heading(plan.inputs), given_text(plan.inputs)
    table = Table([Column(heading)], [Row([answer]) for answer in answers])
    return Sheet(
        lambda: terminal(*answers, f"({heading}; {given})", *plan.notes),
        lambda: markdown(table, "\n".join([f"Given: {given}.", *plan.notes])),
        lambda: as_plan_record(plan),
    )


def paper_sheet(search: PaperSearch) -> Sheet:
    """The inputs that ask for 21; in JSON the grid too, and how many inputs were tried."""
    tables, said = _tables(search), _said(search)
    return Sheet(
        lambda: terminal(*tables, said),
        lambda: markdown(*tables, escape(said)),
        lambda: as_paper_record(search),
    )


def _tables(search: PaperSearch) -> list[Table]:
    found = {
        f"Inputs that ask for {PAPER_VOTES} votes a case": search.each,
        f"Inputs that ask for {PAPER_VOTES} votes on both cases together": search.in_all,
    }
    return [
        Table(_COLUMNS, [Row(_cells(row)) for row in rows], heading)
        for heading, rows in found.items()
    ]


def _cells(row: PaperInput) -> list[Cell]:
    sides = "two" if row.two_sided else "one"
    test = f"{row.test}-test" if row.test is PowerTest.T else row.test.value
    return [test, row.method, row.effect, row.alpha, sides, row.power, row.votes]


def _said(search: PaperSearch) -> str:
    return (
        f"{len(search.found)} of {search.tried} sets of inputs round up to {PAPER_VOTES} (votes a "
        "case before rounding in the last column; Fisher's exact test knows whole votes only). "
        "The paper doesn't say which it used, so the number alone tells neither the test nor the "
        "difference that it was meant to find."
    )
