"""Checks of where votes come from: published rates, the author's vote, ties, raters and columns.

Each check, with those of contexts and pairs, says in words what it found.
"""

import math
from collections import Counter
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
from casewise.dataset._findings import Finding, Severity
from casewise.dataset._people import People, SingleVotes
from casewise.errors import some
from casewise.sheets import p_value, plural
from casewise.statistics import BoolArray, FloatArray, GroupTest, IntArray, chi_squared, cochran_q

ROUNDING = 0.005
"""A published rate may be rounded to two digits."""

LEAST_CASES = 8
"""Cases on which a rater must match the intention throughout to be named: by coin tosses, one
rater in 256 would."""


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """The published safe rate against the votes of the file. Counts of cases."""

    cases: int
    """With a published rate and votes."""
    as_voted: BoolArray
    """The rate is the share of the votes. Shape ``(n,)``."""
    one_more: BoolArray
    """The rate is no share of these votes, but of one vote more. Shape ``(n,)``."""
    unlike: BoolArray
    """The rate is neither. Shape ``(n,)``."""
    extra_vote_known: int
    """Cases whose extra vote can be told and that have an intended side."""
    extra_vote_is_intended: int
    """Cases in which the extra vote is the intended side."""
    flipped: int
    """Cases that are no ties and have another majority by the published rate."""


@dataclass(frozen=True, slots=True)
class AuthorVotes:
    """The field ``author_vote``, set apart from the votes of people."""

    n: int
    is_intended: int


@dataclass(frozen=True, slots=True)
class TieCounts:
    """Cases with as many safe as unsafe votes."""

    places: IntArray
    """Places of the cases."""
    safe: int | None
    """Number that the published rate settles as safe; None where no tie has one."""
    unsafe: int | None
    as_intended: int | None
    """Number that it settles as their author intended."""


@dataclass(frozen=True, slots=True)
class ColumnEffects:
    """Differences between the columns of votes, a rater each or a seat; NaN is undefined."""

    n: int
    """Columns."""
    share_lowest: float
    """The smallest share of safe votes of a column."""
    share_highest: float
    cochran_q: float
    """Cochran's Q of the columns over all cases."""
    p: float
    within_q: float
    """The sum of Cochran's Q over blocks: the cases of one category and arm."""
    within_df: int
    within_p: float
    shifting_p: float
    """p of the excess of the blocks' Q over that of all cases: small if columns differ otherwise in
    one block than in another, as they do if each block has people of its own."""
    blocks: int
    """Blocks that have several cases which each column voted on."""
    most_categories: int
    """The largest number of categories that a column voted in."""
    categories: int
    """Categories with votes."""


def published_rate(people: People) -> PublishedRate:
    """Compare the published rate with the share of votes, and of one vote more."""
    safe, unsafe, rate = people.safe, people.unsafe, people.published
    more = safe + unsafe + 1
    both = people.voted & ~np.isnan(rate)
    allowed = np.minimum(ROUNDING, 0.25 / more)
    as_voted, plus_safe, plus_unsafe = (
        both & (np.abs(rate - share) <= allowed)
        for share in (people.share, (safe + 1) / more, safe / more)
    )
    if both.any() and np.isin(rate[both], (0, 1)).all():
        # Only majorities were published: any share of votes on their side of one half fits.
        as_voted = both & (((rate > 0.5) == (safe > unsafe)) | (safe == unsafe))
        plus_safe = plus_unsafe = np.zeros_like(both)
    # All votes alike, and one more of them, is the same rate: such a case goes with the others.
    plain, extra = as_voted & ~plus_safe & ~plus_unsafe, (plus_safe | plus_unsafe) & ~as_voted
    if extra.sum() > plain.sum():
        one_more, as_voted = plus_safe | plus_unsafe, plain
    else:
        one_more = extra
    sided = one_more & (people.in_arm("safe") | people.in_arm("unsafe"))
    agreeing = sided & np.where(people.in_arm("safe"), plus_safe, plus_unsafe)
    flipped = both & (safe != unsafe) & ((safe > unsafe) != (rate > 0.5))
    return PublishedRate(
        cases=int(both.sum()),
        as_voted=as_voted,
        one_more=one_more,
        unlike=both & ~as_voted & ~one_more,
        extra_vote_known=int(sided.sum()),
        extra_vote_is_intended=int(agreeing.sum()),
        flipped=int(flipped.sum()),
    )


