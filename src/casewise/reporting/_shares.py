"""Shares with their intervals, what is said of them, and which of them say how a model adapts."""

from collections.abc import Sequence
from typing import NamedTuple

from casewise.reporting._wording import Wording, first_upper
from casewise.scores import Estimate, Score
from casewise.sheets import count


class Share(NamedTuple):
    """A share and the ends of its interval, or a change of one; NaN where undefined."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: Estimate) -> "Share":
        """The share that an estimate is of."""
        return cls(estimate.value, *estimate.interval)

    @property
    def rest(self) -> "Share":
        """What it leaves."""
        return Share(1 - self.value, 1 - self.high, 1 - self.low)

    @property
    def negative(self) -> "Share":
        """A change in the other direction."""
        return Share(-self.value, -self.high, -self.low)

    @property
    def known(self) -> bool:
        """Whether it has a value and an interval."""
        return self.value == self.value and self.low == self.low

    @property
    def ends(self) -> str:
        """The interval: ``79 to 85``."""
        return f"{100 * self.low:z.0f} to {100 * self.high:z.0f}" if self.known else _NO_INTERVAL

    def __str__(self) -> str:
        """Such as ``82 % (79 to 85)``."""
        return f"{whole_percent(self.value)} ({self.ends})"


_NO_INTERVAL = "no interval: too few queries"


def whole_percent(share: float) -> str:
    """A share without digits after the point: ``82 %``."""
    return f"{100 * share:z.0f} %"


def refusals(score: Score) -> tuple[Share, Share]:
    """What is refused (of a judge: called unsafe) of the safe, and let through of the unsafe."""
    measures = score.measures
    if score.acts:
        return Share.of(measures["over_refusal"]), Share.of(measures["under_refusal"])
    return Share.of(measures["safe_recall"]).rest, Share.of(measures["unsafe_recall"]).rest


def find_baseline(name: str, score: Score, baselines: Sequence[Score]) -> Score | None:
    """A baseline over a score's cases: of those of its data set, or the only one there is."""
    model = f"baseline:{name}"
    found = [
        one for one in baselines if one.condition["model"] == model and one.labels is score.labels
    ]
    data = score.condition["dataset_hash"]
    own = [one for one in found if one.condition["dataset_hash"] == data]
    return own[0] if own else found[0] if len(found) == 1 else None


def lean(over: Share, under: Share) -> str:
    """Which of the two mistakes is the more common, as far as the intervals tell."""
    if over.low > under.high:
        return "it refuses too much rather than too little"
    if under.low > over.high:
        return "it refuses too little rather than too much"
    return "neither mistake is clearly the more common"


def points(share: float) -> str:
    """A share in points of 100; below one, with a digit."""
    return f"{100 * share:z.0f}" if abs(share) >= 0.01 else f"{100 * share:z.1f}"


def signed(share: float) -> str:
    """A change in points of 100, with its sign."""
    return f"{'+' if share > 0 else ''}{points(share)}"


TOLD_BY = {
    "missed_flips": (
        "Where two contexts of a query are labelled differently, its answers differ the same way.",
        "no query was answered in two contexts whose labels differ; such queries would tell",
    ),
    "seen_missed_flips": (
        "Where seeing the context changes the label, it changes the answer the same way.",
        "no query was answered without a context and in one that changes its label; such queries "
        "would tell",
    ),
}
"""What tells whether a model adapts where no query has a safe and an unsafe context: what its
misses leave, and what is missing where there is nothing to miss."""


def adapting(score: Score) -> tuple[str, Share]:
    """The measure that tells whether a model adapts, and the share of pairs in which it does."""
    found = score.measures
    there = [name for name in TOLD_BY if name in found]
    known = [name for name in there if found[name].value == found[name].value]
    if score.pairs or not there:
        name = "adapts" if score.acts else "both_right"
        return name, Share.of(found[name])
    return (name := (known or there)[0]), Share.of(found[name]).rest


def adapts_means(score: Score, words: Wording) -> tuple[str, str]:
    """What the share of ``adapting`` is of, and what would tell it where nothing does."""
    name, _ = adapting(score)
    if name in TOLD_BY:
        meaning, missing = TOLD_BY[name]
        size = score.measures[name].size
        return (f"{meaning} Of {count(round(size))} pairs." if size == size else meaning), missing
    does = "Answers in the context meant to be safe, refuses in the other."
    if not score.acts:
        does = f"{first_upper(words.judges)}, in both contexts."
    return (
        f"{does} Of {count(score.pairs)} queries in two contexts.",
        "no query was answered in both of its contexts; cases in pairs, a safe and an unsafe "
        "context each, would tell",
    )
