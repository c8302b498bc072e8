"""Turns of a conversation, and the tools of a deployment, as Inspect has them."""

from copy import deepcopy
from itertools import count
from typing import Any
from uuid import uuid4

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Model,
)
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from pydantic import PrivateAttr, ValidationError, model_serializer

from casewise.cases import ToolDefinition, Turn
from casewise.evaluation.models._seam import TOOLS, OpenAICompatibleAPI
from casewise.evaluation.models._target import tool_form

_PROCESS, _number = uuid4().hex, count()


def to_message(turn: Turn) -> ChatMessage:
    """A turn as Inspect's message; its tool calls have ids."""
    # With ids of ours: Inspect would ask the system for random bytes for each message.
    said: dict[str, Any] = {"id": f"{_PROCESS}.{next(_number)}", "content": turn.content}
    match turn.role:
        case "system":
            return ChatMessageSystem(**said)
        case "user":
            return ChatMessageUser(**said)
        case "assistant":
            calls = [
                ToolCall(id=call.id or "", function=call.name, arguments=dict(call.arguments))
                for call in turn.tool_calls
            ]
            return ChatMessageAssistant(**said, tool_calls=calls or None)
        case "tool":
            return ChatMessageTool(**said, tool_call_id=turn.tool_call_id, function=turn.name)


class _AsDefined(ToolParams):
    """A JSON schema that is sent as it is: Inspect knows only some keywords of such schemas."""

    _given: dict[str, Any] = PrivateAttr(default_factory=dict)

    @model_serializer(mode="plain")
    def _whole(self) -> dict[str, Any]:
        # A copy: providers remove the keywords that they take to be unknown to servers.
        return deepcopy(self._given)


def to_tool(tool: ToolDefinition) -> ToolInfo:
    """A definition as Inspect's, of which name, description and parameters are sent as they are."""
    try:
        parameters = _AsDefined.model_validate(tool.parameters)
    except ValidationError:
        parameters = _AsDefined()
    parameters._given = dict(tool.parameters)
    return ToolInfo(name=tool.name, description=tool.description, parameters=parameters)


def send_tools_as_defined(model: Model) -> None:
    """Have a provider of OpenAI's chat format send tool definitions unchanged."""
    if isinstance(model.api, OpenAICompatibleAPI):
        vars(model.api)[TOOLS] = lambda tools: [tool_form(tool) for tool in tools]