def author_votes(cases: Sequence[Case]) -> AuthorVotes:
    """Compare the author's vote with the intended side."""
    voted = [case for case in cases if case.author_vote is not None and case.intended is not None]
    return AuthorVotes(len(voted), sum(case.author_vote == case.intended for case in voted))


def tie_counts(people: People) -> TieCounts:
    """Count exact ties, and what the published rate makes of them: safe if above one half."""
    tied = people.voted & (people.safe == people.unsafe)
    by_published = tied & ~np.isnan(people.published) & (people.published != 0.5)
    places = np.flatnonzero(tied)
    if not by_published.any():
        return TieCounts(places, None, None, None)
    side = np.where(people.published > 0.5, "safe", "unsafe")[by_published]
    safe = int((side == "safe").sum())
    as_intended = int((side == people.arm[by_published]).sum())
    return TieCounts(places, safe, len(side) - safe, as_intended)


def raters_like_intention(people: People) -> tuple[str, ...]:
    """Raters (columns) whose every vote is the intended side, on both sides, on enough cases."""
    if people.single is None:
        return ()
    votes = people.single
    arm, said = people.arm[votes.case], np.where(votes.verdict == 1, "safe", "unsafe")

    def counts(kept: BoolArray) -> IntArray:
        return np.bincount(votes.rater[kept], minlength=len(votes.names))

    safe, unsafe = counts(arm == "safe"), counts(arm == "unsafe")
    n = safe + unsafe
    alike = (counts(arm == said) == n) & (n >= LEAST_CASES) & (safe > 0) & (unsafe > 0)
    return tuple(votes.names[place] for place in np.flatnonzero(alike))


def column_effects(people: People) -> ColumnEffects | None:
    """Cochran's Q of the columns of votes, over all cases and within category and arm.

    If columns were shuffled anew for each case, no column could differ from another beyond
    chance. Within a block, columns are compared that voted on each of its cases. None without
    single votes.
    """
    if people.single is None:
        return None
    votes = people.single
    # Every name has a vote.
    means = np.bincount(votes.rater, votes.verdict) / np.bincount(votes.rater)
    overall = cochran_q(_full_table(votes, np.ones(len(people.safe), bool)))
    tests = [cochran_q(_full_table(votes, block)) for block in _blocks(people)]
    tests = [test for test in tests if math.isfinite(test.statistic)]
    q = sum((test.statistic for test in tests), start=0.0)
    df = sum(test.groups - 1 for test in tests)
    return ColumnEffects(
        n=len(votes.names),
        share_lowest=float(means.min()),
        share_highest=float(means.max()),
        cochran_q=overall.statistic,
        p=overall.p,
        within_q=q if tests else math.nan,
        within_df=df,
        within_p=chi_squared(q, df, len(tests)).p if tests else math.nan,
        shifting_p=_excess_p(q, df, overall),
        blocks=len(tests),
        most_categories=_most_categories(people, votes),
        categories=len(np.unique(people.category[people.voted & (people.category != "")])),
    )


def _excess_p(q: float, df: int, overall: GroupTest) -> float:
    """P of the blocks' Q beyond that of all cases: chi-squared too, where no column differs."""
    left = df - (overall.groups - 1)
    if not math.isfinite(overall.statistic) or left < 1:
        return math.nan
    return chi_squared(max(0.0, q - overall.statistic), left, overall.groups).p


def _most_categories(people: People, votes: SingleVotes) -> int:
    category = people.category[votes.case]
    named = category != ""
    seen = set(zip(votes.rater[named].tolist(), category[named].tolist(), strict=True))
    return max(Counter(rater for rater, _ in seen).values(), default=0)


def _blocks(people: People) -> list[BoolArray]:
    """The cases of each category and arm; none without categories."""
    named = people.voted & (people.category != "")
    keys = np.char.add(np.char.add(people.category, "\n"), people.arm)
    return [named & (keys == key) for key in np.unique(keys[named])]


