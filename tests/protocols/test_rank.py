"""The protocol ``rank``: pairs, both orders, and what is read of them."""

import pytest

import casewise as cw
from casewise.errors import UsageError
from casewise.protocols import Answer, Delivery, Open, Question, Status, Stop, find_protocol

RANK = find_protocol("rank")


def case(query: str, id: str, context: str | None) -> dict[str, object]:
    return {"query": query, "id": id} | ({"context": {"sender": context}} if context else {})


CASES = cw.load_cases(
    [
        *(case("one", f"one-{place}", place) for place in ("forum", "ward", "school")),
        *(case("two", f"two-{place}", place) for place in ("forum", "ward")),
        case("three", "three-alone", "forum"),
        case("two", "two-none", None),
    ]
)


def test_every_two_contexts_of_a_query_are_a_unit() -> None:
    units = RANK.units(CASES)
    found = {frozenset(one.id for one in unit) for unit in units}
    # Three contexts are three pairs; a query of one context, and a case without one, are in none.
    assert found == {
        frozenset({"one-forum", "one-ward"}),
        frozenset({"one-forum", "one-school"}),
        frozenset({"one-school", "one-ward"}),
        frozenset({"two-forum", "two-ward"}),
    }
    assert RANK.units(list(reversed(CASES)))[0] in units


def test_a_few_pairs_of_a_query_are_drawn_from_all() -> None:
    every = [[case.id for case in unit] for unit in RANK.units(CASES)]
    few = [[case.id for case in unit] for unit in RANK.units(CASES, 1)]
    assert len(few) == 2
    assert all(one in every for one in few)


def test_both_orders_are_asked() -> None:
    unit = RANK.units(CASES)[0]
    prompts = RANK.wording(Delivery.JUDGE, None, ())
    there, back = (opening.turns[0] for opening in RANK.open(unit, prompts))
    first, second = (f'"{one.context.root["sender"]}"' for one in unit if one.context)
    assert there.index(first) < there.index(second)
    assert back.index(second) < back.index(first)
    assert there != back
    assert there.endswith("Reply with one letter, A or B.\n")


@pytest.mark.parametrize(
    ("there", "back", "prefers", "says_first"),
    [
        ('{"answer": "A"}', '{"answer": "B"}', 1.0, 0.5),  # the first case, whatever the order
        ('{"answer": "B"}', '{"answer": "A"}', 0.0, 0.5),
        ('{"answer": "A"}', '{"answer": "A"}', 0.5, 1.0),  # the place, whatever the case
        ("Situation B", "B.", 0.5, 0.0),
        ('{"explanation": "B is a forum.", "answer": "A"}', "Answer: B", 1.0, 0.5),
    ],
)
def test_two_letters_make_a_preference(
    there: str, back: str, prefers: float, says_first: float
) -> None:
    assert next(RANK.ask(Question())) == [Open(0), Open(1)]
    reading = RANK.read(Question(), [Answer(there), Answer(back)])
    assert reading.status is Status.OK
    assert reading.verdict is None
    assert dict(reading.numbers) == {"prefers": prefers, "says_first": says_first}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Answer("Both are alike."), Status.UNPARSED),
        (Answer("A or B?"), Status.UNPARSED),
        (Answer("Answer: A forum is no place for it."), Status.UNPARSED),
        (Answer("As a forum differs from a ward, it depends."), Status.UNPARSED),
        (Answer(""), Status.UNPARSED),
        (Answer("", refused=True), Status.REFUSED),
        (Answer("I can't help with that request.", Stop.ITSELF), Status.REFUSED),
        (Answer('{"explanation": "The fir', Stop.LIMIT), Status.UNPARSED),
    ],
)
def test_a_pair_with_an_unread_order_is_unread(answer: Answer, status: Status) -> None:
    for answers in ([answer, Answer("B")], [Answer("A"), answer]):
        reading = RANK.read(Question(), answers)
        assert (reading.status, dict(reading.numbers)) == (status, {})


def test_it_asks_of_pairs_alone() -> None:
    assert RANK.deliveries == (Delivery.JUDGE,)
    with pytest.raises(UsageError, match="no prompt judges under protocol rank"):
        RANK.wording(Delivery.NONE, None, ())
