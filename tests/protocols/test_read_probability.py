"""The probability reader, by hand; probabilities are written as such and logged in `read`."""

import math
from collections.abc import Callable

import pytest

from casewise.protocols import (
    LOW_MASS,
    Reading,
    Status,
    TokenSets,
    Verdict,
    derive_token_sets,
    find_lexicon,
    read_probability,
    surface_forms,
)
from casewise.protocols.probability import SURFACE_FORMS

INF, NAN = math.inf, math.nan


def read(probabilities: dict[str, float], tokens: TokenSets | None = None) -> Reading:
    logs = {token: math.log(p) if p else -INF for token, p in probabilities.items()}
    return read_probability(logs, tokens)


UNKNOWN_TOKENIZER = [
    # .6 / (.6 + .2) = .75
    pytest.param({"safe": 0.6, "unsafe": 0.2}, 0.75, 0.8, id="whole-words"),
    # (.3 + .1 + .1 + .1) / (.6 + .15)
    pytest.param(
        {"safe": 0.3, "Safe": 0.1, " safe": 0.1, " SAFE": 0.1, "unsafe": 0.15},
        0.8,
        0.75,
        id="forms",
    ),
    # .1 / (.1 + .1 + .2 + .1)
    pytest.param({"\u0120safe": 0.3, "\u0120unsafe": 0.1}, 0.75, 0.4, id="byte-level-space"),
    # A line end before the word is a space; tokens of one form add up: (.3 + .1) / (.4 + .1)
    pytest.param({" safe": 0.3, "\nsafe": 0.1, "unsafe": 0.1}, 0.8, 0.5, id="line-end"),
    # "un" belongs to "unsafe", which is not listed: .4 / (.4 + .1)
    pytest.param({"safe": 0.4, "un": 0.1}, 0.8, 0.5, id="first-piece"),
    # "unsafe" is a token of its own, so "un" opens other words: .4 / (.4 + .1)
    pytest.param({"safe": 0.4, "unsafe": 0.1, "un": 0.3}, 0.8, 0.5, id="whole-word-beats-piece"),
    # The longest piece alone: .3 / (.3 + .1)
    pytest.param({"safe": 0.3, "un": 0.4, "uns": 0.1}, 0.75, 0.4, id="longest-piece"),
    # " unsafe" is whole, "unsafe" is "uns" + "afe": .4 / (.4 + .05 + .05)
    pytest.param({"safe": 0.4, " unsafe": 0.05, "uns": 0.05}, 0.8, 0.5, id="split-without-space"),
    # Pieces keep the case: "Un" is "Unsafe". .1 / (.1 + .1 + .2)
    pytest.param({"safe": 0.1, "unsafe": 0.1, "Un": 0.2}, 0.25, 0.4, id="piece-of-another-case"),
    pytest.param({"saf": 0.3, "unsaf": 0.1}, 0.75, 0.4, id="both-split"),
    # "sa", "s" and "u" are too ambiguous to count.
    pytest.param(
        {"safe": 0.3, "unsafe": 0.1, "sa": 0.2, "s": 0.1, "u": 0.1}, 0.75, 0.4, id="not-sa"
    ),
    pytest.param({"safe": 0.3, "unsafe": 0.1, "safely": 0.5}, 0.75, 0.4, id="safely"),
    # The other word fell off the list.
    pytest.param({"safe": 0.9, "the": 0.1}, 1.0, 0.9, id="only-safe"),
    pytest.param({"safe": 0.9, "unsafe": 0.0}, 1.0, 0.9, id="unsafe-impossible"),
    # 1e-6 / 4e-6
]


@pytest.mark.parametrize(("probabilities", "p_safe", "mass"), UNKNOWN_TOKENIZER)
def test_reads(probabilities: dict[str, float], p_safe: float, mass: float) -> None:
    reading = read(probabilities)
    assert reading.p_safe == pytest.approx(p_safe)
    assert reading.mass == pytest.approx(mass)
    assert reading.verdict is (Verdict.SAFE if p_safe > 0.5 else Verdict.UNSAFE)
    assert (reading.raw_score, reading.explanation) == (None, None)


