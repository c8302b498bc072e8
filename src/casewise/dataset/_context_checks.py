"""Contexts that repeat, pairs that are no pairs, and queries that are nearly the same."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from casewise.cases import Case, digest
from casewise.dataset._findings import (
    Finding,
    counted,
    counted_cases,
    grouped,
    ids_of,
)
from casewise.dataset._people import arm_of
from casewise.errors import some
from casewise.sheets import plural
from casewise.statistics import IntArray

SIMILAR = 0.7
"""Cosine from which on two queries count as near-duplicates."""

LISTED = 100
"""Most pairs that are listed; all are counted."""

_CELLS = 5_000_000
"""Most numbers in a block of products, so that memory does not grow with the square."""


def _vectors(queries: Sequence[str]) -> Any:
    """A sparse matrix of unit rows whose columns run from the rarest piece to the commonest."""
    # Imported late: scikit-learn takes longer to load than most commands take to run.
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    # A query of signs and short words still has pieces: words are padded by a space.
    counts = CountVectorizer(analyzer="char_wb", ngram_range=(4, 4)).fit_transform(queries)
    common = np.bincount(counts.indices, minlength=counts.shape[1])
    rows = TfidfTransformer().fit_transform(counts)[:, np.argsort(common, kind="stable")].tocsr()
    rows.sort_indices()
    return rows


def _rare_part(rows: Any) -> Any:
    """Rows cut down to their rare part: see ``similar_queries``."""
    squares = np.concatenate([[0.0], np.cumsum(rows.data**2)])
    starts = np.repeat(squares[rows.indptr[:-1]], np.diff(rows.indptr))
    lengths = np.repeat(squares[rows.indptr[1:]], np.diff(rows.indptr)) - starts
    before = squares[:-1] - starts
    # A piece is in the rare part unless it and all commoner ones together fall short; the margin
    # is for round-off.
    kept = lengths - before >= SIMILAR**2 - 1e-6
    part = rows.copy()
    part.data = kept.astype(np.float32)
    part.eliminate_zeros()
    return part


def _pairs(rows: Any, rare: Any) -> Iterator[tuple[int, int, float]]:
    """The places of two rows, the second behind the first, and their cosine."""
    step = max(1, _CELLS // rows.shape[0])
    columns = rare.T.tocsr()
    for start in range(0, rows.shape[0], step):
        shared = (rare[start : start + step] @ columns).tocoo()
        first, second = shared.row + start, shared.col
        ahead = second > first
        yield from _compared(rows, first[ahead], second[ahead])


def _compared(rows: Any, first: IntArray, second: IntArray) -> Iterator[tuple[int, int, float]]:
    step = _CELLS // 200
    for start in range(0, len(first), step):
        one, other = first[start : start + step], second[start : start + step]
        similarity = np.asarray(rows[one].multiply(rows[other]).sum(axis=1)).ravel()
        for place in np.flatnonzero(similarity >= SIMILAR):
            value = min(1.0, float(similarity[place]))
            yield int(one[place]), int(other[place]), value


@dataclass(frozen=True, slots=True)
class RepeatedContexts:
    """Context texts that several cases share. Case ids, a tuple a text."""

    shared: tuple[tuple[str, ...], ...]
    """Every text that stands in two cases or more."""
    both_sides: tuple[tuple[str, ...], ...]
    """Texts intended safe in one case and unsafe in another."""
    across_categories: tuple[tuple[str, ...], ...]
    """Texts that stand in several categories."""


@dataclass(frozen=True, slots=True)
class BrokenPairs:
    """Cases that make no pair with another of their query, by id."""

    missing_twin: tuple[str, ...]
    """Cases intended safe or unsafe, with none of their query that is intended otherwise."""
    same_context: tuple[str, ...]
    """Cases in the very same context as another of their query that is intended otherwise."""
    repeated_side: tuple[str, ...]
    """Cases with another of their query that is intended alike."""
    sided: int
    """Cases intended safe or unsafe."""


@dataclass(frozen=True, slots=True)
class QueryPair:
    """Two queries that are almost the same, by id."""

    queries: tuple[str, str]
    similarity: float


@dataclass(frozen=True, slots=True)
class SimilarQueries:
    """Near-duplicate queries."""

    n: int
    """Number of pairs."""
    pairs: tuple[QueryPair, ...]
    """The most similar pairs, at most ``LISTED``."""
    cases: tuple[str, ...]
    """Ids of all cases whose query stands in a pair."""


def repeated_contexts(cases: Sequence[Case]) -> RepeatedContexts:
    """Find contexts that are the same to the letter, in the same order."""
    told = (case for case in cases if case.context is not None)
    shared = [group for group in grouped(told, _text).values() if len(group) > 1]
    both = [one for one in shared if {"safe", "unsafe"} <= {case.intended for case in one}]
    across = [one for one in shared if len({case.category for case in one}) > 1]
    return RepeatedContexts(*(tuple(map(ids_of, groups)) for groups in (shared, both, across)))


def broken_pairs(cases: Sequence[Case]) -> BrokenPairs:
    """Find queries without a twin, with equal contexts, or with a side that repeats."""
    told = grouped((case for case in cases if case.context is not None), _query)
    sided = [case for case in cases if arm_of(case) in ("safe", "unsafe")]
    missing, same, repeated = [], [], []
    for query, group in grouped(sided, _query).items():
        sides = Counter(case.intended for case in group)
        # Of three contexts and more no two are twins.
        if len(sides) < 2 and len(grouped(told[query], _text)) < 3:
            missing += group
        texts = grouped(group, _text)
        same += [one for one in group if len({case.intended for case in texts[_text(one)]}) > 1]
        repeated += [case for case in group if sides[case.intended] > 1]
    return BrokenPairs(ids_of(missing), ids_of(same), ids_of(repeated), len(sided))


def similar_queries(cases: Sequence[Case]) -> SimilarQueries:
    """Find pairs of different queries whose cosine reaches ``SIMILAR``; case does not count.

    Term frequency times inverse document frequency of four-letter pieces within words. Only
    pairs that share a piece in the rare part of both are compared. The rare part of a query is
    what must be taken, rarest first, so that the rest has a length below the threshold: two
    queries that share nothing rarer can't reach it. So no pair is missed (Bayardo, Ma & Srikant
    2007, doi:10.1145/1242572.1242591).
    """
    texts = {case.query_id: case.query for case in cases}
    if len(texts) < 2:
        return SimilarQueries(0, (), ())
    names, rows = list(texts), _vectors(list(texts.values()))
    pairs = [
        QueryPair((names[first], names[second]), similarity)
        for first, second, similarity in _pairs(rows, _rare_part(rows))
    ]
    pairs.sort(key=lambda pair: -pair.similarity)
    members = {query for pair in pairs for query in pair.queries}
    alike = ids_of(case for case in cases if case.query_id in members)
    return SimilarQueries(len(pairs), tuple(pairs[:LISTED]), alike)


def context_findings(contexts: RepeatedContexts, texts: int | None = None) -> Iterator[Finding]:
    """Findings on texts of several cases; ``texts`` is the number of different context texts."""
    both, shared = (list(chain(*groups)) for groups in (contexts.both_sides, contexts.shared))
    yield from counted(
        "context-both-sides",
        f"{plural(len(contexts.both_sides), 'context text')}, in {plural(len(both), 'case')}, "
        "meant safe for one query and unsafe for another. That is sound only if the queries "
        "make the difference: read them.",
        both,
        texts,
        n=len(contexts.both_sides),
    )
    across = len(contexts.across_categories)
    beyond = f", {across} of them across categories" if across else ""
    yield from counted(
        "shared-context",
        f"{plural(len(contexts.shared), 'context text')} shared by {len(shared)} cases{beyond}. "
        "Such cases are no independent draws of contexts: write a context for each query, or "
        "cluster errors by context too.",
        shared,
        texts,
        n=len(contexts.shared),
    )


def pair_findings(pairs: BrokenPairs) -> Iterator[Finding]:
    """Findings on queries that make no pair."""
    yield from counted_cases(
        "identical-twins",
        pairs.same_context,
        pairs.sided,
        "in the very same context as another case of the same query that is intended otherwise. "
        "Nothing can tell such twins apart: correct the side of one, or write its context.",
    )
    yield from counted_cases(
        "repeated-side",
        pairs.repeated_side,
        pairs.sided,
        "that share query and intended side with another. Unless several contexts a side are "
        "meant, an intended side is wrong.",
    )
    yield from counted(
        "missing-twin",
        "No twin, the same query intended otherwise, for "
        f"{plural(len(pairs.missing_twin), 'case')}. Everything measured on pairs leaves such "
        "cases out: write the twins.",
        pairs.missing_twin,
        pairs.sided,
    )


def gap_findings(cases: Sequence[Case]) -> Iterator[Finding]:
    """Findings on cases that measures of one query's contexts count twice or leave out."""
    told = grouped((case for case in cases if case.context is not None), _query)
    alone = grouped((case for case in cases if case.context is None), _query)
    repeated: list[Case] = []
    for group in told.values():
        for same in grouped(group, _text).values():
            # Cases that are meant otherwise are identical twins, which are worse.
            if len(same) > 1 and len({case.intended for case in same}) == 1:
                repeated += same
    yield from counted_cases(
        "repeated-context",
        ids_of(repeated),
        sum(map(len, told.values())),
        "in the very same context as another case of the same query. They count twice, and tell "
        "nothing of contexts: drop all but one, or write others.",
    )
    single = [group[0] for group in told.values() if len(group) == 1 and not arm_of(group[0])]
    if len(single) < len(told):
        yield from counted_cases(
            "single-context",
            ids_of(single),
            len(told),
            "in one context only, beside queries in several: nothing within queries is measured "
            "on them.",
            noun="query",
        )
    queries = len(told.keys() | alone.keys())
    lone = [group for query, group in told.items() if query not in alone]
    lone += [group for query, group in alone.items() if query not in told]
    if len(lone) < queries:
        yield from counted(
            "missing-none-arm",
            f"{plural(len(lone), 'query')} without a context alone, or in context alone, beside "
            "queries with both: what seeing the context changes is not measured on them.",
            ids_of(chain(*lone)),
            queries,
            n=len(lone),
        )


def query_findings(queries: SimilarQueries, texts: Mapping[str, str]) -> Iterator[Finding]:
    """Finding on near-duplicate queries; ``texts`` holds the query of each query id."""
    named = [f"{' and '.join(pair.queries)} ({pair.similarity:.2f})" for pair in queries.pairs]
    yield from counted(
        "near-copy-query",
        f"{plural(queries.n, 'pair')} of near-duplicate queries: {some(named, 3, queries.n)}. "
        "Keep one of each, or count them as one query in errors and splits.",
        queries.cases,
        None,
        n=queries.n,
        shown=[texts[query] for pair in queries.pairs for query in pair.queries],
    )


def _query(case: Case) -> str:
    return case.query_id


def _text(case: Case) -> str:
    """Context and earlier turns: with another history, the same context is another situation."""
    assert case.context is not None
    turns = [list(turn.values) for turn in case.history]
    return digest(json.dumps([case.context.root, turns]))
