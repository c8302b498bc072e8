"""Samples of Inspect: a unit as it is asked, its turns and tools, and what a log says of it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import count
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
)
from inspect_ai.scorer import Metric, SampleScore
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from pydantic import PrivateAttr, ValidationError, model_serializer

import casewise
from casewise.cases import Case, ToolDefinition, Turn, flags_query, other_labels, wanted_reply
from casewise.choices import RULES, Sampling
from casewise.evaluation.plan._condition import Condition, script_id, unit_id
from casewise.evaluation.plan._sampling import DrawSettings, setting_parts
from casewise.logs import GENERATE, OF_RUN
from casewise.protocols import Opening, Script, grader_version

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


REPLIES = "replies"
"""Key in a sample of the number of its replies."""

TURNS = "later_turns"
"""Key in a sample of the user's turns after the first reply."""

OPENINGS = "openings"
"""Key in a sample of the prompts of further openings, each a conversation of its own."""

TWIN = "twin"
"""Key in a pair's sample of the columns of its second case."""

EXPECTATIONS = "expectations"
"""Key in a sample of the replies that the deployer wants, turn by turn."""

GRADE_ALL = "grade_all"
"""Key in a sample: true if every reply is graded against the query, and not the last one alone."""

QUERY = "query"
CONTEXT = "context"
HISTORY = "history"
LANGUAGE = "language"
"""Key in a sample of the language in which its answer is read, beside English."""


def to_sample(unit: Sequence[Case], condition: Condition, draw: DrawSettings) -> Sample:
    """A unit as Inspect's sample; its metadata is what the judgement table is made from."""
    case, protocol = unit[0], condition.protocol
    opening, *more = protocol.open(unit, condition.prompts)
    first, *later = opening.turns
    said = [*opening.messages, Turn(role="user", content=first), *opening.checked]
    if draw.system and not any(turn.role == "system" for turn in said):
        said.insert(0, Turn(role="system", content=draw.system))
    messages = [to_message(turn) for turn in said]
    return Sample(
        id=unit_id(unit),
        input=messages,
        target=case.intended or "",
        metadata={
            "query_id": case.query_id,
            "category": case.category,
            "intended": case.intended,
            "votes_safe": case.votes_safe,
            "votes_unsafe": case.votes_unsafe,
            "published_safe_rate": case.published_safe_rate,
            "query_flagged": flags_query(case.query),
            QUERY: case.query,
            CONTEXT: case.context.root if case.context is not None else None,
        }
        | ({LANGUAGE: language} if (language := condition.answered_in(case)) else {})
        | (
            {HISTORY: [turn.model_dump(mode="json") for turn in case.history]}
            if case.history
            else {}
        )
        | ({"no_context": True} if case.context is None else {})
        | ({"other_labels": others} if (others := other_labels(case)) else {})
        | ({OPENINGS: [one.turns[0] for one in more]} if more else {})
        | ({TWIN: _of_twin(unit[1])} if len(unit) > 1 else {})
        | ({TURNS: later, "expected": wanted_reply(case)} if protocol.acts else {})
        | ({GRADE_ALL: True} if condition.escalates else {}),
    )


def _of_twin(case: Case) -> dict[str, Any]:
    return {
        "twin_id": case.id,
        "twin_intended": case.intended,
        "twin_votes_safe": case.votes_safe,
        "twin_votes_unsafe": case.votes_unsafe,
        "twin_published_safe_rate": case.published_safe_rate,
    }


def script_sample(script: Script, opening: Opening) -> Sample:
    """A script as Inspect's sample; each of its turns becomes a row of the judgement table."""
    return Sample(
        id=script_id(script.name),
        input=[to_message(turn) for turn in opening.begun],
        metadata={
            "query_id": script_id(script.name),
            "category": "script",
            TURNS: list(opening.turns[1:]),
            EXPECTATIONS: " ".join(turn.expect for turn in script.turns),
        },
    )


def grader_metadata(grader: str | None) -> dict[str, str]:
    """Metadata of the grader of a log's replies."""
    return {"grader": grader or RULES, "grader_version": grader_version(grader)}


def task_metadata(condition: Condition, sampling: Sampling, draw: DrawSettings) -> dict[str, Any]:
    """Metadata of a run by which its judgements differ from others'."""
    settings = setting_parts(draw.settings)
    told = replace(condition.identity, sampling=str(sampling), settings=settings)
    return {
        "casewise": casewise.__version__,
        **{name: told[name] for name in OF_RUN},
        "samples": draw.samples,
        "variation_version": condition.variation_version,
        "dataset": condition.data.name,
        "dataset_size": len(condition.data.cases),
    } | ({GENERATE: dict(draw.settings)} if draw.settings else {})


def samples_of(condition: Condition, draw: DrawSettings) -> Iterator[Sample]:
    """Every unit of a condition, each made when it is asked for, then its script."""
    for unit in condition.units:
        yield to_sample(unit, condition, draw)
    if condition.script is not None and (opening := condition.script_opening) is not None:
        yield script_sample(condition.script, opening)


def mean_of(name: str) -> Metric:
    """The mean of a number over the scores in which it is defined; NaN where it is in none."""

    # Inspect looks at the annotation to tell what a metric takes.
    def compute(scores: list[SampleScore]) -> float:
        values = [score.score.value for score in scores]
        return mean(float(value[name]) for value in values if isinstance(value, Mapping))  # type: ignore[arg-type]

    return compute


def mean(numbers: Iterable[float]) -> float:
    """The mean of the numbers that are defined; NaN of none."""
    defined = [number for number in numbers if not math.isnan(number)]
    return sum(defined) / len(defined) if defined else math.nan