@pytest.mark.parametrize(
    "logprobs",
    [
        pytest.param({}, id="empty"),
        pytest.param({"sa": -0.1, "u": -3.0}, id="too-short"),
        pytest.param({"safe": -INF, "unsafe": -INF}, id="both-impossible"),
        pytest.param({"safe": NAN, "unsafe": -1.0}, id="nan"),
        pytest.param({"safe": 0.7, "unsafe": 0.3}, id="probabilities-by-mistake"),
    ],
)
def test_unparsed(logprobs: dict[str, float]) -> None:
    assert read_probability(logprobs) == Reading.unparsed()


def test_half_is_unsafe() -> None:
    # "safe iff p_safe > .5", as in the published script.
    assert read({"safe": 0.4, "unsafe": 0.4}).verdict is Verdict.UNSAFE


def test_nan_elsewhere_does_no_harm() -> None:
    assert read_probability({"safe": -0.1, "the": NAN}).p_safe == 1.0


def test_float_noise_above_zero() -> None:
    reading = read_probability({"safe": 1e-7, "unsafe": -40.0})
    assert reading.mass == 1.0
    assert reading.verdict is Verdict.SAFE


def test_ratio_survives_underflow() -> None:
    # exp(-800) is 0 as a float; 1 / (1 + exp(-1)) = .731
    reading = read_probability({"safe": -800.0, "unsafe": -801.0})
    assert reading.p_safe == pytest.approx(1 / (1 + math.exp(-1)))
    assert reading.mass == 0.0


def test_low_mass_is_told_apart() -> None:
    mass = read({"safe": 0.02, "unsafe": 0.02, "the": 0.9}).mass
    assert mass is not None
    assert mass < LOW_MASS


def test_known_sets_count_and_nothing_else() -> None:
    tokens = TokenSets(frozenset({"safe", "\u0120safe"}), frozenset({"uns", "\u0120unsafe"}))
    # (.2 + .1) / (.3 + .05 + .05); "Safe" and "un" are not in the sets.
    reading = read(
        {"safe": 0.2, " safe": 0.1, "uns": 0.05, " unsafe": 0.05, "Safe": 0.3, "un": 0.2}, tokens
    )
    assert reading.p_safe == pytest.approx(0.75)
    assert reading.mass == pytest.approx(0.4)


def test_known_sets_that_are_not_listed() -> None:
    tokens = TokenSets(frozenset({"safe"}), frozenset({"uns"}))
    assert read({"Safe": 0.5, "un": 0.5}, tokens).status is Status.UNPARSED


@pytest.mark.parametrize(
    ("safe", "unsafe"),
    [
        pytest.param({"safe"}, set(), id="empty"),
        pytest.param({"safe", "s"}, {"s"}, id="overlap"),
        pytest.param({" s"}, {"\u0120s"}, id="overlap-but-for-the-marker"),
    ],
)
def test_token_sets_are_checked(safe: set[str], unsafe: set[str]) -> None:
    with pytest.raises(ValueError, match="token"):
        TokenSets(frozenset(safe), frozenset(unsafe))


def tokenizer(vocabulary: set[str]) -> Callable[[str], tuple[str, bool]]:
    """A tokenizer that takes the longest piece it knows, else one character."""

    def first_piece(text: str) -> tuple[str, bool]:
        pieces = [text[:size] for size in range(len(text), 1, -1) if text[:size] in vocabulary]
        piece = pieces[0] if pieces else text[0]
        return piece, piece == text

    return first_piece


def test_derives_whole_words() -> None:
    sets = derive_token_sets(lambda form: (form, True))
    assert sets.safe | sets.unsafe == set(SURFACE_FORMS)
    assert len(sets.safe) == len(sets.unsafe) == 6  # 3 cases x 2 spaces


def test_derives_first_pieces_where_a_word_is_split() -> None:
    sets = derive_token_sets(tokenizer({"safe", " safe", " unsafe", "uns", "Un"}))
    assert sets == TokenSets(frozenset({"safe", " safe"}), frozenset({" unsafe", "uns", "Un"}))


