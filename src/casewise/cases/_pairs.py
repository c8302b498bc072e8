"""Rules of a pair: what its cases share, and what votes hold fast.

``casewise contexts check`` and ``casewise cases diff`` tell where an edited file breaks one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from casewise.cases._case import Case, case_id, to_fields

_VERDICTS = ("votes", "author_vote", "published_safe_rate", "ratings")
"""The fields that hold what people said of a case's text as it is."""

_TEXT = ("query", "context", "history")

KEPT_VOTES = "people voted on this text; their votes would come to stand on another"
OTHER_QUERY = "the cases of a pair share their query: change it in all of them"
SAME_TEXT = "two cases of the pair would have the same query, context and history"


@dataclass(frozen=True, slots=True)
class PairFault:
    """Broken rule of a pair."""

    query_id: str
    case_ids: tuple[str, ...]
    reason: str


def is_voted(case: Case) -> bool:
    """Tell whether people have voted on the case, so that its text must not change."""
    counted = (case.votes_safe or 0) + (case.votes_unsafe or 0)
    given = (case.author_vote, case.published_safe_rate, case.ratings)
    return counted > 0 or any(one is not None for one in given)


def keeps_votes(old: Case, new: Case) -> bool:
    """Tell whether votes that were cast on one text now stand on another."""
    one, other = to_fields(old), to_fields(new)
    other_text = any(repr(one.get(name)) != repr(other.get(name)) for name in _TEXT)
    return other_text and any(name in one and one[name] == other.get(name) for name in _VERDICTS)


def group_pairs(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """The cases of each query id, in the order of the file."""
    grouped: dict[str, list[Case]] = {}
    for case in cases:
        grouped.setdefault(case.query_id, []).append(case)
    return grouped


def pair_faults(cases: Iterable[Case]) -> tuple[PairFault, ...]:
    """Rules that pairs break as they stand, in the order of the file."""
    return tuple(
        PairFault(query_id, tuple(case.id for case in pair), reason)
        for query_id, pair in group_pairs(cases).items()
        for reason in _broken(pair)
    )


def _broken(pair: Sequence[Case]) -> list[str]:
    asked = {case.query for case in pair}
    texts = Counter(case_id(case.query, case.context, case.history) for case in pair)
    broken = {OTHER_QUERY: len(asked) > 1, SAME_TEXT: max(texts.values()) > 1}
    return [reason for reason, is_broken in broken.items() if is_broken]
