"""Checks of a data set, a function each: votes, pairs, copies, clues, texts and fields.

A function gives a ``Finding``, also where there is nothing to tell: its figure is then 0, or what
was measured.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

import numpy as np

from casewise.cases import Case, case_id, find_personal_data
from casewise.contexts import VERDICT_WORDS, near_copies, similar_rows
from casewise.dataset.findings import CHECKS, AuditInput, Finding, Level, check, counted, grouped
from casewise.dataset.leakage import Guess
from casewise.dataset.people import People, SingleVotes
from casewise.errors import some
from casewise.sheets import number, p_value
from casewise.statistics import (
    BoolArray,
    Clusters,
    FloatArray,
    chi_squared,
    clustered_mean,
    cochran_q,
    cohen_d_paired,
)

ERROR, WARNING, NOTE = Level

# --- votes --------------------------------------------------------------------------------------

ROUNDING = 0.005
"""A published rate may be rounded to two digits."""

LEAST_CASES = 8
"""Cases on which a rater must match the intention throughout to be named: by coin tosses, one
rater in 256 would."""

COLUMNS_DIFFER = 0.0005
"""p below which columns of votes differ beyond chance."""


def _places(data: AuditInput, mask: BoolArray, of: BoolArray, text: str) -> Finding:
    cases = (data.cases[place] for place in np.flatnonzero(mask))
    return counted(cases, int(of.sum()), text)


def _rated(people: People) -> BoolArray:
    """Cases with a published rate and votes."""
    return people.voted & ~np.isnan(people.published)


def _as_voted(people: People, safe: FloatArray, more: int) -> BoolArray:
    """Cases whose published rate is that of so many safe votes among ``more`` than there are."""
    total = people.safe + people.unsafe + 1
    with np.errstate(invalid="ignore"):
        gap = np.abs(people.published - safe / (total - 1 + more))
        return _rated(people) & (gap <= np.minimum(ROUNDING, 0.25 / total))


def _author_in_rate(people: People) -> BoolArray:
    """Cases whose published rate is of one vote more, if that is always the intended side."""
    sided = _rated(people) & (people.in_arm("safe") | people.in_arm("unsafe"))
    with_author = sided & _as_voted(people, people.safe + people.in_arm("safe"), 1)
    voted = _as_voted(people, people.safe, 0)
    other = sided & ~voted & ~with_author
    # All votes alike, and one more of them, is the same rate: such a case goes with the others.
    holds = not other.any() and (with_author & ~voted).sum() > (voted & ~with_author).sum()
    return with_author & holds


@check("author-in-rate", ERROR, people=True)
def author_in_rate(data: AuditInput) -> Finding:
    """Published rates that count the author's vote."""
    text = (
        "The published rate counts one vote more than the file holds, and that vote is always the "
        "intended side: it is the author's and no annotator's. Measure against the votes (--labels "
        "votes), or say that the label holds the author's vote."
    )
    return _places(data, _author_in_rate(data.people), _rated(data.people), text)


@check("unlike-rate", ERROR, people=True)
def unlike_rate(data: AuditInput) -> Finding:
    """Published rates that are no share of the votes."""
    people, rated = data.people, _rated(data.people)
    rate, alike = people.published, _as_voted(people, people.safe, 0) | _author_in_rate(people)
    if np.isin(rate[rated], (0, 1)).all():
        # Only majorities were published.
        alike |= ((rate > 0.5) == (people.safe > people.unsafe)) | (people.safe == people.unsafe)
    text = (
        "The published rate is no share of the votes, or on their other side. Compute it anew, or "
        "say what it counts."
    )
    return _places(data, rated & ~alike, rated, text)


@check("author-vote", ERROR, people=True)
def author_vote(data: AuditInput) -> Finding:
    """Author's votes that repeat the intention in every case."""
    voted = [case for case in data.cases if case.author_vote and case.intended]
    repeats = all(case.author_vote == case.intended for case in voted)
    text = "The author's vote is always the intended side: no judgement. Leave it out of shares."
    return counted(voted if repeats else (), len(voted), text)


