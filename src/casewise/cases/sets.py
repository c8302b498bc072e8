"""Sets of cases: the difference of two versions, unions, splits and samples."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from pydantic import JsonValue

from casewise.cases.files import CaseSet
from casewise.cases.model import Case, Vote, VoteCounts, case_id, digest, to_fields, to_line
from casewise.choices import By, Prefer
from casewise.errors import InputError, UsageError, shorten

_TEXTS = ("query", "context", "history")

_VERDICTS = ("votes", "author_vote", "published_safe_rate", "ratings")
"""Fields that hold what people said of a case's text as it is."""


def is_voted(case: Case) -> bool:
    """Tell whether people have voted on the case, so that its text must not change."""
    return any(getattr(case, name) is not None for name in _VERDICTS)


def _text(case: Case, field: str) -> str:
    """A field as canonical text: the order of parameters counts, and 1 is not true."""
    return json.dumps(to_fields(case).get(field), ensure_ascii=False)


# --- difference ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, or one parameter of a context, before and after."""

    field: str
    """The field's name; a context's parameter as ``context.recipient.background``."""
    old: JsonValue
    """Value before, None where absent; votes are counts."""
    new: JsonValue
    note: str = ""
    """Remark on a change that the two values don't show."""

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
        names = {change.field.split(".")[0] for change in self.fields}
        given = [name for name in _VERDICTS if name in to_fields(self.old)]
        return bool(names & {*_TEXTS}) and any(name not in names for name in given)


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
    """Cases under another id, as one is made of the text; in the order of the old version."""
    unchanged: int
    reordered: bool
    """True if the cases that kept their id follow each other in another order."""

    @property
    def same(self) -> bool:
        """Tell whether both versions hold the same cases in the same order."""
        return self.old.hash == self.new.hash


def diff_sets(old: CaseSet, new: CaseSet) -> SetDiff:
    """Compare two versions of a data set by the ids of their cases.

    A case removed and a case added are one reworded case where the new one names the old
    (``replaces``), or where they share the query id and the intended side, or else (the query
    itself was reworded) the whole context, the history and the intended side; and no third case
    does.
    """
    before, after = ({case.id: case for case in one.cases} for one in (old, new))
    kept = [id for id in before if id in after]
    changes = [_change(before[id], after[id]) for id in kept]
    changed = tuple(change for change in changes if change.fields)
    removed = {id: case for id, case in before.items() if id not in after}
    added = {id: case for id, case in after.items() if id not in before}
    reworded = []
    for keys in (_EDITION, (_by_query, _by_query), (_by_context, _by_context)):
        for earlier, other in _matches(removed.values(), added.values(), keys):
            reworded.append(_change(earlier, other))
            del removed[earlier.id], added[other.id]
    places = {id: place for place, id in enumerate(before)}
    return SetDiff(
        old,
        new,
        tuple(added.values()),
        tuple(removed.values()),
        changed,
        tuple(sorted(reworded, key=lambda change: places[change.old.id])),
        len(kept) - len(changed),
        kept != [id for id in after if id in before],
    )


def _by_query(case: Case) -> object:
    return case.query_id, case.intended


def _by_context(case: Case) -> object:
    return case.context and (_text(case, "context"), _text(case, "history"), case.intended)


_EDITION = (lambda case: case.id), (lambda case: case.replaces)


def _matches(
    removed: Iterable[Case], added: Iterable[Case], keys: Sequence[Callable[[Case], object]]
) -> list[tuple[Case, Case]]:
    """Pairs of a removed and an added case with a key that no third case has."""
    old, new = defaultdict[object, list[Case]](list), defaultdict[object, list[Case]](list)
    for side, cases, key in zip((old, new), (removed, added), keys, strict=True):
        for case in cases:
            side[key(case)].append(case)
    return [
        (ones[0], new[common][0])
        for common, ones in old.items()
        if common is not None and len(ones) == len(new[common]) == 1
    ]


def _change(old: Case, new: Case) -> CaseChange:
    names = [name for name in Case.model_fields if name != "id"]
    differ = [name for name in names if _text(old, name) != _text(new, name)]
    return CaseChange(old, new, tuple(one for name in differ for one in _field(name, old, new)))


