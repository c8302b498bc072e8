"""Languages of texts, with the extra ``audit``."""

from dataclasses import dataclass
from functools import cache
from typing import Any

CERTAIN = 0.8
"""Probability from which on a language is taken as known."""

LEAST_LETTERS = 20
"""Letters below which a text is too short to tell; 8 of a script without spaces."""

LEAST_IDEOGRAPHS = 8

UNDETERMINED = "und"


@dataclass(frozen=True, slots=True)
class Languages:
    """ISO 639-1 codes; ``und`` where a text is too short or the language uncertain."""

    queries: dict[str, str]
    """By query id."""
    contexts: dict[str, str]
    """By case, of contexts that hold text."""


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language, or ``und``."""
    letters = [letter for letter in text if letter.isalpha()]
    wide = 0 if text.isascii() else sum(ord(letter) >= 0x3040 for letter in letters)
    if len(letters) < LEAST_LETTERS and wide < LEAST_IDEOGRAPHS:
        return UNDETERMINED
    # A wide character carries as much as several letters, and is counted as less by the library.
    certain = CERTAIN if wide < len(letters) / 2 else CERTAIN / 2
    language, probability = _identifier().classify(text)
    return str(language) if probability >= certain else UNDETERMINED


@cache
def _identifier() -> Any:
    # Loaded late: the model takes half a second.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
