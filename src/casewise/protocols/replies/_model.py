"""The fitted reader: a reply is read as the labelled replies that it is most like.

Kernel ridge regression on the four classes. Two replies are alike by the cosine of their signals
and by that of their words; the square lets signals and words count together, not one by one.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from casewise.protocols._types import ResponseClass
from casewise.protocols.replies._features import WORDY

CLASSES: Final = tuple(ResponseClass)
"""The order of a row of ``says``."""
FILE: Final = "reader.npz"
"""In ``casewise.data``: the fields of ``Fitted``, written by benchmarks/fit_reader.py."""
SIGNALS_SHARE: Final = 0.55
"""What signals count in the likeness of two replies; words count the rest."""
ADDED: Final = 0.5
"""Added before squaring: the more, the more single signals count against pairs."""
PRIOR: Final = 1 / len(CLASSES)
"""What a reply that is like no other leans to each class."""
PLACES: Final = 6
"""Decimals kept, so that another machine's rounding tips no scale."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The labelled replies as the fit leaves them: n replies, s signals, w words in all."""

    signals: npt.NDArray[np.str_]
    """The names of the signals, (s,)."""
    centre: Array
    """Their means, (s,)."""
    scale: Array
    """Their spreads, (s,)."""
    words: npt.NDArray[np.str_]
    """The words and pairs that count."""
    rows: npt.NDArray[np.floating]
    """Each reply's signals, centred, scaled, and of length 1: (n, s)."""
    spoken: npt.NDArray[np.integer]
    """The places of each reply's words among ``words``, one reply after another: (w,)."""
    sizes: npt.NDArray[np.integer]
    """How many words each reply has there, (n,)."""
    says: npt.NDArray[np.floating]
    """What likeness to a reply says for each class, (n, classes)."""


def file_bytes() -> bytes:
    """The file of what was fitted."""
    return (files("casewise.data") / FILE).read_bytes()


@dataclass(frozen=True, slots=True)
class Model:
    """A fit, ready to read by."""

    fitted: Fitted
    signals: dict[str, int]
    """The place of each signal, by name."""
    words: dict[str, int]
    """The place of each word, by name."""
    speaker: npt.NDArray[np.intp]
    """Which reply each of ``spoken`` belongs to."""


def prepared(fitted: Fitted) -> Model:
    """What is worked out once, and used for every reply."""
    # In 64 bits, as sums in 16 would depend on their order.
    wide = replace(fitted, rows=fitted.rows.astype(float), says=fitted.says.astype(float))
    speaker = np.repeat(np.arange(len(fitted.sizes)), fitted.sizes)
    return Model(wide, _places(fitted.signals), _places(fitted.words), speaker)


@cache
def shipped() -> Model:
    """The fit that ships."""
    with np.load(io.BytesIO(file_bytes())) as arrays:
        return prepared(Fitted(**arrays))


def chances(features: Mapping[str, float], model: Model) -> dict[ResponseClass, float]:
    """The chance of each class, by least squares: they sum to 1; some may lie beyond 0 or 1."""
    fitted = model.fitted
    found, has = np.zeros(len(model.signals)), np.zeros(len(model.words))
    for name, value in features.items():
        if name in model.signals:
            found[model.signals[name]] = value
        elif name in model.words:
            has[model.words[name]] = 1
    row = unit((found - fitted.centre) / fitted.scale)
    shared = np.bincount(model.speaker, has[fitted.spoken], len(fitted.sizes))
    cosine = shared / np.sqrt(np.maximum(1, fitted.sizes * has.sum()))
    leaning = kernel(fitted.rows @ row, cosine) @ fitted.says + PRIOR
    return dict(zip(CLASSES, leaning.round(PLACES).tolist(), strict=True))


def kernel(signals: Array, words: Array) -> Array:
    """How alike replies are, by the cosines of their signals and of their words."""
    found: Array = (SIGNALS_SHARE * signals + (1 - SIGNALS_SHARE) * words + ADDED) ** 2 + 1
    return found


def unit(rows: Array) -> Array:
    """The rows at length 1; a row of zeros stays one."""
    length = np.sqrt(np.square(rows).sum(-1, keepdims=True))
    found: Array = rows / np.where(length > 0, length, 1)
    return found


def is_wordy(name: str) -> bool:
    """Whether a feature is a word or a pair of words."""
    return name.startswith(WORDY)


def _places(names: npt.NDArray[np.str_]) -> dict[str, int]:
    return {str(name): at for at, name in enumerate(names)}