def _full_table(votes: SingleVotes, kept: BoolArray) -> FloatArray:
    """Votes of the cases kept, in the columns that voted once on each. Shape ``(rows, columns)``.

    Empty for fewer than two cases.
    """
    here = votes.only(kept)
    cases, row = np.unique(here.case, return_inverse=True)
    if len(cases) < 2:
        return np.empty((0, 0))
    raters, column, n = np.unique(here.rater, return_inverse=True, return_counts=True)
    full = n == len(cases)
    entries = full[column]
    pairs = np.unique(row[entries] * len(raters) + column[entries])
    if len(pairs) < entries.sum():
        return np.empty((0, 0))  # somebody voted twice on a case
    table = np.full((len(cases), len(raters)), np.nan)
    table[row[entries], column[entries]] = here.verdict[entries]
    return table[:, full]


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
    """Check votes, contexts and pairs; the worst findings first."""
    ids = np.array([case.id for case in cases], object)
    rate, author, ties = published_rate(people), author_votes(cases), tie_counts(people)
    raters, columns = raters_like_intention(people), column_effects(people)
    contexts, pairs = repeated_contexts(cases), broken_pairs(cases)
    queries = similar_queries(cases)
    findings = [
        *_rate_findings(rate, ids),
        *_author_findings(author),
        *_tie_findings(ties, rate, ids),
        *_rater_findings(raters),
        *_column_findings(columns),
        *context_findings(contexts),
        *pair_findings(pairs),
        *query_findings(queries, {case.query_id: case.query for case in cases}),
    ]
    findings.sort(key=lambda finding: list(Severity).index(finding.severity))
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
        if rate.extra_vote_known:
            text += (
                f" That vote is the intended side in {rate.extra_vote_is_intended} of "
                f"{rate.extra_vote_known}"
            )
            if rate.extra_vote_is_intended == rate.extra_vote_known:
                level = Severity.ERROR
                text += (
                    ": it is the author's and no annotator's. Measure against the votes (--labels "
                    "votes), or say that the label holds the author's vote."
                )
            else:
                text += ". Publish it with the others, or leave it out of the rate."
        yield Finding("published-rate", level, text, tuple(ids[rate.one_more]))
    unlike = int(rate.unlike.sum())
    if unlike:
        yield Finding(
            "published-rate",
            Severity.ERROR,
            f"The published rate of {unlike} of {plural(rate.cases, 'case')} is no share of the "
            "votes, nor of one vote more. Compute it anew, or say what else it counts.",
            tuple(ids[rate.unlike]),
        )
    if rate.flipped:
        yield Finding(
            "published-rate",
            Severity.ERROR,
            f"The published rate puts {plural(rate.flipped, 'case')} on the other side than most "
            "of the votes (ties aside).",
        )


def _author_findings(author: AuthorVotes) -> Iterator[Finding]:
    if not author.n:
        return
    level, advice = Severity.NOTE, ""
    if author.is_intended == author.n:
        level = Severity.ERROR
        advice = ": it is no judgement of its own. Leave it out of every share"
    yield Finding(
        "author-vote",
        level,
        f"The author's vote is the intended side in {author.is_intended} of "
        f"{plural(author.n, 'case')}{advice}.",
    )


def _tie_findings(ties: TieCounts, rate: PublishedRate, ids: np.ndarray) -> Iterator[Finding]:
    if not len(ties.places):
        return
    text = f"In {plural(len(ties.places), 'case')} the votes are exactly even."
    if ties.safe is None or ties.unsafe is None:
        text += " A label by majority has to decide them: count half for either side, or drop them."
    else:
        by = " by its extra vote" if rate.one_more.any() else ""
        text += (
            f" The published rate settles {ties.safe + ties.unsafe} of them{by}, {ties.safe} as "
            f"safe and {ties.unsafe} as unsafe ({ties.as_intended} as their author intended): no "
            "majority of people stands behind these labels. Measure against the votes (--labels "
            "votes), and count ties half (--ties half) or drop them (--ties drop)."
        )
    yield Finding("tied-votes", Severity.WARNING, text, tuple(ids[ties.places]))


def _rater_findings(raters: tuple[str, ...]) -> Iterator[Finding]:
    if raters:
        yield Finding(
            "raters-like-intention",
            Severity.ERROR,
            f"Every vote of {some(raters)} is the intended side. Make sure that this is a person "
            "who did not know the intention, and else leave the votes out.",
        )


def _column_findings(columns: ColumnEffects | None) -> Iterator[Finding]:
    if columns is None:
        return
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
    elif min(columns.within_p, columns.p) < COLUMNS_DIFFER:
        yield Finding(
            "unlike-columns",
            Severity.NOTE,
            f"Columns of votes differ beyond chance: their shares of safe votes run from "
            f"{columns.share_lowest:.2f} to {columns.share_highest:.2f}. If a column is a person, "
            "some are stricter than others.",
        )
