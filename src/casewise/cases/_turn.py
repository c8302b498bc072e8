"""Turns of a conversation and its tools, read from chat formats into one form."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    field_validator,
    model_serializer,
    model_validator,
)

Role = Literal["system", "user", "assistant", "tool"]
"""Speaker: the deployer, the person, the chatbot, or a tool that it called."""


class Strict(BaseModel):
    """Base of frozen models that forbid unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Part(Strict):
    """Part of a conversation, written without the fields that it leaves empty."""

    @model_serializer(mode="wrap")
    def _without_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in write(self).items() if value not in (None, (), [])}


class ToolCall(_Part):
    """A call of a tool by the assistant."""

    id: str | None = None
    """Id that the tool's turn refers to."""
    name: str = Field(min_length=1)
    """Name of the tool."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_chat_formats(cls, value: Any) -> Any:
        """Take OpenAI's ``function`` with its arguments as JSON, and ``input`` or ``args``."""
        if not isinstance(value, Mapping):
            return value
        call = {key: inner for key, inner in value.items() if key != "type" and inner is not None}
        function = call.pop("function", {})
        call |= function if isinstance(function, Mapping) else {"name": function}
        for key in ("input", "args", "arguments"):
            if key in call:
                call["arguments"] = _arguments(call.pop(key))
        return call


_NO_PARAMETERS: dict[str, JsonValue] = {"type": "object", "properties": {}}


