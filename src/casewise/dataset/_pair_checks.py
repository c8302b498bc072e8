"""Pairs that are no pairs, twins of unlike length, sides out of balance, votes and ties, copies.

Copies are texts that stand twice, or nearly, and contexts that belong to another query.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from casewise.cases import Case
from casewise.contexts import misfits, near_copies, words_of
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
    """Texts that stand twice, or nearly, or under the wrong query."""

    contexts: context_checks.RepeatedContexts
    near: tuple[NearContexts, ...]
    """Near copies of different texts, a pair of texts once."""
    texts: int
    """Number of different context texts."""
    queries: context_checks.SimilarQueries
    misplaced: tuple[Misplaced, ...]


def copies(material: Material) -> tuple[Copies, list[Finding]]:
    """Find identical and nearly identical texts, and misplaced contexts."""
    texts: dict[str, list[int]] = {}
    for place, text in enumerate(material.contexts):
        if text.strip():
            texts.setdefault(text, []).append(place)
    near = near_copies(list(texts), threshold=NEAR)
    holders = [material.ids(places) for places in texts.values()]
    copied = Copies(
        context_checks.repeated_contexts(material.cases),
        tuple(
            NearContexts((holders[pair.first][0], holders[pair.second][0]), pair.likeness)
            for pair in near
        ),
        len(texts),
        context_checks.similar_queries(material.cases),
        tuple(_misplaced(material)),
    )
    alike = dict.fromkeys(
        case for pair in near for at in (pair.first, pair.second) for case in holders[at]
    )
    return copied, [*_copy_findings(copied, material, list(alike))]


def _misplaced(material: Material) -> Iterator[Misplaced]:
    names = list(material.queries)
    numbers = {name: number for number, name in enumerate(names)}
    own = [numbers[case.query_id] for case in material.cases]
    for found in misfits(material.contexts, list(material.queries.values()), own):
        yield Misplaced(
            material.cases[found.context].id,
            found.context,
            names[found.other],
            found.own_likeness,
            found.other_likeness,
        )


def _copy_findings(copied: Copies, material: Material, near: Sequence[str]) -> Iterator[Finding]:
    yield from context_checks.context_findings(copied.contexts, copied.texts)
    yield from counted_cases(
        "misplaced-context",
        [one.case for one in copied.misplaced],
        material.with_context,
        "with words of another query of the set, and hardly a word of their own. Read them: they "
        "may have been copied to the wrong query.",
        noun="context",
        shown=[material.contexts[one.record] for one in copied.misplaced],
    )
    yield from counted(
        "near-copy-context",
        f"{plural(len(copied.near), 'pair')} of different context texts with {NEAR:.0%} or more of "
        "their runs of three words in common.",
        near,
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
    cases = material.cases
    sides, side_findings = _sides(cases)
    categories, category_findings = _categories(cases)
    findings = [
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
        *category_findings,
    ]
    return {"label-imbalance": sides, "category-imbalance": categories}, findings


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


def _categories(cases: Sequence[Case]) -> tuple[float, list[Finding]]:
    """The largest category over the smallest, and findings on categories."""
    by_category: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if case.category is not None:
            by_category[case.category].append(case)
    bare = ids_of(case for case in cases if case.category is None)
    findings = counted_cases("missing-category", bare, len(cases), "without a category.")
    if not by_category:
        return math.nan, findings
    sizes = [len(group) for group in by_category.values()]
    ratio = max(sizes) / min(sizes)
    if ratio >= UNBALANCED:
        text = (
            f"The {len(sizes)} categories hold {min(sizes)} to {max(sizes)} cases: a mean over "
            "cases is mostly about the large ones. Show means by category too."
        )
        small = [ids_of(group) for group in by_category.values() if len(group) == min(sizes)]
        ids = list(chain(*small))
        findings.append(
            measured("category-imbalance", text, ratio, len(ids), sum(sizes), cases=ids)
        )
    lopsided = [
        group
        for group in by_category.values()
        if len(group) > 1 and len({case.intended for case in group} - {None}) == 1
    ]
    findings += counted(
        "one-sided-category",
        f"{plural(len(lopsided), 'category')} with cases of one intended side alone: there, "
        "the category tells the side.",
        ids_of(chain(*lopsided)),
        len(by_category),
        n=len(lopsided),
    )
    return ratio, findings


def provenance(material: Material) -> list[Finding]:
    """Findings about votes, ratings, labels, sources and licences."""
    cases = material.cases
    voted = [case for case in cases if (case.votes_safe or 0) + (case.votes_unsafe or 0)]
    known = {case.id for case in voted}
    bare = [one for one in cases if one.id not in known and one.published_safe_rate is None]
    rated = [case for case in cases if case.ratings is not None]
    means = {sum(one.values) / len(one.values) for case in rated if (one := case.ratings)}
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
        *counted(
            "constant-ratings",
            f"The ratings of all {len(rated)} cases have the same mean: nothing can be correlated "
            "with them. Is it the right column?",
            ids_of(rated) if len(means) == 1 < len(rated) else (),
            len(cases),
        ),
        *(
            finding
            for code, (found, what) in lacking.items()
            for finding in counted_cases(code, ids_of(found), len(cases), what)
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
    """Differences between the two contexts of a pair."""

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
    places = np.array(
        [pair for pair in material.pairs if all(material.contexts[at].strip() for at in pair)], int
    ).reshape(-1, 2)
    lengths = np.array([len(words) for words in material.words], float)
    indices = np.array([lix(text) for text in material.contexts], float)
    found = Twins(_difference(lengths[places]), _difference(indices[places]))
    return found, [
        *_findings("length-difference", "words", found.words),
        *_findings("readability-difference", "LIX", found.lix),
    ]


def _difference(table: FloatArray) -> TwinDifference:
    """The difference of a measure, both sides of each pair. Shape ``(pairs, 2)``."""
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
