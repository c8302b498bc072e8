"""Conversations asked again: replies that newly refuse or newly answer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
import polars as pl

from casewise import statistics
from casewise.choices import grading_model, rules_first
from casewise.protocols import BY_PROVIDER, Graded, ResponseClass, Status, read_reply
from casewise.replies.correction import GRADES
from casewise.transcripts import ReplayTurns


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
    """Turns that were asked."""
    compared: int
    """Turns whose two replies could be compared."""
    events: Mapping[ReplyChange, int]
    shares: Mapping[ReplyChange, statistics.Estimate]
    """Shares of the changes among the compared."""


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
    cluster: str
    """What counts as one: a user, where the file names any, else a conversation."""
    clusters: int
    rates: tuple[ChangeRates, ...]
    """All, then by category."""
    changed: tuple[dict[str, Any], ...]
    """Turns that are newly refused or newly answered, with their texts if these are shown."""


@dataclass(frozen=True, slots=True)
class Replies:
    """Graded replies to turns that are asked again."""

    model: str | None
    """The model that was asked; None: the replies stand in the file."""
    rows: pl.DataFrame
    """Rows with ``case_id``, ``status``, ``response_class`` and ``answer``."""


def grade_old(turns: ReplayTurns, grader: str) -> dict[str, Graded]:
    """Grade the file's own replies by the rules, by the ids of their turns.

    Replies that a model is to grade have no grade yet. Turns whose reply neither refuses nor
    answers are left out.
    """
    graded = {}
    for id, turn in list(turns.by_case.items()):
        read = BY_PROVIDER if turn.declined else read_reply(turn.old, turn.case.query)
        by_model = grading_model(grader) and (read.is_doubted or not rules_first(grader))
        if by_model and not turn.declined:
            continue
        if read.status is Status.OK:
            graded[id] = read
        else:
            turns.left_out["the old reply neither refuses nor answers"] += 1
            del turns.by_case[id]
    return graded


def recorded_replies(turns: ReplayTurns, graded: Mapping[str, Graded]) -> Replies:
    """The file's own replies with their grades."""
    rows = [
        (id, str(grade.status), grade.response_class, turns.by_case[id].old)
        for id, grade in graded.items()
    ]
    names = ("case_id", "status", "response_class", "answer")
    return Replies(None, pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row"))


def turn_table(turns: ReplayTurns) -> pl.DataFrame:
    """The turns that are asked again, a row each."""
    rows = [
        (id, turn.conversation, turn.line, turn.user, turn.case.category, turn.case.query)
        for id, turn in turns.by_case.items()
    ]
    names = ("case_id", "conversation", "line", "user", "category", "query")
    return pl.DataFrame(rows, dict.fromkeys(names, pl.String) | {"line": pl.Int64}, orient="row")


def compare_replies(
    turns: pl.DataFrame,
    before: Replies,
    after: Replies,
    *,
    file: str,
    conversations: int,
    left_out: Mapping[str, int],
    reveal: bool = False,
) -> ReplayReport:
    """Compare the new reply to each turn with the old one.

    Args:
        turns: Turns that were asked; see ``turn_table``.
        before: The old replies.
        after: The new ones.
        file: Name of the conversations' file.
        conversations: Number of conversations in it.
        left_out: Turns that could not be asked, by reason.
        reveal: Whether the changed turns have their texts.
    """
    pairs = turns
    for side, replies in (("before", before), ("after", after)):
        rows = replies.rows.select("case_id", _OF_REPLY.name.prefix(f"{side}_"))
        pairs = pairs.join(rows, on="case_id", how="left", maintain_order="left")
    reasons = [_reason_against(row) for row in pairs.iter_rows(named=True)]
    compared = np.array([not reason for reason in reasons], np.bool_)
    is_by_user = pairs["user"].is_not_null().any()
    # A user and a conversation may have one name.
    names = pl.coalesce("u" + pl.col("user"), "c" + pl.col("conversation"))
    clusters = statistics.number_clusters(pairs.select(names).to_series().to_numpy())
    old, new = (
        (pairs[f"{side}_response_class"].fill_null("") == ResponseClass.REFUSAL).to_numpy()
        for side in ("before", "after")
    )
    changes = {
        ReplyChange.REFUSED: ~old & new & compared,
        ReplyChange.ANSWERED: old & ~new & compared,
    }

    def rates(name: str | None, mask: statistics.BoolArray) -> ChangeRates:
        rows = mask & compared
        newly = {change: hit[rows].astype(float) for change, hit in changes.items()}
        units = clusters.only(rows)
        return ChangeRates(
            name,
            int(mask.sum()),
            int(rows.sum()),
            {change: int(hit.sum()) for change, hit in newly.items()},
            {
                change: statistics.clustered_mean(hit, units, kind="share")
                for change, hit in newly.items()
            },
        )

    texts = {"query": "query", "old": "before_answer", "new": "after_answer"} if reveal else {}
    columns = [
        *("case_id", "conversation", "line", "category"),
        *(pl.col(f"{side}_response_class").alias(side) for side in ("before", "after")),
        *(pl.col(column).fill_null(_NOT_KEPT).alias(name) for name, column in texts.items()),
    ]
    return ReplayReport(
        new=str(after.model),
        old=before.model,
        file=file,
        conversations=conversations,
        left_out={**left_out, **Counter(filter(None, reasons))},
        cluster="user" if is_by_user else "conversation",
        clusters=clusters.count,
        rates=tuple(rates(name, mask) for name, mask in _categories(pairs["category"])),
        changed=tuple(
            {"change": str(change), **row}
            for change, hit in changes.items()
            for row in pairs.filter(pl.Series(hit)).select(columns).to_dicts()
        ),
    )


_NOT_KEPT = "(not kept: asked without --reveal)"

_OF_REPLY = pl.col("status", "response_class", "answer")

_UNREAD = {None: "not asked yet", "error": "error, no reply or no grade"}
"""Reasons by status; others neither refuse nor answer."""


def _reason_against(row: Mapping[str, Any]) -> str:
    """Why the two replies to a turn can't be compared; "" where they can."""
    for side, reply in (("after", "new reply"), ("before", "old reply")):
        status, kind = row[f"{side}_status"], row[f"{side}_response_class"]
        if kind == ResponseClass.TOOL_CALL:
            return f"{reply}: calls a tool"
        if status != Status.OK or kind not in GRADES:
            return f"{reply}: {_UNREAD.get(status, 'neither refuses nor answers')}"
    return ""


NO_CATEGORY: Final = "(none)"
"""Category of turns without one, where others have one."""


def _categories(categories: pl.Series) -> Sequence[tuple[str | None, statistics.BoolArray]]:
    """Masks of all turns, and of those of each category, by name."""
    every = np.ones(len(categories), np.bool_)
    names = categories.drop_nulls().unique().sort().to_list()
    named = [(name, categories.eq_missing(name).to_numpy()) for name in names]
    others = categories.is_null().to_numpy()
    return [
        (None, every),
        *named,
        *([(NO_CATEGORY, others)] if named and others.any() else []),
    ]
