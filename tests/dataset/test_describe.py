"""The human side of a data set: CASE-Bench to five digits, and data that say little."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.voted import Record, case, counts, described, findings


@pytest.fixture(scope="module")
def published(casebench: Path) -> Record:
    return described(casebench / "CASEBench_data.json")


def close(figure: float) -> Any:
    return pytest.approx(figure, abs=5.1e-6)


def test_casebench_context_effect(published: Record) -> None:
    effect = published["context_effect"]
    assert effect["safe_votes"] == [5677, 2208]
    assert effect["votes"] == [9000, 9000]
    assert effect["difference"] == close(0.38544)
    # What the paper's abstract says: p < .0001, by a z-test. By hand, with the pooled share .438:
    # .38544 / sqrt(2 x .43806 x .56194 / 9000).
    assert effect["pooled_z"] == pytest.approx(52.114, abs=0.001)
    assert 0 < effect["p"] < 0.0001 > effect["pooled_p"] > 0
    assert effect["z_tests"] == {"n": 450, "raw": 305, "holm": 56, "bh": 294}
    low, high = effect["difference_ci"]
    assert low == pytest.approx(0.38544 - 1.96 * 0.00912, abs=0.004)
    assert high == pytest.approx(0.38544 + 1.96 * 0.00912, abs=0.004)
    assert published["against_none"] == {}


def test_casebench_agreement(published: Record) -> None:
    names = ("fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "pairwise")
    expected = {
        "all": (0.19034, 0.19039, 0.21482, 0.60139),
        "safe": (0.05671, 0.05681, 0.17751, 0.56062),
    }
    for part, figures in expected.items():
        found = published["agreement"][part]
        for name, figure in zip(names, figures, strict=True):
            assert found[name] == close(figure), name
            low, high = found[f"{name}_ci"]
            assert low < figure < high
    assert set(published["agreement"]) == {"all", "safe", "unsafe"}


def test_casebench_ceilings(published: Record) -> None:
    whole, safe, unsafe = (published["ceiling"][part] for part in ("all", "safe", "unsafe"))
    assert whole["icc"] == close(0.82481)
    assert whole["pcc"] == close(0.90819)
    assert whole["votes_a_case"] == pytest.approx(20)
    assert whole["person_accuracy"] == close(0.65694)
    assert whole["person_pcc"] == close(0.39437)
    assert max(safe["pcc"], unsafe["pcc"]) < whole["pcc"]
    assert whole["person_accuracy"] < whole["oracle_accuracy"] < 1
    assert whole["oracle_brier"] == close(0.00997)


def test_casebench_findings(published: Record) -> None:
    told = findings(published)
    assert [*told] == ["author-in-rate", "tied-votes", "unlike-columns"]
    rate, ties, columns = told.values()
    assert (rate["level"], rate["n"], rate["of"]) == ("error", 900, 900)
    assert (ties["n"], len(ties["cases"])) == (92, 92)
    assert "settles 92, 66 as safe and 26 as unsafe (92 as their author intended)" in ties["text"]
    assert columns["n"] == 20
    for part in ("one panel", "Q 2376 on 1710 degrees", "p < .001", "from .354 to .508"):
        assert part in columns["text"]


def test_casebench_outputs_hold_the_author_vote(casebench: Path) -> None:
    told = findings(described(casebench / "exp/safety_gpt-4o/output_binary.json"))
    assert (told["author-vote"]["n"], told["author-vote"]["of"]) == (900, 900)


def test_findings_quote_no_query(casebench: Path, published: Record) -> None:
    text = json.dumps(published)
    for load in json.loads((casebench / "CASEBench_data.json").read_text("utf-8")):
        assert load["query"] not in text


def test_two_pairs_by_hand() -> None:
    found = described(
        [
            case("a", "safe", counts(8, 2)),
            case("a", "unsafe", counts(3, 7)),
            case("b", "safe", counts(6, 4)),
            case("b", "unsafe", counts(2, 8)),
        ]
    )
    effect = found["context_effect"]
    assert effect["safe_votes"] == [14, 5]
    assert effect["difference"] == pytest.approx(0.7 - 0.25)
    # 14 of 20 against 5 of 20: pooled 19 of 40.
    assert effect["pooled_z"] == pytest.approx(0.45 / np.sqrt(0.475 * 0.525 / 10))
    assert effect["z_tests"]["raw"] == 1  # p .0246 and .0679


def test_votes_weigh_alike() -> None:
    found = described(
        [
            case("a", "safe", counts(10, 0)),
            case("a", "unsafe", counts(0, 10)),
            case("b", "safe", counts(1, 1)),
            case("b", "unsafe", counts(1, 1)),
        ]
    )["context_effect"]
    assert found["difference"] == pytest.approx(11 / 12 - 1 / 12)


def test_a_set_without_votes_has_no_figure() -> None:
    record = described("starter")
    assert (record["votes"], record["voted"], record["findings"]) == (0, 0, [])
    assert record["context_effect"]["difference"] is None
    assert record["context_effect"]["z_tests"] is None
    assert record["agreement"]["all"]["pairwise"] is None
    assert record["ceiling"]["all"]["oracle_accuracy"] is None


@pytest.mark.parametrize(
    ("cases", "undefined"),
    [
        ([case("a", "safe", counts(3, 2))], "ceiling.all.icc"),
        (
            [case("a", "safe", counts(1, 0)), case("b", "unsafe", counts(0, 1))],
            "agreement.all.pairwise ceiling.all.person_accuracy context_effect.z_tests",
        ),
        (
            [case("a", "safe", counts(5, 0)), case("a", "unsafe", counts(5, 0))],
            "agreement.all.fleiss_kappa ceiling.all.pcc ceiling.all.oracle_bce",
        ),
        (
            [case("a", None, counts(5, 2)), case("b", None, counts(1, 4))],
            "context_effect.difference agreement.safe.pairwise ceiling.safe.icc",
        ),
        (
            [case("a", "safe", counts(4, 4)), case("a", "unsafe", counts(4, 4))],
            "ceiling.all.icc ceiling.all.person_pcc",
        ),
        (
            [case("a", "safe", counts(3, 2)), case("a", "unsafe", counts(2, 3))],
            "ceiling.all.pcc",
        ),
    ],
)
def test_what_can_not_be_said_is_null(cases: list[Record], undefined: str) -> None:
    record = described(cases)
    for path in undefined.split():
        value: Any = record
        for key in path.split("."):
            value = value[key]
        assert value is None, path


def test_a_no_context_arm() -> None:
    bare = case("a", votes=counts(5, 5), context=None)
    found = described([case("a", "safe", counts(9, 1)), case("a", "unsafe", counts(2, 8)), bare])
    assert found["arms"] == {"safe": 1, "unsafe": 1, "none": 1, "unknown": 0}
    against = found["against_none"]
    assert against["safe"]["difference"] == pytest.approx(0.4)
    assert against["unsafe"]["difference"] == pytest.approx(-0.3)
    assert found["agreement"]["none"]["pairwise"] == pytest.approx(40 / 90)


def in_contexts(contexts: dict[str, tuple[int, ...]], alone: dict[str, int]) -> list[Record]:
    """Safe votes of ten, by query: in contexts without an intended side, and without a context."""
    return [
        case(query, None, counts(safe, 10 - safe), context={"where": f"{query} {place}"})
        for query, context in contexts.items()
        for place, safe in enumerate(context)
    ] + [case(query, votes=counts(safe, 10 - safe), context=None) for query, safe in alone.items()]


def test_any_number_of_contexts() -> None:
    record = described(in_contexts({"a": (10, 9, 1), "b": (8, 5, 0)}, {"a": 8, "b": 2}))
    assert (record["shape"]["compared"], record["shape"]["changed"]) == (2, 2)
    assert record["against_none"]["context"]["safe_votes"] == [33, 10]
    # What has no sides says nothing of them.
    assert record["context_effect"]["votes"] == [0, 0]


def test_cat_in_figures_of_people(other_sets: Path) -> None:
    """Labels flip between without and with the context in 146 of 978 posts."""
    with (other_sets / "cat_small.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    cases = []
    for number, row in enumerate(rows):
        for label, context in (("label_oc", None), ("label_ic", {"parent": "given"})):
            toxic = int(row[label])
            cases.append(case(f"post {number}", None, counts(1 - toxic, toxic), context=context))
    record = described(cases)
    assert (record["shape"]["changed"], record["shape"]["compared"]) == (146, 978)
    assert record["against_none"]["context"]["safe_votes"] == [
        sum(row["label_ic"] == "0" for row in rows),
        sum(row["label_oc"] == "0" for row in rows),
    ]
