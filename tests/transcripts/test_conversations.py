"""Reading conversations: what is taken from a record, what is said of one that holds none."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from casewise.transcripts import BadLine, Conversation, read_conversations

MESSAGES = [
    {"role": "system", "content": "You answer for a library."},
    {"role": "user", "content": "When do you close?"},
    {"role": "assistant", "content": "At six."},
]


def write(path: Path, *records: Any) -> Path:
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def read(path: Path) -> list[Conversation | BadLine]:
    return list(read_conversations(path))


def only(path: Path) -> Conversation:
    (found,) = read(path)
    assert isinstance(found, Conversation), found
    return found


def test_a_record_in_the_chat_format(tmp_path: Path) -> None:
    record = {
        "messages": MESSAGES,
        "conversation_id": "c-1",
        "user_id": 7,
        "created": 1_780_000_000,
        "category": "opening hours",
        "model": "openai/gpt-4o",
        "case_id": "library-3",
        "metadata": {"region": "north"},
    }
    found = only(write(tmp_path / "chats.jsonl", record))
    assert [(turn.role, turn.content) for turn in found.turns] == [
        (one["role"], one["content"]) for one in MESSAGES
    ]
    assert (found.id, found.user, found.line) == ("c-1", "7", 1)
    assert found.time == datetime.fromtimestamp(1_780_000_000, UTC)
    assert (found.category, found.model) == ("opening hours", "openai/gpt-4o")
    assert (found.case, found.metadata) == ("library-3", {"region": "north"})


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("2026-05-31T14:00:00+02:00", datetime(2026, 5, 31, 12, tzinfo=UTC)),
        ("2026-05-31 12:00:00", datetime(2026, 5, 31, 12, tzinfo=UTC)),
        (1_780_228_800, datetime(2026, 5, 31, 12, tzinfo=UTC)),
        (1_780_228_800_000, datetime(2026, 5, 31, 12, tzinfo=UTC)),
        ("1780228800", datetime(2026, 5, 31, 12, tzinfo=UTC)),
    ],
)
def test_times(tmp_path: Path, written: object, told: datetime) -> None:
    assert only(write(tmp_path / "a.jsonl", {"messages": MESSAGES, "time": written})).time == told


BROKEN = {
    '{"messages": [{"role": "user", "content": "canary': "truncated JSON",
    '{"canary": 1, "canary": 2}': "the key stands twice",
    '"canary"': "not a conversation (found text; expected an object with 'messages'",
    '{"canary": "canary"}': "no messages and no reply (found an object;",
    '{"messages": "canary"}': "wrong value in field 'messages' (found text; expected a list",
    '{"messages": []}': "wrong value in field 'messages' (found an empty list;",
    '{"messages": ["canary"]}': "message 1: not a message of the chat format (found text;",
    '{"messages": [{"role": "canary", "content": "a"}]}': "message 1: wrong role (found text;",
    '{"messages": [{"role": "user", "content": 3}]}': "message 1: wrong content (found a number;",
    '{"query": "canary", "reply": ["canary"]}': "wrong value in field 'reply' (found a list;",
    '{"messages": [{"role": "user", "content": "a"}], "id": ["canary"]}': "wrong value in field",
    '{"messages": [{"role": "user", "content": "a"}], "time": "canary"}': "wrong time in field",
    '{"messages": [{"role": "user", "content": "a"}], "time": 1e300}': "wrong time in field",
}


def test_every_broken_line_is_accounted_for_and_not_quoted(tmp_path: Path) -> None:
    found = read(write(tmp_path / "a.jsonl", *BROKEN, {"messages": MESSAGES}))
    assert [one.line for one in found] == list(range(1, len(BROKEN) + 2))
    for one, problem in zip(found, BROKEN.values(), strict=False):
        assert isinstance(one, BadLine)
        assert problem in str(one)
        assert "canary" not in str(one)
    assert isinstance(found[-1], Conversation)
