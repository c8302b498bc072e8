"""Cases as Inspect's samples, and what a log must say of its run."""

from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
)

import casewise
from casewise.cases import Case, flags_query
from casewise.evaluation._condition import Condition
from casewise.evaluation._sampling import Draw, Sampling
from casewise.evaluation._settings import setting_parts
from casewise.logs import GENERATE
from casewise.protocols import Protocol, Script

TURNS = "later_turns"
"""Where a sample keeps what the user says after the first reply."""

EXPECTATIONS = "expectations"
"""What the deployer wants of each turn, where the sample is a script."""

GRADE_ALL = "grade_all"
"""Whether every reply is graded against the query, and not the last one alone."""

QUERY = "query"
CONTEXT = "context"
HISTORY = "history"
LANGUAGE = "language"
"""Where a sample keeps the language in which its answer is read, beside English."""


_PROCESS, _number = uuid4().hex, count()


def to_sample(case: Case, condition: Condition, draw: Draw) -> Sample:
    """A case as Inspect's sample; its metadata is what the judgement table is made from."""
    opening = condition.prompts.open(case)
    first, *later = opening.turns
    said = [(one.role, one.content) for one in opening.messages] + [("user", first)]
    if draw.system and not any(role == "system" for role, _ in said):
        said.insert(0, ("system", draw.system))
    # With ids of ours: Inspect would ask the system for chance, for each message.
    messages = [
        _MESSAGES[role](id=f"{_PROCESS}.{next(_number)}", content=content) for role, content in said
    ]
    return Sample(
        id=case.id,
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
        | ({HISTORY: [turn.model_dump() for turn in case.history]} if case.history else {})
        | (_for_replies(case, later) if condition.protocol is Protocol.RESPOND else {})
        | ({GRADE_ALL: True} if condition.escalates else {}),
    )


def _for_replies(case: Case, later: list[str]) -> dict[str, Any]:
    """What the conversation and its grader need."""
    rule = next((tag.removeprefix("rule:") for tag in case.tags if tag.startswith("rule:")), "")
    return {TURNS: later, "expected": _WANTED.get(rule)}


_WANTED = {"allowed": "answer", "disallowed": "refuse", "partly": "partial"}
"""What a line of a deployment card wants of a reply."""


def script_sample(script: Script, system: str | None) -> Sample:
    """A script as Inspect's sample; each of its turns becomes a row of the judgement table."""
    first, *later = [turn.user for turn in script.turns]
    messages: list[ChatMessage] = [ChatMessageSystem(content=system)] if system else []
    return Sample(
        id=script_id(script.name),
        input=[*messages, ChatMessageUser(content=first)],
        metadata={
            "query_id": script_id(script.name),
            "category": "script",
            TURNS: later,
            EXPECTATIONS: " ".join(turn.expect for turn in script.turns),
        },
    )


def script_id(name: str) -> str:
    """The id of a script's sample."""
    return f"script:{name}"


_MESSAGES: dict[str, Callable[..., ChatMessage]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


def task_metadata(condition: Condition, sampling: Sampling, draw: Draw) -> dict[str, Any]:
    """What the log must say about a run so that its judgements can be told from others."""
    return (
        {
            "casewise": casewise.__version__,
            "protocol": str(condition.protocol),
            "delivery": str(condition.delivery),
            "ablation": ",".join(condition.ablation.names) if condition.ablation else None,
            "variant": ";".join([str(sampling), *setting_parts(draw.settings), *condition.variant]),
            "samples": draw.samples,
            "prompt_version": condition.prompts.version,
            "variation_version": condition.variation_version,
            "dataset": condition.data.name,
            "dataset_hash": condition.data.hash,
            "dataset_version": condition.data.version,
            "dataset_size": len(condition.data.cases),
        }
        | ({"verdict_words": words} if (words := condition.words_version) else {})
        | ({GENERATE: dict(draw.settings)} if draw.settings else {})
    )
