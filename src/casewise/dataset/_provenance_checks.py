"""Check the votes, contexts and pairs of a data set, and say in words what was found."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from casewise.cases import Case
from casewise.dataset._context_checks import (
    BrokenPairs,
    RepeatedContexts,
    SimilarQueries,
    broken_pairs,
    context_findings,
    pair_findings,
    query_findings,
    repeated_contexts,
    similar_queries,
)
from casewise.dataset._findings import Finding, Severity, plural
from casewise.dataset._vote_checks import (
    AuthorVotes,
    ColumnEffects,
    People,
    PublishedRate,
    TieCounts,
    author_votes,
    column_effects,
    published_rate,
    raters_like_intention,
    tie_counts,
)
from casewise.errors import some
from casewise.sheets import p_value
from casewise.statistics import BoolArray

COLUMNS_DIFFER = 0.0005
"""p below which columns of votes count as differing."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Origin of votes, contexts and queries, as far as the file tells."""

    rate: PublishedRate
    author: AuthorVotes
    ties: TieCounts
    raters_like_intention: tuple[str, ...]
    columns: ColumnEffects | None
    contexts: RepeatedContexts
    pairs: BrokenPairs
    queries: SimilarQueries
    findings: tuple[Finding, ...]


def check_provenance(cases: Sequence[Case], people: People) -> Provenance:
    """Run every check."""
    ids = np.array([case.id for case in cases], object)
    rate, author, ties = published_rate(people), author_votes(cases), tie_counts(people)
    raters, columns = raters_like_intention(people), column_effects(people)
    contexts, pairs, queries = (
        repeated_contexts(cases),
        broken_pairs(cases),
        similar_queries(cases),
    )
    findings = [
        *_rate_findings(rate, ids),
        *_author_findings(author),
        *_tie_findings(ties, rate, ids),
        *_rater_findings(raters, columns),
        *context_findings(contexts),
        *pair_findings(pairs),
        *query_findings(queries, {case.query_id: case.query for case in cases}),
    ]
    order = list(Severity)
    findings.sort(key=lambda finding: order.index(finding.severity))
    return Provenance(
        rate, author, ties, raters, columns, contexts, pairs, queries, tuple(findings)
    )


def _rate_findings(rate: PublishedRate, ids: np.ndarray) -> Iterator[Finding]:
    extra = int(rate.one_more.sum())
    if extra:
        text = (
            f"The published rate counts one vote more than the file holds in {extra} of "
            f"{plural(rate.cases, 'case')}."
        )
        level = Severity.WARNING
        if rate.extra_known and rate.extra_is_intended == rate.extra_known:
            level = Severity.ERROR
            text += (
                f" That vote is the intended side in {rate.extra_is_intended} of "
                f"{rate.extra_known}: it is the author's and no annotator's. Measure against the "
                "votes (--labels votes), or say that the label holds the author's vote."
            )
        elif rate.extra_known:
            text += (
                f" That vote is the intended side in {rate.extra_is_intended} of "
                f"{rate.extra_known}. Publish it with the others, or leave it out of the rate."
            )
        yield Finding("published-rate", level, text, _chosen(ids, rate.one_more))
    unlike = int(rate.unlike.sum())
    if unlike:
        yield Finding(
            "published-rate",
            Severity.ERROR,
            f"The published rate of {unlike} of {plural(rate.cases, 'case')} is no share of the "
            "votes, nor of one vote more. Compute it anew, or say what else it counts.",
            _chosen(ids, rate.unlike),
        )
    if rate.flipped:
        yield Finding(
            "published-rate",
            Severity.ERROR,
            f"The published rate puts {plural(rate.flipped, 'case')} on the other side than most "
            "of the votes (ties aside).",
        )


def _author_findings(author: AuthorVotes) -> Iterator[Finding]:
    if author.n and author.is_intended == author.n:
        yield Finding(
            "author-vote",
            Severity.ERROR,
            f"The author's vote is the intended side in {author.n} of "
            f"{plural(author.n, 'case')}: it is no "
            "judgement of its own. Leave it out of every share.",
        )
    elif author.n:
        yield Finding(
            "author-vote",
            Severity.NOTE,
            f"The author's vote is the intended side in {author.is_intended} of "
            f"{plural(author.n, 'case')}.",
        )


def _tie_findings(ties: TieCounts, rate: PublishedRate, ids: np.ndarray) -> Iterator[Finding]:
    n = len(ties.places)
    if not n:
        return
    text = f"In {plural(n, 'case')} the votes are exactly even."
    if ties.safe is None or ties.unsafe is None:
        text += " A label by majority has to decide them: count half for either side, or drop them."
    else:
        settled = ties.safe + ties.unsafe
        by = " by its extra vote" if rate.one_more.any() else ""
        text += (
            f" The published rate settles {settled} of them{by}, {ties.safe} as safe and "
            f"{ties.unsafe} as unsafe ({ties.intended} as their author intended): no majority of "
            "people stands behind these labels. Measure against the votes (--labels votes), and "
            "count ties half (--ties half) or drop them (--ties drop)."
        )
    yield Finding("tied-votes", Severity.WARNING, text, tuple(ids[ties.places]))


def _rater_findings(raters: tuple[str, ...], columns: ColumnEffects | None) -> Iterator[Finding]:
    if raters:
        yield Finding(
            "raters-like-intention",
            Severity.ERROR,
            f"Every vote of {some(raters)} is the intended side. Make sure that this is a person "
            "who did not know the intention, and else leave the votes out.",
        )
    if columns is not None:
        yield from _column_findings(columns)


def _column_findings(columns: ColumnEffects) -> Iterator[Finding]:
    rank = "rank categories with that warning, or let every panel judge some cases of each."
    if columns.most_categories == 1 < columns.categories:
        yield Finding(
            "unlike-columns",
            Severity.WARNING,
            "Nobody voted in two categories, so differences between categories are also "
            f"differences between people: {rank}",
        )
    elif columns.within_p < COLUMNS_DIFFER and columns.shifting_p < COLUMNS_DIFFER:
        yield Finding(
            "unlike-columns",
            Severity.WARNING,
            "Votes of one column come from one panel: within category and arm, columns differ far "
            f"beyond chance (Cochran's Q {columns.within_q:.0f} on {columns.within_df} degrees of "
            f"freedom, p {p_value(columns.within_p)}), and otherwise in one category than in "
            "another. So differences between categories are also differences between the people "
            f"who judged them: {rank}",
        )
    elif min(columns.within_p, columns.overall_p) < COLUMNS_DIFFER:
        yield Finding(
            "unlike-columns",
            Severity.NOTE,
            f"Columns of votes differ beyond chance: their shares of safe votes run from "
            f"{columns.lowest:.2f} to {columns.highest:.2f}. If a column is a person, some are "
            "stricter than others.",
        )


def _chosen(ids: np.ndarray, kept: BoolArray) -> tuple[str, ...]:
    return tuple(ids[kept])
