"""Screening: flag people by rules that were fixed beforehand; votes are never deleted."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from casewise.errors import InputError
from casewise.statistics import (
    BoolArray,
    FloatArray,
    cohen_kappa,
)
from casewise_study.statistics.copied import copied
from casewise_study.statistics.unread import Answers, Unread, unread, within_error
from casewise_study.study.block_balance import Range
from casewise_study.study.reading_times import reading
from casewise_study.study.schema import Study
from casewise_study.study.study_rules import LIMITS, Rule, Screening
from casewise_study.votes.collected import Collected, PersonRecord, VoteTable, vote_table

LEAST_PAGES = 5
"""Least pages of which a share is taken."""

LEAST_TIMES = 12
"""Votes of a person, below which nothing is said of reading and of the spread of times."""

SCREENED = "screening: "
"""Beginning of the reason for which the screening excludes somebody while the study runs."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A rule that a person came under, and the figures."""

    rule: Rule
    reason: str


@dataclass(frozen=True, slots=True)
class PersonScreen:
    """The screening of a person with counted votes. NaN is undefined."""

    rater: str
    votes: int
    checks_failed: int
    checks: int
    """Attention checks answered."""
    fast_share: float
    """Share of the votes whose time is known that came faster than ``fast_seconds``, or
    than the words of the case can be read with understanding, 0..1."""
    chance_unread: float
    """Probability of having answered without reading, 0..1: ``statistics.unread``."""
    kappa: float
    """Cohen's, of the person's votes with the majority of the others; cases on which the others
    are even are left out."""
    leniency: float
    """Share of safe votes less the others' on the same cases, -1..1; above 0 is lenient."""
    median_seconds: float
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class Screened:
    """Everybody with counted votes, in the order of the people."""

    people: tuple[PersonScreen, ...]

    def flagged(self, *rules: Rule) -> frozenset[str]:
        """The people flagged by any of these rules; by any rule at all, if none is given."""
        return frozenset(
            person.rater
            for person in self.people
            if any(flag.rule in (rules or tuple(Rule)) for flag in person.flags)
        )


def with_screened(collected: Collected) -> Collected:
    """Count the votes of those too whom the screening excluded while the study ran."""
    out = {
        person.rater for person in collected.people if (person.excluded or "").startswith(SCREENED)
    }
    votes = (replace(vote, counted=vote.counted or vote.rater in out) for vote in collected.votes)
    return replace(collected, votes=tuple(votes))


def screen(study: Study, collected: Collected) -> Screened:
    """Screen everybody by the rules of the study.

    What was not observed flags nobody: without scripts nothing is known of focus and copies, and
    without times nothing of times.

    Args:
        study: Whose rules they are.
        collected: From the app, or from a file.
    """
    table = vote_table(study, collected)
    if not table.raters:
        return Screened(())
    known = {person.rater: person for person in collected.people}
    checks, failures = collected.checked
    # Before these a vote on a cell counts as fast.
    floors = np.array(reading(study).fast_seconds(), np.float64)
    chances, reads = _by_votes(study, table, collected)
    kappas, leniencies = _agreement_with_others(table)
    people = []
    for place, (rater, mine) in enumerate(zip(table.raters, table.of_raters(), strict=True)):
        timed = mine[np.isfinite(table.seconds[mine])]
        seconds, least = table.seconds[timed], floors[table.cell[timed]]
        person = PersonScreen(
            rater=rater,
            votes=len(mine),
            checks=checks[rater],
            checks_failed=failures[rater],
            fast_share=float((seconds < least).mean()) if len(timed) else math.nan,
            chance_unread=float(chances[place]),
            kappa=float(kappas[place]),
            leniency=float(leniencies[place]),
            median_seconds=float(np.median(seconds)) if len(timed) else math.nan,
            flags=(),
        )
        flags = (
            *_seen(study.screening, person, seconds, least),
            *_signals(study.screening, known[rater]),
            *(Flag(rule, reason) for number, rule, reason in reads if number == place),
        )
        people.append(replace(person, flags=flags))
    return Screened(tuple(people))


def _agreement_with_others(table: VoteTable) -> tuple[FloatArray, FloatArray]:
    """Kappa and leniency of each person against the others on the same cases."""
    raters = len(table.raters)
    others = np.asarray(table.counts[table.cell] - 1)
    safe = np.asarray(table.counts_safe[table.cell] - table.safe)
    with np.errstate(divide="ignore", invalid="ignore"):
        lean = np.where(others > 0, table.safe - safe / others, 0.0)
        size = np.bincount(table.rater, others > 0, minlength=raters)
        leniency = np.bincount(table.rater, lean, minlength=raters) / size
    decided = 2 * safe != others
    majority = (2 * safe > others)[decided].astype(np.int64)
    counts = np.zeros((raters, 2, 2))
    verdicts = table.safe[decided].astype(np.int64)
    np.add.at(counts, (table.rater[decided], verdicts, majority), 1)
    return np.asarray(cohen_kappa(counts)), np.asarray(leniency)


Reason = tuple[int, Rule, str]
"""Place of a person, the rule that flags them, and why."""


def _by_votes(
    study: Study, table: VoteTable, collected: Collected
) -> tuple[FloatArray, list[Reason]]:
    """Each person's probability of not reading, and whom votes flag."""
    rules, answers = study.screening, _answers(study, table)
    checks = (np.array([count[rater] for rater in table.raters]) for count in collected.checked)
    attention = unread(answers, *checks)
    many = np.bincount(table.rater, minlength=len(table.raters)) >= LEAST_TIMES
    reasons = list[Reason]()
    if rules.unread_share is not None:
        reasons += _not_read(attention, within_error(attention.chance, rules.unread_share) & many)
        if rules.models is not None:
            models = model_verdicts(study)
            copies = copied(answers, attention.own, np.array(list(models.values())))
            flagged = within_error(copies.sum(axis=1), rules.unread_share) & many
            reasons += _copied(copies, list(models), flagged)
    return attention.chance, reasons


