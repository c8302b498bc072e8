"""What the audit says of words, lengths and languages."""

import random

from support.audited import (
    SUBJECTS,
    case,
    changed,
    clean,
    codes,
    found,
    pair,
    run,
    with_value,
)


def test_a_word_that_holds_the_label_is_named() -> None:
    cases = clean(20)
    for place, one in enumerate(cases):
        word = "amber" if one.intended == "safe" else "cobalt"
        cases[place] = with_value(one, f"Someone in a {word} coat who knows the house.")
    audit = run(cases)
    leak = found(audit, "shortcut-leakage")
    assert leak.value == 1
    assert leak.interval[0] > 0.8
    words = {one.word: one for one in audit.leakage.words}
    assert (words["amber"].safe, words["amber"].unsafe) == (20, 0)
    assert words["cobalt"].weight < 0 < words["amber"].weight
    assert found(audit, "parameter-leakage").text.startswith("The words of recipient.background")
    assert audit.leakage.parameters[0].parameter == "recipient.background"
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
    assert audit.measures["query-leakage"] == 0.5


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
    assert found(run(told), "query-leakage").value == 1
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
    words = run(cases).twins
    # Contexts have a number more. Differences -1, -3, -2: mean -2, deviation 1.
    assert (words.safe, words.unsafe, words.pairs) == (4, 6, 3)
    assert words.difference.value == -2
    assert words.effect == -2


def test_languages_are_told_and_held_against_the_field() -> None:
    german = "Eine Auskunft der Stadtbücherei, in der jemand nach Büchern über Gartenbau fragt."
    cases = clean(10)
    cases[4] = with_value(cases[4], german, "sender", "platform_type")
    cases[4] = with_value(cases[4], german)
    audit = run(cases)
    assert audit.languages is not None
    assert audit.languages.contexts["de"] == 1
    assert found(audit, "mixed-languages").cases == (cases[4].id, cases[5].id)
    assert found(audit, "language-mismatch").cases == (cases[4].id,)
    cases[4] = changed(cases[4], language="de-AT")
    # Its query is too short to hold its language against the field.
    assert "language-mismatch" not in codes(run(cases))