class ToolDefinition(_Part):
    """Definition of a tool that the assistant may call."""

    name: str = Field(pattern=r"^[\w.-]{1,64}$")
    description: str = ""
    parameters: dict[str, JsonValue] = Field(default_factory=lambda: dict(_NO_PARAMETERS))
    """A JSON schema of the arguments; sent as it is."""

    @model_validator(mode="before")
    @classmethod
    def _from_chat_formats(cls, value: Any) -> Any:
        """Take OpenAI's ``function`` around it, and ``input_schema`` for the parameters."""
        if not isinstance(value, Mapping):
            return value
        tool = dict(value)
        if tool.get("type") == "function":
            del tool["type"]
            if isinstance(tool.get("function"), Mapping):
                tool |= tool.pop("function")
        if "input_schema" in tool:
            tool["parameters"] = tool.pop("input_schema")
        return tool

    @field_validator("parameters")
    @classmethod
    def _is_an_arguments(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if value.get("type") != "object":
            raise ValueError("a JSON schema of type 'object'")
        return value


def _arguments(arguments: Any) -> Any:
    """Arguments as a JSON object, also where they are its text."""
    try:
        if isinstance(arguments, str):
            arguments = json.loads(arguments) if arguments.strip() else {}
        json.dumps(arguments, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise ValueError("arguments as a JSON object, or as its text")
    return arguments


class Turn(_Part):
    """One message of a conversation."""

    role: Role
    content: str
    """Text of the message, or the tool's result; may be blank beside tool calls."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tool calls of the assistant, and only of it."""
    tool_call_id: str | None = None
    """Id of the call that a tool answers; None is the first call without a result."""
    name: str | None = None
    """Name of a tool, where it is given."""

    @model_validator(mode="before")
    @classmethod
    def _from_chat_formats(cls, value: Any) -> Any:
        """Take content as a list of parts or null, role ``developer``, and null for nothing."""
        if not isinstance(value, Mapping):
            return value
        turn = {
            name: inner
            for name, inner in value.items()
            if name in ("role", "content") or inner not in (None, [], ())
        }
        if turn.get("role") == "developer":
            turn["role"] = "system"
        content, calls = turn.get("content"), turn.get("tool_calls")
        if isinstance(content, list | tuple):
            turn["content"], called = _text_and_calls(content)
            if called:
                turn["tool_calls"] = [*(calls if isinstance(calls, list) else []), *called]
        elif content is None and "refusal" in turn:
            turn["content"] = turn.pop("refusal")
        elif content is None and calls:
            turn["content"] = ""
        return turn

    @model_validator(mode="after")
    def _fields_go_with_the_role(self) -> "Turn":
        if self.tool_calls and self.role != "assistant":
            raise ValueError(f"'tool_calls' with the role 'assistant' alone, not {self.role!r}")
        for field in ("tool_call_id", "name"):
            if getattr(self, field) is not None and self.role != "tool":
                raise ValueError(f"{field!r} with the role 'tool' alone, not {self.role!r}")
        return self

    @property
    def text(self) -> str:
        """Text that a person reads: what is said, then each call in a line of its own."""
        return turn_text(self.content, ((call.name, call.arguments) for call in self.tool_calls))

    @property
    def speaker(self) -> str:
        """Role, with the name of a tool."""
        return f"{self.role} {self.name}" if self.name else self.role

    @property
    def line(self) -> str:
        """Line of a transcript: speaker and text."""
        return f"{self.speaker}: {self.text}"

    @property
    def values(self) -> tuple[Any, ...]:
        """Values that identify the turn: role, content, and its tool fields if it has any."""
        tools = self.model_dump(mode="json")
        role, content = tools.pop("role"), tools.pop("content")
        return (role, content, *([tools] if tools else []))


def turn_text(content: str, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """A message as text: what is said, then each tool call by its name and arguments."""
    called = [
        f"[tool call: {name}({json.dumps(arguments, ensure_ascii=False)})]"
        for name, arguments in calls
    ]
    return "\n".join([*([content] if content or not called else []), *called])


def _text_and_calls(parts: Sequence[Any]) -> tuple[str, list[Any]]:
    """Text and tool calls of a message whose content is a list of parts."""
    texts: list[str] = []
    calls: list[Any] = []
    for part in parts:
        match part:
            case str():
                texts.append(part)
            case {"type": "text" | "input_text" | "output_text", "text": str(text)}:
                texts.append(text)
            case {"type": "refusal", "refusal": str(text)}:
                texts.append(text)
            case {"type": "tool_use"}:
                calls.append(part)
            case _:
                kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
                raise ValueError(f"content of parts that are text or tool calls, not {str(kind)!r}")
    return "\n".join(texts), calls


def _split_results(messages: Any) -> Any:
    """Make turns of a tool out of the results that a user's message holds as parts."""
    if not isinstance(messages, list | tuple):
        return messages
    turns: list[Any] = []
    for message in messages:
        parts = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(parts, list | tuple):
            turns.append(message)
            continue
        results = [
            part
            for part in parts
            if isinstance(part, Mapping) and part.get("type") == "tool_result"
        ]
        turns += [
            {
                "role": "tool",
                "tool_call_id": part.get("tool_use_id"),
                "content": part.get("content") or "",
            }
            for part in results
        ]
        if len(results) < len(parts) or not parts:
            turns.append({**message, "content": [part for part in parts if part not in results]})
    return turns


History = Annotated[tuple[Turn, ...], BeforeValidator(_split_results)]
"""Turns of a conversation, oldest first, as chat formats write them."""

_READER: TypeAdapter[tuple[Turn, ...]] = TypeAdapter(History)


def read_turns(messages: Sequence[Any]) -> tuple[Turn, ...]:
    """Read messages from chat formats, in any order.

    Raises:
        ValidationError: One can't be read.
    """
    return _READER.validate_python(messages)


TURNS = "'system' first if at all, then 'user' and 'assistant' in turn, 'assistant' last"
"""Order of the earlier turns of a conversation; the query is the user's next. Between an
assistant's tool calls and its next turn stand the tools' turns, one for each call."""


def find_turn_fault(history: Sequence[Turn]) -> str | None:
    """Expected order that earlier turns break, in words; None where they keep ``TURNS``."""
    expected, waiting = "user", list[ToolCall]()
    for number, turn in enumerate(history, start=1):
        if turn.role == "tool":
            place = _answered(turn, waiting)
            if place is None:
                return f"before turn {number}, a tool's, the assistant's call that it answers"
            del waiting[place]
        elif waiting:
            break
        elif turn.role == "system" and number == 1:
            continue
        elif turn.role != expected:
            return TURNS
        else:
            waiting = list(turn.tool_calls)
            expected = "assistant" if turn.role == "user" or waiting else "user"
    if waiting:
        name = waiting[0].name
        return f"after the call of the tool {name!r} its result, a turn with the role 'tool'"
    return None if expected == "user" else TURNS


def _answered(result: Turn, calls: Sequence[ToolCall]) -> int | None:
    """Place of the first call that a tool's turn can answer."""
    for place, call in enumerate(calls):
        is_its_id = result.tool_call_id is None or call.id in (None, result.tool_call_id)
        if is_its_id and result.name in (None, call.name):
            return place
    return None


def name_calls(history: Sequence[Turn]) -> tuple[Turn, ...]:
    """Give each tool call an id, and each tool's turn the id and name of its call.

    Servers pair calls and results by ids; where none are given, they are ``call_1``, ``call_2``...

    Args:
        history: Turns in which ``find_turn_fault`` finds no fault.
    """
    named: list[Turn] = []
    waiting: list[ToolCall] = []
    ids: list[str] = []
    count = 0
    for turn in history:
        changes: dict[str, Any] = {}
        if turn.role == "tool" and (place := _answered(turn, waiting)) is not None:
            changes = {"tool_call_id": ids.pop(place), "name": waiting.pop(place).name}
        elif turn.tool_calls:
            waiting = list(turn.tool_calls)
            ids = [call.id or f"call_{count + n}" for n, call in enumerate(waiting, start=1)]
            count += len(ids)
            calls = zip(waiting, ids, strict=True)
            changes["tool_calls"] = tuple(call.model_copy(update={"id": id}) for call, id in calls)
        named.append(turn.model_copy(update=changes) if changes else turn)
    return tuple(named)
