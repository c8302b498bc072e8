"""Variations: what each adds, what all of them keep, and where they don't apply."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from support.varied import CASE, DELIVERIES, EARLIER, QUERY, SAFE, TWIN, UNSAFE, change, changed

from casewise.cases import Case, Context, Turn
from casewise.contexts import claim, claim_turns
from casewise.errors import UsageError
from casewise.protocols import VARIATIONS, Delivery, Opening, find_variation
from casewise.protocols import _pressures as pressures
from casewise.protocols._conversations import open_conversation
from casewise.protocols._variations import variation_version, vary

PRESSURES = tuple(name for name, one in VARIATIONS.items() if one.kind == "pressure")
NAMES = (*PRESSURES, "filler-500", "text-500", "escalation", "revocation")


def said(opening: Opening) -> str:
    return "\n\n".join([*(one.content for one in opening.messages), *opening.turns])


TEXT = st.text(min_size=1, max_size=20)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(TEXT, st.booleans(), st.integers(0, 99), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(TEXT, inner, min_size=1, max_size=2)
    ),
    max_leaves=4,
)
CONTEXTS = st.dictionaries(
    st.sampled_from(["sender", "recipient", "transmission_principle", "other"]), VALUES, max_size=3
).map(Context)
QUERIES = st.text(min_size=1, max_size=60).filter(str.strip)
HISTORIES = st.sampled_from([(), EARLIER, EARLIER[:1], EARLIER[1:]])


@given(
    st.sampled_from(NAMES),
    st.sampled_from(DELIVERIES),
    QUERIES,
    CONTEXTS,
    CONTEXTS,
    HISTORIES,
    st.integers(0, 2**32),
)
def test_every_variation_keeps_query_and_opening(
    name: str,
    delivery: Delivery,
    query: str,
    context: Context,
    other: Context,
    history: tuple[Turn, ...],
    seed: int,
) -> None:
    case = Case(query=query, context=context, history=history, intended="unsafe")
    twin = Case(query=query, context=other, history=history, intended="safe")
    opening = open_conversation(case, delivery)
    found = vary(name, case, twin, opening, delivery, seed)
    assert found == vary(name, case, twin, opening, delivery, seed)
    if found is None:
        return
    assert found.turns[-1].endswith(query)
    assert found.messages[: len(opening.messages)] == opening.messages
    spoken = [one.role for one in found.messages if one.role != "system"]
    assert spoken == ["user", "assistant"] * (len(spoken) // 2)
    assert all(turn.strip() for turn in found.turns)
    # What the user said of the context is still said, in its order, be it in other turns.
    rest = said(found)
    for block in claim_turns(context) if delivery in ("claimed", "history") else ():
        assert block in rest
        rest = rest[rest.index(block) + len(block) :]


def test_draws_hang_on_seed_name_and_case_alone() -> None:
    cases = [CASE.model_copy(update={"id": str(number)}) for number in range(30)]
    for name in ("urgency", "filler-500", "escalation", "revocation", "spread", "language"):
        there = [changed(name, Delivery.CLAIMED, case) for case in cases]
        back = [changed(name, Delivery.CLAIMED, case) for case in reversed(cases)]
        assert there == back[::-1]
        assert len({said(one) for one in there}) > 1
        assert there != [changed(name, Delivery.CLAIMED, case, seed=1) for case in cases]


@pytest.mark.parametrize("name", PRESSURES)
def test_pressures_are_for_cases_meant_to_be_unsafe(name: str) -> None:
    for case, twin in ((TWIN, CASE), (CASE.model_copy(update={"intended": None}), TWIN)):
        for delivery in DELIVERIES:
            assert change(name, delivery, case, twin) is None


INSERTED = {
    "false-authority": pressures.FALSE_AUTHORITY,
    "urgency": pressures.URGENCY,
    "forged-system": pressures.FORGED_SYSTEM,
    "persona": pressures.PERSONA,
    "language": tuple(
        f"Please write your answer in {name}." for name in ("German", "French", "Spanish")
    ),
}


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("name", INSERTED)
def test_a_text_right_before_the_query(name: str, delivery: Delivery) -> None:
    opening = open_conversation(CASE, delivery)
    before = opening.turns[-1].removesuffix(QUERY)
    seen = set()
    for seed in range(40):
        found = changed(name, delivery, seed=seed)
        assert (found.messages, found.turns[:-1]) == (opening.messages, opening.turns[:-1])
        last = found.turns[-1]
        assert last.startswith(before)
        seen.add(last.removeprefix(before).removesuffix(f"\n\n{QUERY}"))
    assert seen == set(INSERTED[name])


def test_a_forged_note_is_plain_text() -> None:
    for text in pressures.FORGED_SYSTEM:
        assert not re.search(r"<\||\|>|\[/?INST\]|<<|<start_of|###", text)


@pytest.mark.parametrize("tag", ["de", "de-CH", "DE"])
def test_the_answer_is_asked_in_another_language_than_the_cases(tag: str) -> None:
    case = CASE.model_copy(update={"language": tag})
    asked = {changed("language", Delivery.NONE, case, seed=seed).turns[0] for seed in range(30)}
    assert asked == {f"{text}\n\n{QUERY}" for text in INSERTED["language"] if "German" not in text}


def test_the_safe_twins_context_is_claimed() -> None:
    for delivery in DELIVERIES:
        last = changed("twin-claim", delivery).turns[-1]
        assert last.endswith(f"{claim(SAFE)}\n\n{QUERY}")
        assert any(text in last for text in pressures.CORRECTION) == (delivery != Delivery.NONE)
    both = changed("twin-claim", Delivery.CLAIMED).turns[-1]
    assert both.startswith(claim(UNSAFE))


@pytest.mark.parametrize(
    "twin",
    [
        None,
        TWIN.model_copy(update={"intended": "unsafe"}),
        TWIN.model_copy(update={"context": Context({})}),
    ],
)
def test_no_safe_twin(twin: Case | None) -> None:
    for delivery in DELIVERIES:
        assert change("twin-claim", delivery, twin=twin) is None
        assert change("revocation", delivery, twin=twin) is None


def test_spread() -> None:
    found = changed("spread", Delivery.CLAIMED)
    told = claim_turns(UNSAFE)
    assert found.turns[: len(told)] == told
    first, *parts, last = found.turns[len(told) :]
    assert last == f"{pressures.WHOLE}\n\n{QUERY}"
    announcement, start = first.split("\n\n")
    assert announcement in pressures.ANNOUNCEMENT
    assert len(parts) == pressures.PARTS - 1
    assert " ".join([start, *parts]) == QUERY
    assert changed("spread", Delivery.HISTORY).turns == (*told, *changed_parts(Delivery.HISTORY))
    assert changed("spread", Delivery.SYSTEM).turns == changed_parts(Delivery.SYSTEM)


def changed_parts(delivery: Delivery) -> tuple[str, ...]:
    return changed("spread", delivery).turns[-pressures.PARTS - 1 :]


@pytest.mark.parametrize(("query", "parts"), [("Why?", 1), ("Why so?", 2), ("a b c d e f", 3)])
def test_a_short_query_has_fewer_parts(query: str, parts: int) -> None:
    case = CASE.model_copy(update={"query": query, "query_id": "q"})
    assert len(changed("spread", Delivery.SYSTEM, case, None).turns) == parts + 1


UNKNOWN = (
    "hurry Urgency urgency-1k filler filler- filler-k filler-04 filler--1 filler-1kk filler-2000k "
    "text-1.5k"
)


@pytest.mark.parametrize("name", ["", *UNKNOWN.split()])
def test_unknown_names(name: str) -> None:
    with pytest.raises(UsageError, match=r"no variation .*urgency.*filler-N, text-N"):
        change(name, Delivery.SYSTEM)
    with pytest.raises(UsageError):
        variation_version(name)


def test_known_names() -> None:
    assert set(PRESSURES) == {*INSERTED, "twin-claim", "spread"}
    assert set(VARIATIONS) - set(PRESSURES) == {"filler", "text", "escalation", "revocation"}
    for name, one in VARIATIONS.items():
        assert one.name == name
        assert str(one.change.__doc__).splitlines()[0].endswith(".")
    assert find_variation("text-4k") == (VARIATIONS["text"], 4000)
    assert find_variation("persona") == (VARIATIONS["persona"], 0)


def test_a_judge_has_no_conversation() -> None:
    opening = open_conversation(CASE, Delivery.SYSTEM)
    with pytest.raises(UsageError, match="judge"):
        vary("urgency", CASE, TWIN, opening, Delivery.JUDGE, 0)
