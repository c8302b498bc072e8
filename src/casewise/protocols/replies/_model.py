"""The fitted reader: each word and each measure of shape leans to the classes by so much."""

import hashlib
import io
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from casewise.protocols._types import GRADED_CLASSES, ResponseClass
from casewise.protocols.replies._features import Features

CLASSES: Final = GRADED_CLASSES
"""The order of a row of weights."""
FILE: Final = "reader.npz"
"""In ``casewise.data``: the fields of ``Fitted``, written by benchmarks/fit_reader.py."""
PRIOR: Final = 1 / len(CLASSES)
"""What a reply that is like no other leans to each class."""
PLACES: Final = 6
"""Decimals kept, so that another machine's rounding tips no scale."""

Array = npt.NDArray[np.float64]


SHAPE_SHARE, DECLINING_SHARE, WORDS_SHARE, ITSELF_SHARE = 0.2, 0.3, 0.5, 0.2
"""What shape, declining and words count in the likeness of two replies, and what any two have in
common."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weights: s measures of shape, d of declining, w words."""

    shape: npt.NDArray[np.str_]
    """The names of the measures of shape, (s,)."""
    declining: npt.NDArray[np.str_]
    """Those of declining, (d,)."""
    centre: Array
    """The means of both, (s + d,)."""
    scale: Array
    """Their spreads, (s + d,)."""
    words: npt.NDArray[np.str_]
    """The words and runs of words, (w,)."""
    by_measure: npt.NDArray[np.floating]
    """How far each measure leans to each class, (s + d, classes)."""
    by_word: npt.NDArray[np.floating]
    """The same of each word, (w, classes)."""
    by_itself: npt.NDArray[np.floating]
    """The same of any reply, (classes,)."""
    fitted_to: npt.NDArray[np.integer]
    """The digests of the replies that were fitted to."""


def digest_of(reply: str) -> int:
    """What tells one reply from others, of 32 bits, and tells nothing of its text."""
    return int.from_bytes(hashlib.sha256(reply.encode("utf-8", "replace")).digest()[:4])


def file_bytes() -> bytes:
    """The file of what was fitted."""
    return (files("casewise.data") / FILE).read_bytes()


@cache
def shipped() -> "Model":
    """The fit that ships."""
    with np.load(io.BytesIO(file_bytes())) as arrays:
        return Model(Fitted(**arrays))


class Model:
    """A fit, ready to read by."""

    def __init__(self, fitted: Fitted) -> None:
        self._fitted = fitted
        self._places = {str(name): at for at, name in enumerate(fitted.words)}
        # In 64 bits, as sums in 16 would depend on their order.
        self._by_measure = fitted.by_measure.astype(float)
        self._by_word = fitted.by_word.astype(float)
        self.fitted_to = frozenset(fitted.fitted_to.tolist())

    def chances(self, features: Features) -> dict[ResponseClass, float]:
        """The chance of each class, by least squares; some may lie beyond 0 or 1."""
        fitted = self._fitted
        numbers = measures(features, fitted.shape, fitted.declining)
        row = measure_rows(numbers, len(fitted.shape), fitted.centre, fitted.scale)
        leaning = PRIOR + fitted.by_itself + row @ self._by_measure
        known = sorted(self._places[word] for word in features.words if word in self._places)
        if known:
            # A reply's words are a row of length 1, as its measures are.
            share = np.sqrt(WORDS_SHARE / len(known))
            leaning = leaning + share * self._by_word[known].sum(0)
        return dict(zip(CLASSES, leaning.round(PLACES).tolist(), strict=True))


def measures(
    features: Features, shape: npt.NDArray[np.str_], declining: npt.NDArray[np.str_]
) -> Array:
    """The measures in the order of their names: (s + d,)."""
    return np.array(
        [
            *(features.shape[str(name)] for name in shape),
            *(features.declining[str(name)] for name in declining),
        ]
    )


def measure_rows(numbers: Array, shapes: int, centre: Array, scale: Array) -> Array:
    """Measures centred and scaled; those of shape, and those of declining, at a fixed length."""
    rows = (numbers - centre) / scale
    shape, declining = rows[..., :shapes], rows[..., shapes:]
    parts = [np.sqrt(SHAPE_SHARE) * unit(shape), np.sqrt(DECLINING_SHARE) * unit(declining)]
    joined: Array = np.concatenate(parts, axis=-1)
    return joined


def unit(rows: Array) -> Array:
    """The rows at length 1; a row of zeros stays one."""
    length = np.sqrt(np.square(rows).sum(-1, keepdims=True))
    scaled: Array = rows / np.where(length > 0, length, 1)
    return scaled
