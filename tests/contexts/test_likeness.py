"""Near copies, and contexts that belong to another query."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.cases import open_cases
from casewise.contexts import NearCopy, context_text, near_copies

WORDS = st.sampled_from(list("abcdefgh"))
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=8)


def jaccard(one: str, other: str) -> float:
    def shingles(text: str) -> set[tuple[str, ...]]:
        words = text.split()
        return {tuple(words[at : at + 3]) for at in range(max(1, len(words) - 2))}

    return len(shingles(one) & shingles(other)) / len(shingles(one) | shingles(other))


@given(TEXTS, st.sampled_from([0.01, 0.2, 1 / 3, 0.5, 0.7, 0.8, 1.0]))
@settings(max_examples=200, deadline=None)
def test_near_copies_are_those_of_brute_force(texts: list[str], threshold: float) -> None:
    expected = [
        NearCopy(first, second, likeness)
        for first in range(len(texts))
        for second in range(first + 1, len(texts))
        if texts[first] and texts[second]
        if (likeness := jaccard(texts[first], texts[second])) >= threshold
    ]
    assert near_copies(texts, threshold=threshold) == tuple(expected)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The same text here.", "the  SAME\ntext, here"),
        ("Hi", "hi!"),
        ("?!", "?!"),
        ("Straße nach Köln", "STRASSE NACH Ko\u0308ln"),  # an umlaut in two code points
        ("一位护士在问药的剂量", "一位护士 在问药的剂量"),
        ("हिन्दी में एक प्रश्न", "हिन्दी में एक प्रश्न"),
    ],
)
def test_texts_alike_but_for_case_space_and_punctuation_are_copies(one: str, other: str) -> None:
    assert near_copies([one, other]) == (NearCopy(0, 1, 1.0),)


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["alone"],
        ["", ""],
        ["  ", "\n"],
        ["Hi", "Ho"],
        ["?!", "!?"],
        ["一位护士在问药的剂量", "一个学生在写历史作业"],
        ["की", "का"],  # marks alone tell these two apart
    ],
)
def test_what_is_no_copy(texts: list[str]) -> None:
    assert near_copies(texts) == ()


def test_the_starter_set_has_no_copy() -> None:
    cases = open_cases("starter").cases
    queries = list(dict.fromkeys(case.query for case in cases))
    texts = [context_text(case.context) for case in cases]
    assert near_copies(texts) == near_copies(queries) == ()
