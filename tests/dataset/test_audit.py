"""Each check of the audit finds what was planted, and is silent on a clean set."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.audited import QUIET, case, changed, clean, codes, found, run, with_value

import casewise as cw


def test_a_clean_set_is_clean() -> None:
    assert codes(run(clean())) == QUIET


PLANTED: dict[str, tuple[str, int]] = {
    "placeholder": ("The user is [USER NAME] of the third floor.", 1),
    "empty-value": ("N/A", 1),
    "verdict-words": ("Someone with a legitimate purpose who knows the house.", 1),
    "personal-data": ("Someone to be reached at anna.k@firma-nord.de today.", 1),
}


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_text_is_found_in_its_case_alone(code: str) -> None:
    text, n = PLANTED[code]
    cases = clean()
    cases[7] = with_value(cases[7], text)
    audit = run(cases)
    assert codes(audit) == {code} | QUIET
    one = found(audit, code)
    assert (one.n, one.cases) == (n, (cases[7].id,))
    # No text of a case is quoted but in the pieces that a person asks for.
    assert text not in one.text


@pytest.mark.parametrize("field", ["category", "source", "licence", "language", "votes"])
def test_a_missing_field_is_found(field: str) -> None:
    cases = clean(5)
    cases[3] = changed(cases[3], **{field: None})
    one = found(run(cases), f"missing-{field}")
    assert (one.n, one.of, one.cases) == (1, 10, (cases[3].id,))


def test_twins_alike_lone_cases_and_a_side_twice() -> None:
    cases = clean(10)
    cases[1] = changed(cases[1], context=cases[0].context)
    del cases[5]
    cases.append(changed(cases[10], context={"sender": {"platform_type": "Another desk"}}))
    audit = run(cases)
    assert found(audit, "identical-twins").cases == (cases[0].id, cases[1].id)
    assert found(audit, "missing-twin").cases == (cases[4].id,)
    assert found(audit, "repeated-side").n == 2
    assert found(audit, "shared-context").n == found(audit, "context-both-sides").n == 1
    assert audit.findings[0].code == "identical-twins"


def test_near_copies_of_contexts_are_counted_in_pairs_of_texts() -> None:
    cases = clean(10)
    long = " ".join(f"word{number}" for number in range(40)) + " {}."
    for place, end in ((9, "one"), (13, "two")):
        cases[place] = changed(cases[place], context={"recipient": {"type": long.format(end)}})
    audit = run(cases)
    # 41 words, 39 runs of three; the last differs: 38 of 40.
    (near,) = audit.copies.near
    assert near.likeness == 38 / 40
    assert found(audit, "near-copy-context").n == 1
    assert set(near.cases) == {cases[9].id, cases[13].id}


def test_sides_out_of_balance() -> None:
    cases = clean(10)
    cases[:2] = [changed(one, category="small") for one in cases[:2]]
    cases[0] = changed(cases[0], intended="unsafe")
    audit = run(cases)
    assert found(audit, "one-sided-category").n == 1
    more = [one for one in clean(10) if one.intended == "safe"] + clean(20)[20:26]
    audit = run(more)
    # 10 + 3 of 16.
    assert found(audit, "label-imbalance").value == 13 / 16


def test_parameters_and_what_they_cover() -> None:
    cases = clean(12)
    for place, one in enumerate(cases):
        plan = "free" if one.intended == "safe" else "paid"
        chat = with_value(one, "web chat", "sender", "channel")
        cases[place] = with_value(chat, plan, "recipient", "plan")
    assert cases[3].context is not None
    cases[3] = changed(cases[3], context={"sender": cases[3].context.root["sender"]})
    audit = run(cases)
    by_name = {one.name: one for one in audit.coverage.parameters}
    assert (by_name["sender.channel"].present, by_name["sender.channel"].differs) == (24, 0)
    plans = by_name["recipient.plan"]
    assert (plans.distinct, plans.pairs, plans.differs) == (2, 11, 11)
    assert [(one.safe, one.unsafe) for one in plans.one_sided] == [(12, 0), (0, 11)]
    assert found(audit, "one-sided-value").n == 2
    lacking = found(audit, "missing-parameter")
    assert lacking.cases == (cases[3].id,)
    assert "recipient.plan: 0 intended safe, 1 unsafe" in lacking.text
    assert found(audit, "unused-parameter").n == 6


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


@pytest.mark.parametrize(
    "cases",
    [[case("Deep?", {"a": {"b": {"c": [1, True, {"d": None}]}}}, "unsafe")], clean(2)],
)
def test_small_sets_have_no_leakage(cases: list[Any]) -> None:
    assert math.isnan(run(cases).measures["shortcut-leakage"])


@pytest.mark.parametrize(
    ("demand", "status"),
    [
        ("error", 1),
        ("placeholder", 1),
        ("placeholder>=1", 1),
        ("placeholder>1", 0),
        ("personal-data", 0),
        ("query-leakage >= 0.5", 1),
        ("query-leakage>.5", 0),
        ("placeholder<1", 2),
    ],
)
def test_demands(cli_inside: Cli, tmp_path: Path, demand: str, status: int) -> None:
    cases = clean(15)
    cases[7] = with_value(cases[7], "TODO")
    lines = [json.dumps(one.model_dump(exclude_none=True)) for one in cases]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines), "utf-8")
    done = cli_inside("cases", "audit", "cases.jsonl", "--fail-on", demand)
    assert done.returncode == status, done.stderr


@pytest.mark.slow
def test_casebench_has_the_faults_that_it_has(casebench: Path) -> None:
    audit = cw.audit(casebench / "CASEBench_data.json").details
    copies = audit.copies.contexts
    assert (len(copies.shared), sum(map(len, copies.shared))) == (36, 109)
    assert (len(copies.across_categories), len(copies.both_sides)) == (5, 0)
    assert audit.copies.texts == 827
    assert audit.categories == 45
    leak = found(audit, "shortcut-leakage")
    assert leak.value == pytest.approx(0.982, abs=0.004)
    assert leak.interval == pytest.approx((0.974, 0.991), abs=0.004)
    assert audit.measures["query-leakage"] == 0.5
    assert audit.measures["length-leakage"] == pytest.approx(0.807, abs=0.01)
    urgency = found(audit, "missing-parameter")
    assert (urgency.n, urgency.of) == (147, 900)
    assert "146 intended safe, 1 unsafe" in urgency.text
    assert audit.twins.difference.value == pytest.approx(-55.4, abs=0.05)
    assert audit.languages is not None
    assert audit.languages.contexts == {"en": 900}
    assert found(audit, "tied-votes").n == 92
    assert not codes(audit) & {"identical-twins", "missing-twin", "mixed-languages", "placeholder"}
    assert len(found(audit, "personal-data").cases) <= 2


def in_contexts(query: int, *kinds: str | None, **fields: Any) -> list[Any]:
    """A query in contexts without an intended side; None is without a context."""
    asked = f"May somebody ask about door {query}?"
    contexts = (None if kind is None else {"recipient": {"type": kind}} for kind in kinds)
    return [
        case(asked, one, None, id=f"{query}-{place}", **fields)
        for place, one in enumerate(contexts)
    ]


CONTEXT_CODES = {"repeated-context", "single-context", "missing-none-arm"}


def test_queries_in_any_number_of_contexts() -> None:
    whole = [*in_contexts(1, "an aunt", "a nurse", "a clerk"), *in_contexts(2, "a king", "a cook")]
    assert not codes(run(whole)) & CONTEXT_CODES
    audit = run([*whole, *in_contexts(3, "a cook"), *in_contexts(4, "a monk", "a smith", "a monk")])
    assert found(audit, "repeated-context").cases == ("4-0", "4-2")
    one = found(audit, "single-context")
    assert (one.n, one.of, one.cases) == (1, 4, ("3-0",))
    # Where every query has one context, none lacks others.
    assert not codes(run([*in_contexts(1, "an aunt"), *in_contexts(2, "a cook")])) & CONTEXT_CODES


def test_ratings_and_labels() -> None:
    rated = [
        one
        for query, rating in enumerate((10, -20, 30))
        for one in in_contexts(
            query,
            None,
            votes=None,
            ratings={"values": [rating], "scale": [-100, 100], "rule": "position"},
            published_safe_rate=(rating + 100) / 200,
        )
    ]
    assert not codes(run(rated)) & {"missing-label", "missing-votes"}
    bare = run([*rated, changed(rated[0], query="And I?", published_safe_rate=None, ratings=None)])
    assert found(bare, "missing-label").n == found(bare, "missing-votes").n == 1
    # Ratings without a rule say what people think, and make no label.
    unruled = changed(rated[0], query="And I?", published_safe_rate=None)
    audit = run([*rated, unruled])
    assert found(audit, "missing-label").cases == (unruled.id,)
    assert "missing-votes" not in codes(audit)
