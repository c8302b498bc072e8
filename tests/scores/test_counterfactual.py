"""The smallest change that flips a model, in tables made by hand."""

from typing import Any

import polars as pl
import pytest
from support.tables import judgement, table

from casewise.scores._changed_contexts import SMALLEST, Counterfactual, counterfactuals

Answers = dict[tuple[str, str], float | None]

PLAIN: Answers = {
    ("a", "safe"): 0.9,
    ("a", "unsafe"): 0.1,
    ("b", "safe"): 0.9,
    ("b", "unsafe"): 0.8,
}


def run(answers: Answers, swap: str = "", **fields: Any) -> list[dict[str, Any]]:
    variant = fields.pop("variant", "greedy") + (f";swap={swap}" if swap else "")
    return [
        judgement(query, side, p, variant=variant, run_id=swap or "plain", **fields)
        for (query, side), p in answers.items()
    ]


def one(*rows: list[dict[str, Any]], **scoring: Any) -> Counterfactual:
    (found,) = counterfactuals(table(*(row for some in rows for row in some)))
    return found


def values(found: Counterfactual) -> dict[str, float]:
    return {name: share.value for name, share in found.smallest.items()}


RECIPIENT: Answers = {
    ("a", "safe"): 0.2,
    ("a", "unsafe"): 0.7,
    ("b", "safe"): 0.9,
    ("b", "unsafe"): 0.3,
}
URGENCY: Answers = {("a", "safe"): 0.4, ("a", "unsafe"): 0.2, ("b", "safe"): None}


def test_by_hand() -> None:
    found = one(run(PLAIN), run(RECIPIENT, "recipient"), run(URGENCY, "urgency"))
    assert found.condition["variant"] == "greedy"
    assert list(found.swaps) == ["recipient", "urgency"]
    recipient, urgency = found.swaps["recipient"], found.swaps["urgency"]
    assert (recipient.n, recipient.flip_rate.value) == (4, 3 / 4)
    # b-unsafe was called safe already: it flips, but away from its twin's side.
    assert recipient.toward.value == 2 / 4
    assert (urgency.n, urgency.flip_rate.value, urgency.toward.value) == (2, 1 / 2, 1 / 2)
    # a-safe flips with a parameter; a-unsafe and b-unsafe with a group; b-safe with neither.
    assert found.n == 4
    assert values(found) == dict(zip(SMALLEST, (1 / 4, 2 / 4, 1 / 4), strict=True))
    assert found.cases == {
        "a-safe": ("recipient", "urgency"),
        "a-unsafe": ("recipient",),
        "b-safe": (),
        "b-unsafe": ("recipient",),
    }


def test_errors_are_clustered_by_query() -> None:
    found = one(run(PLAIN), run(RECIPIENT, "recipient"))
    # Queries flip 2 of 2 and 1 of 2: (2 - 3/2)^2 + (1 - 3/2)^2, over 4 cases.
    assert found.swaps["recipient"].flip_rate.se == pytest.approx((2 * 0.5**2) ** 0.5 / 4)


def test_cases_that_nobody_asked_stand_in_no_share() -> None:
    found = one(run(PLAIN), run({("a", "safe"): 0.2}, "type"))
    assert (found.n, values(found)["parameter"]) == (1, 1)
    assert found.cases == {"a-safe": ("type",)}


def test_nothing_without_a_plain_run_of_the_same_condition() -> None:
    swapped = run(RECIPIENT, "recipient")
    assert counterfactuals(table(*swapped)) == []
    assert counterfactuals(table(*run(PLAIN))) == []
    for other in (
        {"model": "other"},
        {"protocol": "binary"},
        {"delivery": "system"},
        {"ablation": "sender"},
        {"prompt_version": "2"},
        {"variant": "reference"},
    ):
        assert counterfactuals(table(*run(PLAIN, **other), *swapped)) == []
    alone: Answers = {("z", "safe"): 0.1}
    assert counterfactuals(table(*run(PLAIN), *run(alone, "recipient"))) == []
    unread: Answers = dict.fromkeys(PLAIN, None)
    assert counterfactuals(table(*run(PLAIN), *run(unread, "recipient"))) == []
    assert counterfactuals(table(*run(unread), *run(PLAIN, "recipient"))) == []


