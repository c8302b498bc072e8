"""Turns of a conversation: as chat formats write them, in one form, in an order to be sent."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from casewise.cases import (
    Case,
    Turn,
    find_turn_fault,
    load_cases,
    name_calls,
    read_turns,
    write_cases,
)
from casewise.errors import InputError

ASKED = {"role": "user", "content": "Is my parcel on its way?"}
SAID = {"role": "assistant", "content": "It is."}
RESULT = Turn(role="tool", tool_call_id="c1", content='{"status": "on its way"}')
CALLED = Turn.model_validate(
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "find_parcel", "arguments": {"number": "A1"}}],
    }
)
WHOLE = (Turn.model_validate(ASKED), CALLED, RESULT, Turn.model_validate(SAID))
OPENAI = [
    ASKED,
    {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "find_parcel", "arguments": '{"number": "A1"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": RESULT.content},
    {"role": "assistant", "content": [{"type": "text", "text": "It is."}]},
]
ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": ASKED["content"]}]},
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "c1", "name": "find_parcel", "input": {"number": "A1"}}
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": [{"type": "text", "text": RESULT.content}],
            }
        ],
    },
    SAID,
]
INSPECT = [
    ASKED,
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "c1",
                "function": "find_parcel",
                "arguments": {"number": "A1"},
                "type": "function",
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": RESULT.content},
    SAID,
]


@pytest.mark.parametrize("messages", [OPENAI, ANTHROPIC, INSPECT], ids=["openai", "parts", "flat"])
def test_chat_formats_are_read_as_the_same_turns(messages: list[Any]) -> None:
    assert read_turns(messages) == WHOLE
    assert Case.model_validate({"query": "And now?", "history": messages}).history == WHOLE


def test_a_developer_speaks_as_the_system_and_a_refusal_is_what_is_said() -> None:
    refused = {"role": "assistant", "content": None, "refusal": "No."}
    turns = read_turns([{"role": "developer", "content": "Be brief."}, ASKED, refused])
    assert [(turn.role, turn.content) for turn in turns] == [
        ("system", "Be brief."),
        ("user", ASKED["content"]),
        ("assistant", "No."),
    ]


def test_results_of_one_message_are_turns_of_their_own() -> None:
    parts = [
        {"type": "tool_result", "tool_use_id": "a", "content": "1"},
        {"type": "tool_result", "tool_use_id": "b"},
        {"type": "text", "text": "Go on."},
    ]
    assert [turn.model_dump() for turn in read_turns([{"role": "user", "content": parts}])] == [
        {"role": "tool", "content": "1", "tool_call_id": "a"},
        {"role": "tool", "content": "", "tool_call_id": "b"},
        {"role": "user", "content": "Go on."},
    ]


@pytest.mark.parametrize("suffix", [".jsonl", ".yaml", ".csv"])
def test_one_form_is_written_and_read_back(tmp_path: Path, suffix: str) -> None:
    case = Case.model_validate({"query": "And now?", "history": OPENAI})
    write_cases([case], tmp_path / f"cases{suffix}")
    assert load_cases(tmp_path / f"cases{suffix}").cases == (case,)


def test_calls_without_ids_are_named_in_order() -> None:
    def calling(*names: str) -> Turn:
        calls = [{"name": name} for name in names]
        return Turn.model_validate({"role": "assistant", "content": "", "tool_calls": calls})

    turns = (
        WHOLE[0],
        calling("a", "b"),
        Turn(role="tool", name="b", content="of b"),
        Turn(role="tool", content="of a"),
        calling("a"),
        Turn(role="tool", content="again", tool_call_id="x"),
        WHOLE[3],
    )
    assert find_turn_fault(turns) is None
    named = name_calls(turns)
    assert [(call.tool_call_id, call.name) for call in named if call.role == "tool"] == [
        ("call_2", "b"),
        ("call_1", "a"),
        ("call_3", "a"),
    ]
    assert [call.id for turn in named for call in turn.tool_calls] == ["call_1", "call_2", "call_3"]
    assert name_calls(WHOLE[:1]) == WHOLE[:1]


BAD_TURNS: dict[str, tuple[dict[str, Any], str]] = {
    "calls of a user": (
        {"role": "user", "content": "x", "tool_calls": [{"name": "a"}]},
        "'tool_calls' with the role 'assistant' alone, not 'user'",
    ),
    "an image": (
        {"role": "user", "content": [{"type": "image_url"}]},
        "content of parts that are text or tool calls, not 'image_url'",
    ),
    "arguments that are no JSON": (
        {"role": "assistant", "tool_calls": [{"name": "a", "arguments": "{"}]},
        "arguments as a JSON object, or as its text",
    ),
    "arguments that no JSON holds": (
        {"role": "assistant", "tool_calls": [{"name": "a", "arguments": '{"x": NaN}'}]},
        "arguments as a JSON object, or as its text",
    ),
    "no name of a tool": (
        {"role": "assistant", "tool_calls": [{"id": "c"}]},
        "the field is missing",
    ),
}


@pytest.mark.parametrize("name", BAD_TURNS)
def test_bad_turns(name: str, tmp_path: Path) -> None:
    turn, message = BAD_TURNS[name]
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps({"query": "q", "history": [turn]}), "utf-8")
    with pytest.raises(InputError, match=r"line 1, field 'history\[0\]") as caught:
        load_cases(path)
    assert message in str(caught.value)


ORDERS: dict[str, tuple[tuple[Turn, ...], str]] = {
    "no result": ((*WHOLE[:2], WHOLE[3]), "after the call of the tool 'find_parcel' its result"),
    "ends in a call": (WHOLE[:2], "after the call of the tool 'find_parcel' its result"),
    "no call": ((WHOLE[0], RESULT), "before turn 2, a tool's, the assistant's call"),
    "twice": ((*WHOLE[:3], RESULT, WHOLE[3]), "before turn 4, a tool's, the assistant's call"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_orders_that_no_server_takes(name: str) -> None:
    turns, message = ORDERS[name]
    assert message in str(find_turn_fault(turns))
    with pytest.raises(ValidationError, match="history"):
        Case(query="q", history=turns)
