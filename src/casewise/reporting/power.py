"""Views of answers to questions of power: a sentence each."""

from dataclasses import fields

from casewise.choices import PowerInputs, PowerTest
from casewise.sheets import Sheet, number, page, rounded, sheet_of
from casewise.statistics import Answer, Plan, Quantity, as_plan_record

_TESTS = {
    PowerTest.PROPORTIONS: "test of the shares of safe votes on two cases",
    PowerTest.PAIRS: "test of the accuracies of two models on the same cases",
}

_NONINFERIORITY = "test that a model is not worse than another by a margin, on the same cases"

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
            success = "find the difference" if inputs.margin is None else "pass an equal model"
            studies = f"{rounded(100 * value):.0f} of 100 such studies"
            return f"power {number(value)}: {studies} would {success}"
        case Quantity.P2_ABOVE:
            return f"a share of {number(value)} or more is distinguished from the given share"
        case Quantity.P2_BELOW:
            return f"a share of {number(value)} or less is distinguished from the given share"
        case Quantity.DIFFERENCE:
            points = f"{rounded(100 * value, 1):.1f} points in a hundred"
            return f"the smallest difference of accuracy found is {number(value, 4)} ({points})"
    name = "votes a case" if answer.quantity is Quantity.VOTES else answer.quantity.value
    text = f"{answer.needed} {name}"
    if value != answer.needed:
        text = f"{number(value, 2)} {name}, so {answer.needed}"
    if answer.quantity in _TOTALS:
        text += f" ({answer.total} {_TOTALS[answer.quantity]})"
    return text if answer.power is None else f"{text}, with power {number(answer.power)}"


@sheet_of.register
def plan_sheet(plan: Plan) -> Sheet:
    """The answers, the test and its inputs, and notes."""
    inputs = plan.inputs
    sides = "two-sided" if inputs.two_sided else "one-sided"
    test = _TESTS[inputs.test] if inputs.margin is None else _NONINFERIORITY
    settings = [
        f"{field.name.replace('_', ' ')} {value:g}"
        for field in fields(inputs)
        if field.name not in ("test", "alpha", "two_sided")
        and (value := getattr(inputs, field.name)) is not None
    ]
    alpha = number(inputs.alpha, 4).rstrip("0")
    lines = [
        *(answer_text(answer, inputs) for answer in plan.answers),
        f"({test}, {sides}, alpha {alpha}; {', '.join(settings)})",
        *plan.notes,
    ]
    return page(lines, lambda: as_plan_record(plan))
