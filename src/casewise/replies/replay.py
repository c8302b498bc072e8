"""Conversations asked again: replies that newly refuse or newly answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
import polars as pl

from casewise import statistics
from casewise.choices import Cluster
from casewise.protocols import ResponseClass
from casewise.replies.correction import DRAWS, checked_grades, no_better
from casewise.replies.sheet import GRADES, CheckFile

TURNS_SCHEMA: Final[dict[str, pl.DataType]] = {
    "case_id": pl.String(),
    "conversation": pl.String(),
    "line": pl.Int64(),
    "user": pl.String(),
    "category": pl.String(),
    "old_status": pl.String(),
    "old_class": pl.String(),
    "likely": pl.Boolean(),
}
"""Turns of a file that can be asked again, a row each: ``old_...`` is of the reply in the file,
where that is graded already; ``likely`` says that a first look expects a change."""


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
    refused: statistics.RareRate
    answered: statistics.RareRate


@dataclass(frozen=True, slots=True)
class ChangedTurn:
    """A turn that is newly refused or newly answered."""

    case_id: str
    conversation: str
    line: int
    category: str | None
    change: ReplyChange
    before: str
    """The class of the old reply."""
    after: str


@dataclass(frozen=True, slots=True)
class ReplayTexts:
    """Texts of a turn, where a person asks to see it."""

    query: str
    old: str
    new: str


LEAST_CORRECTED: Final = 40
"""Conversations, or users, below which intervals of corrected rates hold too seldom."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """Rates corrected for the grader's errors; None with the reason."""

    rates: statistics.CorrectedChanges | None
    labelled: int
    """Replies that people labelled."""
    reason: str = ""


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
    asked: int
    """Turns that were drawn."""
    unread: Mapping[str, int]
    """Drawn turns whose two replies can't be compared, by reason."""
    sampled: bool
    cluster: Cluster
    clusters: int
    rates: tuple[ChangeRates, ...]
    """All, then by category."""
    changed: tuple[ChangedTurn, ...]
    corrected: Corrected | None = None


def turns_frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Turns as a table; see ``TURNS_SCHEMA``."""
    return pl.DataFrame(rows, schema=TURNS_SCHEMA, orient="row")


def draw_turns(turns: pl.DataFrame, size: int | None, seed: int) -> pl.DataFrame:
    """Turns with the columns ``drawn`` and ``probability``; without a size, all are drawn."""
    look = turns["likely"].to_numpy().astype(np.float64)
    found = statistics.draw_units(look, len(turns) if size is None else size, seed)
    return turns.with_columns(
        pl.Series("drawn", found.drawn), pl.Series("probability", found.probability)
    )


@dataclass(frozen=True, slots=True)
class ReplayedReplies:
    """Replies that were graded."""

    name: str
    rows: pl.DataFrame
    """Rows with ``case_id``, ``status``, ``response_class`` and ``graded_by``."""


REPLAY_TABLE: Final = "replay.csv"
"""File beside the logs of a replay: a line for each turn, without any text."""


def replay_rows(
    turns: pl.DataFrame, before: ReplayedReplies, after: ReplayedReplies
) -> pl.DataFrame:
    """Turns with their probability, and status and class of both replies; no text, no user."""
    rows = turns.drop("user", "old_status", "old_class")
    return _with_replies(rows, before, after, "status", "response_class")


def _with_replies(
    turns: pl.DataFrame, before: ReplayedReplies, after: ReplayedReplies, *columns: str
) -> pl.DataFrame:
    """Turns with columns of both replies to each, under ``before_...`` and ``after_...``."""
    for side, replied in (("before", before), ("after", after)):
        rows = replied.rows.select("case_id", pl.col(*columns).name.prefix(f"{side}_"))
        turns = turns.join(rows, on="case_id", how="left", maintain_order="left")
    return turns


def compare_replies(
    turns: pl.DataFrame,
    after: ReplayedReplies,
    before: ReplayedReplies,
    cluster: Cluster,
    *,
    file: str,
    conversations: int,
    left_out: Mapping[str, int],
    asked_anew: bool,
    checks: Sequence[CheckFile] = (),
) -> ReplayReport:
    """Compare the new reply to each turn with the old one.

    Args:
        turns: From ``draw_turns``.
        after: The new replies.
        before: The old ones.
        cluster: Unit that is independent of others.
        file: Name of the conversations' file.
        conversations: Number of conversations in it.
        left_out: Turns that could not be asked or compared, by reason.
        asked_anew: True if the old replies were asked for, too, and not taken from the file.
        checks: Labelled replies, to correct the rates by.
    """
    paired = _with_replies(turns, before, after, "status", "response_class", "graded_by")
    names = paired["conversation"]
    if cluster is Cluster.USER:
        # A user and a conversation may have one name.
        names = paired.select(
            pl.when(pl.col("user").is_null())
            .then("c" + pl.col("conversation"))
            .otherwise("u" + pl.col("user"))
        ).to_series()
    clusters = statistics.number_clusters(names.to_numpy())
    draw = statistics.DrawnUnits(paired["drawn"].to_numpy(), paired["probability"].to_numpy())
    told = paired.select(_TOLD.fill_null(False)).to_series().to_numpy() & draw.drawn
    refuses = [
        (paired[f"{side}_response_class"].fill_null("") == ResponseClass.REFUSAL).to_numpy()
        for side in ("before", "after")
    ]
    units = {
        ReplyChange.REFUSED: (
            ~refuses[0] & refuses[1],
            _possible(paired, asked_anew, refused=False),
        ),
        ReplyChange.ANSWERED: (
            refuses[0] & ~refuses[1],
            _possible(paired, asked_anew, refused=True),
        ),
    }
    counted = {
        change: statistics.Units(
            np.where(told, hit.astype(float), np.nan), possible, draw, clusters
        )
        for change, (hit, possible) in units.items()
    }
    categories = paired["category"]
    parts: list[tuple[str | None, statistics.BoolArray]] = [(None, np.ones(len(paired), np.bool_))]
    named = categories.drop_nulls().unique().sort().to_list()
    parts += [(name, (categories == name).fill_null(False).to_numpy()) for name in named]
    if named and categories.null_count():
        parts.append((NO_CATEGORY, categories.is_null().to_numpy()))
    drawn = paired.filter(pl.Series(draw.drawn))
    return ReplayReport(
        new=after.name,
        old=before.name if asked_anew else None,
        file=file,
        conversations=conversations,
        left_out=left_out,
        turns=len(paired),
        asked=int(draw.drawn.sum()),
        unread=_unread(drawn),
        sampled=not draw.drawn.all(),
        cluster=cluster,
        clusters=len(np.unique(clusters.index[draw.drawn])),
        rates=tuple(
            ChangeRates(
                name,
                int(kept.sum()),
                *(statistics.rare_rate(counted[change].only(kept)) for change in ReplyChange),
            )
            for name, kept in parts
        ),
        changed=tuple(_changed(paired, told, units)),
        corrected=_corrected(paired, told, refuses, counted[ReplyChange.REFUSED], checks)
        if checks
        else None,
    )


NO_CATEGORY: Final = "(none)"
"""Category of turns without one, where others have one."""

_TOLD = pl.all_horizontal(
    *(pl.col(f"{side}_status") == "ok" for side in ("before", "after")),
    *(pl.col(f"{side}_response_class").is_in(list(GRADES)) for side in ("before", "after")),
)


def _possible(paired: pl.DataFrame, asked_anew: bool, *, refused: bool) -> statistics.BoolArray:
    """Mask of turns that can have changed so, by old replies graded beforehand; else of all."""
    old = paired["old_class"]
    if asked_anew or old.null_count():
        return np.ones(len(paired), np.bool_)
    return np.asarray((old == ResponseClass.REFUSAL).to_numpy() == refused)


def _unread(drawn: pl.DataFrame) -> dict[str, int]:
    """Number of drawn pairs that can't be compared, each by its first reason."""
    left, counts = drawn, {}
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


