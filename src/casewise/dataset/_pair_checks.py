"""Pairs that are no pairs, twins of unlike length, sides out of balance, votes and ties, copies.

Copies are texts that stand twice, or nearly, and contexts that belong to another query.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from casewise.contexts import Misfit, NearCopy, misfits, near_copies, words_of
from casewise.dataset import _context_checks as context_checks
from casewise.dataset._findings import Finding, Material, counted, counted_cases, measured, plural
from casewise.statistics import UNDEFINED, Clusters, Estimate, clustered_mean, cohen_d_paired

NEAR = 0.8
"""Jaccard index of runs of three words from which on two contexts are near copies."""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A context that fits another query."""

    case: str
    record: int
    """The place of the case in its file, from 0."""
    other_query: str
    """The id of the query that it fits."""
    own_likeness: float
    other_likeness: float


@dataclass(frozen=True, slots=True)
class NearContexts:
    """Two contexts that are nearly the same."""

    cases: tuple[str, str]
    """A case of either text."""
    likeness: float


@dataclass(frozen=True, slots=True)
class Copies:
    """Texts that stand twice."""

    contexts: context_checks.RepeatedContexts
    near: tuple[NearContexts, ...]
    """Near copies of different texts, a pair of texts once."""
    texts: int
    """Different context texts."""
    queries: context_checks.SimilarQueries
    misplaced: tuple[Misplaced, ...]


def copies(material: Material) -> tuple[Copies, list[Finding]]:
    """Find identical and nearly identical texts, and misplaced contexts."""
    texts: dict[str, list[int]] = {}
    for place, text in enumerate(material.contexts):
        if text.strip():
            texts.setdefault(text, []).append(place)
    near = near_copies(list(texts), threshold=NEAR)
    holders = list(texts.values())
    copied = Copies(
        context_checks.repeated_contexts(material.cases),
        tuple(_near(pair, holders, material) for pair in near),
        len(texts),
        context_checks.similar_queries(material.cases),
        tuple(_misplaced(misfit, material) for misfit in _misfits(material)),
    )
    alike = dict.fromkeys(
        place for pair in near for at in (pair.first, pair.second) for place in holders[at]
    )
    return copied, [*_copy_findings(copied, material, list(alike))]


def _misfits(material: Material) -> tuple[Misfit, ...]:
    numbers = {query: number for number, query in enumerate(material.queries)}
    own = [numbers[case.query_id] for case in material.cases]
    return misfits(material.contexts, list(material.queries.values()), own)


def _misplaced(misfit: Misfit, material: Material) -> Misplaced:
    return Misplaced(
        material.cases[misfit.context].id,
        misfit.context,
        list(material.queries)[misfit.other],
        misfit.own_likeness,
        misfit.other_likeness,
    )


def _near(pair: NearCopy, holders: Sequence[Sequence[int]], material: Material) -> NearContexts:
    first, second = material.ids([holders[pair.first][0], holders[pair.second][0]])
    return NearContexts((first, second), pair.likeness)


def _copy_findings(copied: Copies, material: Material, near: Sequence[int]) -> Iterator[Finding]:
    yield from context_checks.context_findings(copied.contexts, copied.texts)
    places = [misplaced.record for misplaced in copied.misplaced]
    yield from counted(
        "misplaced-context",
        f"{plural(len(places), 'context')} with words of another query of the set, and hardly a "
        "word of their own. Read them: they may have been copied to the wrong query.",
        material.ids(places),
        material.with_context,
        shown=[material.contexts[place] for place in places],
    )
    yield from counted(
        "near-copy-context",
        f"{plural(len(copied.near), 'pair')} of different context texts with {NEAR:.0%} or more of "
        "their runs of three words in common.",
        material.ids(near),
        None,
        n=len(copied.near),
    )
    yield from context_checks.query_findings(copied.queries, material.queries)


UNBALANCED = 2.0
"""The largest category over the smallest, from which on categories count as out of balance."""

LARGER_SIDE = 0.6
"""Share of the larger side from which on sides count as out of balance."""


def structure(material: Material) -> tuple[dict[str, float], list[Finding]]:
    """Figures and findings about pairs, sides and categories."""
    findings = [
        *context_checks.pair_findings(context_checks.broken_pairs(material.cases)),
        *context_checks.gap_findings(material.cases),
        *_missing(material),
    ]
    sides, side_findings = _sides(material)
    categories, category_findings = _categories(material)
    return (
        {"label-imbalance": sides, "category-imbalance": categories},
        [*findings, *side_findings, *category_findings],
    )


