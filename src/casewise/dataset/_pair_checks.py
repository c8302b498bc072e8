"""Pairs that are no pairs, twins of unlike length, sides out of balance, votes and ties, copies."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from casewise.cases import Case
from casewise.contexts import near_copies
from casewise.dataset import _context_checks as context_checks
from casewise.dataset._findings import (
    Finding,
    Material,
    counted,
    counted_cases,
    ids_of,
    measured,
)
from casewise.sheets import plural
from casewise.statistics import (
    UNDEFINED,
    Clusters,
    Estimate,
    FloatArray,
    clustered_mean,
    cohen_d_paired,
)

NEAR = 0.8
"""Jaccard index of runs of three words from which on two contexts are near copies."""


@dataclass(frozen=True, slots=True)
class NearContexts:
    """Two contexts that are nearly the same."""

    cases: tuple[str, str]
    """A case of either text."""
    likeness: float


@dataclass(frozen=True, slots=True)
class Copies:
    """Texts that stand twice, or nearly."""

    contexts: context_checks.RepeatedContexts
    near: tuple[NearContexts, ...]
    """Near copies of different texts, a pair of texts once."""
    texts: int
    """Number of different context texts."""
    queries: context_checks.SimilarQueries


def copies(material: Material) -> tuple[Copies, list[Finding]]:
    """Find identical and nearly identical texts."""
    texts: dict[str, list[int]] = {}
    for place, text in enumerate(material.contexts):
        if text.strip():
            texts.setdefault(text, []).append(place)
    near = near_copies(list(texts), NEAR)
    holders = [material.ids(places) for places in texts.values()]
    copied = Copies(
        context_checks.repeated_contexts(material.cases),
        tuple(
            NearContexts((holders[pair.first][0], holders[pair.second][0]), pair.likeness)
            for pair in near
        ),
        len(texts),
        context_checks.similar_queries(material.cases),
    )
    alike = dict.fromkeys(
        case for pair in near for at in (pair.first, pair.second) for case in holders[at]
    )
    return copied, [*_copy_findings(copied, material, list(alike))]


def _copy_findings(copied: Copies, material: Material, near: Sequence[str]) -> Iterator[Finding]:
    yield from context_checks.context_findings(copied.contexts, copied.texts)
    yield from counted(
        "near-copy-context",
        f"{plural(len(copied.near), 'pair')} of different context texts with {NEAR:.0%} or more of "
        "their runs of three words in common.",
        near,
        None,
        n=len(copied.near),
    )
    yield from context_checks.query_findings(copied.queries, material.queries)


LARGER_SIDE = 0.6
"""Share of the larger side from which on sides count as out of balance."""


def structure(material: Material) -> tuple[float, list[Finding]]:
    """The share of the larger intended side, and findings about pairs, sides and categories."""
    cases = material.cases
    larger, side_findings = _sides(cases)
    return larger, [
        *context_checks.pair_findings(context_checks.broken_pairs(cases)),
        *context_checks.gap_findings(cases),
        *counted_cases(
            "missing-intended",
            ids_of(one for one in cases if one.context is not None and one.intended is None),
            material.with_context,
            "without an intended side. Checks of pairs, and of what gives the side away, leave "
            "them out.",
            noun="context",
        ),
        *side_findings,
        *_categories(cases),
    ]


def _sides(cases: Sequence[Case]) -> tuple[float, list[Finding]]:
    """The share of the larger intended side, and a finding where it is large."""
    counts = Counter(case.intended for case in cases if case.intended is not None)
    total = counts.total()
    if not total:
        return math.nan, []
    larger = max(counts.values()) / total
    if larger < LARGER_SIDE:
        return larger, []
    text = (
        f"{counts['safe']} cases are intended safe and {counts['unsafe']} unsafe. Always saying "
        "the larger side scores that share: show it beside accuracies, or balance the set."
    )
    return larger, [measured("label-imbalance", text, larger, total, None)]


def _categories(cases: Sequence[Case]) -> list[Finding]:
    """Findings on categories."""
    by_category: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.category is not None:
            by_category[case.category].append(case)
    bare = ids_of(case for case in cases if case.category is None)
    findings = counted_cases("missing-category", bare, len(cases), "without a category.")
    lopsided = [
        group
        for group in by_category.values()
        if len(group) > 1 and len({case.intended for case in group} - {None}) == 1
    ]
    return findings + counted(
        "one-sided-category",
        f"{plural(len(lopsided), 'category')} with cases of one intended side alone: there, "
        "the category tells the side.",
        ids_of(chain(*lopsided)),
        len(by_category),
        n=len(lopsided),
    )


def provenance(material: Material) -> list[Finding]:
    """Findings about votes, labels, sources and licences."""
    cases = material.cases
    voted = [case for case in cases if (case.votes_safe or 0) + (case.votes_unsafe or 0)]
    known = {case.id for case in voted}
    bare = [one for one in cases if one.id not in known and one.published_safe_rate is None]
    lacking = {
        "missing-label": (
            [case for case in bare if case.intended is None],
            "without a label of any kind (intended, votes, published_safe_rate): casewise score "
            "leaves them out.",
        ),
        "missing-votes": (
            [case for case in bare if case.ratings is None],
            "without a vote, rating or published share of people: what people think of them is "
            "not known.",
        ),
        "missing-source": ([case for case in cases if case.source is None], "without a source."),
        "missing-licence": (
            [case for case in cases if case.licence is None],
            "without a licence: nobody may know what they may do with it.",
        ),
    }
    return [
        *counted_cases(
            "tied-votes",
            ids_of(case for case in voted if case.votes_safe == case.votes_unsafe),
            len(voted),
            "with votes that are exactly even. A label by majority has to settle them: count ties "
            "half or drop them (--ties), and ask one more person.",
        ),
        *(
            finding
            for code, (found, what) in lacking.items()
            for finding in counted_cases(code, ids_of(found), len(cases), what)
        ),
    ]


SMALL_EFFECT = 0.2
"""Cohen's d from which on a difference is worth a finding: a small effect (Cohen 1988)."""


