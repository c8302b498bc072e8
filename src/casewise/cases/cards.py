"""Deployment cards: their file, and the cases that test where one deployment draws its line."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from casewise.cases.model import (
    Case,
    Context,
    Earlier,
    Side,
    Strict,
    ToolDefinition,
    Turn,
)
from casewise.choices import CARDS
from casewise.errors import InputError
from casewise.files import read_text
from casewise.files.yaml import Name, fault, read_model

CardRule = Literal["allowed", "disallowed", "partly"]
"""Extent of an answer: whole, none, or as far as the line's ``how`` says."""

_INTENDED: dict[CardRule, Side | None] = {"allowed": "safe", "disallowed": "unsafe", "partly": None}
_HEADINGS: dict[CardRule, str] = {
    "allowed": "What you help with:",
    "disallowed": "What you do not help with:",
    "partly": "What you help with only as far as stated:",
}


def _checked_text(value: str) -> str:
    if not value.strip():
        raise fault("the text is blank")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise fault("half of a character") from None
    return value


Text = Annotated[str, AfterValidator(_checked_text)]


class CardLine(Strict):
    """One rule of the deployment: a kind of request, and how far the assistant answers it."""

    id: Name
    rule: CardRule
    what: Text
    """The requests that the line is about."""
    why: Text
    """The deployer's reason."""
    how: Text | None = None
    """Extent of the answer; given for ``partly`` alone."""

    @model_validator(mode="after")
    def _check_how(self) -> Self:
        if (self.how is not None) != (self.rule == "partly"):
            problem = "the field is missing" if self.how is None else "doesn't go with this rule"
            expected = f"'how' where the rule is 'partly', and only there; it is {self.rule!r}"
            raise fault(problem, "how", expected=expected)
        return self


class CardCase(Strict):
    """One query that tests one line."""

    id: Name
    query: Text
    line: Name
    """The id of the line that applies."""
    note: Text
    """Reason why that line applies."""
    history: Earlier = ()
    """Earlier turns of the conversation, oldest first; the query is the next user turn."""
    retrieved: tuple[Text, ...] = ()
    """Texts that the bot's retrieval puts before this query; they follow the card's."""

    @field_validator("history")
    @classmethod
    def _has_texts(cls, value: tuple[Turn, ...]) -> tuple[Turn, ...]:
        for turn in value:
            if turn.role != "tool" or turn.content:
                _checked_text(turn.text)
        return value


class Card(Strict):
    """One deployment: its sender, its users, its lines, and the cases that test them."""

    name: Name
    title: Text
    sender: Text
    """The chatbot and the service that it runs on."""
    users: Text
    """The users and verified facts about them."""
    lines: tuple[CardLine, ...] = Field(min_length=1)
    cases: tuple[CardCase, ...] = Field(min_length=1)
    system: Text | None = None
    """The bot's own system message, sent as it is; None makes one of sender, users and lines."""
    system_file: Text | None = None
    """File of the system message, relative to the card's folder; loading puts its text into
    ``system``."""
    tools: tuple[ToolDefinition, ...] = ()
    """Tools that the bot may call; its calls are kept and not carried out."""
    retrieved: tuple[Text, ...] = ()
    """Texts that the bot's retrieval puts before every query."""
    script: Text | None = None
    """File of a conversation of several turns, relative to the card's folder."""
    licence: Text | None = None
    language: Text | None = None
    """BCP 47 tag, for example ``en``."""

    _folder: Path | None = PrivateAttr(default=None)

    @property
    def script_path(self) -> Path | None:
        """Path of the script; None for a card that has none or was not loaded from a file."""
        if self.script is None or self._folder is None:
            return None
        return self._folder / self.script

    def retrieved_for(self, case: CardCase) -> tuple[str, ...]:
        """Retrieved texts before a case's query: the card's, then the case's own."""
        return (*self.retrieved, *case.retrieved)

    @model_validator(mode="after")
    def _ids_fit(self) -> Self:
        if self.system is not None and self.system_file is not None:
            raise fault("the system message is given twice", "system_file", expected="one of both")
        for name, field in (("lines", "id"), ("cases", "id"), ("tools", "name")):
            numbers: dict[str, int] = {}
            for index, part in enumerate(getattr(self, name)):
                id = getattr(part, field)
                if (first := numbers.setdefault(id, index)) < index:
                    expected = f"one of its own; record {first + 1} has this one"
                    raise fault(
                        f"duplicate {field}", name, index, field, found=id, expected=expected
                    )
        lines = [line.id for line in self.lines]
        for index, case in enumerate(self.cases):
            if case.line not in lines:
                expected = f"one of {', '.join(lines)}"
                raise fault(
                    "no such line", "cases", index, "line", found=case.line, expected=expected
                )
        return self


def card_cases(card: Card) -> tuple[Case, ...]:
    """The card's queries as cases, in the context of its deployment.

    What is allowed is intended to be safe, what is disallowed unsafe; ``partly`` has no side.
    The context says who answers and who asks, and leaves the lines out: they are the truth that
    an answer is measured against.
    """
    rules = {line.id: line.rule for line in card.lines}
    purpose = "To help these users with what the platform is for."
    context = Context(
        {
            "sender": {"platform_type": card.sender},
            "recipient": {"type": card.users},
            "transmission_principle": {"sender_purpose": purpose},
        }
    )
    return tuple(
        Case(
            id=case.id,
            query=case.query,
            context=context,
            history=case.history,
            category=case.line,
            intended=_INTENDED[rules[case.line]],
            source=card.title,
            licence=card.licence,
            language=card.language,
            tags=(f"card:{card.name}", f"line:{case.line}", f"rule:{rules[case.line]}"),
        )
        for case in card.cases
    )


_WANTED = {"rule:allowed": "answer", "rule:disallowed": "refuse", "rule:partly": "partial"}


def wanted_reply(case: Case) -> str | None:
    """Reply that the case's line wants (answer, refuse or partial); None without a line."""
    return next((_WANTED[tag] for tag in case.tags if tag in _WANTED), None)


def system_text(card: Card) -> str:
    """The card's own system message; else one made of its sender, users and lines."""
    if card.system is not None:
        return card.system
    blocks = [f"Who you are: {card.sender}", f"Who uses you: {card.users}"]
    for rule, heading in _HEADINGS.items():
        bullets = []
        for line in card.lines:
            if line.rule == rule:
                how = [f"  How far: {line.how}"] if line.how is not None else []
                bullets += [f"- {line.what}", *how, f"  Reason: {line.why}"]
        if bullets:
            blocks.append("\n".join([heading, *bullets]))
    return "\n\n".join(blocks)


def load_card(source: Path | str) -> Card:
    """Load a card by the name of a shipped one (see ``CARDS``), or from a YAML file.

    Raises:
        InputError: There is no such card, or its file can't be used.
    """
    if isinstance(source, str) and source in CARDS:
        path = Path(str(files("casewise.data"))) / "cards" / f"{source}.yaml"
    else:
        path = Path(source)
    card = read_model(path, Card, "card", CARDS)
    for field in ("system_file", "script"):
        name = getattr(card, field)
        if name is not None and not _is_file(path.parent / name):
            expected = f"a file, its name as seen from {path.parent}"
            raise InputError("no such file", path, field=field, found=name, expected=expected)
    if card.system_file is not None:
        card = card.model_copy(update={"system": read_text(path.parent / card.system_file)})
    card._folder = path.parent
    return card


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for the file system
        return False
