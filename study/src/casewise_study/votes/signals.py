"""Signals of answers that no person gave, and every rule of screening in a sentence.

Signals are hidden text, the page left, copies, times, and what is said; each is a rule of the study
file. A signal that was not observed flags nobody: without scripts nothing is known of focus and
copies, and without times nothing of times.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from casewise.statistics import (
    Answers,
    benjamini_hochberg,
    changed_p,
    clustered_spearman,
    number_clusters,
    unread,
    within_error,
)
from casewise_study.study.reading_times import FAST_SECONDS, UNDERSTOOD, reading
from casewise_study.study.schema import Study
from casewise_study.study.study_rules import Rule, Screening
from casewise_study.votes.collected import (
    TOOL_ANSWERS,
    Collected,
    FloatArray,
    PersonRecord,
    VoteTable,
)

LEAST_PAGES = 5
"""Least pages of which a share is taken."""

LEAST_TIMES = 12
"""Times of a person, below which nothing is said of their spread and rise."""

WORDS_RATIO = 1.5
"""Cases of fewer words than the others by this factor, in quartiles, have no times that rise."""

_RANKS_VARIANCE = 1.06
"""Variance of Fisher's z of a rank correlation, times n - 3 (Fieller, Hartley and Pearson 1957,
doi:10.1093/biomet/44.3-4.470)."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A rule that a person came under, and the figures."""

    rule: Rule
    reason: str


def signals_of(
    study: Study, table: VoteTable, collected: Collected
) -> tuple[tuple[Flag, ...], ...]:
    """The signals of everybody with counted votes, with their figures, in the order of raters."""
    known = {person.rater: person for person in collected.people}
    times, reads = _times(study, table), _unread(study, table, collected)
    return tuple(
        (*_observed(study.screening, known[rater]), *times[number], *reads[number])
        for number, rater in enumerate(table.raters)
    )


def _unread(study: Study, table: VoteTable, collected: Collected) -> Mapping[int, list[Flag]]:
    """Flags, by rater, of who answers without reading, and of answers that change at one place."""
    rules, flags = study.screening, defaultdict[int, list[Flag]](list)
    if not len(table.safe) or {rules.unread_share, rules.changed_p} == {None}:
        return flags
    order = np.lexsort((table.position, table.rater))
    cell, words = table.cell[order], np.array(reading(study).cells, np.float64)
    answers = Answers(
        safe=table.safe[order],
        cell=cell,
        rater=table.rater[order],
        group=np.array([table.arms.index(one.arm) for one in table.cells])[cell],
        seconds=table.seconds[order],
        words=words[cell],
        cells=len(table.cells),
        raters=len(table.raters),
    )
    checks = (np.array([count[rater] for rater in table.raters]) for count in collected.checked)
    found = unread(answers, *checks)
    many = np.bincount(table.rater, minlength=len(table.raters)) >= LEAST_TIMES
    if rules.unread_share is not None:
        unread_people = within_error(found.chance, rules.unread_share) & many
        for place in np.flatnonzero(unread_people).tolist():
            reason = (
                f"probably did not read ({found.chance[place]:.1%}; log-odds by votes "
                f"{found.votes[place]:+.1f}, times {found.times[place]:+.1f}, checks "
                f"{found.checks[place]:+.1f})"
            )
            flags[place].append(Flag(Rule.UNREAD, reason))
    if rules.changed_p is not None:
        p = benjamini_hochberg(changed_p(answers, found.own))
        for place in np.flatnonzero(p < rules.changed_p).tolist():
            reason = f"pace and leniency change at one place (adjusted p {p[place]:.1g})"
            flags[place].append(Flag(Rule.CHANGED, reason))
    return flags


def _observed(rules: Screening, person: PersonRecord) -> Iterator[Flag]:
    """Flags by the signals of a person's pages, and by the person's own word."""
    trapped, watched = person.trapped or 0, person.watched or 0
    if rules.honeypot_pages is not None and trapped > rules.honeypot_pages:
        reason = f"followed the hidden text of {trapped} of {person.trap_pages} pages"
        yield Flag(Rule.HONEYPOT, reason)
    enough = watched >= LEAST_PAGES
    left, copied = person.left or 0, person.copied or 0
    if rules.left_share is not None and enough and left > rules.left_share * watched:
        reason = f"left {left} of {watched} pages, for {person.away_seconds or 0:.0f} s in all"
        yield Flag(Rule.LEFT, reason)
    if rules.copied_share is not None and enough and copied > rules.copied_share * watched:
        yield Flag(Rule.COPIED, f"copied or pasted on {copied} of {watched} pages")
    if rules.tool_told and person.tool in ("some", "all"):
        yield Flag(Rule.TOOL, f"says that a tool gave {person.tool} of the answers")


