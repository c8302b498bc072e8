"""What a model says of a case, against what it does in it."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from casewise.analysis._paired import KEYS
from casewise.analysis._score import conditions
from casewise.protocols import Delivery, Protocol, ResponseClass
from casewise.statistics import Clusters, Estimate, clustered_mean

CELLS = ("says_safe_answers", "says_safe_refuses", "says_unsafe_answers", "says_unsafe_refuses")
"""Verdict and reply; partial replies and cases that lack either stand apart."""

_MATCHING = {
    Delivery.JUDGE: Delivery.SYSTEM,
    Delivery.SYSTEM: Delivery.SYSTEM,
    Delivery.CLAIMED: Delivery.CLAIMED,
    Delivery.NONE: Delivery.NONE,
}
"""Where the context is known to the judge, it is described to the chatbot."""


@dataclass(frozen=True, slots=True)
class JudgeAct:
    """One model's verdicts beside its replies to the same cases."""

    judged: dict[str, Any]
    """The condition under which it judged."""
    acted: dict[str, Any]
    """The condition under which it replied."""
    n: int
    """Cases with a verdict and a reply that answers or refuses."""
    partial: int
    """Cases with a verdict and a partial reply."""
    left_out: int
    """Cases of either that lack a verdict or a class in the other."""
    shares: dict[str, Estimate]
    """Of the n, the share of each cell of ``CELLS``."""
    cases: dict[str, tuple[str, ...]]
    """The ids of each cell's cases."""


def judge_versus_act(table: pl.DataFrame) -> list[JudgeAct]:
    """Set every judging run beside every replying run of the same model over the same cases."""
    runs = list(conditions(table))
    judged = [one for one in runs if one[0]["protocol"] != Protocol.RESPOND]
    acted = [one for one in runs if one[0]["protocol"] == Protocol.RESPOND]
    found = []
    for says, verdicts in judged:
        for does, replies in acted:
            same = all(says[key] == does[key] for key in ("model", "ablation"))
            if same and _MATCHING.get(says["delivery"]) == does["delivery"]:
                one = _judge_act(says, verdicts, does, replies)
                found += [one] if one.n + one.partial else []
    return found


def _judge_act(
    says: dict[str, Any], verdicts: pl.DataFrame, does: dict[str, Any], replies: pl.DataFrame
) -> JudgeAct:
    ok = pl.col("status") == "ok"
    left = verdicts.filter(ok).select(*KEYS, "query_id", "verdict")
    right = replies.filter(ok).select(*KEYS, "response_class")
    both = left.join(right, on=KEYS, maintain_order="left")
    decided = both.filter(pl.col("response_class") != ResponseClass.PARTIAL)
    queries = decided["query_id"].rank("dense").cast(pl.Int64).to_numpy() - 1
    clusters = Clusters(queries, int(queries.max(initial=-1)) + 1)
    answers = decided["response_class"] == ResponseClass.COMPLIANCE
    safe = decided["verdict"] == "safe"
    counts = (safe & answers, safe & ~answers, ~safe & answers, ~safe & ~answers)
    cells = dict(zip(CELLS, counts, strict=True))
    return JudgeAct(
        judged=says,
        acted=does,
        n=len(decided),
        partial=len(both) - len(decided),
        left_out=len(verdicts) + len(replies) - 2 * len(both),
        shares={
            name: clustered_mean(cell.cast(pl.Float64).to_numpy(), clusters, share=True)
            for name, cell in cells.items()
        },
        cases={name: tuple(decided.filter(cell)["case_id"]) for name, cell in cells.items()},
    )
