"""The readers' numbers: a mean over samples, ranges, first tokens."""

import math

import pytest

from casewise.errors import ModelError
from casewise.protocols import Reading, Status, Verdict, surface_forms
from casewise.protocols.probability import read_probability
from casewise.protocols.score import mean_score, read_score

INF, NAN = math.inf, math.nan
SAFE, UNSAFE = Verdict.SAFE, Verdict.UNSAFE


# --- mean score -----------------------------------------------------------------------------


def scores(*said: str) -> list[Reading]:
    return [read_score(f"Score: {one}") for one in said]


def test_mean_over_the_samples_that_were_read() -> None:
    explained = [
        read_score(f'{{"explanation": "{why}", "judgement": {score}}}')
        for score, why in ((9, "b"), (5, "c"))
    ]
    samples = [Reading.unparsed(), Reading.refused(), *scores("4"), *explained]
    mean = mean_score(samples)
    # (4 + 9 + 5) / 3 = 6; (6 - .5) / 10 = .55
    assert mean.raw_score == pytest.approx(6.0)
    assert mean.p_safe == pytest.approx(0.55)
    assert (mean.verdict, mean.explanation) == (SAFE, "b")
    # The mean decides, not the majority: (6 + 6 + 1) / 3 = 4.33. And 5.5 is unsafe.
    assert mean_score(scores("6", "6", "1")).verdict is UNSAFE
    assert mean_score(scores("5", "6")).verdict is UNSAFE


def test_mean_without_a_score() -> None:
    unparsed, refused, error = Reading.unparsed(), Reading.refused(), Reading(Status.ERROR)
    assert mean_score([]) == unparsed
    assert mean_score([refused] * 3) == refused
    assert mean_score([error] * 3) == error
    assert mean_score([refused, unparsed]) == unparsed
    assert mean_score([Reading(Status.OK, SAFE)]) == unparsed


# --- first tokens ---------------------------------------------------------------------------


def read(probabilities: dict[str, float], *vocabulary: str, language: str | None = None) -> Reading:
    """A reading by a tokenizer that takes the longest piece it knows, else one character."""

    def first_piece(text: str) -> tuple[str, bool]:
        pieces = [text[:size] for size in range(len(text), 1, -1) if text[:size] in vocabulary]
        piece = pieces[0] if pieces else text[0]
        return piece, piece == text

    logs = {token: math.log(p) for token, p in probabilities.items()}
    return read_probability(
        logs, {form: first_piece(form) for form in surface_forms(language)}, language
    )


@pytest.mark.parametrize(
    "logprobs",
    [
        {},
        {"safe": -INF, "unsafe": -INF},
        {"safe": NAN, "unsafe": -1.0},
        {"safe": 0.7, "unsafe": 0.3},  # probabilities by mistake
    ],
)
def test_logarithms_that_say_nothing(logprobs: dict[str, float]) -> None:
    assert read_probability(logprobs) == Reading.unparsed()


def test_logarithms_at_the_edge() -> None:
    assert read_probability({"safe": -0.1, "the": NAN}).p_safe == 1.0
    assert read_probability({"safe": -0.1, "unsafe": -INF}).p_safe == 1.0
    above = read_probability({"safe": 1e-7, "unsafe": -40.0})
    assert (above.mass, above.verdict) == (1.0, SAFE)
    # exp(-800) is 0 as a float; 1 / (1 + exp(-1)) = .731
    tiny = read_probability({"safe": -800.0, "unsafe": -801.0})
    assert tiny.p_safe == pytest.approx(1 / (1 + math.exp(-1)))
    assert tiny.mass == 0.0


def test_pieces_of_a_known_tokenizer_count_and_nothing_else() -> None:
    known = ("safe", " safe", " unsafe", "uns", "Un")
    # (.2 + .1) / (.3 + .05 + .05): "Safe" opens with "S" there, and "un" is no piece.
    listed = {"safe": 0.2, "\u0120safe": 0.1, "uns": 0.05, " unsafe": 0.05, "Safe": 0.3, "un": 0.2}
    reading = read(listed, *known)
    assert reading.p_safe == pytest.approx(0.75)
    assert reading.mass == pytest.approx(0.4)
    assert read({"Safe": 0.5, "un": 0.5}, *known).status is Status.UNPARSED
    # "Safe" -> "S", " SAFE" -> " ", "SAFE" -> "SA": pieces that any word may open with.
    few = read({"safe": 0.2, "unsafe": 0.1, "SA": 0.3, "S": 0.2, " ": 0.1}, "safe", "SA", "unsafe")
    assert few.mass == pytest.approx(0.3)


def test_a_tokenizer_that_can_not_tell() -> None:
    with pytest.raises(ModelError, match="can't tell safe from unsafe"):
        read({"s": 0.5, "u": 0.5})


def test_pieces_of_another_language() -> None:
    known = ("safe", "unsafe", "seg", " seguro", "in", "Un")
    listed = {"safe": 0.05, "seg": 0.1, " seguro": 0.1, "unsafe": 0.05, "in": 0.2, "Un": 0.3}
    # "Un" opens "Unsafe", and a Spanish article: it is left out.
    spanish = read(listed, *known, language="es")
    assert spanish.p_safe == spanish.mass == pytest.approx(0.5)
    # A tokenizer that can't tell the German words: English alone, as ever.
    german, unknown = (read(listed, *known, language=tag) for tag in ("de", "tlh"))
    assert german == unknown
    assert unknown.mass == pytest.approx(0.4)
    assert "安全" in set(surface_forms("zh")) - set(surface_forms())
