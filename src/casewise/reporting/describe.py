"""Views of descriptions and audits of a data set: what matters first, findings, tables; JSON."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from casewise.dataset import (
    CHECKS,
    LEAST_SIDE,
    Audit,
    ContextEffect,
    Description,
    Finding,
    Level,
    as_record,
    audit_record,
)
from casewise.errors import some
from casewise.sheets import (
    Column,
    Kind,
    Part,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    count,
    estimate,
    figures,
    interval,
    number,
    p_value,
    page,
    plural,
    sheet_of,
)
from casewise.statistics import Estimate

SHOWN = 3
"""Cases of a finding, and pieces of their texts, that people are shown; JSON has all."""

_TONES = {Level.ERROR: Tone.BAD, Level.WARNING: Tone.DOUBT, Level.NOTE: Tone.GOOD}


def finding_lines(
    found: Sequence[Finding], checked: str, total: int, *, reveal: bool = False
) -> Iterator[Part]:
    """Findings, each under its name; with their first cases, unless they are about all.

    Args:
        found: The findings.
        checked: What was looked at, for a set without any.
        total: Number of cases.
        reveal: Whether to show pieces of texts.
    """
    counts = [plural(sum(one.level is level for one in found), str(level)) for level in Level]
    yield f"\nFound: {', '.join(counts)}." if found else f"\nChecked {checked}: no finding."
    for one in found:
        yield Word(f"\n{one.level} {one.code} ({_size(one)})", _TONES[one.level])
        ids = f" [{some(one.cases, SHOWN)}]" if 0 < len(one.cases) < total else ""
        yield f"{one.text}{ids}"
        yield from one.shown[:SHOWN] if reveal else ()
    yield ""


def _size(found: Finding) -> str:
    """Size of a finding: the figure with its interval, or the count with its denominator."""
    if CHECKS[found.code].measured:
        ends = "" if math.isnan(found.interval[0]) else f", {interval(found.interval)}"
        return f"{found.unit} {number(found.figure)}{ends}"
    of = "" if found.of is None else f" of {found.of}"
    return f"{found.n}{of} {found.unit}"


@sheet_of.register
def description_sheet(one: Description) -> Sheet:
    """What the context does to votes, the findings, and the tables."""
    return page(_description(one), lambda: as_record(one))


def _description(one: Description) -> Iterator[Part]:
    yield from (*_moved(one.context_effect), _opening(one), *one.shape.sentences())
    yield from finding_lines(
        one.findings, f"votes and published rates of {plural(one.cases, 'case')}", one.cases
    )
    if one.voted:
        tables = (_effects(one), *_people(one))
        yield from (table for table in tables if table.rows)


def _moved(effect: ContextEffect) -> Iterator[str]:
    """How far the context moves people, where people voted on both sides."""
    tests, votes = effect.z_tests, effect.votes
    if not all(votes):
        return
    shares = [number(safe / n) for safe, n in zip(effect.safe_votes, votes, strict=True)]
    yield (
        f"How far the context moves people: {shares[0]} of {count(votes[0])} votes are safe in "
        f"contexts meant safe, {shares[1]} of {count(votes[1])} in contexts meant unsafe."
    )
    if tests is not None:
        yield (
            f"Votes on {tests.raw} of {plural(tests.n, 'query')} differ between the two (z-test at "
            f".05), {tests.holm} after Holm, {tests.bh} after Benjamini-Hochberg; over all votes "
            f"pooled, z {number(effect.pooled_z, 1)}, p {p_value(effect.pooled_p)}."
        )


def _opening(one: Description) -> str:
    arms = []
    if one.arms["safe"] or one.arms["unsafe"] or not (one.arms["none"] or one.arms["unknown"]):
        arms.append(f"intended safe {one.arms['safe']}, unsafe {one.arms['unsafe']}")
    if one.arms["none"]:
        meant = ", ".join(f"{n} {side}" for side, n in sorted(one.meant_alone.items()))
        authors = f", which the authors mean: {meant}" if meant else ""
        arms.append(f"without context {one.arms['none']}{authors}")
    if one.arms["unknown"]:
        arms.append(f"intention unknown {one.arms['unknown']}")
    return (
        f"{one.name}: {plural(one.cases, 'case')} of {plural(one.queries, 'query')} in "
        f"{plural(one.categories, 'category')} "
        f"({', '.join(arms)}); {plural(one.votes, 'vote')} on {plural(one.voted, 'case')}"
    )


def _grid(title: str, things: Mapping[str, Any], rows: Mapping[str, str], note: str = "") -> Table:
    """Table with a column for each thing, and a row for each of its figures by name.

    Below it stands why figures have no interval.
    """
    found = []
    withheld = defaultdict[str, list[str]](list)
    for name, heading in rows.items():
        values = [getattr(thing, name) for thing in things.values()]
        found.append(Row([heading, *(_text(name, value) for value in values)]))
        reasons = dict.fromkeys(one.reason for one in values if isinstance(one, Estimate))
        for reason in filter(None, reasons):
            withheld[reason].append(heading)
    notes = (f"{', '.join(names)}: no interval ({why})." for why, names in withheld.items())
    columns = [Column(""), *figures(Kind.ESTIMATE, *things)]
    return Table(columns, found if things else [], title, " ".join(filter(None, (note, *notes))))


def _text(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return " and ".join(map(count, value))
    if isinstance(value, float):
        return p_value(value) if name == "p" else number(value)
    return estimate(value)


def _effects(one: Description) -> Table:
    """Effect of the context on votes, a column for each two types of context."""
    effects = [one.context_effect, *one.against_none.values()]
    rows = {
        "safe_votes": "safe votes",
        "votes": "votes",
        "difference": "difference of shares",
        "p": "p, clustered by query",
    }
    found = {" against ".join(effect.arms): effect for effect in effects if any(effect.votes)}
    return _grid("What the context does to votes (95 %, clustered by query)", found, rows)


_PARTS = {"all": "all cases", "none": "no context"}


def _people(one: Description) -> Iterator[Table]:
    """Agreement, and the best that anybody could do, a column for each type of context."""
    parts = {
        _PARTS.get(part, f"{part} contexts"): part
        for part, agreed in one.agreement.items()
        if agreed.votes or part == "all"
    }
    agreement = {name: one.agreement[part] for name, part in parts.items()}
    yield _grid("Do people agree? (95 %)", agreement, _COEFFICIENTS)
    if not one.sequential_votes:
        ceilings = {name: one.ceiling[part] for name, part in parts.items()}
        yield _grid(
            "How well could anybody do?",
            ceilings,
            _CEILINGS,
            "One person: against the others. Oracle: knows each case's true rate (beta-binomial), "
            "so that nobody beats it but by luck. Both against the votes.",
        )


_COEFFICIENTS = {
    "pairwise": "two people agree",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
}

_CEILINGS = {
    "icc": "reliability, ICC(1,k)",
    "pcc": "best correlation",
    "person_accuracy": "one person, accuracy",
    "person_pcc": "one person, correlation",
    "oracle_accuracy": "oracle, accuracy",
    "oracle_bce": "oracle, cross-entropy",
    "oracle_brier": "oracle, Brier score",
}


@sheet_of.register
def audit_sheet(one: Audit, *, reveal: bool = False) -> Sheet:
    """The findings, worst first, then the figures that they rest on."""
    return page(_audit(one, reveal=reveal), lambda: audit_record(one, reveal=reveal))


def _audit(one: Audit, *, reveal: bool) -> Iterator[Part]:
    sided = f" ({one.pairs} in a safe and an unsafe context)" if one.pairs else ""
    yield (
        f"{one.name}: {plural(one.cases, 'case')} of {plural(one.queries, 'query')}{sided}, "
        f"{plural(one.categories, 'category')} (hash {one.dataset_hash})"
    )
    yield from finding_lines(
        one.findings, "votes, pairs, copies, clues, texts and fields", one.cases, reveal=reveal
    )
    if not math.isnan(one.leakage.context.accuracy.value):
        yield _guesses(one)
    elif one.leakage.context.cases:
        yield (
            f"How well the intended side is guessed takes {LEAST_SIDE} cases of either side, and "
            f"{LEAST_SIDE} groups of queries that share no context."
        )


def _guesses(one: Audit) -> Table:
    leaked = one.leakage
    guesses = {
        "words of the context": leaked.context,
        "words of the query": leaked.query,
        "lengths of the context": leaked.lengths,
    } | {f"words of {name}": guess for name, guess in leaked.parameters.items()}
    rows = [Row([name, guess.accuracy, guess.chance]) for name, guess in guesses.items()]
    return Table(
        [Column("from"), Column("accuracy (95 %)", Kind.ESTIMATE), Column("chance", Kind.SHARE)],
        rows,
        "How well is the intended side guessed from the surface?",
        f"Logistic regression on words that are there or not, {leaked.groups} groups of queries "
        "that share no context, in ten folds; the interval is clustered by group.",
    )