def _answers(study: Study, table: VoteTable) -> Answers:
    order = np.lexsort((table.position, table.rater))
    cell, words = table.cell[order], np.array(reading(study).cells, np.float64)
    return Answers(
        safe=table.safe[order],
        cell=cell,
        rater=table.rater[order],
        group=np.array([table.arms.index(table_cell.arm) for table_cell in table.cells])[cell],
        seconds=table.seconds[order],
        words=words[cell],
        cells=len(table.cells),
        raters=len(table.raters),
    )


def _not_read(attention: Unread, flagged: BoolArray) -> Iterator[Reason]:
    for place in np.flatnonzero(flagged).tolist():
        yield (
            place,
            Rule.UNREAD,
            f"probably did not read ({attention.chance[place]:.1%}; log-odds by votes "
            f"{attention.votes[place]:+.1f}, times {attention.times[place]:+.1f}, checks "
            f"{attention.checks[place]:+.1f})",
        )


def _copied(copies: FloatArray, models: Sequence[str], flagged: BoolArray) -> Iterator[Reason]:
    for place in np.flatnonzero(flagged).tolist():
        chance, model = copies[place].sum(), models[copies[place].argmax()]
        yield place, Rule.MODEL, f"gives the verdicts of {model} ({chance:.1%})"


def _over(value: float, limit: float | None, of: int = 1) -> bool:
    return limit is not None and value > limit * of


def _seen(
    rules: Screening, person: PersonScreen, seconds: FloatArray, least: FloatArray
) -> Iterator[Flag]:
    """Flags by failed checks, and by known times and the least that the words of each case take."""
    if _over(person.checks_failed, rules.attention_failed):
        reason = f"failed {person.checks_failed} of {person.checks} attention checks"
        yield Flag(Rule.ATTENTION, reason)
    if _over(person.fast_share, rules.fast_share):
        bound = Range.of(least.round(1)).words
        yield Flag(Rule.FAST, f"{person.fast_share:.0%} of votes in less than {bound} s")
    if rules.even_times is not None and len(seconds) >= LEAST_TIMES:
        spread = even_spread(seconds)
        if spread < rules.even_times:
            middle = f"{np.median(seconds):.1f} s, spread of logarithms {spread:.2f}"
            yield Flag(Rule.TIMES, f"times hardly vary: {middle}")


def even_spread(seconds: FloatArray) -> float:
    """Standard deviation of the logarithms of the middle four fifths: a break or two don't count.

    Shape ``(n,)``, above 0.
    """
    logs = np.sort(np.log(np.maximum(seconds, 1e-3)))
    cut = len(logs) // 10
    return float(logs[cut : len(logs) - cut].std(ddof=1))


def _signals(rules: Screening, person: PersonRecord) -> Iterator[Flag]:
    """Flags by the signals of a person's pages, and by the person's own word."""
    if _over(person.trapped or 0, rules.honeypot_pages):
        reason = f"followed the hidden text of {person.trapped} of {person.trap_pages} pages"
        yield Flag(Rule.HONEYPOT, reason)
    watched = person.watched or 0
    if watched >= LEAST_PAGES:
        if _over(person.left or 0, rules.left_share, watched):
            away = f"for {person.away_seconds or 0:.0f} s in all"
            yield Flag(Rule.LEFT, f"left {person.left} of {watched} pages, {away}")
        if _over(person.copied or 0, rules.copied_share, watched):
            yield Flag(Rule.COPIED, f"copied or pasted on {person.copied} of {watched} pages")
    if rules.tool_told and person.tool in ("some", "all"):
        yield Flag(Rule.TOOL, f"says that a tool gave {person.tool} of the answers")


def rules_in_words(rules: Screening) -> Iterator[str]:
    """The rules that are on, as the study file has them, with what it says of them."""
    for rule in rules.rules:
        field = LIMITS[rule]
        limit = getattr(rules, field)
        description = " ".join((Screening.model_fields[field].description or "").split())
        shown = ", ".join(limit) if isinstance(limit, tuple) else f"{limit}".lower()
        yield f"`{field}: {shown}`. {description}"


def model_verdicts(study: Study) -> dict[str, FloatArray]:
    """Verdicts by model and protocol, shape ``(cells,)``: 1 safe, 0 unsafe, NaN none.

    Raises:
        InputError: A run can't be read, or none of them judges a case of the study.
    """
    # Imported late: polars takes longer to load than most commands take to run.
    from casewise.judgements import read_paths

    folder, places = study.folder, study.places
    runs = [folder / run for run in study.screening.models or ()]
    by_model = defaultdict[str, FloatArray](lambda: np.full(len(places), np.nan))
    columns = ("model", "protocol", "ablation", "case_id", "verdict")
    for model, protocol, ablation, case_id, verdict in read_paths(runs).table[columns].iter_rows():
        if case_id in places and verdict in ("safe", "unsafe"):
            name = " ".join(filter(None, (model, protocol, ablation)))
            by_model[name][places[case_id]] = verdict == "safe"
    if not by_model:
        raise InputError("no verdict on a case of the study", file=runs[0], field="case_id")
    return by_model
