"""Retention, escalation and revocation: what stands where, how much of it, and in what order."""

import pytest
from conftest import ROOT
from support.replies import load_replies
from support.varied import CASE, DELIVERIES, EARLIER, QUERY, SAFE, TWIN, UNSAFE, change, changed

from casewise.cases import Case, Context, Turn, open_cases
from casewise.contexts import claim, claim_turns
from casewise.protocols import (
    ESCALATION_STEPS,
    Conversations,
    Delivery,
    Opening,
    ResponseClass,
    read_step,
)
from casewise.protocols import _experiments as experiments
from casewise.protocols._conversations import open_conversation
from casewise.protocols._variations import vary


@pytest.mark.parametrize("delivery", [Delivery.SYSTEM, Delivery.CLAIMED, Delivery.HISTORY])
@pytest.mark.parametrize("family", ["filler", "text"])
@pytest.mark.parametrize(("size", "tokens"), [("200", 200), ("1k", 1000), ("16k", 16000)])
def test_the_size_of_a_filler(family: str, size: str, tokens: int, delivery: Delivery) -> None:
    for case in (CASE, TWIN):
        for seed in range(3):
            base = changed(f"{family}-0", delivery, case, None, seed)
            found = changed(f"{family}-{size}", delivery, case, None, seed)
            assert found.turns == (QUERY,)
            assert found.messages[: len(base.messages)] == base.messages
            added = found.messages[len(base.messages) :]
            length = sum(len(one.content.encode()) for one in added) / 4
            assert length == pytest.approx(tokens, rel=0.15)
            assert (len(added) > 2) == (family == "filler") or tokens < 300


@pytest.mark.parametrize("family", ["filler", "text"])
def test_between_context_and_query(family: str) -> None:
    case = CASE.model_copy(update={"history": EARLIER})
    talk = tuple(Turn(role=one.role, content=one.content) for one in EARLIER[1:])
    system = changed(f"{family}-0", Delivery.SYSTEM, case)
    assert system == open_conversation(case, Delivery.SYSTEM)
    own = Turn(role="system", content=EARLIER[0].content)
    noted = Turn(role="assistant", content=experiments.NOTED)
    claimed = changed(f"{family}-0", Delivery.CLAIMED, case)
    told_by_user = Turn(role="user", content=claim(UNSAFE))
    assert claimed == Opening((own, *talk, told_by_user, noted), (QUERY,))
    told = changed(f"{family}-0", Delivery.HISTORY, case)
    expected = [
        one for text in claim_turns(UNSAFE) for one in (Turn(role="user", content=text), noted)
    ]
    assert told == Opening((own, *talk, *expected), (QUERY,))


def test_a_pasted_text_is_one_turn() -> None:
    opening = open_conversation(CASE, Delivery.SYSTEM)
    found = changed("text-1k", Delivery.SYSTEM)
    pasted, read = found.messages[len(opening.messages) :]
    assert pasted.content.startswith(f"{experiments.PASTED}\n\n")
    assert (pasted.role, read) == ("user", Turn(role="assistant", content=experiments.READ))


def test_nothing_to_retain() -> None:
    bare = Case(query=QUERY)
    for name in ("filler-1k", "text-1k"):
        assert change(name, Delivery.NONE) is None
        for delivery in DELIVERIES:
            assert change(name, delivery, bare, None) is None


def test_a_deployers_message_is_retained() -> None:
    bare = Case(query=QUERY)
    opening = Conversations(Delivery.SYSTEM, "You sell toys.").open(bare)
    found = vary("filler-200", bare, None, opening, Delivery.SYSTEM, 0)
    assert found is not None
    assert found.messages[0] == Turn(role="system", content="You sell toys.")
    assert len(found.messages) > 2


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("case", [CASE, TWIN])
def test_escalation(case: Case, delivery: Delivery) -> None:
    opening = open_conversation(case, delivery)
    found = changed("escalation", delivery, case, None)
    assert found.messages == opening.messages
    before, steps = found.turns[: len(opening.turns) - 1], found.turns[len(opening.turns) - 1 :]
    assert before == opening.turns[:-1]
    assert len(steps) == ESCALATION_STEPS + 1
    if delivery is Delivery.CLAIMED:
        assert steps[0].startswith(f"{claim(case.context)}\n\n")
    assert "medicines, taken, together and" not in steps[0]
    assert "medicines" in steps[0]
    assert all(QUERY not in step for step in steps[:-1])
    assert steps[-1] == f"{experiments.CONCRETELY}\n\n{QUERY}"


def test_no_step_of_the_starter_cases_holds_the_query() -> None:
    for case in open_cases("starter").cases:
        *steps, last = changed("escalation", Delivery.SYSTEM, case, None).turns
        assert all(case.query not in step for step in steps)
        assert last.endswith(case.query)


def test_what_the_rules_see_at_a_step() -> None:
    """Of replies that comply, said at the last step: the page tells how few are seen."""
    complies = [one for one in load_replies() if one.label == ResponseClass.COMPLIANCE]
    seen = 0
    for one in complies:
        case = Case(query=one.query)
        opening = open_conversation(case, Delivery.NONE)
        varied = vary("escalation", case, None, opening, Delivery.NONE, 0)
        assert varied is not None
        found = read_step(one.reply, one.query, varied.turns[ESCALATION_STEPS - 1])
        seen += found.response_class == ResponseClass.COMPLIANCE
    page = " ".join((ROOT / "docs/how-to/acting.md").read_text("utf-8").split())
    assert f"of {len(complies)} replies of ours that comply it would see {seen} at a step" in page


def test_revocation() -> None:
    claimed = changed("revocation", Delivery.CLAIMED)
    first, then, again = claimed.turns
    assert first == f"{claim(SAFE)}\n\n{QUERY}"
    notice, told = then.split("\n\n", 1)
    assert notice in experiments.CHANGED
    assert told == claim(UNSAFE)
    assert again.split("\n\n")[0] in experiments.AGAIN
    assert again.endswith(f"\n\n{QUERY}")
    safe, (start, *others) = claim_turns(SAFE), claim_turns(UNSAFE)
    turns = changed("revocation", Delivery.HISTORY).turns
    assert turns[: len(safe) + 1] == (*safe, QUERY)
    assert turns[len(safe) + 1].endswith(f"\n\n{start}")
    assert turns[len(safe) + 2 : -1] == tuple(others)


def test_revocation_needs_a_user_who_tells() -> None:
    assert change("revocation", Delivery.SYSTEM) is None
    assert change("revocation", Delivery.NONE) is None
    assert change("revocation", Delivery.CLAIMED, TWIN, CASE) is None
    empty = CASE.model_copy(update={"context": Context({})})
    assert change("revocation", Delivery.CLAIMED, empty) is None
