"""Likeness of texts in any script: words and near-copies."""

import re
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


_ASCII_WORD = re.compile("[a-z0-9]+")


def words_of(text: str) -> list[str]:
    """Words of a text in lower case; in scripts without spaces, its characters.

    Texts that differ in case, spaces or punctuation alone have the same words.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS).split()


def context_text(context: Context | None) -> str:
    """Values of a context, one a line, without the names of parameters; "" without a context."""
    return "\n".join(fact.text for fact in facts(context) if fact.text != NOTHING)


SHINGLE = 3
"""Length of a shingle in words; in scripts without spaces, in characters."""

Shingles = frozenset[tuple[str, ...]]


def shingles_of(text: str) -> Shingles:
    """Runs of words of a text; of a shorter one, the text itself."""
    words = words_of(text) or text.split()
    size = min(SHINGLE, len(words))
    return frozenset(zip(*(words[start:] for start in range(size)), strict=False))


@dataclass(frozen=True, slots=True)
class Words:
    """Words of many texts as numbers; of a text without a letter or digit, its signs."""

    names: tuple[str, ...]
    """Different words in alphabetical order."""
    word: NDArray[np.int64]
    """Places in ``names``, text after text."""
    starts: NDArray[np.int64]
    """Place at which each text begins, and the end. Shape ``(texts + 1,)``."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Words of each text. Shape ``(texts,)``."""
        return np.diff(self.starts)

    def bag(self) -> Any:
        """Sparse table of 1 where a text holds a word. Shape ``(texts, names)``."""
        return _table(self.word, self.lengths, len(self.names))

    def shingles(self) -> Any:
        """Sparse table of 1 where a text holds a shingle. Shape ``(texts, shingles)``."""
        base, lengths = len(self.names) + 1, self.lengths
        follow = np.repeat(self.starts[1:], lengths) - np.arange(len(self.word))
        whole = (follow >= SHINGLE) | (np.repeat(lengths, lengths) == follow)
        code = np.zeros(int(whole.sum()), np.uint64)
        padded = np.append(self.word + 1, np.zeros(SHINGLE, np.int64))
        for at in range(SHINGLE):
            word = np.where(follow > at, padded[at : at + len(follow)], 0)[whole]
            code = code * np.uint64(base) + word.astype(np.uint64)
        numbers = np.unique(code, return_inverse=True)[1]
        runs = np.where(lengths > 0, np.maximum(1, lengths - SHINGLE + 1), 0)
        return _table(numbers, runs, int(numbers.max(initial=-1)) + 1)


def number_words(texts: Iterable[str]) -> Words:
    """Split texts into words, and number these."""
    numbers: dict[str, int] = defaultdict(count().__next__)
    word, starts = array("q"), [0]
    for text in texts:
        word.extend(map(numbers.__getitem__, words_of(text) or text.split()))
        starts.append(len(word))
    names = sorted(numbers)
    place = np.empty(len(names), np.int64)
    place[[numbers[name] for name in names]] = np.arange(len(names))
    return Words(tuple(names), place[np.frombuffer(word, np.int64)], np.array(starts))


def _table(columns: NDArray[np.int64], lengths: NDArray[np.int64], width: int) -> Any:
    from scipy.sparse import csr_matrix

    starts = np.concatenate([[0], np.cumsum(lengths)])
    table = csr_matrix((np.ones(len(columns)), columns, starts), (len(lengths), width))
    table.sum_duplicates()
    table.data[:] = 1
    return table


@dataclass(frozen=True, slots=True, order=True)
class NearCopy:
    """Places of two texts that say nearly the same."""

    first: int
    second: int
    """After ``first``."""
    likeness: float
    """0..1."""


def near_copies(words: Words, threshold: float, most: int) -> list[NearCopy]:
    """Pairs of texts whose likeness reaches a threshold, up to a number, in their order.

    The likeness is the Jaccard index of their sets of shingles: runs of three words, or of three
    characters in a script without spaces; capitals, spaces and punctuation don't count. Shorter
    texts are one shingle. Texts without a letter or digit are compared as they stand, and blank
    texts are copies of nothing.

    Args:
        words: Words of the texts.
        threshold: Above 0 and up to 1.
        most: Number of pairs after which no more are looked for.
    """
    from scipy.sparse import diags

    shingles = words.shingles()
    sizes = np.maximum(1, np.diff(shingles.indptr))
    unit = diags(sizes**-0.5) @ shingles
    copies: list[NearCopy] = []
    # Sets of one likeness have the least cosine where they are of one size.
    for row in similar_rows(unit, 2 * threshold / (1 + threshold)):
        first, second = sizes[row.first], sizes[row.second]
        shared = round(row.likeness * float(first * second) ** 0.5)
        likeness = shared / int(first + second - shared)
        if likeness >= threshold:
            copies.append(NearCopy(row.first, row.second, likeness))
        if len(copies) == most:
            break
    return sorted(copies)


_PRODUCTS = 5_000_000
"""Most products in a block, so that memory does not grow with the square."""

_CANDIDATES = 20_000
"""Pairs that are compared at once."""

_REST = 0.8
"""Most length of the rest of a row, beside the cosine that is looked for."""


def similar_rows(rows: Any, least: float) -> Iterator[NearCopy]:
    """Pairs of rows of length 1 whose cosine reaches ``least``.

    The rest of a row behind its rarest columns is short, so two such rows share some of the rarest
    columns of both (prefix filtering: Bayardo et al. 2007, doi:10.1145/1242572.1242591).
    """
    from scipy.sparse import csr_matrix

    order = np.argsort(np.bincount(rows.indices, minlength=rows.shape[1]), kind="stable")
    rows = csr_matrix((rows.data, np.argsort(order)[rows.indices], rows.indptr), rows.shape)
    rows.sort_indices()
    length = np.concatenate([[0], np.cumsum(rows.data**2)])
    before = length[:-1] - np.repeat(length[rows.indptr[:-1]], np.diff(rows.indptr))
    rarest = np.where(before <= 1 - (_REST * least) ** 2 + 1e-9, rows.data, 0)
    prefix = csr_matrix((rarest, rows.indices, rows.indptr), rows.shape, copy=True)
    prefix.eliminate_zeros()
    holders = prefix.T.tocsr()
    tail = np.sqrt(np.maximum(0, 1 - np.asarray(prefix.multiply(prefix).sum(axis=1)).ravel()))
    blocks = np.cumsum(prefix.astype(bool) @ np.diff(holders.indptr)) // _PRODUCTS
    starts = [*np.flatnonzero(np.diff(blocks, prepend=-1)), rows.shape[0]]
    for start, stop in pairwise(starts):
        shared = (prefix[start:stop] @ holders).tocoo()
        open_ends = np.maximum(tail[shared.row + start], tail[shared.col])
        mask = (shared.col > shared.row + start) & (shared.data >= least - open_ends - 1e-9)
        firsts, seconds = shared.row[mask] + start, shared.col[mask]
        for at in range(0, len(firsts), _CANDIDATES):
            first, second = firsts[at : at + _CANDIDATES], seconds[at : at + _CANDIDATES]
            cosines = np.asarray(rows[first].multiply(rows[second]).sum(axis=1)).ravel()
            for place in np.flatnonzero(cosines >= least - 1e-9):
                yield NearCopy(int(first[place]), int(second[place]), float(cosines[place]))