def _missing(material: Material) -> Iterator[Finding]:
    cases = material.cases
    unknown = [case.id for case in cases if case.context is not None and case.intended is None]
    yield from counted_cases(
        "missing-intended",
        unknown,
        material.with_context,
        "without an intended side. Checks of pairs, and of what gives the side away, leave them "
        "out.",
        noun="context",
    )


def _sides(material: Material) -> tuple[float, list[Finding]]:
    counts = Counter(case.intended for case in material.cases if case.intended is not None)
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


def _categories(material: Material) -> tuple[float, list[Finding]]:
    by_category = defaultdict(list)
    for case in material.cases:
        if case.category is not None:
            by_category[case.category].append(case)
    bare = [case.id for case in material.cases if case.category is None]
    findings = counted_cases("missing-category", bare, len(material.cases), "without a category.")
    if not by_category:
        return math.nan, findings
    sizes = [len(group) for group in by_category.values()]
    ratio = max(sizes) / min(sizes)
    if ratio >= UNBALANCED:
        text = (
            f"The {len(sizes)} categories hold {min(sizes)} to {max(sizes)} cases: a mean over "
            "cases is mostly about the large ones. Show means by category too."
        )
        small = [
            case.id for group in by_category.values() if len(group) == min(sizes) for case in group
        ]
        findings.append(
            measured("category-imbalance", text, ratio, len(small), sum(sizes), cases=small)
        )
    lopsided = {
        name: group
        for name, group in by_category.items()
        if len({case.intended for case in group if case.intended is not None}) == 1
        and len(group) > 1
    }
    findings += counted(
        "one-sided-category",
        f"{plural(len(lopsided), 'category')} with cases of one intended side alone: there, "
        "the category tells the side.",
        [case.id for group in lopsided.values() for case in group],
        len(by_category),
        n=len(lopsided),
    )
    return ratio, findings


def provenance(material: Material) -> list[Finding]:
    """Findings about votes, ratings, labels, sources and licences."""
    cases = material.cases
    voted = [case for case in cases if (case.votes_safe or 0) + (case.votes_unsafe or 0)]
    bare = [case for case in cases if not (case.votes_safe or 0) + (case.votes_unsafe or 0)]
    unknown = [
        case.id for case in bare if case.published_safe_rate is None and case.ratings is None
    ]
    rated = [case for case in cases if case.ratings is not None]
    means = {sum(one.values) / len(one.values) for case in rated if (one := case.ratings)}
    without = [
        case.id for case in bare if case.published_safe_rate is None and case.intended is None
    ]
    ties = [case.id for case in voted if case.votes_safe == case.votes_unsafe]
    sources = [case.id for case in cases if case.source is None]
    licences = [case.id for case in cases if case.licence is None]
    return [
        *counted_cases(
            "tied-votes",
            ties,
            len(voted),
            "with votes that are exactly even. A label by majority has to settle them: count ties "
            "half or drop them (--ties), and ask one more person.",
        ),
        *counted(
            "constant-ratings",
            f"The ratings of all {len(rated)} cases have the same mean: nothing can be correlated "
            "with them. Is it the right column?",
            [case.id for case in rated] if len(means) == 1 < len(rated) else [],
            len(cases),
        ),
        *counted_cases(
            "missing-label",
            without,
            len(cases),
            "without a label of any kind (intended, votes, published_safe_rate): casewise score "
            "leaves them out.",
        ),
        *counted_cases(
            "missing-votes",
            unknown,
            len(cases),
            "without a vote, rating or published share of people: what people think of them is "
            "not known.",
        ),
        *counted_cases("missing-source", sources, len(cases), "without a source."),
        *counted_cases(
            "missing-licence",
            licences,
            len(cases),
            "without a licence: nobody may know what they may do with it.",
        ),
    ]


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


def twins(material: Material) -> tuple[Twins, list[Finding]]:
    """Compare the contexts of each pair."""
    both = [
        pair for pair in material.pairs if all(material.contexts[place].strip() for place in pair)
    ]
    lengths = [[float(len(material.words[place])) for place in pair] for pair in both]
    indices = [[lix(material.contexts[place]) for place in pair] for pair in both]
    both_measures = Twins(_difference(lengths), _difference(indices))
    findings = [
        *_findings("length-difference", "words", both_measures.words),
        *_findings("readability-difference", "LIX", both_measures.lix),
    ]
    return both_measures, findings


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


def _findings(code: str, what: str, means: TwinDifference) -> list[Finding]:
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
        f"Contexts intended safe have a mean of {means.safe:.1f} {what}, their twins "
        f"{means.unsafe:.1f}: a difference of {means.difference.value:.1f}, {spread}. "
        "Judges may follow it: make twins alike."
    )
    return [measured(code, text, abs(means.effect), means.pairs, means.pairs)]
