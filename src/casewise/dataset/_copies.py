"""Texts that stand twice, or nearly, and contexts that belong to another query."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from casewise.contexts import Misfit, NearCopy, misfits, near_copies
from casewise.dataset._context_checks import (
    RepeatedContexts,
    SimilarQueries,
    context_findings,
    query_findings,
    repeated_contexts,
    similar_queries,
)
from casewise.dataset._findings import Finding, Material, counted, plural

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
    """What stands twice."""

    contexts: RepeatedContexts
    near: tuple[NearContexts, ...]
    """Of different texts, a pair of texts once."""
    texts: int
    """Different context texts."""
    queries: SimilarQueries
    misplaced: tuple[Misplaced, ...]


def copies(material: Material, seed: int) -> tuple[Copies, list[Finding]]:
    """Find identical and nearly identical texts, and misplaced contexts."""
    texts: dict[str, list[int]] = {}
    for place, text in enumerate(material.contexts):
        if text.strip():
            texts.setdefault(text, []).append(place)
    near = near_copies(list(texts), threshold=NEAR, seed=seed)
    holders = list(texts.values())
    copied = Copies(
        repeated_contexts(material.cases),
        tuple(_near(pair, holders, material) for pair in near),
        len(texts),
        similar_queries(material.cases),
        tuple(_misplaced(misfit, material) for misfit in _misfits(material)),
    )
    alike = dict.fromkeys(
        place for pair in near for at in (pair.first, pair.second) for place in holders[at]
    )
    return copied, [*_findings(copied, material, list(alike))]


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


def _findings(copied: Copies, material: Material, near: Sequence[int]) -> Iterator[Finding]:
    yield from context_findings(copied.contexts, copied.texts)
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
    yield from query_findings(copied.queries, material.queries)
