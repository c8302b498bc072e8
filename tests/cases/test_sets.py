"""Splits, samples, unions and differences of data sets."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.cases import (
    Case,
    CaseSet,
    diff_sets,
    merge_sets,
    split_cases,
    to_line,
    whole_queries,
)
from casewise.errors import UsageError

SHARES = {"train": Fraction(4, 5), "test": Fraction(1, 5)}


def make(query: str, side: str | None = None, **fields: Any) -> Case:
    context = {"sender": {"platform_type": f"{side} place"}} if side else None
    return Case.model_validate(
        {"query": query, "context": context, "intended": side, "category": "law"} | fields
    )


def pairs(n: int, **fields: Any) -> list[Case]:
    name = fields.get("category", "law")
    return [make(f"{name} {i}", side, **fields) for i in range(n) for side in ("safe", "unsafe")]


def whole(*cases: Case, name: str = "a.jsonl") -> CaseSet:
    return CaseSet(cases, name)


def ids(cases: Any) -> set[str]:
    return {case.id for case in cases}


def queries_of(cases: Iterable[Case]) -> Counter[str | None]:
    """Number of queries by category."""
    return Counter(category for category, _ in {(case.category, case.query_id) for case in cases})


def test_counts_by_hand() -> None:
    """Quotas .8/.2 of 4, 4 and 2 queries: 3.2/.8, 3.2/.8, 1.6/.4; in sum 8 and 2.

    The first category owes train .2 and test .8 beyond 3/0: test gets it. Then train is owed .4 and
    test .6, and in the last train 1 and test 0.
    """
    cases = [case for name, n in (("a", 4), ("b", 4), ("c", 2)) for case in pairs(n, category=name)]
    parts = split_cases(cases, SHARES)
    assert queries_of(parts["train"]) == {"a": 3, "b": 3, "c": 2}
    assert queries_of(parts["test"]) == {"a": 1, "b": 1}


def test_the_same_words_under_two_ids_stay_together() -> None:
    cases = [
        make("May I?", "safe", query_id="one"),
        make("may  I?", "unsafe", query_id="two"),
        make("May she?", "safe", query_id="two"),
        make("May he?", "safe", query_id="three"),
    ]
    assert [len(group) for group in whole_queries(cases)] == [3, 1]


def test_a_part_without_a_query_is_refused() -> None:
    with pytest.raises(UsageError, match="part 'b' would get no query"):
        split_cases(pairs(5), {"a": Fraction(99, 100), "b": Fraction(1, 100)})


@st.composite
def data_sets(draw: st.DrawFn) -> list[Case]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=25))
    return [
        make(f"q{i}", tags=[str(j)], id=f"{i}-{j}", category=draw(st.sampled_from("abc")))
        for i, size in enumerate(sizes)
        for j in range(size)
    ]


@settings(deadline=None, max_examples=30)
@given(
    cases=data_sets(),
    weights=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_parts_of_any_split(
    cases: list[Case], weights: list[int], seed: int, data: st.DataObject
) -> None:
    shares = {f"p{i}": Fraction(weight, sum(weights)) for i, weight in enumerate(weights)}
    queries = len({case.query_id for case in cases})
    try:
        parts = split_cases(cases, shares, seed=seed)
    except UsageError:
        # Only where whole queries give a part none.
        assert min(queries * share for share in shares.values()) < 2
        return
    everything = [case.id for part in parts.values() for case in part]
    assert sorted(everything) == sorted(ids(cases))
    homes = {name: {case.query_id for case in part} for name, part in parts.items()}
    assert sum(map(len, homes.values())) == queries
    for name, home in homes.items():
        # Of two parts just rounded; of more, what three strata round apart.
        quota = queries * shares[name]
        apart = 0 if len(shares) < 3 else 1
        assert floor(quota) - apart <= len(home) <= ceil(quota) + apart
    shuffled = data.draw(st.permutations(cases))
    again = split_cases(shuffled, shares, seed=seed)
    assert {name: ids(part) for name, part in again.items()} == {
        name: ids(part) for name, part in parts.items()
    }


def test_a_union_holds_each_case_once() -> None:
    a, b, c = pairs(1)[0], make("b", source="theirs", licence="CC0-1.0"), make("c")
    merged = merge_sets([whole(a, b), whole(c, b, name="b.jsonl")])
    assert merged == (a, b, c)
    assert (merged[1].source, merged[1].licence) == ("theirs", "CC0-1.0")


def test_reworded_contexts_and_queries() -> None:
    safe, unsafe = pairs(1)
    edited = make("law 0", "safe", context={"sender": {"platform_type": "library"}})
    diff = diff_sets(whole(safe, unsafe), whole(edited, unsafe))
    (change,) = diff.reworded
    assert (change.old, change.new) == (safe, edited)
    assert [field.field for field in change.fields] == ["context.sender.platform_type"]
    assert diff.unchanged == 1
    assert not diff.added + diff.removed
    corrected = [make("law nought", side) for side in ("safe", "unsafe")]
    diff = diff_sets(whole(safe, unsafe), whole(*corrected))
    assert [(one.old, one.new) for one in diff.reworded] == list(
        zip([safe, unsafe], corrected, strict=True)
    )


@settings(deadline=None, max_examples=30)
@given(cases=data_sets(), data=st.data())
def test_a_difference_accounts_for_every_case(cases: list[Case], data: st.DataObject) -> None:
    old = data.draw(st.lists(st.sampled_from(cases), unique_by=lambda case: case.id))
    new = data.draw(st.lists(st.sampled_from(cases), unique_by=lambda case: case.id))
    diff = diff_sets(whole(*old), whole(*new))
    kept = diff.unchanged + len(diff.reworded)
    assert len(diff.removed) + kept == len(old)
    assert len(diff.added) + kept == len(new)
    assert diff.same == (list(map(to_line, old)) == list(map(to_line, new)))
