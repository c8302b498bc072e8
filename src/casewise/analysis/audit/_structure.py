"""Pairs that are no pairs, and sides and categories out of balance."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator

from casewise.analysis.audit._finding import AuditFinding, counted
from casewise.analysis.audit._material import Material
from casewise.analysis.describe import broken_pairs, plural

UNBALANCED = 2.0
"""The largest category over the smallest, from which on categories count as out of balance."""

LARGER_SIDE = 0.6
"""Share of the larger side from which on sides count as out of balance."""


def structure(material: Material) -> tuple[dict[str, float], list[AuditFinding]]:
    """Figures and findings about pairs, sides and categories."""
    findings = [*_pairs(material), *_missing(material)]
    sides, side_findings = _sides(material)
    categories, category_findings = _categories(material)
    return (
        {"label-imbalance": sides, "category-imbalance": categories},
        [*findings, *side_findings, *category_findings],
    )


def _pairs(material: Material) -> Iterator[AuditFinding]:
    found = broken_pairs(material.cases)
    meant = sum(case.intended is not None for case in material.cases)
    yield from counted(
        "identical-twins",
        f"{plural(len(found.same_context), 'case')} in the very same context as another case of "
        "the same query that is intended otherwise. Nothing can tell such twins apart: correct "
        "the side of one, or write its context.",
        found.same_context,
        meant,
    )
    yield from counted(
        "missing-twin",
        f"{plural(len(found.missing_twin), 'case')} without a twin, the same query intended "
        "otherwise. Everything measured on pairs leaves them out: write the twins.",
        found.missing_twin,
        meant,
    )
    yield from counted(
        "repeated-side",
        f"{plural(len(found.repeated_side), 'case')} with another of the same query that is "
        "intended alike. Unless several contexts a side are meant, an intended side is wrong.",
        found.repeated_side,
        meant,
    )


def _missing(material: Material) -> Iterator[AuditFinding]:
    cases = material.cases
    unknown = [case.id for case in cases if case.context is not None and case.intended is None]
    yield from counted(
        "missing-intended",
        f"{plural(len(unknown), 'context')} without an intended side. Checks of pairs, and of "
        "what gives the side away, leave them out.",
        unknown,
        material.with_context,
    )


def _sides(material: Material) -> tuple[float, list[AuditFinding]]:
    counts = Counter(case.intended for case in material.cases if case.intended is not None)
    total = counts.total()
    if not total:
        return math.nan, []
    larger = max(counts.values()) / total
    if larger < LARGER_SIDE:
        return larger, []
    text = (
        f"{counts['safe']} cases are intended safe and {counts['unsafe']} unsafe. Always saying "
        "the larger side scores that share: show it beside accuracies, or balance the set."
    )
    return larger, [AuditFinding("label-imbalance", text, total, value=larger)]


def _categories(material: Material) -> tuple[float, list[AuditFinding]]:
    by_category = defaultdict(list)
    for case in material.cases:
        if case.category is not None:
            by_category[case.category].append(case)
    bare = [case.id for case in material.cases if case.category is None]
    findings = counted(
        "missing-category",
        f"{plural(len(bare), 'case')} without a category.",
        bare,
        len(material.cases),
    )
    if not by_category:
        return math.nan, findings
    sizes = [len(group) for group in by_category.values()]
    ratio = max(sizes) / min(sizes)
    if ratio >= UNBALANCED:
        text = (
            f"The {len(sizes)} categories hold {min(sizes)} to {max(sizes)} cases: a mean over "
            "cases is mostly about the large ones. Show means by category too."
        )
        small = [
            case.id for group in by_category.values() if len(group) == min(sizes) for case in group
        ]
        findings.append(
            AuditFinding(
                "category-imbalance", text, len(small), sum(sizes), tuple(small), value=ratio
            )
        )
    lopsided = {
        name: group
        for name, group in by_category.items()
        if len({case.intended for case in group if case.intended is not None}) == 1
        and len(group) > 1
    }
    findings += counted(
        "one-sided-category",
        f"{plural(len(lopsided), 'category')} with cases of one intended side alone: there, "
        "the category tells the side.",
        [case.id for group in lopsided.values() for case in group],
        len(by_category),
        n=len(lopsided),
    )
    return ratio, findings
