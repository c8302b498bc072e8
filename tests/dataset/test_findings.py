"""What audits find: ten cases in which nearly every check fires, and sets with one fault."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Cli
from support.audited import SUBJECTS, case, changed, clean, codes, found, pair, run, with_value
from support.voted import Record, counts, described, findings, rows
from support.voted import case as voted

import casewise as cw

TEN = ROOT / "tests/data/ten_faults.yaml"

BY_HAND: dict[str, tuple[int, int | None, str]] = {
    # .9 and .33 are neither 3 of 6 (4 of 7) nor 4 of 6 (4 of 7).
    "unlike-rate": (2, 2, "a1 a2"),
    "author-vote": (2, 2, "a1 a2"),
    "identical-twins": (2, 5, "a1 a2"),
    "placeholder": (2, 10, "b1 b2"),
    "empty-context": (1, 8, "e1"),
    "sequential-votes": (1, 3, "a3"),
    "tied-votes": (1, 3, "a1"),
    "missing-twin": (3, 5, "b1 b2 e1"),
    "repeated-context": (2, 8, "c1 c2"),
    # Four of five intended sides are safe.
    "label-imbalance": (5, None, ""),
    # Five texts: that of a, two of b, those of c and d.
    "shared-context": (2, 5, "a1 a2 c1 c2"),
    # 13 words and one more, so 12 runs of three; the last differs.
    "near-copy-context": (1, None, "b1 b2"),
    "near-copy-query": (1, None, "a1 a2 a3 b1 b2"),
    # Five of eight have a platform, and all a type.
    "missing-parameter": (3, 8, "c1 c2 e1"),
    "verdict-words": (1, 8, "d1"),
    "personal-data": (2, 10, "c1 c2"),
    "missing-label": (4, 10, "c1 c2 d1 f1"),
    "missing-intended": (3, 10, "c1 c2 d1"),
    "missing-votes": (7, 10, "b1 b2 c1 c2 d1 e1 f1"),
    "missing-category": (5, 10, "c1 c2 d1 e1 f1"),
    "missing-source": (1, 10, "f1"),
    "missing-licence": (5, 10, "c1 c2 d1 e1 f1"),
}


def test_ten_cases_by_hand(cli_inside: Cli) -> None:
    done = cli_inside("cases", "audit", TEN, "--format", "json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    told = {
        finding["code"]: (finding["n"], finding["of"], " ".join(finding["cases"]))
        for finding in record["findings"]
    }
    assert told == BY_HAND
    # The worst first.
    levels = [finding["level"] for finding in record["findings"]]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)
    assert record["figures"]["label-imbalance"] == 4 / 5
    texts = {finding["code"]: finding["text"] for finding in record["findings"]}
    assert "sender.platform: 1 intended safe, 0 unsafe" in texts["missing-parameter"]
    assert "settles 1, 1 as safe and 0 as unsafe (1 as their author" in texts["tied-votes"]
    assert "a and b (.82)" in texts["near-copy-query"]
    # What a description tells is the same, of votes.
    people = described(TEN)["findings"]
    mine = [
        finding
        for finding in record["findings"]
        if finding["code"] in {person["code"] for person in people}
    ]
    assert [{**finding, "shown": []} for finding in mine] == people
    assert {person["code"] for person in people} == {
        *("unlike-rate", "author-vote", "sequential-votes", "tied-votes"),
    }


def test_a_clean_set_is_clean_until_one_query_of_a_pair_is_edited() -> None:
    cases = clean()
    assert not codes(run(cases))
    edited = cases[1].model_copy(update={"query": "How else is it done?"})
    assert found(run([cases[0], edited]), "unlike-queries").cases == (cases[0].id, edited.id)


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        # 3 of 5 votes, and 1 of 5: the shares themselves.
        ([0.6, 0.2], []),
        # One vote more: 4 of 6 (safe) and 1 of 6 (unsafe), as intended.
        ([4 / 6, 1 / 6], ["author-in-rate"]),
        # One vote more, against the intention once, which ends at one half: unsafe.
        ([3 / 6, 1 / 6], ["unlike-rate"]),
        # The majorities alone.
        ([1, 0], []),
    ],
)
def test_published_rates(rates: list[float], told: list[str]) -> None:
    cases = [
        voted("a", "safe", counts(3, 2), published_safe_rate=rates[0]),
        voted("a", "unsafe", counts(1, 4), published_safe_rate=rates[1]),
    ]
    assert [*findings(described(cases))] == told


def test_a_rater_who_votes_as_intended() -> None:
    cases = []
    for n in range(5):
        for side in ("safe", "unsafe"):
            other = "safe" if n % 2 else "unsafe"
            cases.append(voted(f"query {n}", side, rows(ann=side, bob=other, cid="safe")))
    one = findings(described(cases))["raters-like-intention"]
    assert (one["level"], one["n"], one["of"]) == ("error", 1, 3)
    assert "ann" in one["text"]
    # Four cases could be chance.
    assert "raters-like-intention" not in findings(described(cases[:4]))


def panels(shift: str, seed: int) -> list[Record]:
    """Ten categories of ten queries judged by twelve raters (or columns) of unequal severity."""
    random = np.random.default_rng(seed)
    cases = []
    always = random.normal(0, 1.2, 12)
    for category in range(10):
        severity = {"none": np.zeros(12), "raters": always, "panels": random.normal(0, 1.2, 12)}
        for n in range(10):
            for side, level in (("safe", 0.7), ("unsafe", -0.9)):
                chance = 1 / (1 + np.exp(-(level + severity[shift])))
                said = random.random(12) < chance
                votes = rows(**{f"r{i}": "safe" if one else "unsafe" for i, one in enumerate(said)})
                cases.append(voted(f"{category} {n}", side, votes, category=f"c{category}"))
    return cases


def test_columns_that_differ() -> None:
    assert "unlike-columns" not in findings(described(panels("none", 1)))
    # The same raters throughout: some are stricter, and categories are not confounded with them.
    assert "unlike-columns" not in findings(described(panels("raters", 2)))
    confounded = findings(described(panels("panels", 3)))["unlike-columns"]
    assert (confounded["level"], confounded["n"]) == ("warning", 12)
    assert "one panel" in confounded["text"]


def test_near_copies_of_contexts_are_counted_in_pairs_of_texts() -> None:
    cases = clean(10)
    long = " ".join(f"word{number}" for number in range(40)) + " {}."
    for place, end in ((9, "one"), (13, "two")):
        cases[place] = changed(cases[place], context={"recipient": {"type": long.format(end)}})
    one = found(run(cases), "near-copy-context")
    assert one.n == 1
    # 41 words, 39 runs of three; the last differs: 38 of 40.
    assert one.shown == (f"{cases[9].id} and {cases[13].id}: .95",)


PERSONAL = {
    "write to anna.k@firma-nord.de": "e-mail address",
    "pay to DE89 3704 0044 0532 0130 00 now": "account number",  # ISO 13616's example
    "card 4111 1111 1111 1111 of mine": "card number",
    "SSN 219-09-9998 on file": "US social security number",
    "number AB 12 34 56 C": "UK national insurance number",
    "host 8.8.8.8 answers": "IP address",
    "host 2001:4860:4860::8888 answers": "IP address",
    "call +49 30 1234567 now": "phone number",
    "call (212) 736-5000": "phone number",
    "lives at 12 Old Mill Road": "street address",
    "follow @quiet_owl on it": "social handle",
}
IMPERSONAL = [
    "write to somebody@example.com",
    "pay to DE89 3704 0044 0532 0130 01",  # the checksum is off by one
    "card 4111 1111 1111 1112",
    "SSN 000-12-3456, 666-12-3456, 900-12-3456",
    "host 192.168.0.1, 127.0.0.1, version 1.2.3.4.5, 300.1.1.1",
    "at 10:30:45 on 2024-01-31, pages 100-200, 1,000,000 users",
    "call 212-555-0123",
    "between 18 and 25 years, 3 Large Rooms and 2 Drives",
    "the @ sign, a@b, C::D::E",
    "case 0fb3b9c573a1b132, ISBN 978-3-16-148410-0",
]


def test_personal_data_are_found_and_what_only_looks_like_them_is_left() -> None:
    cases = clean()
    for place, text in enumerate([*PERSONAL, *IMPERSONAL]):
        cases[place] = with_value(cases[place], text)
    one = found(run(cases), "personal-data")
    assert one.cases == tuple(case.id for case in cases[: len(PERSONAL)])
    for kind in PERSONAL.values():
        assert kind in one.text
    shown = " ".join(one.shown)
    assert "•" in shown
    assert "firma-nord" not in shown


def test_a_word_that_holds_the_label_is_named() -> None:
    cases = clean(20)
    for place, one in enumerate(cases):
        word = "amber" if one.intended == "safe" else "cobalt"
        cases[place] = with_value(one, f"Someone in a {word} coat who knows the house.")
    audit = run(cases)
    leak = found(audit, "shortcut-leakage")
    assert leak.figure == 1
    assert leak.interval[0] > 0.8
    assert {side: words[0] for side, words in audit.leakage.context.words.items()} == {
        "safe": "amber",
        "unsafe": "cobalt",
    }
    assert "Words that speak for safe: amber, " in leak.text
    assert "The words of recipient.background" in found(audit, "parameter-leakage").text
    assert next(iter(audit.leakage.parameters)) == "recipient.background"
    assert "query-leakage" not in codes(audit)


def test_random_sides_are_not_guessed() -> None:
    cases = []
    for number in range(60):
        twins = pair(number)
        if random.Random(number).random() < 0.5:
            twins = [changed(twins[0], intended="unsafe"), changed(twins[1], intended="safe")]
        cases += twins
    audit = run(cases)
    low, high = audit.leakage.context.accuracy.interval
    assert low <= 0.5 <= high
    assert audit.figures["query-leakage"] == 0.5


def test_a_shared_text_is_not_recognised_across_folds() -> None:
    # Each text stands with two queries, and holds nothing but a name of its own: recognised, it
    # would be guessed right always.
    cases = []
    for number in range(30):
        for half in range(2):
            for side in ("safe", "unsafe"):
                context = {"sender": {"platform_type": f"desk{number}{side[0]}"}}
                cases.append(
                    case(f"What of {SUBJECTS[number % 12]} {number} {half}?", context, side)
                )
    audit = run(cases)
    assert audit.leakage.groups == 30
    assert audit.leakage.context.accuracy.value <= 0.6


def test_sides_told_by_the_query_or_by_lengths() -> None:
    told = [
        changed(one, query=f"{'Kindly' if one.intended == 'safe' else 'Quickly'}: {one.query}")
        for one in clean(15)
    ]
    assert found(run(told), "query-leakage").figure == 1
    long = [
        with_value(one, "Someone who knows the house well and comes by on every other day.")
        if one.intended == "unsafe"
        else with_value(one, "Someone known.")
        for one in clean(15)
    ]
    assert {"length-leakage", "length-difference"} <= codes(run(long))


def test_lengths_of_twins_by_hand() -> None:
    lengths = [(3, 4), (3, 6), (3, 5)]
    cases = [
        case(f"Query {number}?", {"sender": {"type": " ".join(["word"] * n) + f" {number}"}}, side)
        for number, both in enumerate(lengths)
        for side, n in zip(("safe", "unsafe"), both, strict=True)
    ]
    # Contexts have a number more. Differences -1, -3, -2: mean -2, deviation 1.
    assert run(cases).figures["length-difference"] == 2


def test_shares_and_labels() -> None:
    bare: dict[str, Any] = {"intended": None, "votes": None}
    rated = case("May I?", None, published_safe_rate=0.55, **bare)
    assert not codes(run([rated])) & {"missing-label", "missing-votes"}
    audit = run([rated, case("And I?", None, **bare)])
    assert found(audit, "missing-label").n == found(audit, "missing-votes").n == 1


@pytest.mark.slow
def test_casebench_has_the_faults_that_it_has(casebench: Path) -> None:
    audit = cw.audit(casebench / "CASEBench_data.json").details
    assert audit.categories == 45
    shared = found(audit, "shared-context")
    assert (shared.n, shared.of, len(shared.cases)) == (36, 827, 109)
    assert "5 of the texts across categories" in shared.text
    assert found(audit, "near-copy-context").n == 11
    leak = found(audit, "shortcut-leakage")
    assert leak.figure == pytest.approx(0.982, abs=0.004)
    assert leak.interval == pytest.approx((0.974, 0.991), abs=0.004)
    assert audit.figures["query-leakage"] == 0.5
    assert audit.figures["length-leakage"] == pytest.approx(0.807, abs=0.01)
    urgency = found(audit, "missing-parameter")
    assert (urgency.n, urgency.of) == (147, 900)
    assert "146 intended safe, 1 unsafe" in urgency.text
    assert "a difference of -55.4, from -64.9 to -45.8" in found(audit, "length-difference").text
    assert found(audit, "tied-votes").n == 92
    assert not codes(audit) & {"identical-twins", "missing-twin", "placeholder"}
    assert len(found(audit, "personal-data").cases) <= 2
