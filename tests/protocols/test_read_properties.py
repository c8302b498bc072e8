"""What holds for every answer: no exception, no invented verdict, no lost JSON."""

import json
import math
import string
import time
import unicodedata

import pytest
from conftest import QUADRATIC
from hypothesis import assume, example, given
from hypothesis import strategies as st

from casewise.protocols import Status, Verdict
from casewise.protocols.binary import read_binary
from casewise.protocols.guard import read_guard
from casewise.protocols.probability import read_probability
from casewise.protocols.score import read_score

# Pieces that steer the readers, so that random texts reach their corners.
PIECES = [
    *"{}[]\",:'\\.?!()|*_`~#-/\n ",
    *("safe", "unsafe", "not", "Verdict:", "judgement", "score", "8", "10", "7,5", "/10"),
    *("<think>", "</think>", "<|channel|>final<|message|>", "```json\n", "\\boxed{", "if", "it is"),
    *("the query", "I would rate", "\u200b", "\u201c", "\ud800", "\u2028", "\ufffc", "null"),
    *("seguro", "inseguro", "Veredicto:", "juicio", "n'est pas", "sans danger", "akzeptabel"),
    *("gefährlich", "wenn", "安全", "不", "判断\uff1a", "如果", "分", "。", "von", "\u0301"),
]
TEXTS = st.text(st.characters()) | st.lists(st.sampled_from(PIECES)).map("".join)
LANGUAGES = st.sampled_from([None, "es", "fr", "de", "zh"])
PROBABILITIES = st.floats(min_value=1e-6, max_value=0.5)


@given(TEXTS, LANGUAGES)
@example("~~{'a': 1}~~", None)
@example('{"judgement": "\\ud83d"}', None)
@example("~~{'juicio': 1}~~", "es")
def test_never_raises(text: str, language: str | None) -> None:
    for reading in (read_binary(text, language), read_score(text)):
        assert (reading.status is Status.OK) == (reading.verdict is not None)
        (reading.explanation or "").encode()


@given(st.text([char for char in string.printable if char not in "fF"]))
def test_no_verdict_without_its_words(text: str) -> None:
    assert read_binary(text).status is not Status.OK


@given(st.text(st.characters(exclude_categories=["N"])))
def test_no_score_without_digits(text: str) -> None:
    assert read_score(text).status is not Status.OK


def has_no_markup(text: str) -> bool:
    plain = unicodedata.normalize("NFKC", text)
    return not any(char in plain for char in "{}<[\u25c1") and not plain.startswith("analysis")


@given(
    prose=st.text().filter(has_no_markup),
    verdict=st.sampled_from(Verdict),
    explanation=st.text(),
    first=st.booleans(),
    indent=st.sampled_from([None, 2]),
)
def test_json_after_any_prose_is_read(
    prose: str, verdict: Verdict, explanation: str, first: bool, indent: int | None
) -> None:
    assume("<" not in unicodedata.normalize("NFKC", explanation))
    assume(has_no_markup(explanation) or first)
    fields = {"judgement": verdict.value, "explanation": explanation}
    answer = fields if first else dict(reversed(fields.items()))
    reading = read_binary(prose + json.dumps(answer, ensure_ascii=False, indent=indent))
    assert reading.verdict is verdict


@given(score=st.integers(10, 100), explanation=st.text(), ascii_only=st.booleans())
def test_json_score_is_read(score: int, explanation: str, ascii_only: bool) -> None:
    assume(has_no_markup(explanation))
    answer = {"explanation": explanation, "judgement": score / 10}
    reading = read_score(json.dumps(answer, ensure_ascii=ascii_only))
    assert reading.raw_score == score / 10


@given(
    safe=PROBABILITIES,
    unsafe=PROBABILITIES,
    others=st.dictionaries(st.text(), st.floats()),
)
def test_other_tokens_change_nothing(safe: float, unsafe: float, others: dict[str, float]) -> None:
    words = {"safe": math.log(safe), "unsafe": math.log(unsafe)}
    related = ("safe", "unsafe", "saf", "un")
    kept = {
        token: logprob
        for token, logprob in others.items()
        if not token.strip(" \u0120\u2581").lower().startswith(related)
    }
    assert read_probability(words | kept) == read_probability(words)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["{", '{"a":1}', "it is safe if. ", "es seguro ", "\u0301e"])
def test_no_long_answer_takes_quadratic_time(unit: str) -> None:
    text = unit * (300_000 // len(unit))
    start = time.process_time()
    read_binary(text, "es")
    read_score(text)
    assert time.process_time() - start < QUADRATIC


@pytest.mark.parametrize("unit", ["[", '{"a":', '{"a":['])
def test_deep_nesting_does_not_recurse(unit: str) -> None:
    text = unit * 20_000 + '"judgement": "safe"'
    assert read_binary(text).status in (Status.OK, Status.UNPARSED)
    assert read_guard(text).status is Status.UNPARSED
