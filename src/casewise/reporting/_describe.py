"""Views of a description of a data set: tables, findings and remarks; JSON."""

import math
from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.dataset import ContextEffect, Description, Finding, as_description_record
from casewise.results import weighing_words
from casewise.sheets import (
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    count,
    escape,
    estimate,
    figures,
    interval,
    markdown,
    number,
    p_value,
    plural,
    terminal,
)

_COEFFICIENTS = {
    "pairwise": "two people\nagree",
    "fleiss_kappa": "Fleiss'\nkappa",
    "krippendorff_alpha": "Krippen-\ndorff's alpha",
    "gwet_ac1": "Gwet's\nAC1",
}


def description_sheet(description: Description) -> Sheet:
    """Tables, then the findings and remarks."""
    return Sheet(
        lambda: _renderable(description),
        lambda: _markdown(description),
        lambda: as_description_record(description),
    )


def _renderable(description: Description) -> RenderableType:
    change, *shape = description.shape.sentences()
    parts: list[RenderableType] = [Text(change, style="bold"), Text(_opening(description))]
    parts += [*map(Text, shape), Text()]
    parts.append(terminal(*_tables(description)))
    findings = description.provenance.findings
    parts.append(Text("Findings" if findings else "Findings: none", style="bold"))
    parts += [
        Text.assemble((_label(one), "bold"), f" {one.sentence(description.cases)}")
        for one in findings
    ]
    parts += [Text(f"\n{line}") for line in description.remarks]
    return Group(*parts)


def _markdown(description: Description) -> str:
    change, *shape = map(escape, description.shape.sentences())
    opening = [f"**{change}**", escape(_opening(description)), *(f"- {line}" for line in shape)]
    lines = ["\n".join([opening[0], "", opening[1], "", *opening[2:], ""])]
    lines += [markdown(*_tables(description))] if _tables(description) else []
    lines += ["### Findings", ""]
    findings = description.provenance.findings
    lines += [
        f"- **{escape(_label(one))}** {escape(one.sentence(description.cases))}" for one in findings
    ] or ["None."]
    if description.remarks:
        lines += ["", *(f"{escape(line)}\n" for line in description.remarks)]
    return "\n".join(lines).rstrip() + "\n"


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


def _tables(one: Description) -> list[Table]:
    """The tables; those about votes only where there are any."""
    if not one.voted:
        return []
    parts = [part for part, found in one.agreement.items() if found.votes or part == "all"]
    tables = (_effects(one), _contexts(one), _groups(one))
    return [
        *(table for table in tables if table.rows),
        _agreement(one, parts),
        *([] if one.sequential else [_ceiling(one, parts)]),
    ]


def _effects(one: Description) -> Table:
    """Effect of the context on votes, a column for each two types of context; cells are texts."""
    effects = [one.effect, *one.against_none.values()]
    effects = [effect for effect in effects if any(effect.votes)]
    rows: dict[str, Callable[[ContextEffect], str]] = {
        "safe votes": lambda effect: " and ".join(map(count, effect.safe_votes)),
        "votes": lambda effect: " and ".join(map(count, effect.votes)),
        "difference of shares": lambda effect: number(effect.difference.value),
        "95 %": lambda effect: interval(effect.difference.interval),
        "mean difference of cases": lambda effect: number(effect.mean_difference),
        "z, clustered by query": lambda effect: number(effect.clustered_z, 2),
        "p": lambda effect: p_value(effect.p),
        "Cohen's h": lambda effect: number(effect.cohen_h),
        "odds ratio (Mantel-Haenszel)": lambda effect: number(effect.mantel_haenszel_or, 2),
        "queries tested (z-test, .05)": lambda effect: count(effect.z_tests.n),
        "  that differ": lambda effect: _count(effect.z_tests.raw, effect),
        "  after Holm": lambda effect: _count(effect.z_tests.holm, effect),
        "  after Benjamini-Hochberg": lambda effect: _count(effect.z_tests.bh, effect),
    }
    arms = [f"{effect.arms[0]}\nagainst {effect.arms[1]}" for effect in effects]
    return Table(
        [Column(""), *figures(Kind.NUMBER, *arms)],
        [Row([name, *map(cell, effects)]) for name, cell in rows.items() if effects],
        "What the context does to votes",
    )