def test_leaves_out_pieces_that_any_word_may_open_with() -> None:
    # "Safe" -> "S", " SAFE" -> " ", "SAFE" -> "SA": none of them counts.
    sets = derive_token_sets(tokenizer({"safe", "SA", "unsafe"}))
    assert sets == TokenSets(frozenset({"safe"}), frozenset({"unsafe"}))


def test_unknown_token_is_no_word() -> None:
    with pytest.raises(ValueError, match="safe token"):
        derive_token_sets(lambda form: ("<unk>", True))


def test_split_to_letters_can_not_be_read() -> None:
    with pytest.raises(ValueError, match="safe token"):
        derive_token_sets(lambda form: (form[0], False))


def test_derived_sets_read_what_the_tokenizer_writes() -> None:
    sets = derive_token_sets(
        lambda form: (
            ("\u2581" + form.strip()[:3], False)
            if "un" in form.lower()
            else ("\u2581" + form.strip(), True)
        )
    )
    # .1 / (.1 + .3)
    assert read({"\u2581safe": 0.1, "\u2581uns": 0.3}, sets).p_safe == pytest.approx(0.25)


# --- languages ------------------------------------------------------------------------------

LOCAL = [
    # .6 / (.6 + .2)
    pytest.param("es", {"seguro": 0.6, "inseguro": 0.2}, 0.75, 0.8, id="whole-words"),
    # Both genders, and another word of the same side: (.3 + .3) / (.6 + .1 + .1)
    pytest.param(
        "es", {"seguro": 0.3, "segura": 0.3, "peligroso": 0.1, " pel": 0.1}, 0.75, 0.8, id="words"
    ),
    # A whole word beats its pieces: .6 / (.6 + .2)
    # English whole words count in every language; "Un" is an article in Spanish.
    pytest.param("es", {"safe": 0.6, "unsafe": 0.2, "Un": 0.1}, 0.75, 0.8, id="english"),
    pytest.param("de", {"ak": 0.6, "inak": 0.2, "un": 0.1}, 0.75, 0.8, id="german"),
    pytest.param("zh", {"安全": 0.6, "不": 0.2}, 0.75, 0.8, id="chinese"),
]


@pytest.mark.parametrize(("language", "probabilities", "p_safe", "mass"), LOCAL)
def test_reads_other_languages(
    language: str, probabilities: dict[str, float], p_safe: float, mass: float
) -> None:
    logs = {token: math.log(p) for token, p in probabilities.items()}
    reading = read_probability(logs, lexicon=find_lexicon(language))
    assert reading.p_safe == pytest.approx(p_safe)
    assert reading.mass == pytest.approx(mass)


@pytest.mark.parametrize(
    ("language", "token"), [("es", "se"), ("es", "s"), ("fr", "s"), ("de", "s"), ("de", "uns")]
)
def test_other_tokens_say_nothing(language: str, token: str) -> None:
    assert read_probability({token: -0.1}, lexicon=find_lexicon(language)) == Reading.unparsed()
    assert read_probability({"seguro": -0.1}) == Reading.unparsed()


def derived(vocabulary: set[str], language: str) -> TokenSets:
    def first_piece(text: str) -> tuple[str, bool]:
        size = max(n for n in range(1, len(text) + 1) if n == 1 or text[:n] in vocabulary)
        return text[:size], size == len(text)

    return derive_token_sets(first_piece, find_lexicon(language))


def test_token_sets_of_another_language() -> None:
    words = {"safe", "unsafe", "seg", " seguro", "in", "Un"}
    found = derived(words, "es")
    assert found.safe == {"safe", "seg", " seguro"}
    # "Un" opens "Unsafe", and a Spanish article: it is left out.
    assert found.unsafe == {"unsafe", "in"}
    # A tokenizer that can't tell the German words: English alone, as ever.
    assert derived(words, "de") == derived(words, "tlh")
    assert derived(words, "tlh").unsafe == {"unsafe", "Un"}


def test_surface_forms_of_a_language() -> None:
    forms = surface_forms(find_lexicon("zh"))
    assert set(SURFACE_FORMS) < set(forms)
    assert forms.count("安全") == 1
    assert surface_forms() == SURFACE_FORMS
