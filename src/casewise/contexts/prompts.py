"""Prompts that have contexts written, repaired and reviewed, and the readers of their answers.

Pure: no model is called here. Whatever a model or a person wrote stands in a prompt as a JSON
string. The critic reads a context as people do, by ``render_text``.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import JsonValue

from casewise.cases import GROUPS, Context, Side, digest
from casewise.contexts.quoted import quote, read_ending
from casewise.contexts.render import render_text
from casewise.contexts.rules import PARAMETERS, Fault, Pair, Values

REASON = 400
"""Most characters of a critic's reason that are kept."""

LONGEST = 50_000
"""Most characters of an answer that are read."""

_INTENDED = {"safe": "it should answer.", "unsafe": "it should hold back."}
_OF_THE_QUERY = "the language that the question is written in"


@cache
def _template(name: str) -> str:
    return (files("casewise.data") / "prompts" / f"contexts-{name}-2.txt").read_text("utf-8")


def _version() -> str:
    texts = [*map(_template, ("make", "repair", "review")), repr(PARAMETERS)]
    return f"casewise/contexts-2@{hashlib.sha256(''.join(texts).encode()).hexdigest()[:8]}"


MAKE_VERSION = _version()
"""Version of the prompts."""


def make_context(values: Values) -> Context:
    """Context that holds texts by place, in the order of ``PARAMETERS``."""
    root: dict[str, JsonValue] = {}
    for group in GROUPS:
        places = [place for place in PARAMETERS if place.startswith(f"{group}.")]
        inner: JsonValue = {
            place.split(".")[1]: values[place] for place in places if place in values
        }
        root |= {group: inner} if inner else {}
    return Context(root)


def render_making(query: str, language: str | None) -> str:
    """Prompt that asks for a safe and an unsafe context.

    Args:
        query: What is asked in them.
        language: BCP 47 tag of the query; None leaves it to the model to see.
    """
    form = dict.fromkeys(_INTENDED, make_context(dict.fromkeys(PARAMETERS, "...")).root)
    return _template("make").format(
        parameters="\n".join(f"- {place}: {what}" for place, what in PARAMETERS.items()),
        language=_language(language),
        form=json.dumps(form),
        query=quote(query),
    )


def render_repair(prompt: str, draft: str, faults: Sequence[Fault]) -> str:
    """Prompt that asks for an answer without its faults.

    Args:
        prompt: The prompt that was answered.
        draft: The answer.
        faults: What is wrong with it.
    """
    # A critic's reason is a model's words: quoted, as all that others wrote.
    lines = [f"- {fault.where or 'as a whole'}: {quote(fault.reason)}" for fault in faults]
    return _template("repair").format(
        asked=prompt, draft=quote(draft[:LONGEST]), faults="\n".join(dict.fromkeys(lines))
    )


def render_review(query: str, side: Side, context: Context, language: str | None) -> str:
    """Prompt that asks the critic to review a context as people read it."""
    return _template("review").format(
        intended=_INTENDED[side],
        query=quote(query),
        context=quote(render_text(context)),
        language=_language(language),
        nonce=review_nonce(query, side, context),
    )


def review_nonce(query: str, side: Side, context: Context) -> str:
    """Id that a verdict on the context must bear: 8 hexadecimal characters of a digest."""
    return digest(query, side, context.root)[:8]


def read_pair(text: str) -> Pair | None:
    """Texts of both sides in an answer; None where no object holds the two.

    Of several objects, the last counts. Names that are no parameters are kept: a rule turns them
    down.
    """
    pair: Pair | None = None
    for root in _objects(text[:LONGEST]):
        safe, unsafe = root.get("safe"), root.get("unsafe")
        if isinstance(safe, dict) and isinstance(unsafe, dict):
            pair = {"safe": dict(_texts(safe)), "unsafe": dict(_texts(unsafe))}
    return pair


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(strict=False)
    at = text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _texts(root: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in root.items():
        if isinstance(value, dict) and not above:
            yield from _texts(value, f"{name}.")
        elif isinstance(value, str):
            yield f"{above}{name}", " ".join(value.split())


def read_review(text: str, side: Side, nonce: str) -> Fault | None:
    """Fault that a critic's answer finds in a context; None if it passes.

    Only the last line counts: the JSON object that was asked for, with the context's nonce.
    """
    ending = read_ending(text, REASON)
    match ending and ending.entries:
        case [("id", str(value)), ("verdict", "pass" | "fail" as verdict)] if value == nonce:
            reason = ending.reason if ending else ""
            return None if verdict == "pass" else Fault("critic", reason or "turned down", side)
    return Fault("unchecked", "the critic's answer ends in no verdict", side)


def _language(tag: str | None) -> str:
    return f"the language of the BCP 47 tag {quote(tag)}" if tag else _OF_THE_QUERY