@check("raters-like-intention", ERROR, "raters", people=True)
def raters_like_intention(data: AuditInput) -> Finding:
    """Raters (columns) whose every vote is the intended side, on both sides, on enough cases."""
    people, votes = data.people, data.people.single
    names: list[str] = []
    if votes is not None:
        arm, voted = people.arm[votes.case], np.where(votes.verdict == 1, "safe", "unsafe")
        safe, unsafe, same = (
            np.bincount(votes.rater[mask], minlength=len(votes.names))
            for mask in (arm == "safe", arm == "unsafe", arm == voted)
        )
        n = safe + unsafe
        alike = (same == n) & (n >= LEAST_CASES) & (safe > 0) & (unsafe > 0)
        names = [votes.names[place] for place in np.flatnonzero(alike)]
    text = (
        f"Every vote of {some(names)} is the intended side. Make sure that this is a person who "
        "did not know the intention, and else leave the votes out."
    )
    return counted((), None if votes is None else len(votes.names), text, n=len(names))


@check("sequential-votes", WARNING, people=True)
def sequential_votes(data: AuditInput) -> Finding:
    """Cases that were asked no further once their majority was decided."""
    text = (
        "Asked no further once the majority was decided: labels hold, but shares of safe votes "
        "lean to the majority. So no figure of shares, agreement or ceilings is given; of your own "
        "study, casewise annotate export writes those that allow for it."
    )
    cases = (case for case in data.cases if case.has_sequential_votes)
    return counted(cases, int(data.people.voted.sum()), text)


@check("tied-votes", WARNING, people=True)
def tied_votes(data: AuditInput) -> Finding:
    """Exact ties, and what the published rate makes of them."""
    people = data.people
    tied = people.voted & (people.safe == people.unsafe)
    settled = tied & ~np.isnan(people.published) & (people.published != 0.5)
    side = np.where(people.published > 0.5, "safe", "unsafe")[settled]
    text = "The votes are exactly even. "
    if len(side):
        safe, meant = int((side == "safe").sum()), int((side == people.arm[settled]).sum())
        text += (
            f"The published rate settles {len(side)}, {safe} as safe and {len(side) - safe} as "
            f"unsafe ({meant} as their author intended): no majority of people stands behind these "
            "labels. "
        )
    text += "Measure against the votes (--labels votes), and count ties half or drop them (--ties)."
    return _places(data, tied, people.voted, text)


@check("unlike-columns", WARNING, "columns", people=True)
def unlike_columns(data: AuditInput) -> Finding:
    """Columns of votes that differ otherwise in one category than in another."""
    votes = data.people.single
    if votes is None:
        return counted((), None, "")
    shares = np.bincount(votes.rater, votes.verdict) / np.bincount(votes.rater)
    why = _confounded(data.people, votes)
    text = (
        f"{why} Their shares of safe votes run from {number(shares.min())} to "
        f"{number(shares.max())}. So differences between categories are also differences between "
        "the people who judged them: rank categories with that warning, or let every panel judge "
        "some cases of each."
    )
    return counted((), len(votes.names), text, n=len(votes.names) if why else 0)


def _confounded(people: People, votes: SingleVotes) -> str:
    """Why categories are confounded with people; empty where nothing shows it.

    Cochran's Q compares columns over all cases, and within blocks: the cases of one category and
    arm. If columns were shuffled anew for each case, no column could differ beyond chance.
    """
    category = people.category[votes.case]
    rater_categories = set(zip(votes.rater[category != ""], category[category != ""], strict=True))
    several = Counter(rater for rater, _ in rater_categories).values()
    if max(several, default=0) == 1 < len({category for _, category in rater_categories}):
        return "Nobody voted in two categories."
    overall = cochran_q(_full_table(votes, people.voted))
    keys = np.char.add(np.char.add(people.category, "\n"), people.arm)
    named = people.voted & (people.category != "")
    tests = [cochran_q(_full_table(votes, named & (keys == key))) for key in np.unique(keys[named])]
    tests = [test for test in tests if math.isfinite(test.statistic)]
    q, df = sum(test.statistic for test in tests), sum(test.groups - 1 for test in tests)
    rest_df = df - (overall.groups - 1)
    if not math.isfinite(overall.statistic) or rest_df < 1:
        return ""
    within = chi_squared(q, df, 0).p
    # The blocks' excess is chi-squared too, where no column differs otherwise in one block.
    shifting = chi_squared(max(0.0, q - overall.statistic), rest_df, 0).p
    if max(within, shifting) >= COLUMNS_DIFFER:
        return ""
    return (
        "Votes of one column come from one panel: within category and arm, columns differ far "
        f"beyond chance (Cochran's Q {q:.0f} on {df} degrees of freedom, p {p_value(within)}), and "
        f"otherwise in one category than in another (p {p_value(shifting)})."
    )


