"""Which parameters an answer names in the field that its prompt asks for."""

import pytest

import casewise as cw
from casewise.protocols import named_parameters

TYPE, URGENCY = "recipient.type", "transmission_principle.urgency"
PLATFORM, AGE = "sender.platform_type", "recipient.background.age"
CONTEXT = cw.load_cases(
    [
        {
            "query": "q",
            "context": {
                "sender": {"platform_type": "A drug reference."},
                "recipient": {"type": "A nurse.", "background": {"age": 41}},
                "transmission_principle": {"urgency": "High"},
            },
        }
    ]
)[0].context


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('["urgency", "type"]', (TYPE, URGENCY)),
        ('"recipient.type, Platform Type"', (PLATFORM, TYPE)),
        ('["background"]', (AGE,)),
        ('["recipient"]', (TYPE, AGE)),
        ("[\n]", ()),
        ('["reliability"]', ()),
        # The last one stands, as of judgements.
        ('["age"], "context_parts": ["urgency"]', (URGENCY,)),
        # A field that is cut off, or holds something else, names nothing.
        ('["type"', None),
        ("null", None),
    ],
)
def test_names_and_paths(value: str, expected: tuple[str, ...] | None) -> None:
    assert CONTEXT is not None
    answer = (
        f'{{"explanation": "The type decides.", "context_parts": {value}, "judgement": "safe"}}'
    )
    assert named_parameters(answer, CONTEXT) == expected


def test_words_of_an_explanation_name_nothing() -> None:
    assert CONTEXT is not None
    answer = '{"explanation": "The type and context_parts decide.", "judgement": "safe"}'
    assert named_parameters(answer, CONTEXT) is None
