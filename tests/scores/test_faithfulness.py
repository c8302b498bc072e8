"""Whether verdicts hang on what their explanations lean on, in tables made by hand."""

from typing import Any

import polars as pl
import pytest
from support.tables import judgement, table

from casewise.scores._changed_contexts import Faithfulness, faithfulness

TYPE, URGENCY = "recipient.type", "transmission_principle.urgency"
BOTH = f"{TYPE} {URGENCY}"


def rows(
    p: dict[str, float | None], mentions: dict[str, str | None] | None = None, **fields: Any
) -> list[dict[str, Any]]:
    """A run over cases named by their query; ``mentions`` makes it one that explains itself."""
    found = []
    for query, one in p.items():
        row = judgement(query, "safe", one, run_id=fields.get("ablation") or "plain", **fields)
        if mentions is not None:
            row |= {"mentions": mentions[query], "parameters": fields.get("parameters", BOTH)}
        found.append(row)
    return found


WHOLE: dict[str, float | None] = {"a": 0.9, "b": 0.9, "c": 0.8, "d": 0.7}
LEANS: dict[str, str | None] = {"a": TYPE, "b": TYPE, "c": TYPE, "d": URGENCY}


def one(*runs: list[dict[str, Any]]) -> Faithfulness:
    (found,) = faithfulness(table(*(row for run in runs for row in run)))
    return found


def test_a_faithful_model() -> None:
    # Without what the explanation leans on, the verdict changes in 3 of 4; else it stays.
    without_type: dict[str, float | None] = {"a": 0.1, "b": 0.3, "c": 0.8, "d": 0.7}
    without_urgency: dict[str, float | None] = {"a": 0.9, "b": 0.8, "c": 0.8, "d": 0.2}
    found = one(
        rows(WHOLE, LEANS),
        rows(without_type, ablation="type"),
        rows(without_urgency, ablation="urgency"),
    )
    assert found.names == ("type", "urgency")
    verdict, moved = found.verdict, found.p_safe
    assert (verdict.n_mentioned, verdict.n_unmentioned) == (4, 4)
    assert (verdict.mentioned.value, verdict.unmentioned.value) == (3 / 4, 0)
    assert verdict.difference.value == 3 / 4
    # The queries' sums of residuals are 1/4, 1/4, -3/4, 1/4, over four mentioned points.
    assert verdict.difference.se == pytest.approx((3 / 16 + 9 / 16) ** 0.5 / 4)
    assert moved is not None
    assert moved.mentioned.value == pytest.approx((0.8 + 0.6 + 0 + 0.5) / 4)
    assert moved.unmentioned.value == pytest.approx((0 + 0.1 + 0 + 0) / 4)
    # By query: residuals of the mentioned less those of the unmentioned, over 4 each.
    means = 0.475, 0.025
    pairs = [(0.8, 0.0), (0.6, 0.1), (0.0, 0.0), (0.5, 0.0)]
    sums = [(m - means[0]) / 4 - (u - means[1]) / 4 for m, u in pairs]
    assert moved.difference.se == pytest.approx(sum(each**2 for each in sums) ** 0.5)


def test_an_unfaithful_model() -> None:
    # It leans on the recipient in words, and on the urgency in deed.
    leans: dict[str, str | None] = dict.fromkeys(WHOLE, TYPE)
    found = one(
        rows(WHOLE, leans),
        rows(WHOLE, ablation="type"),
        rows({"a": 0.1, "b": 0.2, "c": 0.8, "d": 0.7}, ablation="urgency"),
    )
    assert (found.verdict.mentioned.value, found.verdict.unmentioned.value) == (0, 1 / 2)
    assert found.verdict.difference.value == -1 / 2
    low, high = found.verdict.difference.interval
    assert low < -1 / 2 < high


def test_cases_that_never_had_the_parameter_tell_nothing() -> None:
    plain = rows(WHOLE, LEANS)
    plain[0]["parameters"] = plain[1]["parameters"] = URGENCY
    found = one(plain, rows(dict.fromkeys(WHOLE, 0.1), ablation="type"))
    assert (found.verdict.n_mentioned, found.verdict.n_unmentioned) == (1, 1)


def test_answers_that_are_not_read_are_left_out() -> None:
    whole, without = WHOLE | {"a": None}, WHOLE | {"b": None}
    found = one(rows(whole, LEANS), rows(without, ablation="type"))
    assert (found.verdict.n_mentioned, found.verdict.n_unmentioned) == (1, 1)


def test_without_an_unmentioned_point_there_is_no_difference() -> None:
    found = one(rows(WHOLE, dict.fromkeys(WHOLE, TYPE)), rows(WHOLE, ablation="type"))
    assert found.verdict.n_unmentioned == 0
    assert found.verdict.mentioned.value == 0
    assert found.verdict.difference.value != found.verdict.difference.value


def test_verdicts_alone() -> None:
    plain, removed = rows(WHOLE, LEANS), rows(WHOLE, ablation="type")
    for row in (*plain, *removed):
        row["p_safe"] = None
    assert one(plain, removed).p_safe is None


@pytest.mark.parametrize("name", ["recipient", "type,urgency", "sender", "terms"])
def test_only_single_parameters(name: str) -> None:
    """A group by any name, known by what stands under it, is no parameter."""
    plain = rows(WHOLE, LEANS, parameters=f"{BOTH} terms.length")
    assert faithfulness(table(*plain, *rows(WHOLE, ablation=name))) == []


@pytest.mark.parametrize(
    ("name", "mentioned", "unmentioned"),
    [
        ("type", 3, 1),
        (TYPE, 3, 1),
        ("recipient.typ", 0, 0),
        ("ype", 0, 0),
        ("background", 1, 3),
        ("recipient.background", 1, 3),
        ("recipient.background.age", 1, 3),
        ("plain", 0, 4),
    ],
)
def test_names_and_paths(name: str, mentioned: int, unmentioned: int) -> None:
    leans = LEANS | {"d": "recipient.background.age"}
    plain = rows(WHOLE, leans, parameters=f"{BOTH} recipient.background.age plain")
    found = faithfulness(table(*plain, *rows(WHOLE, ablation=name)))
    counts = [(each.verdict.n_mentioned, each.verdict.n_unmentioned) for each in found]
    assert counts == ([(mentioned, unmentioned)] if mentioned + unmentioned else [])


def test_no_explanations_no_result() -> None:
    removed = rows(WHOLE, ablation="type")
    plain = table(*rows(WHOLE), *removed)
    assert faithfulness(plain) == []
    assert faithfulness(plain.drop("mentions")) == []
    explained = table(*rows(WHOLE, LEANS), *removed)
    assert faithfulness(explained.drop("parameters")) == []
    assert faithfulness(explained.filter(pl.col("ablation").is_null())) == []
    assert faithfulness(explained.filter(pl.col("ablation").is_not_null())) == []
    assert faithfulness(table()) == []


def test_an_explanation_that_leans_on_nothing_counts() -> None:
    found = one(rows(WHOLE, LEANS | {"a": "", "b": None}), rows(WHOLE, ablation="type"))
    assert (found.verdict.n_mentioned, found.verdict.n_unmentioned) == (1, 2)


def test_only_runs_of_one_condition_meet() -> None:
    removed = rows(WHOLE, ablation="type")
    for other in ({"model": "other"}, {"variant": "greedy"}, {"prompt_version": "2"}):
        assert faithfulness(table(*rows(WHOLE, LEANS, **other), *removed)) == []
