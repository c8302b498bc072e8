"""Whether the twins differ in length and in how hard they are to read."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.analysis.audit._finding import AuditFinding
from casewise.analysis.audit._material import Material
from casewise.contexts import words_of
from casewise.statistics import UNDEFINED, Clusters, Estimate, clustered_mean, cohen_d_paired

SMALL_EFFECT = 0.2
"""Cohen's d from which on a difference is worth a finding: a small effect (Cohen 1988)."""

LONG = 6
"""A word of more letters is long."""

_SENTENCE_END = re.compile(r"[.!?:]+(?=\s|$)|\n")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class TwinDifference:
    """One measure on both contexts of each pair; NaN is undefined."""

    safe: float
    """Mean of the contexts intended safe."""
    unsafe: float
    difference: Estimate
    """Mean of safe less unsafe, query by query."""
    effect: float
    """Cohen's d of the paired differences: their mean over their standard deviation."""
    pairs: int
    """Pairs with the measure on both sides."""


@dataclass(frozen=True, slots=True)
class Twins:
    """Differences between the twins."""

    words: TwinDifference
    lix: TwinDifference


def lix(text: str) -> float:
    """Björnsson's readability index: words a sentence, and the percentage of long words.

    About 20 (very easy) to 60 (very hard). A sentence ends with ``.``, ``!``, ``?``, ``:`` or the
    line, a word of more than six letters is long. NaN without words, or in a script without spaces.
    Björnsson (1968), Läsbarhet; Anderson (1983), Journal of Reading 26.
    """
    words = words_of(text)
    if not words or _UNSPACED.search(text):
        return math.nan
    sentences = sum(bool(words_of(part)) for part in _SENTENCE_END.split(text))
    long = sum(len(word) > LONG for word in words)
    return len(words) / max(sentences, 1) + 100 * long / len(words)


def twins(material: Material) -> tuple[Twins, list[AuditFinding]]:
    """Compare the contexts of each pair."""
    both = [
        pair for pair in material.pairs if all(material.contexts[place].strip() for place in pair)
    ]
    lengths = [[float(len(material.words[place])) for place in pair] for pair in both]
    indices = [[lix(material.contexts[place]) for place in pair] for pair in both]
    found = Twins(_difference(lengths), _difference(indices))
    findings = [
        *_findings("length-difference", "words", found.words),
        *_findings("readability-difference", "LIX", found.lix),
    ]
    return found, findings


def _difference(values: Sequence[Sequence[float]]) -> TwinDifference:
    table = np.array(values, np.float64).reshape(-1, 2)
    table = table[np.isfinite(table).all(axis=1)]
    n = len(table)
    if not n:
        return TwinDifference(math.nan, math.nan, UNDEFINED, math.nan, 0)
    gaps = table[:, 0] - table[:, 1]
    difference = clustered_mean(gaps, Clusters(np.arange(n), n))
    safe, unsafe = (float(mean) for mean in table.mean(axis=0))
    return TwinDifference(safe, unsafe, difference, cohen_d_paired(gaps), n)


def _findings(code: str, what: str, found: TwinDifference) -> list[AuditFinding]:
    low, high = found.difference.interval
    if not abs(found.effect) >= SMALL_EFFECT:
        return []
    if math.isinf(found.effect):
        spread = "in every pair alike"
    elif low > 0 or high < 0:
        spread = f"from {low:.1f} to {high:.1f} (Cohen's d {found.effect:.2f})"
    else:
        return []
    text = (
        f"Contexts intended safe have a mean of {found.safe:.1f} {what}, their twins "
        f"{found.unsafe:.1f}: a difference of {found.difference.value:.1f}, {spread}. "
        "Judges may follow it: make twins alike."
    )
    return [AuditFinding(code, text, found.pairs, found.pairs, value=abs(found.effect))]