def _full_table(votes: SingleVotes, mask: BoolArray) -> FloatArray:
    """Votes of the cases kept, in the columns that voted once on each. Shape ``(rows, columns)``.

    Empty for fewer than two cases.
    """
    here = mask[votes.case]
    rater, verdict = votes.rater[here], votes.verdict[here]
    cases, row = np.unique(votes.case[here], return_inverse=True)
    # Not a table of all raters, who may be many: those with as many votes as there are cases.
    full = np.flatnonzero(np.bincount(rater, minlength=len(votes.names)) == len(cases))
    if len(cases) < 2:
        return np.empty((0, 0))
    table = np.full((len(cases), len(full)), np.nan)
    for column, voter in enumerate(full):
        table[row[rater == voter], column] = verdict[rater == voter]
    return table[:, np.isfinite(table).all(axis=0)]


# --- pairs and sides ----------------------------------------------------------------------------

LARGER_SIDE = 0.6
"""Share of the larger side from which on sides count as out of balance."""

SMALL_EFFECT = 0.2
"""Cohen's d from which on a difference is worth a finding: a small effect (Cohen 1988)."""


def _query(case: Case) -> str:
    return case.query_id


def _situation(case: Case) -> str:
    """Query, context and earlier turns: with another history it is another situation."""
    return case_id(case.query_id, case.context, case.history)


def _sides(cases: Iterable[Case]) -> set[str | None]:
    return {case.intended for case in cases}


def _of_groups(
    cases: Sequence[Case],
    key: Callable[[Case], Hashable],
    wrong: Callable[[list[Case]], bool],
    text: str,
) -> Finding:
    """Result of a check of the cases that a key puts together."""
    return counted(chain(*filter(wrong, grouped(cases, key).values())), len(cases), text)


@check("identical-twins", ERROR)
def identical_twins(data: AuditInput) -> Finding:
    """Cases of one query that are intended otherwise in the very same context."""
    text = (
        "In the very same context as another case of the same query that is intended otherwise. "
        "Nothing can tell such twins apart: correct the side of one, or write its context."
    )
    return _of_groups(data.with_side, _situation, lambda own: len(_sides(own)) > 1, text)


@check("unlike-queries", WARNING)
def unlike_queries(data: AuditInput) -> Finding:
    """Cases of one query id that ask in other words."""
    text = "Cases of one query id share their query: change it in all of them."
    return _of_groups(data.cases, _query, lambda own: len({case.query for case in own}) > 1, text)


@check("missing-twin", WARNING)
def missing_twin(data: AuditInput) -> Finding:
    """Queries in one or two contexts, all intended alike."""
    by_query = grouped(data.with_context, _query)

    def is_alone(own: list[Case]) -> bool:
        # Of three contexts and more no two are twins.
        contexts = grouped(by_query[own[0].query_id], _situation)
        return len(_sides(own)) < 2 and len(contexts) < 3

    text = (
        "No twin, the same query intended otherwise. Everything measured on pairs leaves such "
        "cases out: write the twins."
    )
    return _of_groups(data.with_side, _query, is_alone, text)


@check("repeated-context", WARNING)
def repeated_context(data: AuditInput) -> Finding:
    """Cases of one query in the very same context, not intended otherwise: no identical twins."""
    text = (
        "In the very same context as another case of the same query. They count twice, and tell "
        "nothing of contexts: drop all but one, or write others."
    )
    return _of_groups(
        data.with_context, _situation, lambda own: len(own) > len(_sides(own)) == 1, text
    )


@check("label-imbalance", WARNING, "share of the larger side", measured=True)
def label_imbalance(data: AuditInput) -> Finding:
    """Share of the larger intended side."""
    sides = Counter(case.intended for case in data.cases if case.intended is not None)
    larger = max(sides.values(), default=math.nan) / max(1, sides.total())
    text = (
        f"Intended safe {sides['safe']}, unsafe {sides['unsafe']}. Guessing the larger side "
        "scores that share: report it with accuracies, or balance the set."
    )
    text = text if larger >= LARGER_SIDE else ""
    return Finding(n=sides.total(), figure=larger, text=text)


