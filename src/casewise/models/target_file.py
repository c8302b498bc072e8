"""The file that describes a target: a bot's address, its requests, and the place of its replies.

It is YAML (docs/how-to/bots.md) and holds no secret: it names variables of the environment,
which are read when a request is sent.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
    model_validator,
)

from casewise.cases import Strict
from casewise.files.yaml import Name, fault
from casewise.models.keys import exposes_secret, keep_secret, redacted, secrets_of_address
from casewise.models.patience import is_web_address

PLACES = {
    "messages": "the conversation in OpenAI's form, a list",
    "text": "the conversation as one text",
    "last": "the user's newest message",
    "system": "the system message",
    "session": "the conversation's id",
    "query": "the case's query",
    "context": "the case's context, a mapping",
    "context.PATH": "a part of it, such as context.sender.channel",
    "category": "the case's category",
    "model": "the target's name",
    "max_tokens": "the longest answer, in tokens",
    "temperature": "0 where sampling is greedy",
    "top_p": "of the sampling",
    "seed": "of the sampling",
}
"""Placeholders for parts of a request in a template: each name in braces."""


def in_braces(names: Iterable[str]) -> str:
    """Placeholders as they stand in the file."""
    return ", ".join(f"{{{name}}}" for name in names)


_CASE = ("query", "context", "category")
_ANYWHERE = (*_CASE, "session", "model")
_ENV = "env:"
BY_NAME = re.compile(r"\{\{|\}\}|\{((?:env:)?[A-Za-z_]\w*(?:\.[^{}.\n]+)*)\}")
"""A brace that means itself, or a placeholder by its name."""
_PLACEHOLDER = re.compile(BY_NAME.pattern + r"|\{\s*[\w$@][^{}\n]*\}?")
"""The same, or what looks like a placeholder and is none."""
_EXPECTED = f"{in_braces(PLACES)} or {{env:NAME}}"


def value_of(values: Mapping[str, Any], name: str) -> Any:
    """Value of a placeholder; None where it has none, or no such part."""
    value: Any = values
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def text_of(value: Any) -> str:
    """A placeholder's value within a text: JSON, unless it is a text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _unquoted(value: Any) -> Any:
    """A template in which placeholders may stand without quotes: YAML reads them as mappings."""
    if isinstance(value, list):
        return [_unquoted(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if inner is None:
            return f"{{{name}}}"
        if name == "env" and isinstance(inner, str):
            return f"{{env:{inner}}}"
    return {name: _unquoted(inner) for name, inner in value.items()}


def _check_places(template: Any) -> Any:
    for place, text in _leaves(template):
        for match in _PLACEHOLDER.finditer(text):
            shown, name = match[0], match[1] or ""
            if shown in ("{{", "}}") or name.startswith(_ENV):
                continue
            if name not in PLACES and not name.startswith("context."):
                problem = "unknown placeholder (a brace that means itself is written twice)"
                raise fault(problem, *place, found=shown, expected=_EXPECTED)
            if name == "messages" and shown != text:
                expected = f"{shown} alone: it is a list; {{text}} is a text"
                raise fault("a list within a text", *place, found=text, expected=expected)
    return template


def _leaves(template: Any, *place: int | str) -> Iterator[tuple[tuple[int | str, ...], str]]:
    """Texts of a template, each with the names and numbers that lead there."""
    if isinstance(template, str):
        yield place, template
    elif isinstance(template, dict | list):
        inside = template.items() if isinstance(template, dict) else enumerate(template)
        for name, inner in inside:
            yield from _leaves(inner, *place, name)


def _names(text: str) -> list[str]:
    """Placeholders of a text, without those of the environment."""
    return [name for name in BY_NAME.findall(text) if name and not name.startswith(_ENV)]


def _of_case(text: str) -> list[str]:
    """Placeholders of a text for parts of the case."""
    return [name for name in _names(text) if name.split(".")[0] in _CASE]


def _check_expression(text: str) -> str:
    try:
        jmespath.compile(text)
    except JMESPathError as error:
        problem = f"not a JMESPath expression: {str(error).splitlines()[0]}"
        expected = "for example choices[0].message.content (https://jmespath.org)"
        raise fault(problem, found=text, expected=expected) from None
    return text


Template = Annotated[JsonValue, BeforeValidator(_unquoted), AfterValidator(_check_places)]
Text = Annotated[str, Field(min_length=1)]
TextTemplate = Annotated[Text, BeforeValidator(_unquoted), AfterValidator(_check_places)]
Expression = Annotated[Text, AfterValidator(_check_expression)]


class TokenExpressions(Strict):
    """Expressions for the tokens that an answer took."""

    input: Expression
    output: Expression


class TargetFile(Strict):
    """The file of a target."""

    name: Name
    """Name of its results."""
    url: TextTemplate
    headers: dict[str, TextTemplate] = Field(default_factory=dict)
    body: Template
    reply: Expression
    """Expression for the reply in an answer, or in each line of a stream."""
    refused: Expression | None = None
    """Expression that is true where the bot itself says that it, or a filter, declined."""
    usage: TokenExpressions | None = None
    session: Expression | None = None
    """Expression for the id of the conversation in the first answer; without it, casewise makes the
    ids."""
    history: Literal["refuse", "replay"] = "refuse"
    """Policy on earlier turns of a case, where the bot keeps the history itself."""
    stream: Annotated[bool, Field(strict=True)] = False
    """True if the answer comes in lines: JSON, or server-sent events (data: JSON)."""
    end: Text | None = None
    """Last line of a whole stream: a text such as [DONE], or an expression that is true there; a
    stream that ends before is a fault."""
    timeout: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Seconds after which a request is given up and sent again, unless the run sets them."""

    @field_validator("headers", "body")
    @classmethod
    def _no_secrets(cls, value: Any, info: ValidationInfo) -> Any:
        shortest = _SHORTEST_IN_BODY if info.field_name == "body" else 0
        for place, text in _leaves(value):
            name = str(place[-1]) if place else ""
            if len(text) >= shortest and exposes_secret(name, text):
                _refuse_secret(name, text, *place)
        return value

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        for name, value in secrets_of_address(url):
            if name != "user":
                _refuse_secret(name, value)
        if "{env:" not in url and (problem := address_problem(url)):
            raise fault(problem, found=redacted(url.rsplit("@", 1)[-1]), expected=_ADDRESS)
        for name in _of_case(url):
            before = url.partition(f"{{{name}}}")[0]
            if not re.search("[/?]", re.sub("^.*?://", "", before)):
                # Whoever writes the cases must not choose who gets the headers.
                raise fault(f"{{{name}}} can't choose the host", found=url, expected=_ADDRESS)
        return url

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for place, text in self._templates:
            if any(_PLACEHOLDER.search(str(part)) for part in place):
                raise fault("a placeholder can't stand in a name", *place, expected="a value")
            stray = [name for name in _names(text) if name.split(".")[0] not in _ANYWHERE]
            if stray and place[0] in ("url", "headers"):
                anywhere = in_braces((*_ANYWHERE, "context.PATH"))
                expected = f"{anywhere} or {{env:NAME}} there; the rest in the body"
                raise fault(f"{{{stray[0]}}} can't stand here", *place, expected=expected)
        if not self.places & {"messages", "text", "last"}:
            expected = "{messages}, {text} or {last} in the body"
            raise fault("nothing sends the conversation", "body", expected=expected)
        sessions = {text for _, text in self._templates if "{session}" in text}
        if self.session is not None and sessions != {"{session}"}:
            expected = "{session} as a whole value, left out of the first request"
            raise fault("nothing sends it back, or not alone", "session", expected=expected)
        if self.history == "replay" and "session" not in self.places:
            raise fault("only a bot with sessions can be sent earlier turns", "history")
        if self.end is not None:
            if not self.stream:
                raise fault("only a stream has an end", "end", expected="stream: true")
            if not self.end.startswith("["):
                _check_expression(self.end)
        return self

    @property
    def _templates(self) -> list[tuple[tuple[int | str, ...], str]]:
        return list(_leaves(self.model_dump(include={"url", "headers", "body"})))

    @cached_property
    def places(self) -> frozenset[str]:
        """Placeholders in the file, without those of the environment."""
        return frozenset(name for _, text in self._templates for name in _names(text))

    @cached_property
    def variables(self) -> dict[str, str]:
        """Environment variables in the file, each with the first field that needs it."""
        return {
            name.removeprefix(_ENV): ".".join(map(str, place))
            for place, text in reversed(self._templates)
            for name in BY_NAME.findall(text)
            if name.startswith(_ENV)
        }

    def missing(self) -> str:
        """Message on variables that the environment lacks; empty if it has all."""
        return "; ".join(
            f"field {at!r}: {name} is not set in the environment"
            for name, at in self.variables.items()
            if not os.environ.get(name, "").strip()
        )

    def environment(self) -> dict[str, str]:
        """Values of its variables as placeholders; from now on they are redacted as keys are."""
        # A file's last line break is no part of a key.
        values = {name: os.environ.get(name, "").strip() for name in self.variables}
        keep_secret(*(values[name] for name, at in self.variables.items() if at != "url"))
        return {f"{_ENV}{name}": value for name, value in values.items()}

    @cached_property
    def context_parts(self) -> frozenset[str]:
        """Placeholders for the case's context, or parts of it."""
        return frozenset(name for name in self.places if name.split(".")[0] == "context")

    def case_problem(self, case: Mapping[str, Any]) -> str | None:
        """Message on a value of a case that its place can't hold; None if all fit.

        Args:
            case: Its query, context and category.
        """
        for place, text in self._templates:
            for name in _of_case(text):
                value = text_of(value_of(case, name))
                if place[0] == "url" and not value.strip("."):
                    return (
                        f"{{{name}}} stands in the url, and has no value (a context is sent under "
                        "--delivery system alone; for a check: casewise run --limit 2 --cases FILE)"
                    )
                if place[0] == "headers" and not (value.isascii() and value.isprintable()):
                    return (
                        f"{{{name}}} stands in the header {place[1]}, which takes one line of "
                        "ASCII; a case has more there: send it in the body"
                    )
        return None

    @property
    def sends_history(self) -> bool:
        """Tell whether a request holds the earlier turns."""
        return not self.places.isdisjoint(("messages", "text"))

    def conversation_problem(self, roles: Sequence[str]) -> str | None:
        """Message on a part of a conversation that no request would hold; None if all is sent.

        Args:
            roles: Roles of the messages before the bot's first reply, the user's last.
        """
        if "system" in roles and self.places.isdisjoint(("messages", "text", "system")):
            return (
                "it has no place for the system message, in which the deployer speaks: add "
                "{system} or {messages} to the body, or {context...}, if the bot gets the "
                "context otherwise; or run with --delivery none, under which it follows its own"
            )
        earlier = [role for role in roles[:-1] if role != "system"]
        replays = self.history == "replay" and "tool" not in roles
        if not earlier or self.sends_history or replays:
            return None
        if "session" in self.places:
            return (
                "a case begins with turns that the bot, which keeps its own history, has not "
                "seen: with 'history: replay' its user turns are sent first, and answered anew; "
                "with {messages} or {text} in the body all are sent"
            )
        return (
            "it has no place for the earlier turns of a case: add {messages} or {text} to the body"
        )


_SHORTEST_IN_BODY = 12
"""Minimum length of a secret in a body: 'key: faq' is none."""
_ADDRESS = "http://HOST:PORT/PATH or https://HOST/PATH"


def address_problem(url: str) -> str | None:
    """Reason why no request can be sent to an address; None if it can."""
    if not is_web_address(url):
        return "no address of a web server"
    named = urlsplit(url).username is not None
    return "a name or password in the address: send them in a header" if named else None


def _refuse_secret(name: str, value: str, *place: int | str) -> None:
    """Refuse a secret, which others could read in the file, unless it is a variable's."""
    if BY_NAME.search(value) is None:
        expected = "{env:NAME}, the environment variable that holds it"
        raise fault(f"{name!r} holds a secret", *place, expected=expected)