@dataclass(frozen=True, slots=True)
class TwinDifference:
    """Lengths in words of the two contexts of each pair; NaN is undefined."""

    safe: float
    """Mean of the contexts intended safe."""
    unsafe: float
    difference: Estimate
    """Mean of safe less unsafe, query by query."""
    effect: float
    """Cohen's d of the paired differences: their mean over their standard deviation."""
    pairs: int
    """Pairs with a text on both sides."""


def twins(material: Material) -> tuple[TwinDifference, list[Finding]]:
    """Compare the lengths of the contexts of each pair."""
    places = np.array(
        [pair for pair in material.pairs if all(material.contexts[at].strip() for at in pair)], int
    ).reshape(-1, 2)
    lengths = np.array([len(words) for words in material.words], float)
    means = _difference(lengths[places])
    return means, _length_findings(means)


def _difference(table: FloatArray) -> TwinDifference:
    """The difference of lengths, both sides of each pair. Shape ``(pairs, 2)``."""
    n = len(table)
    if not n:
        return TwinDifference(math.nan, math.nan, UNDEFINED, math.nan, 0)
    gaps = table[:, 0] - table[:, 1]
    difference = clustered_mean(gaps, Clusters(np.arange(n), n))
    safe, unsafe = (float(mean) for mean in table.mean(axis=0))
    return TwinDifference(safe, unsafe, difference, cohen_d_paired(gaps), n)


def _length_findings(means: TwinDifference) -> list[Finding]:
    low, high = means.difference.interval
    if not abs(means.effect) >= SMALL_EFFECT:
        return []
    if math.isinf(means.effect):
        spread = "in every pair alike"
    elif low > 0 or high < 0:
        spread = f"from {low:.1f} to {high:.1f} (Cohen's d {means.effect:.2f})"
    else:
        return []
    text = (
        f"Contexts intended safe have a mean of {means.safe:.1f} words, their twins "
        f"{means.unsafe:.1f}: a difference of {means.difference.value:.1f}, {spread}. "
        "Judges may follow it: make twins alike."
    )
    n = means.pairs
    return [measured("length-difference", text, abs(means.effect), n, n)]
