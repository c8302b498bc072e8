"""Each check of the audit finds what was planted, and is silent on a clean set."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.audited import QUIET, case, changed, clean, codes, found, run, with_value

from casewise.cases import Case, open_cases
from casewise.dataset import (
    as_audit_record,
    audit_cases,
    parse_demands,
    unmet_demands,
)
from casewise.dataset._text_checks import find_personal
from casewise.errors import UsageError


def test_a_clean_set_is_clean() -> None:
    assert codes(run(clean())) == QUIET


def test_no_twin_is_missed_in_three_contexts() -> None:
    """A query in any number of contexts is no pair whose other half is lacking."""
    cases = clean(10)
    cases[1] = changed(cases[1], intended=cases[0].intended)
    assert found(run(cases), "missing-twin").n == 2
    other = {"sender": {"platform_type": "Another desk"}}
    cases.append(changed(cases[0], context=other))
    assert "missing-twin" not in codes(run(cases))


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


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("category", "missing-category"),
        ("source", "missing-source"),
        ("licence", "missing-licence"),
        ("language", "missing-language"),
        ("votes", "missing-votes"),
    ],
)
def test_a_missing_field_is_found(field: str, code: str) -> None:
    cases = clean(10)
    cases[3] = changed(cases[3], **{field: None})
    one = found(run(cases), code)
    assert (one.n, one.of, one.cases) == (1, 20, (cases[3].id,))


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


def test_a_text_that_two_queries_share() -> None:
    cases = clean(10)
    cases[6] = changed(cases[6], context=cases[2].context)
    audit = run(cases)
    shared = found(audit, "shared-context")
    assert (shared.n, shared.of, set(shared.cases)) == (1, 19, {cases[2].id, cases[6].id})
    assert not codes(audit) & {"context-both-sides", "near-copy-context"}


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


def test_near_copies_of_queries() -> None:
    cases = clean(10)
    query = cases[0].query.replace("people", "persons")
    cases[4:6] = [changed(one, query=query) for one in cases[4:6]]
    one = found(run(cases), "near-copy-query")
    assert (one.n, len(one.cases)) == (1, 4)


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


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to anna.k@firma-nord.de", "e-mail address"),
        ("pay to DE89 3704 0044 0532 0130 00 now", "account number"),  # ISO 13616's example
        ("card 4111 1111 1111 1111 of mine", "card number"),
        ("SSN 219-09-9998 on file", "US social security number"),
        ("number AB 12 34 56 C", "UK national insurance number"),
        ("host 8.8.8.8 answers", "IP address"),
        ("host 2001:4860:4860::8888 answers", "IP address"),
        ("call +49 30 1234567 now", "phone number"),
        ("call (212) 736-5000", "phone number"),
        ("lives at 12 Old Mill Road", "street address"),
        ("follow @quiet_owl on it", "social handle"),
    ],
)
def test_personal_data_is_found_and_masked(text: str, kind: str) -> None:
    ((named, masked),) = find_personal(text)
    assert named == kind
    assert "•" in masked
    assert masked[1:-1].strip("•") == ""


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_what_only_looks_like_personal_data_is_left(text: str) -> None:
    assert list(find_personal(text)) == []


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_the_search_for_personal_data(text: str) -> None:
    for kind, masked in find_personal(text):
        assert kind
        assert len(masked) >= 3


@pytest.mark.parametrize(
    "cases",
    [
        [],
        [case("Alone?", None, None)],
        [case("Alone?", {}, "safe")],
        [case("?!", {"sender": {"type": "?!"}}, "safe", language=None)],
        [case("Plain?", {"sender": "a plain group"}, None)],
        [case("Deep?", {"a": {"b": {"c": [1, True, {"d": None}]}}}, "unsafe")],
        [case(f"No context {n}?", None, None) for n in range(30)],
        clean(2),
    ],
)  # fmt: skip
def test_degenerate_sets(cases: list[Case]) -> None:
    audit = run(cases)
    record = as_audit_record(audit)
    assert record["figures"]["shortcut-leakage"] is None
    assert record["leakage"]["context"]["accuracy_ci"] is None
    if not cases:
        assert audit.findings == ()
        assert record["leakage"]["context"]["chance"] is None


def test_the_same_seed_gives_the_same_audit() -> None:
    cases = clean(15)
    assert as_audit_record(run(cases, 3)) == as_audit_record(run(cases, 3))


@pytest.mark.parametrize(
    ("demand", "fails"),
    [
        ("error", True),
        ("warning", True),
        ("placeholder", True),
        ("placeholder>0", True),
        ("placeholder>=1", True),
        ("placeholder>1", False),
        ("personal-data", False),
        ("personal-data>0", False),
        ("query-leakage>.4", True),
        ("query-leakage >= 0.5", True),
        ("query-leakage>.5", False),
    ],
)
def test_demands(demand: str, fails: bool) -> None:
    cases = clean(15)
    cases[7] = with_value(cases[7], "TODO")
    assert bool(unmet_demands(run(cases), parse_demands(demand))) is fails


@pytest.mark.parametrize(
    "demand",
    ["nothing", "note", "error>1", "placeholder<1", "placeholder>x", ",", "placeholder>-1"],
)
def test_bad_demands(demand: str) -> None:
    with pytest.raises(UsageError, match="--fail-on"):
        parse_demands(demand)


def test_casebench_has_the_faults_that_it_has(casebench: Path) -> None:
    audit = audit_cases(open_cases(casebench / "CASEBench_data.json"))
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


def in_contexts(query: int, *kinds: str | None, **fields: Any) -> list[Case]:
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


def test_queries_with_and_without_a_context() -> None:
    both = [*in_contexts(1, None, "an aunt"), *in_contexts(2, None, "a cook", "a clerk")]
    assert not codes(run(both)) & CONTEXT_CODES - {"single-context"}
    audit = run([*both, *in_contexts(3, "a king"), *in_contexts(4, None)])
    one = found(audit, "missing-none-arm")
    assert (one.n, one.of, one.cases) == (2, 4, ("3-0", "4-0"))
    assert "missing-none-arm" not in codes(run([*in_contexts(1, None), *in_contexts(2, "a king")]))


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
