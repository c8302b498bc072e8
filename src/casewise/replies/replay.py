"""Conversations asked again: replies that newly refuse or newly answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
import polars as pl

from casewise import statistics
from casewise.choices import Cluster
from casewise.protocols import ResponseClass
from casewise.replies.correction import GRADES


class ReplyChange(StrEnum):
    """Change of a reply: the new one does it and the old one did not. A partial reply answers."""

    REFUSED = "newly refused"
    ANSWERED = "newly answered"


@dataclass(frozen=True, slots=True)
class ChangeRates:
    """Rates of change of replies in a category."""

    category: str | None
    """None is all of them."""
    turns: int
    """Turns that could be asked."""
    compared: int
    """Turns whose two replies could be compared."""
    events: Mapping[ReplyChange, int]
    shares: Mapping[ReplyChange, statistics.Estimate]
    """Shares of the changes among the compared."""


@dataclass(frozen=True, slots=True)
class ChangedTurn:
    """A turn that is newly refused or newly answered."""

    case_id: str
    conversation: str
    line: int
    category: str | None
    before: str
    """The class of the old reply."""
    after: str
    change: ReplyChange


@dataclass(frozen=True, slots=True)
class ReplayTexts:
    """Texts of a turn, where a person asks to see it."""

    query: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Outcome of asking the conversations of a file again."""

    new: str
    old: str | None
    """The model that was asked for the old replies; None: they stand in the file."""
    file: str
    conversations: int
    """Conversations in the file."""
    left_out: Mapping[str, int]
    """Turns that could not be asked, or compared, by reason."""
    turns: int
    """Turns that could be asked."""
    unread: Mapping[str, int]
    """Turns whose two replies can't be compared, by reason."""
    cluster: Cluster
    """What counts as one: a user, where the file names any, else a conversation."""
    clusters: int
    rates: tuple[ChangeRates, ...]
    """All, then by category."""
    changed: tuple[ChangedTurn, ...]
    rows: pl.DataFrame
    """Turns with status and class of both replies; no text, no user."""


@dataclass(frozen=True, slots=True)
class ReplayedReplies:
    """Replies that were graded."""

    name: str | None
    """The model that was asked; None: the replies stand in the file."""
    rows: pl.DataFrame
    """Rows with ``case_id``, ``status`` and ``response_class``."""


REPLAY_TABLE: Final = "replay.csv"
"""File beside the logs of a replay: a line for each turn, without any text."""

_SIDES = ("before", "after")


def _with_replies(
    turns: pl.DataFrame, before: ReplayedReplies, after: ReplayedReplies
) -> pl.DataFrame:
    """Turns with status and class of both replies to each, under ``before_...``, ``after_...``."""
    for side, replied in zip(_SIDES, (before, after), strict=True):
        columns = pl.col("status", "response_class").name.prefix(f"{side}_")
        rows = replied.rows.select("case_id", columns)
        turns = turns.join(rows, on="case_id", how="left", maintain_order="left")
    return turns


_TURN = ("case_id", "conversation", "line", "user", "category")


def compare_replies(
    turns: Sequence[tuple[str, str, int, str | None, str | None]],
    after: ReplayedReplies,
    before: ReplayedReplies,
    *,
    file: str,
    conversations: int,
    left_out: Mapping[str, int],
) -> ReplayReport:
    """Compare the new reply to each turn with the old one.

    Args:
        turns: Case, conversation, line, user and category of each turn that was asked.
        after: The new replies.
        before: The old ones.
        file: Name of the conversations' file.
        conversations: Number of conversations in it.
        left_out: Turns that could not be asked or compared, by reason.
    """
    schema = dict.fromkeys(_TURN, pl.String) | {"line": pl.Int64}
    paired = _with_replies(pl.DataFrame(turns, schema, orient="row"), before, after)
    cluster = Cluster.USER if paired["user"].is_not_null().any() else Cluster.CONVERSATION
    # A user and a conversation may have one name.
    names = pl.coalesce("u" + pl.col("user"), "c" + pl.col("conversation"))
    clusters = statistics.number_clusters(paired.select(names).to_series().to_numpy())
    told = paired.select(_TOLD.fill_null(False)).to_series().to_numpy()
    old, new = (
        (paired[f"{side}_response_class"].fill_null("") == ResponseClass.REFUSAL).to_numpy()
        for side in _SIDES
    )
    hits = {ReplyChange.REFUSED: ~old & new & told, ReplyChange.ANSWERED: old & ~new & told}

    def rates(name: str | None, kept: statistics.BoolArray) -> ChangeRates:
        rows = kept & told
        units = clusters.only(rows)
        newly = {change: hit[rows].astype(float) for change, hit in hits.items()}
        return ChangeRates(
            *(name, int(kept.sum()), int(rows.sum())),
            {change: int(one.sum()) for change, one in newly.items()},
            {
                change: statistics.clustered_mean(one, units, share=True)
                for change, one in newly.items()
            },
        )

    return ReplayReport(
        new=str(after.name),
        old=before.name,
        file=file,
        conversations=conversations,
        left_out=left_out,
        turns=len(paired),
        unread=_unread(paired),
        cluster=cluster,
        clusters=clusters.count,
        rates=tuple(rates(name, kept) for name, kept in _categories(paired["category"])),
        changed=tuple(
            ChangedTurn(**row, change=change)
            for change, hit in hits.items()
            for row in paired.filter(pl.Series(hit)).select(*_OF_CHANGED).to_dicts()
        ),
        rows=paired.drop("user"),
    )


NO_CATEGORY: Final = "(none)"
"""Category of turns without one, where others have one."""


def _categories(categories: pl.Series) -> list[tuple[str | None, statistics.BoolArray]]:
    """Masks of all turns, and of those of each category, by name."""
    every = np.ones(len(categories), np.bool_)
    names = categories.drop_nulls().unique().sort().to_list()
    named = [(name, categories.eq_missing(name).to_numpy()) for name in names]
    rest = categories.is_null().to_numpy()
    return [(None, every), *named, *([(NO_CATEGORY, rest)] if named and rest.any() else [])]


_OF_CHANGED: tuple[str | pl.Expr, ...] = (
    *("case_id", "conversation", "line", "category"),
    *(pl.col(f"{side}_response_class").alias(side) for side in _SIDES),
)

_TOLD = pl.all_horizontal(
    *(pl.col(f"{side}_status") == "ok" for side in _SIDES),
    *(pl.col(f"{side}_response_class").is_in(list(GRADES)) for side in _SIDES),
)


def _unread(left: pl.DataFrame) -> dict[str, int]:
    """Number of pairs that can't be compared, each by its first reason."""
    counts = {}
    for side, words in (("after", "new reply"), ("before", "old reply")):
        called = pl.col(f"{side}_response_class") == ResponseClass.TOOL_CALL
        status = pl.when(called).then(pl.lit(_CALLED)).otherwise(f"{side}_status")
        for name, what in _UNREAD.items():
            is_so = status.fill_null(_NOT_ASKED) == name
            counts[f"{words}: {what}"] = len(left.filter(is_so))
            left = left.filter(~is_so)
    return {words: count for words, count in counts.items() if count}


_NOT_ASKED, _CALLED = "not asked", "called"
_UNREAD = {
    _NOT_ASKED: "not asked yet",
    _CALLED: "calls a tool",
    "error": "error, no reply or no grade",
    "unparsed": "neither refuses nor answers",
}