def _field(name: str, old: Case, new: Case) -> Iterator[FieldChange]:
    before, after = to_fields(old).get(name), to_fields(new).get(name)
    if name == "votes":
        before, after = _counts(old), _counts(new)
        note = "the counts are the same, single votes are not" if before == after else ""
        yield FieldChange(name, before, after, note)
    elif name == "context" and before is not None and after is not None:
        first, second = dict(_leaves(before, name)), dict(_leaves(after, name))
        paths = [
            path
            for path in first | second
            if json.dumps(first.get(path)) != json.dumps(second.get(path))
        ]
        for path in paths:
            yield FieldChange(path, first.get(path), second.get(path))
        if not paths:
            yield FieldChange(name, before, after, "the order of the parameters")
    else:
        yield FieldChange(name, before, after)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}")
    else:
        yield path, value


def _counts(case: Case) -> str | None:
    if case.votes is None:
        return None
    form = "counts" if isinstance(case.votes, VoteCounts) else "single votes"
    return f"{case.votes_safe} safe, {case.votes_unsafe} unsafe ({form})"


# --- union --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Merged:
    """Union of data sets."""

    cases: tuple[Case, ...]
    """Cases in the order in which the files first hold them."""
    notes: dict[str, int]
    """Numbers of cases that were left out, chosen or put together, by what happened to them."""


@dataclass(frozen=True, slots=True)
class _Version:
    """A case as one file has it."""

    file: str
    case: Case

    def error(self, problem: str, field: str = "votes") -> InputError:
        """Error of a field of the case in its file."""
        return InputError(problem, self.file, f"case {self.case.id}", field=field)


def merge_sets(
    sets: Sequence[CaseSet], *, prefer: Prefer | None = None, pool_votes: bool = False
) -> Merged:
    """Unite data sets by the ids of their cases.

    Identical cases count once. Without ``prefer`` the same id with other content is an error.
    With ``pool_votes`` the votes of one case in several files are put together, each rater's
    once; sources and licences that differ are then joined by semicolons.

    Raises:
        InputError: A case that the files disagree on, or votes that can't be told apart.
    """
    held = defaultdict[str, list[_Version]](list)
    for one in sets:
        for case in one.cases:
            if to_line(case) not in (to_line(other.case) for other in held[case.id]):
                held[case.id].append(_Version(one.name, case))
    cases, preferred, pooled = [], 0, 0
    for versions in held.values():
        pools = pool_votes and sum(one.case.votes is not None for one in versions) > 1
        ignored = ("votes", "source", "licence") if pools else ()
        differing = [
            name
            for name in Case.model_fields
            if name not in ignored and len({_text(one.case, name) for one in versions}) > 1
        ]
        if differing and prefer is None:
            raise _conflict(versions, differing[0])
        chosen = versions[-1 if prefer is Prefer.LAST else 0].case
        if pools:
            chosen = chosen.model_copy(update=_pooled(versions, prefer))
        cases.append(chosen)
        preferred += bool(differing)
        pooled += pools
    texts = {case_id(case.query, case.context, case.history) for case in cases}
    identical = sum(len(one.cases) for one in sets) - sum(map(len, held.values()))
    notes = {
        "records identical to a case there already and left out": identical,
        f"cases that differ, taken from the {prefer} file": preferred,
        "cases with votes of more than one file": pooled,
        "cases with the text of another, under an id of their own": len(cases) - len(texts),
    }
    return Merged(tuple(cases), {what: n for what, n in notes.items() if n})


def _conflict(versions: Sequence[_Version], field: str) -> InputError:
    first = versions[0]
    other = next(one for one in versions if _text(one.case, field) != _text(first.case, field))
    mend = "--prefer first or last settles it"
    if field == "votes":
        mend += ", --pool-votes puts the votes together"
    here, there = _shown(other.case, field), _shown(first.case, field)
    return other.error(f"{here} here, {there} in {first.file} ({mend})", field)


