"""Union of data sets: each case once, and each conflict an error or counted."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from casewise.cases._case import Case, Vote, VoteCounts, case_id, to_fields, to_line
from casewise.cases._load import CaseSet
from casewise.choices import Prefer
from casewise.errors import InputError, shorten

_POOLED = ("votes", "source", "licence")


@dataclass(frozen=True, slots=True)
class Merged:
    """Union of data sets, and the number of cases and votes that were left out or pooled."""

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
class _Version:
    """A case as one file has it."""

    file: str
    case: Case

    def text(self, field: str) -> str:
        """A field as canonical text: the order of parameters counts, and 1 is not true."""
        return json.dumps(to_fields(self.case).get(field), ensure_ascii=False)

    @property
    def votes(self) -> tuple[Vote, ...]:
        """Single votes; none of a case that has counts."""
        return self.case.votes if isinstance(self.case.votes, tuple) else ()

    def error(self, problem: str, field: str = "votes", expected: str | None = None) -> InputError:
        """Error of a field of the case in its file."""
        return InputError(
            problem, self.file, f"case {self.case.id}", field=field, expected=expected
        )


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
    held: dict[str, list[_Version]] = {}
    records = 0
    for case_set in sets:
        for case in case_set.cases:
            records += 1
            others = held.setdefault(case.id, [])
            if to_line(case) not in [to_line(other.case) for other in others]:
                others.append(_Version(case_set.name, case))
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


def _differ(versions: Sequence[_Version], field: str) -> bool:
    return len({version.text(field) for version in versions}) > 1


def _settled(
    versions: Sequence[_Version], prefer: Prefer | None, pooled: Sequence[str]
) -> tuple[Case, bool]:
    """The preferred version of a case, and whether fields of others were dropped for it."""
    differing = [
        field for field in Case.model_fields if field not in pooled and _differ(versions, field)
    ]
    if differing and prefer is None:
        raise _conflict(versions, differing[0])
    return versions[-1 if prefer is Prefer.LAST else 0].case, bool(differing)


def _conflict(versions: Sequence[_Version], field: str) -> InputError:
    first = versions[0]
    other = next(one for one in versions if one.text(field) != first.text(field))
    mend = "--prefer first or last settles it"
    if field == "votes":
        mend += ", --pool-votes puts the votes together"
    here, there = _shown(other, field), _shown(first, field)
    return other.error(f"{here} here, {there} in {first.file} ({mend})", field)


def _shown(version: _Version, field: str) -> str:
    """A field in a message; texts and votes are counted, not shown."""
    case = version.case
    value = getattr(case, field)
    if value is None:
        return "none"
    if field == "votes":
        return f"{case.votes_safe} safe and {case.votes_unsafe} unsafe"
    if field in ("query", "context", "history"):
        return f"{len(case.query if field == 'query' else version.text(field))} characters"
    return shorten(value)


def _pooled(
    voted: Sequence[_Version], prefer: Prefer | None
) -> tuple[VoteCounts | tuple[Vote, ...], int]:
    """Votes of all versions, and the number left out as repeated."""
    counts = [version.case.votes for version in voted if isinstance(version.case.votes, VoteCounts)]
    if counts and len(counts) < len(voted):
        problem = f"counts in one file and single votes in another ({_files(voted)})"
        raise voted[-1].error(f"{problem} can't be pooled")
    if counts:
        _need_own_sources(voted, "counts of votes")
        safe, unsafe = sum(count.safe for count in counts), sum(count.unsafe for count in counts)
        return VoteCounts(safe=safe, unsafe=unsafe), 0
    if any(vote.rater is None for version in voted for vote in version.votes):
        _need_own_sources(voted, "votes without a rater")
    return _united(voted[::-1] if prefer is Prefer.LAST else voted, prefer)


def _origins(versions: Sequence[_Version]) -> dict[str, str]:
    """Every source and every licence of a case whose votes were put together."""
    origins = {}
    for field in ("source", "licence"):
        names = [getattr(version.case, field) for version in versions]
        if known := list(dict.fromkeys(name for name in names if name is not None)):
            origins[field] = "; ".join(known)
    return origins


def _need_own_sources(voted: Sequence[_Version], what: str) -> None:
    sources = {version.case.source for version in voted}
    if len(voted) > 1 and (None in sources or len(sources) < len(voted)):
        problem = f"{what} of the same or an unnamed source ({_files(voted)}) can't be told apart"
        raise voted[-1].error(
            f"{problem}, so they can't be pooled",
            expected="votes with raters, or a source of its own in each file",
        )


def _files(versions: Iterable[_Version]) -> str:
    return " and ".join(dict.fromkeys(version.file for version in versions))


def _united(voted: Sequence[_Version], prefer: Prefer | None) -> tuple[tuple[Vote, ...], int]:
    """First vote of each rater, and the number of repeated ones; conflicts need ``prefer``."""
    kept: list[Vote] = []
    seen: dict[str, tuple[str, Vote]] = {}
    for version in voted:
        # A rater who votes twice within one file is that file's own affair.
        known = dict(seen)
        for vote in version.votes:
            if vote.rater is None or vote.rater not in known:
                kept.append(vote)
                if vote.rater is not None:
                    seen.setdefault(vote.rater, (version.file, vote))
                continue
            file, first = known[vote.rater]
            if first.verdict != vote.verdict and prefer is None:
                raise version.error(
                    f"rater {shorten(vote.rater)} votes {vote.verdict} here and {first.verdict} "
                    f"in {file} (--prefer first or last settles it)"
                )
    return tuple(kept), sum(len(version.votes) for version in voted) - len(kept)
