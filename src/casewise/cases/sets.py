"""Sets of cases: the difference of two versions, unions, splits and samples."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import floor
from typing import Any

import numpy as np
from pydantic import JsonValue

from casewise.cases.files import CaseSet
from casewise.cases.model import Case, VoteCounts, digest, to_fields, to_line
from casewise.choices import By
from casewise.errors import InputError, UsageError

_TEXTS = ("query", "context", "history")

_VERDICTS = ("votes", "author_vote", "published_safe_rate")
"""Fields that hold what people said of a case's text as it is."""


# --- difference ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, or one parameter of a context, before and after."""

    field: str
    """The field's name; a context's parameter as ``context.recipient.background``."""
    old: JsonValue
    """Value before, None where absent; votes are counts, unless these are the same."""
    new: JsonValue

    @property
    def is_text(self) -> bool:
        """Tell whether the field is text that messages withhold: query, context or history."""
        return self.field.split(".")[0] in _TEXTS


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case in two versions."""

    old: Case
    new: Case
    fields: tuple[FieldChange, ...]
    """Changes in the order of a case's fields, without ``id``."""

    @property
    def moves_votes(self) -> bool:
        """True if votes that were cast on one text now stand on another."""
        has_votes = any(
            getattr(self.old, name) == getattr(self.new, name) is not None for name in _VERDICTS
        )
        return has_votes and any(change.is_text for change in self.fields)


@dataclass(frozen=True, slots=True)
class SetDiff:
    """Comparison of two versions of a data set."""

    old: CaseSet
    new: CaseSet
    added: tuple[Case, ...]
    """Added cases in the order of the new version."""
    removed: tuple[Case, ...]
    """Removed cases in the order of the old version."""
    changed: tuple[CaseChange, ...]
    """Cases that kept their id, in the order of the old version."""
    reworded: tuple[CaseChange, ...]
    """Cases under another id, as one is made of the text."""
    unchanged: int
    reordered: bool
    """True if the cases that kept their id follow each other in another order."""

    @property
    def same(self) -> bool:
        """Tell whether both versions hold the same cases in the same order."""
        return self.old.hash == self.new.hash


def diff_sets(old: CaseSet, new: CaseSet) -> SetDiff:
    """Compare two versions of a data set by the ids of their cases.

    A case removed and a case added are one reworded case where they share the query id and the
    intended side, or else (the query itself was reworded) the whole context, the history and the
    intended side; and no third case does.
    """
    before, after = ({case.id: case for case in case_set.cases} for case_set in (old, new))
    common = [id for id in before if id in after]
    changes = [_change(before[id], after[id]) for id in common]
    changed = tuple(change for change in changes if change.fields)
    removed = {id: case for id, case in before.items() if id not in after}
    added = {id: case for id, case in after.items() if id not in before}
    reworded = []
    for key in (_by_query, _by_context):
        for earlier, other in _matches(removed.values(), added.values(), key):
            reworded.append(_change(earlier, other))
            del removed[earlier.id], added[other.id]
    return SetDiff(
        old,
        new,
        tuple(added.values()),
        tuple(removed.values()),
        changed,
        tuple(reworded),
        len(common) - len(changed),
        common != [id for id in after if id in before],
    )


def _by_query(case: Case) -> object:
    return case.query_id, case.intended


def _by_context(case: Case) -> object:
    return case.context and (case.context.model_dump_json(), case.history, case.intended)


def _matches(
    removed: Iterable[Case], added: Iterable[Case], key: Callable[[Case], Any]
) -> list[tuple[Case, Case]]:
    """Pairs of a removed and an added case with a key that no third case has."""
    sides = []
    for cases in (removed, added):
        groups = defaultdict[Any, list[Case]](list)
        for case in cases:
            groups[key(case)].append(case)
        sides.append({name: ones[0] for name, ones in groups.items() if name and len(ones) == 1})
    old, new = sides
    return [(case, new[name]) for name, case in old.items() if name in new]


def _change(old: Case, new: Case) -> CaseChange:
    """Parameters and counts that differ; else what differs within a field, such as an order."""
    changes = _differing(_leaves, old, new) or _differing(_fields, old, new)
    return CaseChange(old, new, tuple(changes))


def _differing(
    form: Callable[[Case], Iterable[tuple[str, Any]]], old: Case, new: Case
) -> list[FieldChange]:
    before, after = dict(form(old)), dict(form(new))
    changes = (FieldChange(name, before.get(name), after.get(name)) for name in before | after)
    # To Python 1 is true; to JSON it is not.
    return [change for change in changes if json.dumps(change.old) != json.dumps(change.new)]


def _fields(case: Case) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in to_fields(case).items() if name != "id")


def _leaves(case: Case) -> Iterator[tuple[str, Any]]:
    """Fields of a case, with votes as counts and the parameters of a context one by one."""
    for name, value in _fields(case):
        if name == "votes":
            form = "counts" if isinstance(case.votes, VoteCounts) else "single votes"
            yield name, f"{case.votes_safe} safe, {case.votes_unsafe} unsafe ({form})"
        else:
            yield from _inside(name, value) if name == "context" else [(name, value)]


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _inside(f"{name}.{key}", inner)
    else:
        yield name, value


# --- union --------------------------------------------------------------------------------------


