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
    findings: Sequence[Finding], checked: str, total: int, *, reveal: bool = False
) -> Iterator[Part]:
    """Findings, each under its name; with their first cases, unless they are about all.

    Args:
        findings: What the checks returned.
        checked: What was looked at, for a set without any.
        total: Number of cases.
        reveal: Whether to show pieces of texts.
    """
    counts = [
        plural(sum(finding.level is level for finding in findings), str(level)) for level in Level
    ]
    yield f"\nFound: {', '.join(counts)}." if findings else f"\nChecked {checked}: no finding."
    for finding in findings:
        yield Word(f"\n{finding.level} {finding.code} ({_size(finding)})", _TONES[finding.level])
        ids = f" [{some(finding.cases, SHOWN)}]" if 0 < len(finding.cases) < total else ""
        yield f"{finding.text}{ids}"
        yield from finding.shown[:SHOWN] if reveal else ()
    yield ""


def _size(finding: Finding) -> str:
    """Size of a finding: the figure with its interval, or the count with its denominator."""
    if CHECKS[finding.code].measured:
        ends = "" if math.isnan(finding.interval[0]) else f", {interval(finding.interval)}"
        return f"{finding.unit} {number(finding.figure)}{ends}"
    denominator = "" if finding.of is None else f" of {finding.of}"
    return f"{finding.n}{denominator} {finding.unit}"


@sheet_of.register
def description_sheet(description: Description) -> Sheet:
    """What the context does to votes, the findings, and the tables."""
    return page(_description(description), lambda: as_record(description))


def _description(description: Description) -> Iterator[Part]:
    yield from (
        *_context_movement(description.context_effect),
        _headline(description),
        *description.shape.sentences(),
    )
    yield from finding_lines(
        description.findings,
        f"votes and published rates of {plural(description.cases, 'case')}",
        description.cases,
    )
    if description.voted:
        tables = (_effects(description), *_people(description))
        yield from (table for table in tables if table.rows)


def _context_movement(effect: ContextEffect) -> Iterator[str]:
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


def _headline(description: Description) -> str:
    arms = []
    if (
        description.arms["safe"]
        or description.arms["unsafe"]
        or not (description.arms["none"] or description.arms["unknown"])
    ):
        arms.append(
            f"intended safe {description.arms['safe']}, unsafe {description.arms['unsafe']}"
        )
    if description.arms["none"]:
        meant = ", ".join(f"{n} {side}" for side, n in sorted(description.meant_alone.items()))
        authors = f", which the authors mean: {meant}" if meant else ""
        arms.append(f"without context {description.arms['none']}{authors}")
    if description.arms["unknown"]:
        arms.append(f"intention unknown {description.arms['unknown']}")
    return (
        f"{description.name}: {plural(description.cases, 'case')} of "
        f"{plural(description.queries, 'query')} in {plural(description.categories, 'category')} "
        f"({', '.join(arms)}); {plural(description.votes, 'vote')} "
        f"on {plural(description.voted, 'case')}"
    )


def _grid(title: str, things: Mapping[str, Any], rows: Mapping[str, str], note: str = "") -> Table:
    """Table with a column for each thing, and a row for each of its figures by name.

    Below it stands why figures have no interval.
    """
    lines = []
    withheld = defaultdict[tuple[str, str], list[str]](list)
    for name, heading in rows.items():
        values = {column: getattr(thing, name) for column, thing in things.items()}
        lines.append(Row([heading, *(_text(name, value) for value in values.values())]))
        reasons = defaultdict[str, list[str]](list)
        for column, value in values.items():
            if isinstance(value, Estimate) and value.reason:
                reasons[value.reason].append(column)
        for reason, of in reasons.items():
            withheld[reason, ", ".join(of)].append(heading)
    notes = (
        f"{', '.join(names)} ({of}): no interval ({why})." for (why, of), names in withheld.items()
    )
    columns = [Column(""), *figures(Kind.ESTIMATE, *things)]
    return Table(columns, lines if things else [], title, " ".join(filter(None, (note, *notes))))


def _text(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return " and ".join(map(count, value))
    if isinstance(value, float):
        return p_value(value) if name == "p" else number(value)
    return estimate(value)


def _effects(description: Description) -> Table:
    """Effect of the context on votes, a column for each two types of context."""
    effects = [description.context_effect, *description.against_none.values()]
    rows = {
        "safe_votes": "safe votes",
        "votes": "votes",
        "difference": "difference of shares",
        "p": "p, clustered by query",
    }
    by_arms = {" against ".join(effect.arms): effect for effect in effects if any(effect.votes)}
    return _grid("What the context does to votes (95 %, clustered by query)", by_arms, rows)


_PARTS = {"all": "all cases", "none": "no context"}


def _people(description: Description) -> Iterator[Table]:
    """Agreement, and the best that anybody could do, a column for each type of context."""
    parts = {
        _PARTS.get(part, f"{part} contexts"): part
        for part, agreed in description.agreement.items()
        if agreed.votes or part == "all"
    }
    agreement = {name: description.agreement[part] for name, part in parts.items()}
    yield _grid("Do people agree? (95 %)", agreement, _COEFFICIENTS)
    if not description.sequential_votes:
        ceilings = {name: description.ceiling[part] for name, part in parts.items()}
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
def audit_sheet(audit: Audit, *, reveal: bool = False) -> Sheet:
    """The findings, worst first, then the figures that they rest on."""
    return page(_audit(audit, reveal=reveal), lambda: audit_record(audit, reveal=reveal))


def _audit(audit: Audit, *, reveal: bool) -> Iterator[Part]:
    sided = f" ({audit.pairs} in a safe and an unsafe context)" if audit.pairs else ""
    yield (
        f"{audit.name}: {plural(audit.cases, 'case')} of {plural(audit.queries, 'query')}{sided}, "
        f"{plural(audit.categories, 'category')} (hash {audit.dataset_hash})"
    )
    yield from finding_lines(
        audit.findings, "votes, pairs, copies, clues, texts and fields", audit.cases, reveal=reveal
    )
    if not math.isnan(audit.leakage.context.accuracy.value):
        yield _guesses(audit)
    elif audit.leakage.context.cases:
        yield (
            f"How well the intended side is guessed takes {LEAST_SIDE} cases of either side, and "
            f"{LEAST_SIDE} groups of queries that share no context."
        )


def _guesses(audit: Audit) -> Table:
    leaked = audit.leakage
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
