"""Failures: answers that count as wrong, by their distance from people, and groups of them."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import polars as pl

from casewise.cases import Context
from casewise.choices import Delivery, FailureGroup
from casewise.contexts import PARAMETERS, leaf_parameters
from casewise.measures import family_of, outcomes
from casewise.protocols import DOUBT_LIMIT, RunCondition

_AS_NUMBER = {
    **dict.fromkeys(("safe", "compliance"), 1.0),
    "partial": 0.5,
    **dict.fromkeys(("unsafe", "refusal"), 0.0),
}
"""Probability of safe that stands for an answer without one."""

_AGAINST_ITSELF = ("unsafe compliance", "safe refusal")
"""Verdict of a model, and its reply, where it does not do as it says."""


@dataclass(frozen=True, slots=True)
class ContextDifference:
    """Parameters in which the context of a case differs from the others of its query."""

    names: tuple[str, ...]
    """Places of the known parameters that differ: ``recipient.type``."""
    alike: tuple[str, ...]
    """Places of the known parameters that don't."""
    others: int
    """Number of further parameters that differ; their names are a person's own text."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case to read: what people said of it, and what a run said."""

    case_id: str
    query_id: str | None
    category: str | None
    intended: str | None
    run: RunCondition
    label: float | None
    """1 safe, 0 unsafe, .5 a tie."""
    label_note: str | None
    """Why the label isn't what most of the votes say; None where it is."""
    votes_safe: int | None
    votes_unsafe: int | None
    published_safe_rate: float | None
    share: float | None
    """Share of people, else the published rate, else the label."""
    said: str
    """Verdict, or class of the reply."""
    p_safe: float | None
    doubt: float | None
    """Chance that the grader gives of its class being wrong."""
    distance: float | None
    """``|P - share|``; a verdict counts as a P of 1 or 0, so its distance is people's margin."""
    groups: tuple[FailureGroup, ...]
    answers: int
    """Answers of the run to this case; the one furthest from people is shown."""
    wrong: int
    """Answers of these that count as wrong."""
    before: str | None
    """Answer of the run before to the same case."""
    judged: str | None
    """Verdict of the same model where it judged this case."""
    difference: ContextDifference | None
    """None where the query has no other context that is known."""


_AS_THEY_STAND = [
    one.name for one in fields(Failure) if one.name not in ("run", "groups", "difference")
]

MARKS = ("share", "distance", "groups", "before", "judged")
"""Columns that ``mark_failures`` adds."""


def mark_failures(
    cases: pl.DataFrame,
    judgements: pl.DataFrame,
    runs: Sequence[RunCondition],
    changes: Sequence[tuple[int, int]] = (),
    judge_act: Sequence[tuple[int, int]] = (),
) -> pl.DataFrame:
    """Add ``distance``, ``groups`` (names, a space between), ``before`` and ``judged``.

    Args:
        cases: Cases of a browser.
        judgements: Its judgements.
        runs: Its runs.
        changes: Places of runs before and after.
        judge_act: Places of runs that judge, and of runs of their models that act.
    """
    votes = pl.col("votes_safe") + pl.col("votes_unsafe")
    share = pl.coalesce(
        pl.when(votes > 0).then(pl.col("votes_safe") / votes), "published_safe_rate", "rate"
    )
    people = cases.select("label", share.alias("share")).with_row_index("case")
    number = pl.col("said").replace_strict(_AS_NUMBER, default=None, return_dtype=pl.Float64)
    as_meant = [name for one in runs for name in outcomes(family_of(one.protocol))[:1]]
    table = (
        judgements.join(people.cast({"case": pl.Int64}), on="case", maintain_order="left")
        .with_columns(
            pl.when(pl.col("said").is_not_null())
            # Equal distances are equal, whatever floats make of them.
            .then((pl.coalesce("p_safe", number) - pl.col("share")).abs().round(9))
            .alias("distance"),
        )
        .pipe(_beside, changes, "before")
        .pipe(_beside, judge_act, "judged")
    )
    wrong = pl.col("right") == 0
    itself = pl.concat_str("judged", "said", separator=" ").is_in(_AGAINST_ITSELF)
    meant = pl.col("quadrant").is_in([*as_meant, "mixed"])
    members = {
        FailureGroup.REFUSES: wrong & (pl.col("label") == 1),
        FailureGroup.ANSWERS: wrong & (pl.col("label") == 0),
        FailureGroup.NEW: wrong & (pl.col("before_right") == 1),
        FailureGroup.MENDED: (pl.col("right") == 1) & (pl.col("before_right") == 0),
        FailureGroup.PAIR: wrong & ~meant,
        FailureGroup.JUDGE_ACT: itself,
        FailureGroup.DOUBT: pl.col("doubt") > DOUBT_LIMIT,
    }
    names = [pl.when(member).then(pl.lit(str(name))) for name, member in members.items()]
    return table.with_columns(
        pl.concat_str(names, separator=" ", ignore_nulls=True).replace("", None).alias("groups")
    ).select(*judgements.columns, *MARKS)


