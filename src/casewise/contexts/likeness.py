"""Likeness of texts in any script: words and near-copies."""

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from casewise.cases import Context
from casewise.contexts.render import NOTHING, facts

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
"""Scripts written without spaces between words."""


class _Letters(dict[int, str]):
    """A table for ``str.translate``: letters, marks and digits stay, unspaced scripts get spaces.

    Marks belong to their letter: without them, words of many scripts would fall apart.
    """

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if unicodedata.category(letter)[0] not in "LMN":
            letter = " "
        elif is_unspaced(code):
            letter = f" {letter} "
        self[code] = letter
        return letter


_LETTERS = _Letters()


@cache
def is_unspaced(code: int) -> bool:
    """Tell whether a character's script has no spaces between words."""
    return any(first <= code <= last for first, last in _UNSPACED)


def words_of(text: str) -> list[str]:
    """Words of a text in lower case; in scripts without spaces, its characters.

    Texts that differ in case, spaces or punctuation alone have the same words.
    """
    return unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS).split()


SHINGLE = 3
"""Length of a shingle in words; in scripts without spaces, in characters."""

Shingles = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True, order=True)
class NearCopy:
    """Places of two texts that say nearly the same."""

    first: int
    second: int
    """After ``first``."""
    likeness: float
    """Jaccard index of their shingles, 0..1."""


def context_text(context: Context | None) -> str:
    """Values of a context, one a line, without the names of parameters; "" without a context."""
    return "\n".join(fact.text for fact in facts(context) if fact.text != NOTHING)


def near_copies(texts: Sequence[str], threshold: float) -> tuple[NearCopy, ...]:
    """Pairs of texts whose likeness reaches a threshold, in the order of the texts.

    The likeness is the Jaccard index of their sets of shingles: runs of three words, or of three
    characters in a script without spaces; capitals, spaces and punctuation don't count. Shorter
    texts are one shingle. Texts without a letter or digit are compared as they stand, and blank
    texts are copies of nothing.

    Args:
        texts: Any number of texts.
        threshold: Above 0 and up to 1.
    """
    places: dict[Shingles, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        if shingles := shingles_of(text):
            places[shingles].append(place)
    sets = list(places)
    copies = [
        NearCopy(first, second, 1.0)
        for alike in places.values()
        for at, first in enumerate(alike)
        for second in alike[at + 1 :]
    ]
    for one, other in _candidates(sets, threshold):
        likeness = len(sets[one] & sets[other]) / len(sets[one] | sets[other])
        if likeness >= threshold:
            copies += [
                NearCopy(min(first, second), max(first, second), likeness)
                for first in places[sets[one]]
                for second in places[sets[other]]
            ]
    return tuple(sorted(copies))


def shingles_of(text: str) -> Shingles:
    """Runs of words of a text; of a shorter one, the text itself."""
    words = words_of(text) or text.split()
    size = min(SHINGLE, len(words))
    return frozenset(zip(*(words[start:] for start in range(size)), strict=False))


def _candidates(sets: Sequence[Shingles], threshold: float) -> Iterator[tuple[int, int]]:
    """Pairs of sets that share one of their rarest shingles.

    Two sets whose likeness reaches the threshold share so many shingles that the rarest of these is
    among the first ``n - ceil(threshold * n) + 1`` of either, the rarest first (prefix filtering:
    Chaudhuri et al. 2006, doi:10.1109/ICDE.2006.9).
    """
    sizes = Counter(chain.from_iterable(sets))
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, shingles in enumerate(sets):
        ordered = sorted(shingles, key=lambda shingle: (sizes[shingle], shingle))
        rarest = ordered[: len(ordered) - math.ceil(threshold * len(ordered) - 1e-9) + 1]
        yield from ((other, place) for other in {one for key in rarest for one in holders[key]})
        for key in rarest:
            holders[key].append(place)
