"""The union of data sets: each case once, and nothing settled in silence."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from casewise.cases._case import Case, Vote, VoteCounts, case_id
from casewise.cases._load import CaseSet
from casewise.cases._write_cases import to_fields, to_line
from casewise.choices import Prefer
from casewise.errors import InputError, shorten

_TEXTS = ("query", "context", "history")
_POOLED = ("votes", "source", "licence")


@dataclass(frozen=True, slots=True)
class Merged:
    """The union of data sets, and what was done to make it."""

    cases: tuple[Case, ...]
    """Cases in the order in which the files first hold them."""
    identical: int
    """Records left out because the same case was there already."""
    preferred: int
    """Cases of which one file's fields were taken and the others' dropped."""
    pooled: int
    """Cases whose votes come from more than one file."""
    repeated_votes: int
    """Votes left out because the same rater's was there already."""
    same_text: int
    """Cases with the query, context and history of another, under another id."""


@dataclass(frozen=True, slots=True)
class _Held:
    file: str
    case: Case


def merge_sets(
    sets: Sequence[CaseSet], *, prefer: Prefer | None = None, pool_votes: bool = False
) -> Merged:
    """Unite data sets by the ids of their cases.

    Identical cases count once. Without ``prefer`` the same id with other content is an error.
    With ``pool_votes`` the votes of one case in several files are put together, each rater's
    once; counts, and votes without a rater, only where each file names a source of its own,
    because nothing else shows that they are other people's. Sources and licences that differ
    are then joined by semicolons.

    Raises:
        InputError: A case that the files disagree on, or votes that can't be told apart.
    """
    held: dict[str, list[_Held]] = {}
    records = 0
    for case_set in sets:
        for case in case_set.cases:
            records += 1
            others = held.setdefault(case.id, [])
            if to_line(case) not in [to_line(other.case) for other in others]:
                others.append(_Held(case_set.name, case))
    cases: list[Case] = []
    preferred = pooled = repeated = 0
    for versions in held.values():
        voted = [version for version in versions if version.case.votes is not None]
        # Equal counts of two sources are other people's votes too.
        pools = (
            pool_votes
            and bool(voted)
            and (_differ(versions, "votes") or _differ(versions, "source"))
        )
        case, dropped = _settled(versions, prefer, _POOLED if pools else ())
        preferred += dropped
        if pools:
            votes, again = _pooled(voted, prefer)
            case = case.model_copy(update={"votes": votes, **_origins(versions)})
            pooled += len(voted) > 1
            repeated += again
        cases.append(case)
    texts = {case_id(case.query, case.context, case.history) for case in cases}
    distinct = sum(map(len, held.values()))
    return Merged(
        tuple(cases), records - distinct, preferred, pooled, repeated, len(cases) - len(texts)
    )


def _value(case: Case, field: str) -> str:
    """A field as canonical text: the order of parameters counts, and 1 is not true."""
    return json.dumps(to_fields(case).get(field), ensure_ascii=False)


def _differ(versions: Sequence[_Held], field: str) -> bool:
    return len({_value(version.case, field) for version in versions}) > 1


def _settled(
    versions: Sequence[_Held], prefer: Prefer | None, pooled: Sequence[str]
) -> tuple[Case, bool]:
    """The case that stands for all, and whether the fields of another were dropped for it."""
    open_fields = [
        field for field in Case.model_fields if field not in pooled and _differ(versions, field)
    ]
    if open_fields and prefer is None:
        raise _conflict(versions, open_fields[0])
    kept = versions[-1 if prefer is Prefer.LAST else 0]
    return kept.case, bool(open_fields)


def _conflict(versions: Sequence[_Held], field: str) -> InputError:
    first = versions[0]
    other = next(
        version
        for version in versions[1:]
        if _value(version.case, field) != _value(first.case, field)
    )
    mend = "--prefer first or last settles it"
    if field == "votes":
        mend += ", --pool-votes puts the votes together"
    return InputError(
        f"{_shown(other.case, field)} here, {_shown(first.case, field)} in {first.file} ({mend})",
        other.file,
        f"case {first.case.id}",
        field=field,
    )


