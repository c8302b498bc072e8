"""Near copies of contexts, as an audit names them."""

import random

import pytest

import casewise as cw


def near(texts: list[str]) -> set[str]:
    """Two cases whose contexts are nearly copies, and how far, as an audit shows them."""
    cases = [
        {"id": f"{place}", "query": f"q{place}", "context": {"recipient": {"type": text}}}
        for place, text in enumerate(texts)
    ]
    findings = cw.audit(cw.load_cases(cases)).details.findings
    return {
        pair
        for finding in findings
        if finding.code == "near-copy-context"
        for pair in finding.shown
    }


def jaccard(one: str, other: str) -> float:
    def shingles(text: str) -> set[tuple[str, ...]]:
        words = text.split()
        return {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))}

    return len(shingles(one) & shingles(other)) / len(shingles(one) | shingles(other))


def test_near_copies_are_those_of_brute_force() -> None:
    draw = random.Random(3)
    # Two words make few runs of three, so that many texts are nearly alike.
    drawn = (" ".join(draw.choices("ab", k=draw.randint(1, 12))) for _ in range(200))
    texts = list(dict.fromkeys(drawn))
    expected = {
        f"{first} and {second}: {likeness:.2f}".replace("0.", ".")
        for first in range(len(texts))
        for second in range(first + 1, len(texts))
        if (likeness := jaccard(texts[first], texts[second])) >= 0.8
    }
    assert near(texts) == expected
    assert len(expected) > 50


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The same text here.", "the  SAME\ntext, here"),
        ("Hi", "hi!"),
        ("Straße nach Köln", "STRASSE NACH Ko\u0308ln"),  # an umlaut in two code points
        ("一位护士在问药的剂量", "一位护士 在问药的剂量"),
    ],
)
def test_texts_alike_but_for_case_space_and_punctuation_are_copies(one: str, other: str) -> None:
    assert near([one, other]) == {"0 and 1: 1.00"}


@pytest.mark.parametrize(
    "texts",
    [
        ["Hi", "Ho"],
        ["?!", "!?"],
        ["一位护士在问药的剂量", "一个学生在写历史作业"],
        ["की", "का"],  # marks alone tell these two apart
    ],
)
def test_what_is_no_copy(texts: list[str]) -> None:
    assert near(texts) == set()