def _contexts(one: Description) -> Table:
    """Share of pairs of contexts, and of cases without and with one, whose labels differ."""
    found = {"any two contexts": one.contexts.contexts, "without and with": one.contexts.seen}
    # One pair is no share of pairs.
    told = {name: one for name, one in found.items() if one is not None and one.pairs > 1}
    rows = [
        Row(
            [
                *(name, pairs.queries, pairs.pairs, pairs.flips.effective),
                *(pairs.flips.value, interval(pairs.flips.interval)),
            ]
        )
        for name, pairs in told.items()
    ]
    share = one.contexts.vote_share
    ends = share.reason or f"95 % {interval(share.interval)}"
    notes = [
        f"Of the variance of votes, {number(share.value)} is between contexts of one query "
        f"({ends})."
        if one.contexts.contexts is not None and share.value == share.value
        else "",
        weighing_words([one.contexts.weigh_by])
        if any(pairs.flips.uneven for pairs in told.values())
        else "",
    ]
    return Table(
        [
            Column("of a query"),
            *figures(Kind.COUNT, "queries", "pairs"),
            Column("effective\nqueries", Kind.NUMBER, 1),
            Column("labels differ", Kind.SHARE),
            Column("95 %", Kind.INTERVAL),
        ],
        rows,
        "Do contexts of one query change what most people say?",
        " ".join(filter(None, notes)),
    )


def _groups(one: Description) -> Table:
    tests = [
        (f"categories, {arm} contexts" if arm != "none" else "categories, no context", test)
        for arm, test in one.tests.by_category.items()
        if one.arms[arm]
    ]
    tests.append(("types of context", one.tests.by_arm))
    return Table(
        [
            Column("between"),
            Column("groups", Kind.COUNT),
            Column("H", Kind.NUMBER, 2),
            Column("p", Kind.P_VALUE),
        ],
        [
            Row([name, test.groups, test.statistic, test.p])
            for name, test in tests
            if test.groups > 1
        ],
        "Do safe rates differ? (Kruskal-Wallis)",
    )


def _agreement(one: Description, parts: Sequence[str]) -> Table:
    rows = []
    for part in parts:
        found = [getattr(one.agreement[part], name) for name in _COEFFICIENTS]
        cells = (estimate(each).replace(" (", "\n").removesuffix(")") for each in found)
        rows.append(Row([_part_name(part), *cells]))
    return Table(
        [Column(""), *figures(Kind.ESTIMATE, *_COEFFICIENTS.values())],
        rows,
        "Do people agree? (95 %)",
    )


def _ceiling(one: Description, parts: Sequence[str]) -> Table:
    rows = []
    for part in parts:
        found = one.ceilings[part]
        values = [
            found.reliability.icc,
            found.split_half,
            found.reliability.pcc,
            found.person.accuracy,
            found.person.pcc,
            found.panel.accuracy,
            found.oracle.accuracy,
            found.oracle.bce,
            found.oracle.brier,
        ]
        rows.append(Row([_part_name(part), *values]))
    k = one.ceilings["all"].reliability.votes
    return Table(
        [
            Column(""),
            *figures(Kind.NUMBER, "ICC\n(1,k)", "split\nhalf", "best\nPCC", "person\naccur."),
            *figures(Kind.NUMBER, "PCC", "panel\naccur.", "oracle\naccur.", "BCE", "Brier"),
        ],
        rows,
        "How well could anybody do?",
        f"Person: one against the others. Panel: {_k(k)} new people. Oracle: knows each case's "
        "true rate (beta-binomial), so that nobody beats it but by luck. All against the votes.",
    )


def _part_name(part: str) -> str:
    return {"all": "all cases", "none": "no context"}.get(part, f"{part} contexts")


def _label(finding: Finding) -> str:
    return f"{finding.level} ({finding.name}):"


def _count(n: int, effect: ContextEffect) -> str:
    return count(n if effect.z_tests.n else None)


def _k(votes: float) -> str:
    """Size of a second panel; ``as many`` where cases have unequal numbers of votes."""
    whole = abs(votes - round(votes)) < 1e-9 if math.isfinite(votes) else False
    return f"{votes:.0f}" if whole else "as many"
