"""The readers' numbers: a mean over samples, ranges, first tokens."""

import math
from collections.abc import Callable

import pytest

from casewise.protocols import (
    Reading,
    Status,
    TokenSets,
    Verdict,
    derive_token_sets,
    mean_score,
    read_probability,
    read_score,
    surface_forms,
)

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


def read(probabilities: dict[str, float], tokens: TokenSets | None = None) -> Reading:
    return read_probability({token: math.log(p) for token, p in probabilities.items()}, tokens)


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


def test_known_sets_count_and_nothing_else() -> None:
    tokens = TokenSets(frozenset({"safe", "\u0120safe"}), frozenset({"uns", "\u0120unsafe"}))
    # (.2 + .1) / (.3 + .05 + .05); "Safe" and "un" are not in the sets.
    reading = read(
        {"safe": 0.2, " safe": 0.1, "uns": 0.05, " unsafe": 0.05, "Safe": 0.3, "un": 0.2}, tokens
    )
    assert reading.p_safe == pytest.approx(0.75)
    assert reading.mass == pytest.approx(0.4)
    assert read({"Safe": 0.5, "un": 0.5}, tokens).status is Status.UNPARSED


@pytest.mark.parametrize(
    ("safe", "unsafe"), [({"safe"}, set()), ({"safe", "s"}, {"s"}), ({" s"}, {"\u0120s"})]
)
def test_token_sets_are_checked(safe: set[str], unsafe: set[str]) -> None:
    with pytest.raises(ValueError, match="token"):
        TokenSets(frozenset(safe), frozenset(unsafe))


def tokenizer(*vocabulary: str) -> Callable[[str], tuple[str, bool]]:
    """A tokenizer that takes the longest piece it knows, else one character."""

    def first_piece(text: str) -> tuple[str, bool]:
        pieces = [text[:size] for size in range(len(text), 1, -1) if text[:size] in vocabulary]
        piece = pieces[0] if pieces else text[0]
        return piece, piece == text

    return first_piece


def test_token_sets_are_derived_from_a_tokenizer() -> None:
    whole = derive_token_sets(lambda form: (form, True))
    assert whole.safe | whole.unsafe == set(surface_forms())
    assert len(whole.safe) == len(whole.unsafe) == 6  # 3 cases x 2 spaces
    split = derive_token_sets(tokenizer("safe", " safe", " unsafe", "uns", "Un"))
    assert split == TokenSets(frozenset({"safe", " safe"}), frozenset({" unsafe", "uns", "Un"}))
    # "Safe" -> "S", " SAFE" -> " ", "SAFE" -> "SA": pieces that any word may open with.
    few = derive_token_sets(tokenizer("safe", "SA", "unsafe"))
    assert few == TokenSets(frozenset({"safe"}), frozenset({"unsafe"}))


@pytest.mark.parametrize(
    "first_piece", [lambda form: ("<unk>", True), lambda form: (form[0], False)]
)
def test_a_tokenizer_that_can_not_be_read(first_piece: Callable[[str], tuple[str, bool]]) -> None:
    with pytest.raises(ValueError, match="safe token"):
        derive_token_sets(first_piece)


def test_token_sets_of_another_language() -> None:
    pieces = tokenizer("safe", "unsafe", "seg", " seguro", "in", "Un")
    spanish, german, unknown = (derive_token_sets(pieces, tag) for tag in ("es", "de", "tlh"))
    assert spanish.safe == {"safe", "seg", " seguro"}
    # "Un" opens "Unsafe", and a Spanish article: it is left out.
    assert spanish.unsafe == {"unsafe", "in"}
    # A tokenizer that can't tell the German words: English alone, as ever.
    assert german == unknown
    assert unknown.unsafe == {"unsafe", "Un"}
    forms = surface_forms("zh")
    assert set(surface_forms()) < set(forms)
    assert "安全" in forms
