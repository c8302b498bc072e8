"""Parts of a context taken from its twin."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.cases import Case, Context, load_cases
from casewise.contexts import differing_parameters, leaf_parameters, swap_cases
from casewise.errors import UsageError

SAFE = Context(
    {
        "sender": {"platform_type": "clinic", "inner": {"urgency": "low"}},
        "recipient": {"type": "nurse", "background": "trained"},
        "transmission_principle": {"urgency": "high"},
    }
)
UNSAFE = Context(
    {
        "sender": {"platform_type": "forum", "inner": {"urgency": "low"}},
        "recipient": {"type": "minor", "age": 14, "background": "trained"},
        "transmission_principle": {"confidentiality": "none", "urgency": "none"},
        "history": "three warnings",
    }
)


def case(context: Context | None, intended: Any = None, query: str = "q") -> Case:
    return Case(query=query, context=context, intended=intended)


def swap(context: Context, twin: Context, name: str) -> Context | None:
    """The context with a part of its twin's, or None where nothing changes."""
    with suppress(UsageError):
        for one in swap_cases([case(context, "safe"), case(twin, "unsafe")], name):
            if one.intended == "safe":
                return one.context
    return None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recipient", SAFE.root | {"recipient": UNSAFE.root["recipient"]}),
        ("recipient.type", SAFE.root | {"recipient": {"type": "minor", "background": "trained"}}),
        ("urgency", SAFE.root | {"transmission_principle": {"urgency": "none"}}),
        ("sender.inner.urgency", None),
        ("background", None),
        ("absent", None),
        ("history", SAFE.root | {"history": "three warnings"}),
        (
            "age",
            SAFE.root | {"recipient": {"type": "nurse", "age": 14, "background": "trained"}},
        ),
    ],
)
def test_what_is_taken(name: str, expected: dict[str, Any] | None) -> None:
    before = SAFE.model_copy(deep=True), UNSAFE.model_copy(deep=True)
    found = swap(SAFE, UNSAFE, name)
    assert (found and found.root) == expected
    assert before == (SAFE, UNSAFE)


def test_what_the_twin_lacks_is_removed_and_its_group_with_it() -> None:
    twin = Context({"sender": {"platform_type": "clinic"}, "recipient": {}})
    context = Context({"sender": {}, "recipient": {"type": "nurse"}, "terms": {"urgency": "high"}})
    assert swap(context, twin, "urgency") == Context({"sender": {}, "recipient": {"type": "nurse"}})
    emptied = swap(context, twin, "recipient.type")
    assert emptied is not None
    assert emptied.root["recipient"] == {}


def test_cases_take_from_the_first_twin_and_keep_their_ids() -> None:
    safe, unsafe = case(SAFE, "safe"), case(UNSAFE, "unsafe")
    second = case(Context({"recipient": {"type": "thief"}}), "unsafe")
    alone, bare = case(SAFE, "safe", "alone"), case(None)
    found = swap_cases([alone, safe, unsafe, second, bare], "recipient.type")
    assert [one.id for one in found] == [safe.id, unsafe.id, second.id]
    assert [leaf_parameters(one.context or SAFE)["recipient.type"] for one in found] == [
        "minor",
        "nurse",
        "nurse",
    ]
    assert found[0].intended == "safe"


def test_a_name_that_stands_nowhere_is_said_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"no context .* has 'urgencyy'; they have sender, rec"):
        swap_cases([case(SAFE, "safe"), case(UNSAFE, "unsafe")], "urgencyy")
    with pytest.raises(UsageError, match="no parameters at all"):
        swap_cases([case(None)], "urgency")


def test_differing_parameters_are_named_as_they_are_asked_for() -> None:
    pair = [case(SAFE, "safe"), case(UNSAFE, "unsafe")]
    assert differing_parameters(pair) == (
        "platform_type",
        "type",
        "age",
        "transmission_principle.urgency",  # another stands under sender.inner
        "confidentiality",
        "history",
    )
    assert differing_parameters([pair[0], case(UNSAFE, "unsafe", "another")]) == ()


NAMES = st.sampled_from(["a", "b", "c", "a.b"])
VALUES = st.recursive(
    st.sampled_from(["x", "y", 1, True, None]) | st.lists(st.sampled_from(["x", 1]), max_size=2),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
CONTEXTS = st.dictionaries(NAMES, VALUES, max_size=3).map(Context)


def read(context: Context, *, order: bool = False) -> str:
    return json.dumps(context.root, sort_keys=not order)


@given(CONTEXTS, CONTEXTS, st.sampled_from(["a", "b", "c", "a.b", "b.c", "a.b.c", "c.a"]))
def test_swapping_back_restores(context: Context, twin: Context, name: str) -> None:
    there = swap(context, twin, name)
    if there is None:
        return
    back = swap(there, context, name)
    assert back is not None
    assert read(back) == read(context)


@given(CONTEXTS, CONTEXTS)
def test_swapping_every_differing_parameter_gives_the_twin(context: Context, twin: Context) -> None:
    pair = [case(context, "safe"), case(twin, "unsafe")]
    for name in differing_parameters(pair):
        context = swap(context, twin, name) or context
    assert read(context) == read(twin)


def test_published_pairs(casebench: Path) -> None:
    cases = load_cases(casebench / "CASEBench_data.json").cases
    names = differing_parameters(cases)
    assert {"platform_type", "background"} <= {name.rpartition(".")[2] for name in names}
    found = swap_cases(cases, "recipient")
    # No two contexts of a published query have the same recipient.
    assert [one.id for one in found] == [one.id for one in cases]