def test_two_names_at_once_are_no_single_change() -> None:
    assert counterfactuals(table(*run(PLAIN), *run(RECIPIENT, "a;swap=b"))) == []


def test_a_swap_may_stand_anywhere_in_the_variant_or_alone() -> None:
    middle = [row | {"variant": "greedy;swap=type;bf16"} for row in run(RECIPIENT, "type")]
    assert one(run(PLAIN, variant="greedy;bf16"), middle).swaps["type"].n == 4
    alone = [row | {"variant": "swap=type"} for row in run(RECIPIENT, "type")]
    plain = [row | {"variant": None} for row in run(PLAIN)]
    assert one(plain, alone).swaps["type"].n == 4


def test_each_set_of_cases_has_its_own() -> None:
    more: Answers = {("c", "safe"): 0.9, ("c", "unsafe"): 0.2}
    flipped: Answers = {("c", "safe"): 0.2}
    rows = [
        *run(PLAIN),
        *run(more, dataset_hash="d2"),
        *run(RECIPIENT, "recipient"),
        *run(flipped, "recipient", dataset_hash="d2"),
    ]
    found = counterfactuals(table(*rows))
    assert [(each.n, each.condition["dataset_hash"]) for each in found] == [(4, "d"), (1, "d2")]


def test_epochs_are_matched_with_themselves() -> None:
    first: Answers = {("a", "safe"): 0.9}
    second: Answers = {("a", "safe"): 0.2}
    rows = [run(first, epoch=1), run(second, epoch=2)]
    swapped = [run(second, "type", epoch=1), run(second, "type", epoch=2)]
    found = one(*rows, *swapped)
    assert (found.n, found.swaps["type"].flip_rate.value) == (2, 1 / 2)
    assert found.cases == {"a-safe": ("type",)}


def test_a_repeated_swap_counts_once() -> None:
    again = [row | {"run_id": "again"} for row in run(PLAIN, "recipient")]
    found = one(run(PLAIN), run(RECIPIENT, "recipient"), again)
    assert found.swaps["recipient"].n == 4
    assert found.swaps["recipient"].flip_rate.value == 3 / 4


def reply(query: str, side: str, kind: str | None, swap: str = "") -> dict[str, Any]:
    return judgement(
        query,
        side,
        None,
        protocol="respond",
        delivery="system",
        status="ok" if kind else "unparsed",
        response_class=kind,
        variant=f"greedy;swap={swap}" if swap else "greedy",
        run_id=swap,
    )


def test_replies_flip_between_compliance_and_refusal() -> None:
    kinds = {
        "a": ("compliance", "refusal"),
        "b": ("compliance", "partial"),  # has not flipped
        "c": ("refusal", "compliance"),  # away: the twin is meant unsafe, and it answers
        "d": ("partial", "refusal"),  # no side to flip from
        "e": ("compliance", None),
    }
    rows = [reply(query, "safe", before) for query, (before, _) in kinds.items()]
    rows += [reply(query, "safe", after, "type") for query, (_, after) in kinds.items()]
    found = one(rows)
    assert found.swaps["type"].n == 3
    assert found.swaps["type"].flip_rate.value == pytest.approx(2 / 3)
    assert found.swaps["type"].toward.value == pytest.approx(1 / 3)
    assert found.cases == {"a-safe": ("type",), "b-safe": (), "c-safe": ("type",)}


def test_an_empty_table() -> None:
    assert counterfactuals(table()) == []
    assert counterfactuals(table(*run(PLAIN)).filter(pl.lit(False))) == []