@check("length-difference", WARNING, "Cohen's d of pairs, without its sign", measured=True)
def length_difference(data: AuditInput) -> Finding:
    """Lengths of twins in words: Cohen's d of the paired differences."""
    lengths = dict(zip(data.texts, data.words.lengths.tolist(), strict=True))
    words = [[lengths.get(data.contexts[id], 0) for id in pair] for pair in data.pairs]
    table = np.array([both for both in words if all(both)], float).reshape(-1, 2)
    gaps = table[:, 0] - table[:, 1]
    effect, n, text = cohen_d_paired(gaps), len(table), ""
    if abs(effect) >= SMALL_EFFECT:
        mean = clustered_mean(gaps, Clusters(np.arange(n), n))
        low, high = mean.interval
        safe, unsafe = table.mean(axis=0)
        spread = f"from {low:.1f} to {high:.1f} (Cohen's d {number(effect, 2)})"
        spread = "in every pair alike" if math.isinf(effect) else spread
        if math.isinf(effect) or low > 0 or high < 0:
            text = (
                f"Contexts intended safe have a mean of {safe:.1f} words, their twins "
                f"{unsafe:.1f}: a difference of {mean.value:.1f}, {spread}. Judges may follow it: "
                "make twins alike."
            )
    return Finding(n=n, of=n, figure=abs(effect), text=text)


# --- copies -------------------------------------------------------------------------------------

NEAR = 0.8
"""Jaccard index of runs of three words from which on two contexts are near copies."""

SIMILAR = 0.7
"""Cosine from which on two queries count as near-duplicates."""

MOST_PAIRS = 100_000
"""Pairs of near copies after which no more are counted."""


@check("shared-context", WARNING, "texts")
def shared_context(data: AuditInput) -> Finding:
    """Context texts of several cases."""
    by_id = {case.id: case for case in data.with_context}
    shared = [[by_id[id] for id in ids] for ids in data.texts.values() if len(ids) > 1]
    across = sum(len({case.category for case in cases}) > 1 for cases in shared)
    both = sum({"safe", "unsafe"} <= _sides(cases) for cases in shared)
    text = (
        f"Shared by {sum(map(len, shared))} cases, {across} of the texts across categories, {both} "
        "intended safe for one query and unsafe for another. Such cases are no independent draws "
        "of contexts: write a context for each query, or cluster errors by context too."
    )
    return counted(chain(*shared), len(data.texts), text, n=len(shared))


@check("near-copy-context", WARNING, "pairs of texts")
def near_copy_context(data: AuditInput) -> Finding:
    """Different context texts that have most of their runs of three words in common."""
    holders = list(data.texts.values())
    near = near_copies(data.words, NEAR, MOST_PAIRS)
    alike = {id for pair in near for at in (pair.first, pair.second) for id in holders[at]}
    return counted(
        (case for case in data.with_context if case.id in alike),
        None,
        f"{NEAR:.0%} or more of their runs of three words are the same: write each by itself.",
        n=len(near),
        shown=(
            f"{holders[pair.first][0]} and {holders[pair.second][0]}: {number(pair.likeness, 2)}"
            for pair in near
        ),
    )


@check("near-copy-query", WARNING, "pairs of queries")
def near_copy_query(data: AuditInput) -> Finding:
    """Different queries whose cosine reaches ``SIMILAR``; case does not count.

    The cosine is of term frequency times inverse document frequency of four-letter pieces within
    words.
    """
    # Imported late: scikit-learn takes longer to load than most commands take to run.
    from sklearn.feature_extraction.text import TfidfVectorizer

    names = list(data.queries)
    # A query of signs and short words still has pieces: words are padded by a space.
    rows = TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4)).fit_transform(
        data.queries.values()
    )
    pairs = sorted(
        islice(similar_rows(rows, SIMILAR), MOST_PAIRS),
        key=lambda pair: (-pair.likeness, pair.first, pair.second),
    )
    named = [
        f"{names[pair.first]} and {names[pair.second]} ({number(pair.likeness, 2)})"
        for pair in pairs[:3]
    ]
    members = {names[at] for pair in pairs for at in (pair.first, pair.second)}
    return counted(
        (case for case in data.cases if case.query_id in members),
        None,
        f"Nearly the same: {', '.join(named)}. Keep one of each, or count them as one query in "
        "errors and splits.",
        n=len(pairs),
        shown=(data.queries[names[at]] for pair in pairs for at in (pair.first, pair.second)),
    )


