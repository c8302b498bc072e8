"""Likeness of texts in any script: near-copies, and contexts that fit another query."""

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from casewise.cases import Context
from casewise.contexts._render import NOTHING, facts

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

STEM = 6
"""Length of a stem in letters: ``manipu`` stands for manipulate and manipulation."""

LEAST_LETTERS = 3
"""Least letters of a word that tells a topic."""

FAR_BETTER = 0.22
"""Margin by which the cosine with another query must exceed that with a context's own."""

FAR_BETTER_COPY = 0.1
"""The same margin where the other query has the very same context."""

AHEAD = 1.6
"""Least ratio of the best cosine to that with the next best query."""

LEAST_SHARED = 2
"""Least number of telling words that a context shares with the other query."""

TELLING = 0.02
"""Largest share of queries, or three queries, that hold a telling word."""

Shingles = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True, order=True)
class NearCopy:
    """Places of two texts that say nearly the same."""

    first: int
    second: int
    """After ``first``."""
    likeness: float
    """Jaccard index of their shingles, 0..1."""


@dataclass(frozen=True, slots=True, order=True)
class Misfit:
    """Places of a context, its own query and another query that it fits better."""

    context: int
    own: int
    other: int
    own_likeness: float
    """Cosine of the context's telling words with those of its own query, 0..1."""
    other_likeness: float


def context_text(context: Context | None) -> str:
    """Values of a context, one a line, without the names of parameters; "" without a context."""
    return "\n".join(fact.text for fact in facts(context) if fact.text != NOTHING)


def near_copies(texts: Sequence[str], *, threshold: float = 0.8) -> tuple[NearCopy, ...]:
    """Pairs of texts whose likeness reaches a threshold, in the order of the texts.

    The likeness is the Jaccard index of their sets of shingles: runs of three words, or of three
    characters in a script without spaces; capitals, spaces and punctuation don't count. Shorter
    texts are one shingle. Texts without a letter or digit are compared as they stand, and blank
    texts are copies of nothing.

    Args:
        texts: Any number of texts.
        threshold: Above 0 and up to 1.

    Raises:
        ValueError: The threshold is outside of its range.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold {threshold}: above 0 and up to 1")
    places: dict[Shingles, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        if shingles := _shingles(text):
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


def misfits(
    contexts: Sequence[str], queries: Sequence[str], own: Sequence[int]
) -> tuple[Misfit, ...]:
    """Contexts that fit another query of the set far better than their own.

    The measure is the cosine of word stems, weighted by how rare they are among contexts and
    among queries, so that what every context or every query says does not count. A context is
    named only if all of this holds:

    - one other query fits it better by ``FAR_BETTER`` or more, or by ``FAR_BETTER_COPY`` where
      that query has the very same context;
    - no third query fits nearly as well (``AHEAD``);
    - it shares several telling words with that query (``LEAST_SHARED``);
    - that query's own contexts aside, no other fits it better.

    Contexts are often general, or off their query's topic on purpose, and queries are short. So
    the margins are wide: what is named is worth reading, and much that is misplaced is not named.
    Texts that share no words with the other's language are never named.

    Args:
        contexts: Plain texts, as of ``context_text``; blank ones fit nothing.
        queries: The distinct queries.
        own: For each context, the place of its query. As long as ``contexts``.

    Raises:
        ValueError: ``own`` is of another length, or names a place that is not there.
    """
    if len(own) != len(contexts):
        raise ValueError(f"{len(contexts)} contexts, but queries of {len(own)}")
    if own and not 0 <= min(own) <= max(own) < len(queries):
        raise ValueError("a context's query is not among the queries")
    # Shared texts are weighed once, or they would make their own words common.
    distinct = list(dict.fromkeys(contexts))
    if len(queries) < 2 or not any(_stems(text) for text in (*distinct, *queries)):
        return ()
    likeness, shared = _topics(distinct, queries)
    numbers = {text: number for number, text in enumerate(distinct)}
    places = [numbers[text] for text in contexts]
    owners = set(zip(places, own, strict=True))
    guests = likeness.copy()
    guests[places, own] = 0
    best_guest = guests.max(axis=0)
    misplaced = []
    for context, (place, query) in enumerate(zip(places, own, strict=True)):
        row = likeness[place]
        others = row.copy()
        others[query] = -1
        other = int(others.argmax())
        third = float(np.delete(others, [query, other]).max(initial=0))
        needed = FAR_BETTER_COPY if (place, other) in owners else FAR_BETTER
        if (
            row[other] - row[query] >= needed
            and row[other] >= AHEAD * third
            and shared[place, other] >= LEAST_SHARED
            and row[other] >= best_guest[other]
        ):
            misplaced.append(Misfit(context, query, other, float(row[query]), float(row[other])))
    return tuple(misplaced)


def _shingles(text: str) -> Shingles:
    words = words_of(text) or text.split()
    size = min(SHINGLE, len(words))
    return frozenset(zip(*(words[start:] for start in range(size)), strict=False))


def _stems(text: str) -> list[str]:
    """Stems of words; in scripts without spaces, pairs of neighbouring characters."""
    words = words_of(text)
    unspaced = [is_unspaced(ord(word[0])) for word in words]
    pairs = [
        word + after
        for (word, after), are_unspaced in zip(pairwise(words), pairwise(unspaced), strict=True)
        if all(are_unspaced)
    ]
    stems = [
        word[:STEM]
        for word, is_character in zip(words, unspaced, strict=True)
        if not is_character and len(word) >= LEAST_LETTERS and not word.isdigit()
    ]
    return stems + pairs


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


def _topics(
    contexts: Sequence[str], queries: Sequence[str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosines and numbers of shared telling words, each of shape ``(contexts, queries)``."""
    from scipy.sparse import diags
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    counter = CountVectorizer(analyzer=_stems).fit([*contexts, *queries])
    # Half the memory: the tables of many thousand texts are large.
    tables = [counter.transform(texts).astype(np.float32) for texts in (contexts, queries)]
    spread = [np.bincount(table.indices, minlength=table.shape[1]) for table in tables]
    rarity = [
        np.log((1 + table.shape[0]) / (1 + count))
        for table, count in zip(tables, spread, strict=True)
    ]
    weights = diags(np.sqrt(rarity[0] * rarity[1]).astype(np.float32))
    telling = (spread[1] <= max(3, TELLING * len(queries))).astype(np.float32)
    there = [(table > 0).astype(np.float32) for table in tables]
    for table in tables:
        table.data = 1 + np.log(table.data)
    context, query = (normalize(table @ weights) for table in tables)
    return (
        (context @ query.T).toarray(),
        (there[0] @ diags(telling) @ there[1].T).toarray(),
    )
