"""Views of descriptions and audits of a data set: what matters first, findings, tables; JSON."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from casewise.dataset import (
    CHECKS,
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
)

SHOWN = 3
"""Cases of a finding, and pieces of their texts, that people are shown; JSON has all."""

_TONES = {Level.ERROR: Tone.BAD, Level.WARNING: Tone.DOUBT, Level.NOTE: Tone.GOOD}

Part = Table | Word | str


def finding_lines(found: Sequence[Finding], total: int, *, reveal: bool = False) -> Iterator[Part]:
    """Findings, each under its name; with their first cases, unless they are about all."""
    counts = [plural(sum(one.level is level for one in found), str(level)) for level in Level]
    yield f"\nFound: {', '.join(counts)}." if found else "\nFound nothing."
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


def description_sheet(one: Description) -> Sheet:
    """What the context does to votes, the findings, and the tables."""
    parts: list[Part] = [*_moved(one.context_effect), _opening(one), *one.shape.sentences()]
    parts += finding_lines(one.findings, one.cases)
    return page([*parts, *_tables(one)], lambda: as_record(one))


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
        meant = ", ".join(f"{count} {side}" for side, count in sorted(one.meant_alone.items()))
        arms.append(
            f"without context {one.arms['none']}{meant and f', which the authors mean: {meant}'}"
        )
    if one.arms["unknown"]:
        arms.append(f"intention unknown {one.arms['unknown']}")
    return (
        f"{one.name}: {plural(one.cases, 'case')} of {plural(one.queries, 'query')} in "
        f"{plural(one.categories, 'category')} "
        f"({', '.join(arms)}); {plural(one.votes, 'vote')} on {plural(one.voted, 'case')}"
    )


def _tables(one: Description) -> Iterator[Table]:
    """The tables; those about votes only where there are any."""
    if not one.voted:
        return
    for table in (_effects(one), _contexts(one), _groups(one), _people(one)):
        if table.rows:
            yield table


def _columns(
    title: str, columns: Mapping[str, Any], rows: Mapping[str, Callable[[Any], str]], note: str = ""
) -> Table:
    """Table with a column for each thing, and a row for each of its figures."""
    return Table(
        [Column(""), *figures(Kind.NUMBER, *columns)],
        [Row([name, *map(cell, columns.values())]) for name, cell in rows.items() if columns],
        title,
        note,
    )


def _effects(one: Description) -> Table:
    """Effect of the context on votes, a column for each two types of context."""
    effects = [one.context_effect, *one.against_none.values()]
    rows: dict[str, Callable[[ContextEffect], str]] = {
        "safe votes": lambda effect: " and ".join(map(count, effect.safe_votes)),
        "votes": lambda effect: " and ".join(map(count, effect.votes)),
        "difference of shares": lambda effect: number(effect.difference.value),
        "95 %, clustered by query": lambda effect: interval(effect.difference.interval),
        "z, clustered by query": lambda effect: number(effect.clustered_z, 2),
        "p, clustered by query": lambda effect: p_value(effect.p),
        "mean difference of cases": lambda effect: number(effect.mean_difference),
        "Cohen's h": lambda effect: number(effect.cohen_h),
        "odds ratio (Mantel-Haenszel)": lambda effect: number(effect.mantel_haenszel_or, 2),
    }
    columns = {"\nagainst ".join(one.arms): one for one in effects if any(one.votes)}
    return _columns("What the context does to votes", columns, rows)


def _contexts(one: Description) -> Table:
    """Share of pairs of contexts, and of cases without and with one, whose labels differ."""
    found = {"any two contexts": one.contexts, "without and with": one.seen}
    # One pair is no share of pairs.
    told = {name: flips for name, flips in found.items() if flips is not None and flips.pairs > 1}
    share = one.vote_share
    notes = [
        f"Of the variance of votes, {number(share.value)} is between contexts of one query "
        f"({share.reason or f'95 % {interval(share.interval)}'})."
        if one.contexts is not None and not math.isnan(share.value)
        else "",
        *(flips.people_flips.reason for flips in told.values()),
    ]
    return Table(
        [
            Column("of a query"),
            *figures(Kind.COUNT, "queries", "pairs"),
            Column("effective\nqueries", Kind.NUMBER, 1),
            Column("labels differ", Kind.SHARE),
            Column("95 %", Kind.INTERVAL),
        ],
        [
            Row(
                [
                    *(name, flips.queries, flips.pairs, flips.effective_queries),
                    *(flips.people_flips.value, flips.people_flips.interval),
                ]
            )
            for name, flips in told.items()
        ],
        "Do contexts of one query change what most people say?",
        " ".join(filter(None, notes)),
    )


def _groups(one: Description) -> Table:
    return Table(
        [
            Column("between"),
            Column("groups", Kind.COUNT),
            Column("H", Kind.NUMBER, 2),
            Column("p", Kind.P_VALUE),
        ],
        [
            Row([_GROUPS[name], test.groups, test.statistic, test.p])
            for name, test in one.kruskal_wallis.items()
            if test.groups > 1
        ],
        "Do safe rates differ? (Kruskal-Wallis)",
    )


_GROUPS = {
    "safe": "categories, safe contexts",
    "unsafe": "categories, unsafe contexts",
    "none": "categories, no context",
    "context_type": "types of context",
}

_PARTS = {"all": "all\ncases", "none": "no\ncontext"}


def _people(one: Description) -> Table:
    """Agreement, and the best that anybody could do, a column for each type of context."""

    def coefficient(name: str) -> Callable[[str], str]:
        # The interval stands below.
        return lambda part: (
            estimate(getattr(one.agreement[part], name)).replace(" (", "\n").removesuffix(")")
        )

    def best(name: str) -> Callable[[str], str]:
        return lambda part: number(getattr(one.ceiling[part], name))

    parts = [part for part, agreed in one.agreement.items() if agreed.votes or part == "all"]
    rows = {title: coefficient(name) for name, title in _COEFFICIENTS.items()}
    if not one.sequential_votes:
        rows |= {title: best(name) for name, title in _CEILINGS.items()}
    reasons = {
        getattr(one.agreement[part], name).reason: None for part in parts for name in _COEFFICIENTS
    }
    return _columns(
        "Do people agree, and how well could anybody do? (95 %)",
        {_PARTS.get(part, f"{part}\ncontexts"): part for part in parts},
        rows,
        " ".join(
            [
                *(f"No interval: {reason}." for reason in reasons if reason),
                "One person: against the others. Panel: as many new people. Oracle: knows each "
                "case's true rate (beta-binomial), so that nobody beats it but by luck. All "
                "against the votes.",
            ]
        ),
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
    "panel_accuracy": "panel, accuracy",
    "oracle_accuracy": "oracle, accuracy",
    "oracle_bce": "oracle, cross-entropy",
    "oracle_brier": "oracle, Brier score",
}


def audit_sheet(one: Audit, *, reveal: bool) -> Sheet:
    """The findings, worst first, then the figures that they rest on."""
    parts: list[Part] = [_audited(one), *finding_lines(one.findings, one.cases, reveal=reveal)]
    tables = (_guesses(one), _words(one), _parameters(one))
    parts += [table for table in tables if table.rows]
    return page(parts, lambda: audit_record(one, reveal=reveal))


def _audited(one: Audit) -> str:
    sided = f" ({one.pairs} in a safe and an unsafe context)" if one.pairs else ""
    return (
        f"{one.name}: {plural(one.cases, 'case')} of {plural(one.queries, 'query')}{sided}, "
        f"{plural(one.categories, 'category')} (hash {one.dataset_hash})"
    )


def _guesses(one: Audit) -> Table:
    leaked = one.leakage
    guesses = {
        "words of the context": leaked.context,
        "words of the query": leaked.query,
        "lengths of the context": leaked.lengths,
    } | {f"words of {name}": guess for name, guess in leaked.parameters.items()}
    return Table(
        [
            Column("from"),
            Column("accuracy", Kind.SHARE),
            Column("95 %", Kind.INTERVAL),
            Column("chance", Kind.SHARE),
        ],
        [
            Row([name, guess.accuracy.value, guess.accuracy.interval, guess.chance])
            for name, guess in guesses.items()
            if leaked.context.cases
        ],
        "How well is the intended side guessed from the surface?",
        f"Logistic regression on words that are there or not, {leaked.groups} groups of queries "
        "that share no context, in ten folds; the interval is clustered by group.",
    )


def _words(one: Audit) -> Table:
    guess = one.leakage.context
    return Table(
        [
            Column("word"),
            Column("weight", Kind.CHANGE, 2),
            *figures(Kind.COUNT, "cases\nsafe", "cases\nunsafe"),
        ],
        [
            Row([word.word, word.weight, word.safe, word.unsafe])
            for word in (guess.words if guess.beyond_chance > 0 else ())
        ],
        "Words that carry the guess from the context",
        "Weight: mean log-odds of safe over the folds, of words with one sign in all of them. "
        "Listed where the guess is beyond chance.",
    )


def _parameters(one: Audit) -> Table:
    return Table(
        [
            Column(""),
            *figures(Kind.COUNT, "con-\ntexts", "safe", "unsafe"),
            Column("differs\nin pairs", Kind.COUNT),
        ],
        [
            Row(
                [
                    *(name, used.present, used.safe, used.unsafe),
                    f"{used.differs} of {used.pairs}",
                ]
            )
            for name, used in one.parameters.items()
        ],
        "Parameters",
    )