def _shown(case: Case, field: str) -> str:
    """A field in a message; texts and votes are counted, not shown."""
    value = getattr(case, field)
    if value is None:
        return "none"
    if field == "votes":
        return f"{case.votes_safe} safe and {case.votes_unsafe} unsafe"
    return f"{len(_text(case, field))} characters" if field in _TEXTS else shorten(value)


def _pooled(versions: Sequence[_Version], prefer: Prefer | None) -> dict[str, Any]:
    """Votes of all versions, the first of each rater's; every source and licence."""
    kept: dict[str, tuple[str, Vote]] = {}
    for one in versions[::-1] if prefer is Prefer.LAST else versions:
        votes = one.case.votes or ()
        if isinstance(votes, VoteCounts) or any(vote.rater is None for vote in votes):
            raise one.error("counts, and votes without a rater, can't be pooled")
        for vote in votes:
            file, first = kept.setdefault(vote.rater or "", (one.file, vote))
            if first.verdict != vote.verdict and prefer is None:
                raise one.error(
                    f"rater {shorten(vote.rater)} votes {vote.verdict} here and {first.verdict} "
                    f"in {file} (--prefer first or last settles it)"
                )
    origins = {
        field: [name for one in versions if (name := getattr(one.case, field)) is not None]
        for field in ("source", "licence")
    }
    joined = {field: "; ".join(dict.fromkeys(names)) or None for field, names in origins.items()}
    return {"votes": tuple(vote for _, vote in kept.values()), **joined}


# --- parts --------------------------------------------------------------------------------------

NO_VALUE = "none"
"""The stratum of cases without the field."""

EVERYTHING = "all"
"""The only stratum of a draw that is not stratified."""


@dataclass(frozen=True, slots=True)
class SetPart:
    """One part of a data set."""

    name: str
    cases: tuple[Case, ...]
    """Cases in the order of the whole."""
    queries: dict[str, int]
    """Number of queries by stratum, sorted by name, zeros included."""

    @property
    def n_queries(self) -> int:
        """The number of queries in all strata."""
        return sum(self.queries.values())


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
) -> tuple[SetPart, ...]:
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
    for part in parts:
        if not part.cases:
            raise UsageError(f"part {part.name!r} would get no query: its share is less than one")
    return parts


def sample_cases(
    cases: Sequence[Case],
    size: int | Fraction,
    *,
    by: By = By.CATEGORY,
    seed: int = 0,
) -> SetPart:
    """Draw whole queries without replacement, each stratum in proportion.

    Args:
        cases: The whole.
        size: The number of queries (not of cases), or the share of them, above 0 and at most 1.
        by: The field to stratify by, as in ``split_cases``.
        seed: Of the draw.

    Raises:
        UsageError: The size is not above 0, more than there is, or comes to no query.
    """
    queries = len(whole_queries(cases))
    share = Fraction(size, queries) if isinstance(size, int) else size
    drawn = None
    if 0 < share <= 1:
        drawn, _ = _draw(cases, {"sample": share, "rest": 1 - share}, by, seed)
    if drawn is None or not drawn.cases:
        raise UsageError(f"can't draw {float(share * queries):g} of {queries} queries")
    return drawn


def _draw(
    cases: Sequence[Case], shares: Mapping[str, Fraction], by: By, seed: int
) -> tuple[SetPart, ...]:
    strata = defaultdict[str, list[list[str]]](list)
    for group in whole_queries(cases):
        strata[_stratum(group, by)].append(sorted(case.id for case in group))
    queries = {name: dict.fromkeys(sorted(strata), 0) for name in shares}
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
        parts = np.repeat(list(counts), list(counts.values()))
        for index, name in zip(order, parts, strict=True):
            place.update(dict.fromkeys(sorted(groups)[index], str(name)))
        for name, count in counts.items():
            queries[name][stratum] = count
    return tuple(
        SetPart(name, tuple(case for case in cases if place[case.id] == name), queries[name])
        for name in shares
    )


def _stratum(group: Iterable[Case], by: By) -> str:
    """Stratum of a query: its cases' values of the field, sorted and joined: ``safe + unsafe``."""
    if by is By.NONE:
        return EVERYTHING
    return " + ".join(sorted({getattr(case, by) or NO_VALUE for case in group}))
