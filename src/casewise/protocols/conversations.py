"""The conversation in which a model plays the sender, and the scripts of a deployment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, assert_never

from pydantic import AfterValidator, Field

from casewise.cases import Case, Strict, ToolDefinition, Turn, digest, name_calls
from casewise.choices import Delivery
from casewise.contexts import claim, claim_turns, describe_to_sender
from casewise.errors import InputError, UsageError
from casewise.files.yaml import read_model

RESPOND_VERSION = "casewise/respond-1@223a70e8"
"""Version of the conversations' wording, a digest of specimens, to which a test holds them: it
changes with every frame and with the layout. Results of different versions are not comparable."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Start of a conversation: messages so far, and the user's turns to come."""

    messages: tuple[Turn, ...]
    """Messages before the first turn: the system message, and the case's own earlier turns."""
    turns: tuple[str, ...]
    """Turns of the user, one after another, each sent when the last one is answered. The answer to
    the final turn, which holds the query, is the one that counts."""
    tool_turns: tuple[Turn, ...] = ()
    """Call of a tool after the first turn, and its result."""

    @property
    def first_messages(self) -> tuple[Turn, ...]:
        """Messages before the first reply."""
        return (*self.messages, Turn(role="user", content=self.turns[0]), *self.tool_turns)

    @property
    def text(self) -> str:
        """All that is said before the first reply, and all that the user says after it."""
        texts = (message.text for message in self.messages)
        tool_texts = (message.text for message in self.tool_turns)
        return "\n\n".join([*texts, *self.turns[:1], *tool_texts, *self.turns[1:]])


@dataclass(frozen=True, slots=True)
class Conversations:
    """Conversations that put the cases of one condition to a model that replies."""

    delivery: Delivery
    deployer: str | None = None
    """A deployment's own system message, in place of the description of a case's context; sent
    under delivery ``system`` alone."""
    tools: tuple[ToolDefinition, ...] = ()
    """Tools of a deployment's model, under every delivery."""
    retrieved: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts that a deployment's retrieval puts before the query, by the case's id; those of
    ``SCRIPTED`` stand before the first turn of its script."""

    @property
    def version(self) -> str:
        """The version of the wording; it changes with whatever a deployment gives the model."""
        if self.deployer is None:
            return RESPOND_VERSION
        payload: Any = ([tool.model_dump(mode="json") for tool in self.tools], dict(self.retrieved))
        return f"{RESPOND_VERSION}+{digest(self.deployer, payload, NOT_RUN)[:8]}"

    def open(self, case: Case) -> Opening:
        """The conversation in which a case is asked."""
        return self.retrieve(case.id, self.begin(case))

    def begin(self, case: Case) -> Opening:
        """The conversation without retrieved texts, as variations take it."""
        return open_conversation(case, self.delivery, self.deployer)

    def open_script(self, script: "Script") -> Opening:
        """The conversation in which a deployment's script is held."""
        system = self.deployer if self.delivery is Delivery.SYSTEM else None
        messages = (Turn(role="system", content=system),) if system else ()
        first, *later = [turn.user for turn in script.turns]
        opening = self.retrieve(SCRIPTED, Opening(messages, (first,)))
        return replace(opening, turns=(*opening.turns, *later))

    def retrieve(self, id: str, opening: Opening) -> Opening:
        """An opening with the retrieved texts at the head of its last turn."""
        texts = self.retrieved.get(id, ())
        *earlier, last = opening.turns
        return replace(opening, turns=(*earlier, before_query(texts, last))) if texts else opening

    def render(self, case: Case) -> str:
        """All that is said before the first reply, and all that the user says after it."""
        return self.open(case).text


NOT_RUN = "No result: tools are not run in this conversation."
"""Answer to a tool call, before the user goes on."""

SCRIPTED = "script"
"""Key of the script among the ids of cases."""


def before_query(texts: Sequence[str], message: str) -> str:
    """Put retrieved texts before what the user says, word for word, each between two marks."""
    marked = (
        f'<retrieved_text number="{number}">\n{text}\n</retrieved_text>'
        for number, text in enumerate(texts, start=1)
    )
    return "\n\n".join([*marked, message])


def open_conversation(case: Case, delivery: Delivery, deployer: str | None = None) -> Opening:
    """Lay out the conversation in which a case is asked.

    A system message of the case's history stands after the deployer's; its other earlier turns
    stand as they are. Without a deployer, a case without a context, or with an empty one, is the
    same conversation under every delivery.

    Args:
        case: The case.
        delivery: The place of its context.
        deployer: System message in place of the context's description, under delivery ``system``.

    Raises:
        UsageError: The delivery is ``judge``, which has no conversation.
    """
    description, turns = _deliver(case, delivery)
    if deployer is not None and delivery is Delivery.SYSTEM:
        description = deployer
    own = [turn.content for turn in case.history if turn.role == "system"]
    system = "\n\n".join(filter(None, (description, *own)))
    messages = [Turn(role="system", content=system)] if system else []
    spoken = name_calls([turn for turn in case.history if turn.role != "system"])
    return Opening((*messages, *spoken), turns)


def _deliver(case: Case, delivery: Delivery) -> tuple[str, tuple[str, ...]]:
    """The deployer's description of the context, and the user's turns."""
    match delivery:
        case Delivery.SYSTEM:
            return describe_to_sender(case.context), (case.query,)
        case Delivery.CLAIMED:
            facts = claim(case.context)
            return "", (f"{facts}\n\n{case.query}" if facts else case.query,)
        case Delivery.HISTORY:
            return "", (*claim_turns(case.context), case.query)
        case Delivery.NONE:
            return "", (case.query,)
        case Delivery.JUDGE:
            raise UsageError(
                "delivery 'judge' has no conversation: respond takes system, claimed, history, none"
            )
    assert_never(delivery)


Expectation = Literal["answer", "refuse", "either"]
"""Reply that the deployer wants to a turn; ``either`` doesn't count."""


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("the text is blank")
    return value


Text = Annotated[str, AfterValidator(_not_blank)]


class ScriptTurn(Strict):
    """One turn of the user. The reply to it is the model's own."""

    user: Text
    expect: Expectation
    why: Text


class Script(Strict):
    """A conversation that is held live."""

    name: Text
    title: Text
    turns: tuple[ScriptTurn, ...] = Field(min_length=1)
    deployment: Text | None = None
    """The card under whose system message it is held."""
    system: Text | None = None
    """A system message of its own, where there is no card."""
    seed: int = 0


def load_script(path: Path) -> Script:
    """Load a script.

    Raises:
        InputError: The file can't be used; the message names turn and field.
    """
    script = read_model(path, Script, "script", nouns={"turns": "turn"})
    if script.system is not None and script.deployment is not None:
        raise InputError(
            "has a system message and a deployment", file=path, field="system", expected="one"
        )
    return script