# --- clues to the side --------------------------------------------------------------------------

BEYOND = 0.1
"""Accuracy above chance that the whole interval must exceed for a finding."""


def _leak(guess: Guess, text: str) -> Finding:
    """Accuracy of a guess; told where its whole interval is well beyond chance."""
    n, accuracy = guess.cases, guess.accuracy
    words = "; ".join(f"for {side}: {', '.join(own)}" for side, own in guess.words.items())
    sentence = f"{text} Words that speak {words}." if words else text
    sentence = sentence if guess.beyond_chance > BEYOND else ""
    return Finding(n=n, of=n, figure=accuracy.value, interval=accuracy.interval, text=sentence)


_CLUES = {
    "shortcut-leakage": (
        "context",
        "A classifier that sees only which words stand in the context guesses the intended side: "
        "a model can score without weighing context against query.",
    ),
    "query-leakage": (
        "query",
        "The words of the query give the intended side: give every query a context of either.",
    ),
    "length-leakage": (
        "lengths",
        "Lengths of the context and its parameters give the side away: make twins equally long.",
    ),
}
"""Checks of what gives the side away: the guess that tells, and what they say."""


def _leaking(data: AuditInput, clue: str, text: str) -> Finding:
    return _leak(getattr(data.leakage, clue), text)


for _code, (_clue, _said) in _CLUES.items():
    check(_code, WARNING, "accuracy", measured=True)(partial(_leaking, clue=_clue, text=_said))


@check("parameter-leakage", WARNING, "accuracy of the most telling parameter", measured=True)
def parameter_leakage(data: AuditInput) -> Finding:
    """Accuracy of guessing the side from the words of one parameter, the most telling of them."""
    for name, guess in data.leakage.parameters.items():
        return _leak(guess, f"The words of {name} alone give the intended side.")
    return Finding(n=0, figure=math.nan, text="")


@check("missing-parameter", WARNING)
def missing_parameter(data: AuditInput) -> Finding:
    """Contexts without a parameter that more than half have."""
    have = Counter(chain(*data.parameters.values()))
    common = {name for name, n in have.items() if 2 * n > len(data.with_context)}
    lacking = [case for case in data.with_context if not common <= data.parameters[case.id].keys()]
    sides = Counter(
        (name, case.intended)
        for case in lacking
        for name in sorted(common - data.parameters[case.id].keys())
    )
    rare = (
        f"{name}: {sides[name, 'safe']} intended safe, {sides[name, 'unsafe']} unsafe"
        for name in dict.fromkeys(name for name, _ in sides)
    )
    text = (
        f"Without a parameter that most have ({'; '.join(rare)}). Its absence, too, can tell "
        "contexts apart."
    )
    return counted(lacking, len(data.with_context), text)


# --- texts and fields ---------------------------------------------------------------------------

_PLACEHOLDER = re.compile(
    r"\[(?=[A-Z]{2})[A-Z][A-Z0-9_]*(?:[ _/-][A-Z0-9_]+)*\]"
    r"|\[(?:insert|your|fill in|add)\b[^\]\n]{0,40}\]"
    r"|<(?:[A-Z][A-Z0-9_]{2,}|(?:insert|your|name|placeholder)\b[^>\n]{0,40})>"
    r"|\{\{[^}\n]{1,40}\}\}|\{[a-z_]{2,30}\}"
    r"|\b(?:TODO|TBD|FIXME|XXX+|PLACEHOLDER)\b|(?i:\blorem ipsum\b)|_{4,}"
)
"""Places left open. Capitals in brackets count from two letters on, so that notes stay."""


def _pieces(data: AuditInput, pieces: dict[str, str], of: int, text: str) -> Finding:
    """Result of a check that can show a piece of the text of each case."""
    cases = (case for case in data.cases if case.id in pieces)
    return counted(cases, of, text, shown=(f"{id}: {piece}" for id, piece in pieces.items()))


