"""Evidence ladders: one query in one context, with rising proof of that context from rung to rung.

A rung is a condition. It says what stands before the query in the user's turn, in the system
message, and in the result of a tool that is called after it; the words are templates over the
context of a case (``data/evidence/ladder.yaml``).
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from casewise.cases import (
    Case,
    Context,
    Strict,
    ToolCall,
    ToolDefinition,
    Turn,
    digest,
)
from casewise.choices import Delivery
from casewise.contexts import claim, describe_to_sender, render_text
from casewise.errors import UsageError, choose_from
from casewise.files.yaml import read_model
from casewise.protocols.conversations import (
    RESPOND_VERSION,
    Conversations,
    Opening,
    Text,
    open_conversation,
)

LADDER = "ladder"
"""Name of the ladder."""

BARE_RUNG = "0"
"""Rung of the query alone, against which every other one is measured."""

_CALL = "check_1"
"""Id of the tool call."""
_FIELD = re.compile(r"\{(\w+)\}")
_NAME = re.compile(r"[\w.-]{1,20}")
RUNG_NAME = "at most 20 letters, digits, dots and hyphens"
"""Form of a rung's name in words."""


def is_rung(name: str) -> bool:
    """Tell whether a text can be the name of a rung."""
    return _NAME.fullmatch(name) is not None


Template = Annotated[str, StringConstraints(strip_whitespace=True)]
"""Words with places for fields of the context: ``{claim}``."""


class ToolAnswer(Strict):
    """A call of the ladder's tool after the user's turn, and its result."""

    arguments: dict[str, Template] = Field(default_factory=dict)
    result: Template


class Rung(Strict):
    """Words of a rung, by the channel that they come in."""

    title: Text
    user: Template = ""
    """Words of the user before the query."""
    document: Template = ""
    """A document between these words and the query."""
    system: Template = ""
    """Words of the operator."""
    tool: ToolAnswer | None = None

    @property
    def delivery(self) -> Delivery:
        """Place of the context in the conversation."""
        if self.user or self.document or self.tool:
            return Delivery.CLAIMED
        return Delivery.SYSTEM if self.system else Delivery.NONE

    @property
    def fields(self) -> frozenset[str]:
        """Fields of its templates."""
        return frozenset(_FIELD.findall(self.model_dump_json()))


class Ladder(Strict):
    """Rungs by name, in their order."""

    rungs: dict[str, Rung]
    tool: ToolDefinition | None = None
    """Tool that rungs call."""
    unrelated: tuple[Text, ...] = ()
    """Sentences of a claim that has nothing to do with any query."""

    @property
    def name(self) -> str:
        """Name and version of the wording, as prompt versions have them."""
        return f"{LADDER}@{digest(self.model_dump(mode='json'))[:8]}"

    def find(self, name: str) -> Rung:
        """A rung by its name.

        Raises:
            UsageError: There is none.
        """
        if name not in self.rungs:
            raise UsageError(f"no rung {name!r}: {choose_from(name, self.rungs)}")
        return self.rungs[name]


@cache
def load_ladder() -> Ladder:
    """Load the ladder that ships."""
    path = Path(str(files("casewise.data"))) / "evidence" / f"{LADDER}.yaml"
    return read_model(path, Ladder, LADDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceConversations(Conversations):
    """Conversations of one rung."""

    ladder: Ladder
    rung: Rung
    twins: Mapping[str, Case]
    """Cases of the same query in the other context, by the id of a case."""

    @property
    def version(self) -> str:
        """Version of the wording, the same at every rung of a ladder."""
        return f"{RESPOND_VERSION}+{self.ladder.name}"

    def applies(self, case: Case) -> bool:
        """Tell whether a case has all that the ladder's rungs show, its twin apart."""
        needs_twin = any(name.startswith("twin_") for name in self.rung.fields)
        return bool(claim(case.context)) and (case.id in self.twins or not needs_twin)

    def as_context(self, case: Case) -> Case:
        """The case as a judge sees it: what is said at the rung is its context; none of none."""
        rung = self.rung
        shown = {
            ("sender", "operator_says"): rung.system,
            ("recipient", "says"): rung.user,
            ("recipient", "shows"): rung.document,
        }
        groups: dict[str, dict[str, Any]] = defaultdict(dict)
        for (group, name), text in shown.items():
            if text:
                groups[group][name] = self._fill(text, case)
        if rung.tool:
            check = {"tool": self.tools[0].name, "result": self._fill(rung.tool.result, case)}
            groups["transmission_principle"]["check"] = check
        return case.model_copy(update={"context": Context(dict(groups)) if groups else None})

    def begin(self, case: Case) -> Opening:
        """The conversation in which a case is asked."""
        rung, fill = self.rung, partial(self._fill, case=case)
        place = Delivery.SYSTEM if rung.system else Delivery.NONE
        plain = open_conversation(case, place, fill(rung.system))
        document = f"<document>\n{fill(rung.document)}\n</document>" if rung.document else ""
        words = filter(None, (fill(rung.user), document, case.query))
        opening = replace(plain, turns=("\n\n".join(words),))
        if rung.tool is None:
            return opening
        arguments = {name: fill(text) for name, text in rung.tool.arguments.items()}
        call = ToolCall(id=_CALL, name=self.tools[0].name, arguments=dict(arguments))
        result = fill(rung.tool.result)
        answer = Turn(role="tool", content=result, tool_call_id=_CALL, name=call.name)
        called = Turn(role="assistant", content="", tool_calls=(call,))
        return replace(opening, tool_turns=(called, answer))

    def _fill(self, template: str, case: Case) -> str:
        twin = self.twins.get(case.id)
        own, other = case.context, twin.context if twin else None
        values = {
            "claim": claim(own),
            "facts": render_text(own),
            "description": describe_to_sender(own),
            "unrelated": _of_length(self.ladder.unrelated, len(claim(own))),
            "twin_claim": claim(other),
            "twin_facts": render_text(other),
        }
        return _FIELD.sub(lambda field: values[field[1]], template)


def _of_length(sentences: tuple[str, ...], length: int) -> str:
    """As many of the sentences, one after another, as come nearest to a length."""
    text, before = "", ""
    for sentence in cycle(sentences):
        text, before = f"{text} {sentence}".strip(), text
        if len(text) >= length:
            break
    return text if len(text) - length <= length - len(before) else before or text


def on_rung(ladder: Ladder, rung: str, twins: Mapping[str, Case]) -> EvidenceConversations:
    """Conversations of a rung of a ladder.

    Raises:
        UsageError: There is no such rung.
    """
    entry = ladder.find(rung)
    tools = (ladder.tool,) if entry.tool is not None and ladder.tool is not None else ()
    return EvidenceConversations(
        entry.delivery, tools=tools, ladder=ladder, rung=entry, twins=twins
    )