def merge_sets(sets: Sequence[CaseSet]) -> tuple[Case, ...]:
    """Unite data sets by the ids of their cases, in the order in which the files first hold them.

    Identical cases count once.

    Raises:
        InputError: The files disagree on a case.
    """
    by_id: dict[str, Case] = {}
    for case_set in sets:
        for case in case_set.cases:
            first = by_id.setdefault(case.id, case)
            if to_line(first) != to_line(case):
                field = _change(first, case).fields[0].field.split(".")[0]
                problem, place = "differs from an earlier file", f"case {case.id}"
                expected = "one of the two: leave the case out of the other file"
                raise InputError(problem, case_set.name, place, field=field, expected=expected)
    return tuple(by_id.values())


# --- parts --------------------------------------------------------------------------------------


def whole_queries(cases: Iterable[Case]) -> list[tuple[Case, ...]]:
    """Group cases by query, in the order of the first case of each.

    Cases belong together that share a query id, or the words of the query but for spaces and
    capitals: the same question under two ids would be asked in both parts of a split. Queries
    that are merely alike are not found here.
    """
    # Loaded late: it takes longer than to read a file of cases.
    from scipy.cluster.hierarchy import DisjointSet

    cases = tuple(cases)
    together: Any = DisjointSet()
    for case in cases:
        marks = ("id", case.query_id), ("words", " ".join(case.query.split()).casefold())
        for mark in marks:
            together.add(mark)
        together.merge(*marks)
    groups = defaultdict[Any, list[Case]](list)
    for case in cases:
        groups[together["id", case.query_id]].append(case)
    return list(map(tuple, groups.values()))


def split_cases(
    cases: Sequence[Case],
    shares: Mapping[str, Fraction],
    *,
    by: By = By.CATEGORY,
    seed: int = 0,
) -> dict[str, tuple[Case, ...]]:
    """Split cases into parts, whole queries in each, every stratum in proportion.

    Each part has its share of every stratum, rounded down or up; what one stratum gives too much
    or too little the next make up for. The order of the cases plays no role.

    Args:
        cases: The whole.
        shares: The share of queries by the part's name, each above 0, summing to exactly 1.
        by: The field to stratify by. Where the cases of a query differ in it, all their values
            together name the stratum.
        seed: Of the draw.

    Raises:
        UsageError: A share is not above 0, they don't sum to 1, or a part would get no query.
    """
    total = sum(shares.values(), Fraction())
    if total != 1 or min(shares.values()) <= 0:
        raise UsageError(
            f"the shares sum to {float(total):g}: give shares above 0 that sum to exactly 1 "
            "(thirds: write 1/3)"
        )
    parts = _draw(cases, shares, by, seed)
    for name, part in parts.items():
        if not part:
            raise UsageError(f"part {name!r} would get no query: its share is less than one")
    return parts


def sample_cases(
    cases: Sequence[Case],
    n: int,
    *,
    by: By = By.CATEGORY,
    seed: int = 0,
) -> tuple[Case, ...]:
    """Draw whole queries without replacement, each stratum in proportion.

    Args:
        cases: The whole.
        n: The number of queries, not of cases.
        by: The field to stratify by, as in ``split_cases``.
        seed: Of the draw.

    Raises:
        UsageError: There are not so many, or none is asked for.
    """
    queries = len(whole_queries(cases))
    if not 1 <= n <= queries:
        raise UsageError(f"can't draw {n} of {queries} queries")
    share = Fraction(n, queries)
    return _draw(cases, {"sample": share, "rest": 1 - share}, by, seed)["sample"]


def _draw(
    cases: Sequence[Case], shares: Mapping[str, Fraction], by: By, seed: int
) -> dict[str, tuple[Case, ...]]:
    strata = defaultdict[str, list[list[str]]](list)
    for group in whole_queries(cases):
        strata[_stratum(group, by)].append(sorted(case.id for case in group))
    owed = dict.fromkeys(shares, Fraction())
    place: dict[str, str] = {}
    for stratum, groups in sorted(strata.items()):
        # A generator for each stratum: what is drawn in one doesn't hang on the others.
        draw = np.random.default_rng([seed, int(digest(stratum), 16)])
        quotas = {name: len(groups) * share for name, share in shares.items()}
        counts = {name: floor(quota) for name, quota in quotas.items()}
        owed = {name: due + quotas[name] - counts[name] for name, due in owed.items()}
        chance = dict(zip(shares, draw.random(len(shares)), strict=True))
        first = sorted(
            (name for name in shares if quotas[name] > counts[name]),
            key=lambda name: (-owed[name], chance[name]),
        )
        for name in first[: len(groups) - sum(counts.values())]:
            counts[name] += 1
            owed[name] -= 1
        order = draw.permutation(len(groups))
        drawn = chain.from_iterable([name] * count for name, count in counts.items())
        for index, name in zip(order, drawn, strict=True):
            place |= dict.fromkeys(sorted(groups)[index], name)
    return {name: tuple(case for case in cases if place[case.id] == name) for name in shares}


def _stratum(group: Iterable[Case], by: By) -> str:
    """Stratum of a query: its cases' values of the field, sorted and joined: ``safe + unsafe``.

    Cases without the field are of the stratum ``none``; all queries of one that isn't stratified.
    """
    if by is By.NONE:
        return "all"
    return " + ".join(sorted({getattr(case, by) or "none" for case in group}))