def _shown(case: Case, field: str) -> str:
    """A value in a message; texts and votes are counted, not shown."""
    value = getattr(case, field)
    if value is None:
        return "none"
    if field == "votes":
        return f"{case.votes_safe} safe and {case.votes_unsafe} unsafe"
    if field in _TEXTS:
        text = case.query if field == "query" else _value(case, field)
        return f"{len(text)} characters"
    return shorten(value)


def _pooled(
    voted: Sequence[_Held], prefer: Prefer | None
) -> tuple[VoteCounts | tuple[Vote, ...], int]:
    """Everybody's votes, and how many were left out because they stood twice."""
    counts = [version.case.votes for version in voted if isinstance(version.case.votes, VoteCounts)]
    if counts and len(counts) < len(voted):
        raise InputError(
            f"counts in one file and single votes in another ({_files(voted)}) can't be pooled",
            voted[-1].file,
            f"case {voted[0].case.id}",
            field="votes",
        )
    if counts:
        _need_own_sources(voted, "counts of votes")
        safe, unsafe = sum(count.safe for count in counts), sum(count.unsafe for count in counts)
        return VoteCounts(safe=safe, unsafe=unsafe), 0
    if any(vote.rater is None for version in voted for vote in _rows(version)):
        _need_own_sources(voted, "votes without a rater")
    return _united(list(reversed(voted)) if prefer is Prefer.LAST else voted, prefer)


def _origins(versions: Sequence[_Held]) -> dict[str, str]:
    """Every source and every licence of a case whose votes were put together."""
    origins = {}
    for field in ("source", "licence"):
        names = [getattr(version.case, field) for version in versions]
        if known := list(dict.fromkeys(name for name in names if name is not None)):
            origins[field] = "; ".join(known)
    return origins


def _need_own_sources(voted: Sequence[_Held], what: str) -> None:
    sources = [version.case.source for version in voted]
    named = None not in sources and len(set(sources)) == len(sources)
    if named or len(voted) == 1:
        return
    raise InputError(
        f"{what} of the same or an unnamed source ({_files(voted)}) can't be told apart, "
        "so they can't be pooled",
        voted[-1].file,
        f"case {voted[0].case.id}",
        field="votes",
        expected="votes with raters, or a source of its own in each file",
    )


def _files(held: Iterable[_Held]) -> str:
    return " and ".join(dict.fromkeys(version.file for version in held))


def _rows(held: _Held) -> tuple[Vote, ...]:
    votes = held.case.votes
    return votes if isinstance(votes, tuple) else ()


def _united(voted: Sequence[_Held], prefer: Prefer | None) -> tuple[tuple[Vote, ...], int]:
    """Each rater's vote once, the first that there is; a contradiction needs ``prefer``."""
    kept: list[Vote] = []
    seen: dict[str, tuple[_Held, Vote]] = {}
    again = 0
    for held in voted:
        own = {vote.rater for vote in _rows(held)}
        known = {rater for rater in own if rater in seen}
        for vote in _rows(held):
            # A rater who votes twice within one file is that file's own affair.
            if vote.rater is None or vote.rater not in known:
                kept.append(vote)
                continue
            before, first = seen[vote.rater]
            if first.verdict != vote.verdict and prefer is None:
                raise InputError(
                    f"rater {shorten(vote.rater)} votes {vote.verdict} here and {first.verdict} "
                    f"in {before.file} (--prefer first or last settles it)",
                    held.file,
                    f"case {held.case.id}",
                    field="votes",
                )
            again += 1
        for vote in _rows(held):
            if vote.rater is not None:
                seen.setdefault(vote.rater, (held, vote))
    return tuple(kept), again
