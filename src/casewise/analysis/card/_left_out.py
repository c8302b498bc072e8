"""What a score leaves out, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from casewise.analysis._score import Score
from casewise.analysis.card._runs import RunFacts


class Reason(StrEnum):
    """Why cases of a data set were not asked."""

    LIMIT = "limit"
    """Only the first were wanted."""
    CHANGE = "change"
    """A variation or a swap that means nothing for them."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What one run's score does not count."""

    run: int
    """Its place."""
    not_asked: int
    """Cases of the data set; 0 also where its size is not recorded."""
    reason: Reason
    unlabelled: int
    """Judgements without a label under the rule."""
    unread: dict[str, int]
    """Labelled judgements that were not read, by status."""


def left_out(runs: Sequence[RunFacts], scores: Sequence[Score]) -> tuple[LeftOut, ...]:
    """What each run leaves out; runs that leave out nothing are not among them."""
    found = [
        _left_out(place, run, score)
        for place, (run, score) in enumerate(zip(runs, scores, strict=True))
    ]
    return tuple(one for one in found if one.not_asked or one.unlabelled or one.unread)


def _left_out(place: int, run: RunFacts, score: Score) -> LeftOut:
    size = max((record.data_size or 0 for record in run.records), default=0)
    unread = {name: count for name, count in sorted(score.statuses.items()) if name != "ok"}
    return LeftOut(
        run=place,
        not_asked=max(size - run.cases, 0),
        reason=_reason(run),
        unlabelled=run.judgements - score.n,
        unread=unread,
    )


def _reason(run: RunFacts) -> Reason:
    variant = str(run.condition["variant"] or "")
    if any("limit" in record.asked or record.cut for record in run.records):
        return Reason.LIMIT
    return Reason.CHANGE if "vary=" in variant or "swap=" in variant else Reason.UNKNOWN
