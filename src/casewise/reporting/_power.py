"""Views of answers to questions of power: sentences and tables; JSON."""

from dataclasses import fields

from casewise.choices import PowerInputs, PowerTest
from casewise.sheets import Column, Row, Sheet, Table, markdown, number, rounded, terminal
from casewise.statistics import Answer, Plan, Quantity, as_plan_record

_TESTS = {
    PowerTest.PROPORTIONS: "test of the shares of safe votes on two cases",
    PowerTest.PAIRS: "test of the accuracies of two models on the same cases",
}

_NONINFERIORITY = "test that a model is not worse than another by a margin, on the same cases"

_PER = {Quantity.VOTES: "votes a case"}
"""Names of quantities whose own name doesn't say what they are counted by."""

_TOTALS = {
    Quantity.VOTES: "votes on the two cases of a pair",
    Quantity.PAIRS: "cases",
    Quantity.QUERIES: "cases",
}


def answer_text(answer: Answer, inputs: PowerInputs) -> str:
    """An answer in words: ``20.03 votes a case, so 21 (42 in all)``."""
    value = answer.value
    match answer.quantity:
        case Quantity.POWER:
            found = "find the difference" if inputs.margin is None else "pass an equal model"
            studies = f"{rounded(100 * value):.0f} of 100 such studies"
            return f"power {number(value)}: {studies} would {found}"
        case Quantity.P2_ABOVE:
            return f"a share of {number(value)} or more is told from the given one"
        case Quantity.P2_BELOW:
            return f"a share of {number(value)} or less is told from the given one"
        case Quantity.DIFFERENCE:
            points = f"{rounded(100 * value, 1):.1f} points in a hundred"
            return f"the smallest difference of accuracy found is {number(value, 4)} ({points})"
    return _count_text(answer)


def _count_text(answer: Answer) -> str:
    name = _PER.get(answer.quantity, answer.quantity.value)
    text = f"{answer.needed} {name}"
    if answer.value != answer.needed:
        text = f"{number(answer.value, 2)} {name}, so {answer.needed}"
    if answer.quantity in _TOTALS:
        text += f" ({answer.total} {_TOTALS[answer.quantity]})"
    if answer.power is not None:
        text += f", with power {number(answer.power)}"
    return text


def plan_heading(inputs: PowerInputs) -> str:
    """The test, its sides and its level."""
    sides = "two-sided" if inputs.two_sided else "one-sided"
    test = _TESTS[inputs.test] if inputs.margin is None else _NONINFERIORITY
    return f"{test}, {sides}, alpha {number(inputs.alpha, 4).rstrip('0')}"


def given_text(inputs: PowerInputs) -> str:
    """The other inputs, defaults included."""
    ordered = sorted(fields(inputs), key=lambda field: field.name in ("n", "power"))
    shown = {
        field.name.replace("_", " "): getattr(inputs, field.name)
        for field in ordered
        if field.name not in ("test", "alpha", "two_sided")
    }
    return ", ".join(f"{name} {value:g}" for name, value in shown.items() if value is not None)


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