def _times(study: Study, table: VoteTable) -> Mapping[int, list[Flag]]:
    """Flags, by rater, of times that hardly vary or rise with words less than other people's."""
    rules = study.screening
    found = defaultdict[int, list[Flag]](list)
    if rules.even_times is None and rules.words_p is None:
        return found
    words = np.array(reading(study).cells, np.float64)
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
            found[number].append(Flag(Rule.TIMES, reason))
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
            found[number].append(Flag(Rule.TIMES, reason))
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


def rules_in_words(rules: Screening) -> Iterator[str]:
    """The rules that are on, a sentence each."""
    if rules.attention_failed is not None:
        checks = "check" if rules.attention_failed == 1 else "checks"
        yield (f"Attention: more than {rules.attention_failed} attention {checks} failed.")
    if rules.fast_share is not None:
        yield (
            f"Fast: more than {rules.fast_share:.0%} of votes in less than "
            + (
                f"the words of the case take at {UNDERSTOOD:g} a minute, at least "
                f"{FAST_SECONDS:g} s."
                if rules.fast_seconds is None
                else f"{rules.fast_seconds:g} s."
            )
        )
    if rules.one_answer_share is not None:
        yield (
            f"One answer: one answer to more than {rules.one_answer_share:.0%} of at least 20 "
            "cases, where the others' answers make that unlikely (p < .01)."
        )
    if rules.agreement_p is not None:
        yield (
            "Agreement: agrees with the others less than these do among themselves; one-sided, "
            "exact, given how many answers of a kind the person gave, against those whom nothing "
            f"else flagged; p below {rules.agreement_p:g} after Benjamini and Hochberg's "
            "adjustment for the number of people."
            + ("" if (most := rules.agreement_most) is None else f" Nobody, if over {most:.0%}.")
        )
    if rules.honeypot_pages is not None:
        yield (
            "Honeypot: followed on more than "
            f"{rules.honeypot_pages} pages the hidden text, which stands in the page's source and "
            "which people neither see nor hear."
        )
    if rules.left_share is not None:
        yield (f"Left: more than {rules.left_share:.0%} of pages lost the focus before the answer.")
    if rules.copied_share is not None:
        yield (
            f"Copied: the case was copied from, or something pasted, on more than "
            f"{rules.copied_share:.0%} of pages."
        )
    if rules.even_times is not None:
        yield (
            "Times: the logarithms of the seconds of the middle four fifths of at least "
            f"{LEAST_TIMES} cases have a standard deviation below {rules.even_times:g}."
        )
    if rules.words_p is not None:
        yield (
            "Times: the rank correlation of seconds with words is lower than other people's; "
            f"one-sided p below {rules.words_p:g} after the same adjustment."
        )
    if rules.unread_share is not None:
        yield (
            "Unread: has probably not read, by the votes against the others' on the same cases and "
            f"against patterns, by times and checks, over at least {LEAST_TIMES} cases; of those "
            f"flagged {rules.unread_share:.0%} at most are expected to have read."
        )
    if rules.changed_p is not None:
        yield (
            "Changed: pace and leniency change at one place, as if another person went on; p below "
            f"{rules.changed_p:g} after the same adjustment."
        )
    if rules.tool_told:
        yield ("Tool: says at the end that a tool gave some or all of the answers.")


def observed_in_words(study: Study, collected: Collected) -> Iterator[str]:
    """Number of people whose signals are known, a sentence each."""
    voted = {vote.rater for vote in collected.votes if vote.counted}
    people = [person for person in collected.people if person.rater in voted]
    if study.screening.watches:
        trapped = sum(person.trap_pages is not None for person in people)
        watched = [person for person in people if person.watched]
        yield (
            f"Of {len(people)} people with counted votes, {trapped} answered pages with hidden "
            f"text, and the pages of {len(watched)} counted focus and copies; of the others "
            "(scripts off, or asked elsewhere) that is absent."
        )
        if watched:
            names = ("watched", "left", "copied")
            pages, left, copied = (
                sum(getattr(person, name) for person in watched) for name in names
            )
            yield (
                f"Of the {pages} pages that counted, {left} were left for another window or tab, "
                f"and {copied} copied from or pasted into."
            )
    if study.tool_question:
        said = Counter(person.tool for person in people)
        answers = ", ".join(f"{answer} {said[answer]}" for answer in TOOL_ANSWERS)
        yield (f"Asked how many answers a tool gave: {answers}, not said {said[None]}.")