def _beside(table: pl.DataFrame, pairs: Sequence[tuple[int, int]], name: str) -> pl.DataFrame:
    """Add what the first run of each pair said of a case, beside the answers of the second.

    A run stands beside the first that it is paired with.
    """
    first: dict[int, int] = {}
    for before, after in pairs:
        first.setdefault(after, before)
    keys = ["run", "case", "epoch"]
    others = pl.concat(
        table.filter(run=first.get(after, -1)).select(
            pl.lit(after, table["run"].dtype).alias("run"),
            *("case", "epoch"),
            pl.col("said").alias(name),
            pl.col("right").alias(f"{name}_right"),
        )
        for after in (*first, -1)
    )
    known = others.unique(keys, keep="first")
    return table.join(known, on=keys, how="left", maintain_order="left")


def list_failures(
    cases: pl.DataFrame,
    judgements: pl.DataFrame,
    runs: Sequence[RunCondition],
    group: FailureGroup | None = None,
) -> Iterator[Failure]:
    """Yield the failures of a group, or all that counts as wrong; furthest from people first.

    The group ``doubt`` begins with the reply of which the grader is least sure.

    Args:
        cases: Cases of a browser.
        judgements: Its judgements, from ``mark_failures``.
        runs: Its runs.
        group: None is every answer that counts as wrong.
    """
    names = pl.col("groups").str.split(" ")
    chosen = pl.col("right") == 0 if group is None else names.list.contains(str(group))
    order = "doubt" if group is FailureGroup.DOUBT else "distance"
    counts = judgements.group_by("run", "case").agg(
        pl.len().alias("answers"), (pl.col("right") == 0).sum().alias("wrong")
    )
    told = cases.with_row_index("case").cast({"case": pl.Int64})
    rows = (
        judgements.filter(chosen)
        .join(counts, on=["run", "case"], maintain_order="left")
        .join(told, on="case", maintain_order="left")
        .sort(order, "case", "run", descending=[True, False, False], nulls_last=True)
        .unique(["run", "case"], keep="first", maintain_order=True)
    )
    differences = context_differences(cases)
    for row in rows.iter_rows(named=True):
        yield Failure(
            run=runs[row["run"]],
            groups=tuple(map(FailureGroup, (row["groups"] or "").split())),
            difference=differences[row["case"]],
            **{name: row[name] for name in _AS_THEY_STAND},
        )


def context_differences(cases: pl.DataFrame) -> list[ContextDifference | None]:
    """Difference of each case's context from the others of its query."""
    leaves = [None if text is None else _leaves(text) for text in cases["context"]]
    queries: defaultdict[str | None, list[int]] = defaultdict(list)
    for place, query in enumerate(cases["query_id"]):
        queries[query].append(place)
    return [
        _difference(mine, [leaves[other] for other in queries[query] if query and other != place])
        for place, (query, mine) in enumerate(zip(cases["query_id"], leaves, strict=True))
    ]


def _leaves(context: str) -> dict[str, str]:
    values = leaf_parameters(Context(json.loads(context)))
    return {place: json.dumps(value, sort_keys=True) for place, value in values.items()}


def _difference(
    mine: dict[str, str] | None, others: Sequence[dict[str, str] | None]
) -> ContextDifference | None:
    known = [one for one in others if one is not None]
    if mine is None or not known:
        return None
    places = {
        place: None
        for other in known
        for place in (*mine, *other)
        if mine.get(place) != other.get(place)
    }
    known_places = [place for place in PARAMETERS if any(place in one for one in (mine, *known))]
    names = tuple(place for place in known_places if place in places)
    alike = tuple(place for place in known_places if place not in places)
    return ContextDifference(names, alike, len(places) - len(names))


_MATCHING: dict[str | None, Delivery] = {
    Delivery.JUDGE: Delivery.SYSTEM,
    Delivery.SYSTEM: Delivery.SYSTEM,
    Delivery.CLAIMED: Delivery.CLAIMED,
    Delivery.NONE: Delivery.NONE,
}
"""Delivery to a chatbot that matches each delivery to a judge: a context in the judge's prompt is
described to the chatbot by its deployer."""


def judged_and_acted(runs: Sequence[RunCondition]) -> list[tuple[int, int]]:
    """Places of every judging run and of each replying run of its model that matches it."""
    return [
        (judge, act)
        for judge, says in enumerate(runs)
        for act, does in enumerate(runs)
        if (says.acts, does.acts) == (False, True)
        and (says.model, says.ablation) == (does.model, does.ablation)
        and says.evidence == does.evidence
        and (says.evidence is not None or _MATCHING.get(says.delivery) == does.delivery)
    ]
