"""Signals of answers that no person gave: hidden text, the page left, copies, times, what is said.

Each is a rule of the study file. A signal that was not observed flags nobody: without scripts
nothing is known of focus and copies, and without times nothing of times.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from casewise.annotation.study.reading_times import reading
from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_rules import Rule, Screening
from casewise.annotation.votes.collected import PersonRecord, VoteTable
from casewise.statistics import benjamini_hochberg, clustered_spearman, number_clusters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LEAST_PAGES = 5
"""Of so many pages at least a share is taken."""

LEAST_TIMES = 12
"""Times of a person, below which nothing is said of their spread and rise."""

WORDS_RATIO = 1.5
"""Cases of fewer words than the others by this factor, in quartiles, have no times that rise."""

_RANKS_VARIANCE = 1.06
"""Of Fisher's z of a rank correlation, times n - 3 (Fieller, Hartley and Pearson 1957,
doi:10.1093/biomet/44.3-4.470)."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A rule that a person came under, and the figures."""

    rule: Rule
    reason: str


def signals_of(
    study: Study, table: VoteTable, people: Sequence[PersonRecord]
) -> tuple[tuple[Flag, ...], ...]:
    """The signals of everybody with counted votes, with their figures, in the order of raters."""
    known = {person.rater: person for person in people}
    times = _times(study, table)
    return tuple(
        (*_observed(study.screening, known[rater]), *times.get(number, ()))
        for number, rater in enumerate(table.raters)
    )


def _observed(rules: Screening, person: PersonRecord) -> list[Flag]:
    """What the pages recorded of a person, and what the person says."""
    found = list[Flag]()
    trapped, watched = person.trapped or 0, person.watched or 0
    if rules.honeypot_pages is not None and trapped > rules.honeypot_pages:
        reason = f"followed the hidden text of {trapped} of {person.trap_pages} pages"
        found.append(Flag(Rule.HONEYPOT, reason))
    enough = watched >= LEAST_PAGES
    left, copied = person.left or 0, person.copied or 0
    if rules.left_share is not None and enough and left > rules.left_share * watched:
        reason = f"left {left} of {watched} pages, for {person.away_seconds or 0:.0f} s in all"
        found.append(Flag(Rule.LEFT, reason))
    if rules.copied_share is not None and enough and copied > rules.copied_share * watched:
        found.append(Flag(Rule.COPIED, f"copied or pasted on {copied} of {watched} pages"))
    if rules.tool_told and person.tool in ("some", "all"):
        found.append(Flag(Rule.TOOL, f"says that a tool gave {person.tool} of the answers"))
    return found


def _times(study: Study, table: VoteTable) -> Mapping[int, list[Flag]]:
    """Whose times hardly vary, or rise with words less than those of the others."""
    rules = study.screening
    if rules.even_times is None and rules.words_p is None:
        return {}
    words = np.array(reading(study).cells, np.float64)
    found: dict[int, list[Flag]] = {}
    rises = np.full(len(table.raters), math.nan)
    sizes = np.zeros(len(table.raters))
    for number, mine in enumerate(table.of_raters()):
        mine = mine[np.isfinite(table.seconds[mine])]
        seconds, read = table.seconds[mine], words[table.cell[mine]]
        if len(mine) < LEAST_TIMES:
            continue
        spread = even_spread(seconds)
        if rules.even_times is not None and spread < rules.even_times:
            reason = (
                f"times hardly vary: {np.median(seconds):.1f} s, spread of logarithms {spread:.2f}"
            )
            found[number] = [Flag(Rule.TIMES, reason)]
        low, high = np.percentile(read, [25, 75])
        if high >= WORDS_RATIO * low:
            rank = clustered_spearman(seconds, read, number_clusters(np.arange(len(mine))))
            rises[number], sizes[number] = rank.value, len(mine)
    if rules.words_p is not None:
        usual = float(np.nanmedian(rises)) if np.isfinite(rises).any() else math.nan
        p = benjamini_hochberg(rise_p(rises, sizes, usual))
        for number in np.flatnonzero(p < rules.words_p).tolist():
            reason = (
                f"times go with words by {rises[number]:.2f}, other people's by {usual:.2f} "
                f"(rank correlation, adjusted p {p[number]:.1g})"
            )
            found.setdefault(number, []).append(Flag(Rule.TIMES, reason))
    return found


def even_spread(seconds: FloatArray) -> float:
    """Standard deviation of the logarithms of the middle four fifths: a break or two don't count.

    Shape ``(n,)``, above 0.
    """
    logs = np.sort(np.log(np.maximum(seconds, 1e-3)))
    cut = len(logs) // 10
    return float(logs[cut : len(logs) - cut].std(ddof=1))


def rise_p(rises: FloatArray, sizes: FloatArray, usual: float) -> FloatArray:
    """One-sided p of rank correlations so low if they were ``usual``, by Fisher's z.

    NaN stays NaN. Shapes ``(people,)``.
    """
    with np.errstate(invalid="ignore"):
        z = np.arctanh(np.clip(rises, -0.999, 0.999)) - np.arctanh(np.clip(usual, -0.999, 0.999))
        return np.asarray(norm.cdf(z * np.sqrt((sizes - 3) / _RANKS_VARIANCE)))
