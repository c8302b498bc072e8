"""The labelled replies are what docs/method/replies.md says they are."""

from collections import Counter

import pytest
from support.replies import HELD_OUT, PLAIN, WRITTEN_FROM, Reply, half, load_replies, part

from casewise.scores._labelled_replies import load_labelled

LABELS = {"compliance", "partial", "refusal", "undetermined"}
FORMAT_TAGS = {"code", "curly-quotes", "list", "markdown", "unicode"}
TAGS = FORMAT_TAGS | {
    "cant-believe-opening",
    "clarifying-question",
    "conditional",
    "disclaimer-first",
    "disclaimer-last",
    "double-negation",
    "empty",
    "grade-injection",
    "hedged-compliance",
    "helpline-only",
    "late-refusal",
    "lecture-only",
    "no-apology-refusal",
    "off-topic",
    "other-language",
    "part-refused",
    "persona",
    "policy-voice",
    "polite-deflection",
    "quoted-refusal",
    "refusal-then-substance",
    "refusal-word-in-roleplay",
    "refuses-reason-gives-general",
    "repeats-question",
    "safe-completion",
    "sarcastic",
    "substance-then-refusal-of-part",
    "terse",
    "think-block",
    "third-person",
    "whitespace",
}
# What each tag leaves open for the meaning; a tag that is not here goes with any.
MEANINGS = {
    "cant-believe-opening": {"compliance"},
    "clarifying-question": {"undetermined"},
    "conditional": {"refusal"},
    "empty": {"undetermined"},
    "hedged-compliance": {"compliance"},
    "helpline-only": {"refusal"},
    "late-refusal": {"refusal"},
    "lecture-only": {"refusal"},
    "off-topic": {"undetermined"},
    "part-refused": {"partial"},
    "policy-voice": {"refusal", "compliance"},
    "polite-deflection": {"refusal"},
    "quoted-refusal": {"compliance"},
    "refusal-then-substance": {"partial"},
    "refusal-word-in-roleplay": {"compliance"},
    "refuses-reason-gives-general": {"partial"},
    "repeats-question": {"undetermined"},
    "safe-completion": {"partial"},
    "substance-then-refusal-of-part": {"partial"},
    "whitespace": {"undetermined"},
}
QUERIES = 185
SIDES = {
    ("safe", "compliance"): 279,
    ("safe", "partial"): 107,
    ("safe", "refusal"): 140,
    ("safe", "undetermined"): 113,
    ("unsafe", "compliance"): 57,
    ("unsafe", "partial"): 109,
    ("unsafe", "refusal"): 190,
    ("unsafe", "undetermined"): 61,
}
MEANING_COUNTS = {"compliance": 360, "partial": 226, "refusal": 350, "undetermined": 120}
HALVES = {
    (HELD_OUT, "compliance"): 164,
    (HELD_OUT, "partial"): 108,
    (HELD_OUT, "refusal"): 179,
    (HELD_OUT, "undetermined"): 72,
    (WRITTEN_FROM, "compliance"): 172,
    (WRITTEN_FROM, "partial"): 108,
    (WRITTEN_FROM, "refusal"): 151,
    (WRITTEN_FROM, "undetermined"): 102,
}
FIRST = [HELD_OUT, HELD_OUT, WRITTEN_FROM, WRITTEN_FROM]


@pytest.fixture(scope="module")
def replies() -> list[Reply]:
    return load_replies()


def test_ids_are_in_order(replies: list[Reply]) -> None:
    assert [one.id for one in replies] == [f"r{n:04d}" for n in range(1, 1057)]


def test_every_field_holds_what_it_may(replies: list[Reply]) -> None:
    for one in replies:
        assert one.side in {"safe", "unsafe"}, one.id
        assert one.label in LABELS, one.id
        assert one.meaning in LABELS, one.id
        assert len(set(one.hard)) == len(one.hard), one.id
        assert set(one.hard) <= TAGS, one.id
        for text in (one.query, one.context, one.why):
            assert text == text.strip() != "", one.id


def test_label_and_meaning_differ_in_other_languages_only(replies: list[Reply]) -> None:
    for one in replies:
        if "other-language" in one.hard:
            assert one.label == "undetermined", one.id
        else:
            assert one.label == one.meaning, one.id


def test_tags_fit_the_meaning(replies: list[Reply]) -> None:
    for one in replies:
        for tag in one.hard:
            assert one.meaning in MEANINGS.get(tag, LABELS), (one.id, tag)
        blank = not one.reply.strip()
        assert blank is bool({"empty", "whitespace"} & set(one.hard)), one.id


def test_no_two_replies_are_identical(replies: list[Reply]) -> None:
    assert len({one.reply for one in replies}) == len(replies)


def test_a_query_on_a_side_has_one_context(replies: list[Reply]) -> None:
    contexts = {(one.query, one.side, one.context) for one in replies}
    assert len(contexts) == len({(query, side) for query, side, _ in contexts})


def test_counts(replies: list[Reply]) -> None:
    assert len({one.query for one in replies}) == QUERIES
    assert {tag for one in replies for tag in one.hard} == TAGS
    assert sum(1 for one in replies if set(one.hard) - FORMAT_TAGS) >= 0.45 * len(replies)
    assert Counter((one.side, one.label) for one in replies) == SIDES
    assert Counter(one.meaning for one in replies) == MEANING_COUNTS
    languages = [one for one in replies if "other-language" in one.hard]
    assert {one.meaning for one in languages} == LABELS


def test_the_halves_have_the_sizes_that_are_stated(replies: list[Reply]) -> None:
    assert Counter((half(one.id), one.label) for one in replies) == HALVES
    for which in (WRITTEN_FROM, HELD_OUT):
        ours = [one for one in replies if half(one.id) == which]
        assert {(one.side, one.label) for one in ours} == {
            (side, label) for side in ("safe", "unsafe") for label in LABELS
        }


def test_half_is_fixed() -> None:
    assert [half(f"r{n:04d}") for n in range(1, 5)] == FIRST


PLAIN_COUNTS = {
    "fit": {"compliance": 145, "undetermined": 50, "refusal": 50, "partial": 23},
    "test": {"compliance": 72, "refusal": 26, "undetermined": 19, "partial": 14},
}


def test_plain_replies_stand_in_their_part() -> None:
    """Split by query, before the reader had seen any of them."""
    both = {name: load_labelled(path) for name, path in PLAIN.items()}
    for name, replies in both.items():
        assert {part(one.query or "") for one in replies} == {name}
        assert Counter(str(one.label) for one in replies) == PLAIN_COUNTS[name]
    ids = sorted(one.id for replies in both.values() for one in replies)
    assert ids == [f"p{n:04d}" for n in range(1, 400)]
    told = {one.query for one in load_replies()}
    assert not told & {one.query for replies in both.values() for one in replies}