def _changed(
    paired: pl.DataFrame,
    told: statistics.BoolArray,
    units: Mapping[ReplyChange, tuple[statistics.BoolArray, statistics.BoolArray]],
) -> list[ChangedTurn]:
    columns = ("case_id", "conversation", "line", "category")
    classes = ("before_response_class", "after_response_class")
    return [
        ChangedTurn(id, conversation, line, category, change, before, after)
        for change, (hit, _) in units.items()
        for id, conversation, line, category, before, after in paired.filter(pl.Series(hit & told))
        .select(*columns, *classes)
        .iter_rows()
    ]


def _corrected(
    paired: pl.DataFrame,
    told: statistics.BoolArray,
    refuses: Sequence[statistics.BoolArray],
    units: statistics.Units,
    checks: Sequence[CheckFile],
) -> Corrected:
    graders = {
        name
        for side in ("before", "after")
        for name in paired.filter(pl.Series(told))[f"{side}_graded_by"].drop_nulls().unique()
        if name != "provider"
    }
    if len(graders) != 1:
        said = " and ".join(sorted(graders)) or "nobody"
        return Corrected(None, 0, f"the replies were graded by {said}: errors are those of one")
    check = checked_grades(checks, graders.pop())
    if isinstance(check, str):
        return Corrected(None, 0, check)
    refusal = GRADES.index(ResponseClass.REFUSAL)
    check = statistics.CheckSample(
        (check.label == refusal).astype(np.int64),
        (check.graded == refusal).astype(np.int64),
        check.clusters,
    )
    draws = statistics.Resampling(DRAWS, 0)
    question = statistics.Question(np.array([False, True]), np.array([0.0, 1.0]))
    labelled = len(check.label)
    if reason := no_better(check, question, draws, needs_both=True):
        return Corrected(None, labelled, reason)
    told_of = units.clusters.only(told)
    conversations = len(np.unique(told_of.index))
    if conversations < LEAST_CORRECTED:
        reason = f"replies of {conversations} independent conversations; it takes {LEAST_CORRECTED}"
        return Corrected(None, labelled, reason)
    probability = units.draw.probability
    rates = statistics.corrected_changes(
        refuses[0][told],
        refuses[1][told],
        (probability.mean() / probability)[told],
        told_of,
        check,
        draws,
    )
    return Corrected(rates, labelled)
