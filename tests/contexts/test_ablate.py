"""Removing groups and parameters."""

from pathlib import Path

import pytest

from casewise.cases import Case, Context, load_cases, load_output
from casewise.contexts import ablate, ablate_cases
from casewise.errors import UsageError

CONTEXT = Context(
    {
        "sender": {"platform_type": "forum", "inner": {"urgency": "low"}},
        "recipient": {"type": "user", "background": "none"},
        "transmission_principle": {"urgency": "high", "type": "x"},
    }
)


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (
            "recipient",
            {
                "sender": {"platform_type": "forum", "inner": {"urgency": "low"}},
                "transmission_principle": {"urgency": "high", "type": "x"},
            },
        ),
        (
            "recipient,urgency",
            {
                "sender": {"platform_type": "forum", "inner": {}},
                "transmission_principle": {"type": "x"},
            },
        ),
        (
            "recipient.type , sender",
            {
                "recipient": {"background": "none"},
                "transmission_principle": {"urgency": "high", "type": "x"},
            },
        ),
        ("sender,recipient,transmission_principle", {}),
        ("recipient,background,sender,transmission_principle", {}),
        ("absent", CONTEXT.root),
    ],
)
def test_what_is_left(names: str, left: dict[str, object]) -> None:
    before = CONTEXT.model_copy(deep=True)
    assert ablate(CONTEXT, names).root == left
    assert before == CONTEXT


def case(context: Context | None, query: str = "q") -> Case:
    return Case(query=query, context=context)


def test_cases_that_lack_a_parameter_are_kept_and_counted() -> None:
    poor = case(Context({"sender": {"platform_type": "forum"}}), "poor")
    without = case(None, "without")
    result = ablate_cases([case(CONTEXT), poor, without], "urgency,type")
    assert result.missing == {"urgency": 2, "type": 2}
    assert result.cases[1:] == (poor, without)
    assert result.cases[0].id == case(CONTEXT).id
    assert result.cases[0].context == ablate(CONTEXT, ("urgency", "type"))


def test_a_name_that_stands_nowhere_is_said_with_those_that_do() -> None:
    with pytest.raises(
        UsageError, match=r"no context .* has 'urgencyy'; they have sender, recipient"
    ):
        ablate_cases([case(CONTEXT)], "recipient,urgencyy")


@pytest.mark.parametrize(
    "names", ["recipient", "transmission_principle", "sender,recipient,transmission_principle"]
)
def test_published_ablations_are_reproduced(casebench: Path, names: str) -> None:
    whole = load_cases(casebench / "CASEBench_data.json").cases
    (output,) = load_output(casebench / f"exp/safety_llama370B/output_logits_{names}.json")
    ours = ablate_cases(whole, names).cases
    assert [one.context for one in ours] == [one.context for one in output.cases]