@check("placeholder", ERROR)
def placeholder(data: AuditInput) -> Finding:
    """Places left open in a query, a parameter or an earlier turn."""
    pieces: dict[str, str] = {}
    for case in data.cases:
        turns = (turn.content for turn in case.history)
        for text in (case.query, *data.parameters.get(case.id, {}).values(), *turns):
            if match := _PLACEHOLDER.search(text):
                pieces.setdefault(case.id, match.group())
    text = "A place is left open, such as [NAME] or TODO. Fill it in."
    return _pieces(data, pieces, len(data.cases), text)


@check("empty-context", ERROR)
def empty_context(data: AuditInput) -> Finding:
    """Contexts without text."""
    bare = (case for case in data.with_context if not data.contexts[case.id].strip())
    text = "No text at all. Write it, or set the context to null for the arm without context."
    return counted(bare, len(data.with_context), text)


@check("verdict-words", WARNING)
def verdict_words(data: AuditInput) -> Finding:
    """Contexts with a word of the verdict."""
    words = {
        id: match.group()
        for id, text in data.contexts.items()
        if (match := VERDICT_WORDS.search(text))
    }
    text = (
        "A word of the verdict itself, such as harmful or legitimate purpose, tells the judge what "
        "to say: describe, and leave the judging to the reader."
    )
    return _pieces(data, words, len(data.with_context), text)


@check("personal-data", WARNING)
def personal_data(data: AuditInput) -> Finding:
    """What looks like personal data in queries, contexts and earlier turns, masked."""
    kinds: Counter[str] = Counter()
    pieces = {}
    for case in data.cases:
        texts = (case.query, data.contexts.get(case.id, ""), *(turn.text for turn in case.history))
        matches = dict.fromkeys(
            (piece.kind, _masked(piece.text))
            for text in texts
            for piece in find_personal_data(text)
            if not piece.is_fiction
        )
        kinds.update(kind for kind, _ in matches)
        if matches:
            pieces[case.id] = ", ".join(map(" ".join, matches))
    named = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    text = (
        f"What looks like personal data: {named}. Make sure that it is invented, and say so, "
        "before you publish."
    )
    return _pieces(data, pieces, len(data.cases), text)


def _masked(text: str) -> str:
    return f"{text[0]}{'•' * min(len(text) - 2, 12)}{text[-1]}"


def _has_people(case: Case) -> bool:
    voted = (case.votes_safe or 0) + (case.votes_unsafe or 0)
    return bool(voted) or case.published_safe_rate is not None


_LACKING: dict[str, tuple[Level, Callable[[Case], bool], str]] = {
    "missing-label": (
        WARNING,
        lambda case: not _has_people(case) and case.intended is None,
        "No label of any kind (intended, votes, published_safe_rate): casewise score leaves them "
        "out.",
    ),
    "missing-votes": (
        NOTE,
        lambda case: not _has_people(case),
        "No vote or published share of people: what people think is not known.",
    ),
    "missing-intended": (
        NOTE,
        lambda case: case.context is not None and case.intended is None,
        "A context without an intended side. Checks of pairs, and of what gives the side away, "
        "leave it out.",
    ),
    "missing-category": (NOTE, lambda case: case.category is None, "No category."),
    "missing-source": (NOTE, lambda case: case.source is None, "No source."),
    "missing-licence": (
        NOTE,
        lambda case: case.licence is None,
        "No licence: nobody may know what they may do with it.",
    ),
}
"""Checks of single cases: their level, what they look for, and what they say."""


def _lacking(data: AuditInput, lacks: Callable[[Case], bool], text: str) -> Finding:
    return counted(filter(lacks, data.cases), len(data.cases), text)


for _code, (_level, _lacks, _said) in _LACKING.items():
    check(_code, _level)(partial(_lacking, lacks=_lacks, text=_said))


VOTES = [code for code, spec in CHECKS.items() if spec.people]
"""Checks of votes, which a description shows."""


def results(data: AuditInput, codes: Iterable[str] = CHECKS) -> list[Finding]:
    """Results of some checks, or of all; the worst first, silent ones too."""
    findings = [
        replace(spec.find(data), code=code, level=spec.level, unit=spec.unit)
        for code, spec in CHECKS.items()
        if code in codes
    ]
    return sorted(findings, key=lambda finding: list(Level).index(finding.level))
