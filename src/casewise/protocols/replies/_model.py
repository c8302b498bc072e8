"""The fitted weights: what each of a reply's numbers says for each class."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from casewise.protocols._types import ResponseClass

CLASSES: Final = tuple(ResponseClass)
"""The order of a row of weights."""
INTERCEPT: Final = "(intercept)"
FILE: Final = "reader.tsv"
"""In ``casewise.data``: a name and four weights a line, written by benchmarks/fit_reader.py."""


def weights_text() -> str:
    """The file of weights."""
    return (files("casewise.data") / FILE).read_text("utf-8")


def chances(features: Mapping[str, float]) -> dict[ResponseClass, float]:
    """The chance of each class, by multinomial logistic regression; they sum to 1."""
    rows, weights = _weights()
    known = [(rows[name], value) for name, value in features.items() if name in rows]
    at = [row for row, _ in known]
    score = np.array([value for _, value in known]) @ weights[at] + weights[rows[INTERCEPT]]
    odds = np.exp(score - score.max())
    return dict(zip(CLASSES, (odds / odds.sum()).tolist(), strict=True))


@cache
def _weights() -> tuple[dict[str, int], npt.NDArray[np.float64]]:
    lines = [line.split("\t") for line in weights_text().removesuffix("\n").split("\n")]
    rows = {name: at for at, (name, *_) in enumerate(lines)}
    return rows, np.array([list(map(float, row)) for _, *row in lines])
