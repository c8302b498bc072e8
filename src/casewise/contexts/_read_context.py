"""Read models' answers: a context, twins, or the critic's review."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml

from casewise.cases import GROUPS, Side
from casewise.contexts._making import ContextFault, Fault, place_of

LONGEST = 50_000
"""Most characters of an answer that are read."""

MOST_OBJECTS = 50
"""Most opening braces of an answer that are tried."""

CONTEXT = "context"
PAIR = ("shared", "safe", "unsafe")
"""Parts of an answer that gives both twins at once."""

_REASONING = re.compile(
    r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)|\A.*</(?:think|thinking|reasoning)>", re.S | re.I
)
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True, slots=True)
class Written:
    """One part of an answer."""

    values: Mapping[str, str]
    extra: tuple[str, ...]
    """Names that are no parameters."""


def read_answer(text: str, sections: Sequence[str]) -> dict[str, Written] | None:
    """Read the parts of an answer; None where it holds no object with any parameter.

    Read are JSON and what comes close to it: in a code block, with prose around it, behind
    reasoning, with single quotes, bare keys or trailing commas, wrapped in another object, flat
    or in groups. Of several objects the one with most parameters counts, and of those the last.
    Scalars and lists of them are text; a mapping in a text's place is none.

    Args:
        text: What the model wrote; any string.
        sections: ``(CONTEXT,)`` for one context, else ``PAIR``.
    """
    text = _REASONING.sub("", text[:LONGEST])
    best: dict[str, Written] | None = None
    most = 0
    for root in _objects(text):
        parts = _sections(root, sections)
        count = sum(len(part.values) for part in parts.values())
        if count and count >= most:
            best, most = parts, count
    return best


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(strict=False)
    at, tried, broken = text.find("{"), 0, False
    while at >= 0 and tried < MOST_OBJECTS:
        tried += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end, broken = at + 1, True
        else:
            if isinstance(value, dict):
                yield value
        at = text.find("{", end)
    if broken:
        yield from _yaml_object(text[text.find("{") : text.rfind("}") + 1])


def _yaml_object(text: str) -> Iterator[dict[str, Any]]:
    """An object in YAML's flow style: with single quotes, bare keys, trailing commas."""
    try:
        # Aliases make a small text large or endless once built.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=_LOADER)):
            return
        value = yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value


def _sections(root: Mapping[str, Any], sections: Sequence[str]) -> dict[str, Written]:
    if len(sections) == 1:
        return {sections[0]: _section(root)}
    parts = {_plain(name).removesuffix("_context"): value for name, value in root.items()}
    if len(parts) == 1 and isinstance(inner := next(iter(parts.values())), dict):
        parts = {_plain(name).removesuffix("_context"): value for name, value in inner.items()}
    return {
        name: _section(parts[name] if isinstance(parts.get(name), dict) else {})
        for name in sections
    }


def _section(root: Mapping[str, Any]) -> Written:
    values: dict[str, str] = {}
    extra: list[str] = []
    _walk(root, (), values, extra)
    return Written(values, tuple(extra))


_WRAPPERS = frozenset(
    {"context", "safe_context", "unsafe_context", "situation", "description", "safe", "unsafe"}
)


def _walk(
    root: Mapping[str, Any], above: tuple[str, ...], values: dict[str, str], extra: list[str]
) -> None:
    for key, value in root.items():
        name = _plain(key)
        place = place_of(".".join((*above, name)))
        text = _text(value)
        if place is not None:
            if text is not None and place not in values:
                values[place] = text
        elif isinstance(value, dict) and not above and name in GROUPS:
            _walk(value, (name,), values, extra)
        elif isinstance(value, dict) and not above and name in _WRAPPERS:
            _walk(value, (), values, extra)
        else:
            extra.append(".".join((*above, name)))


def _plain(key: object) -> str:
    return re.sub(r"[\s-]+", "_", str(key).strip().lower())


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str | int | float):
        # Half of a surrogate pair can't be written to a file.
        return " ".join(str(value).encode("utf-8", "replace").decode().split())
    if isinstance(value, list):
        parts = [_text(item) for item in value]
        return "; ".join(part for part in parts if part) if None not in parts else None
    return None


LONGEST_LINE = 200
"""Most characters of a verdict line."""

SHOWN = 400
"""Most characters of the critic's reason that are kept."""

_MARKUP = " \t`*"
_BLANK = re.compile(r"[\s`*]*|\s*(?:```|~~~)\w*\s*")
_REVIEW_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)


@dataclass(frozen=True, slots=True)
class Review:
    """Review of a context by the model critic."""

    verdict: Literal["pass", "fail"] | None
    """None where no verdict can be read."""
    reason: str

    def fault(self, side: Side) -> Fault | None:
        """Fault that the review finds; None if the context passes."""
        if self.verdict == "pass":
            return None
        if self.verdict == "fail":
            return Fault(ContextFault.CRITIC, self.reason or "turned down without a reason", side)
        return Fault(ContextFault.UNCHECKED, self.reason, side)


def read_review(text: str, nonce: str) -> Review:
    """Read the verdict at the end of a critic's answer.

    Only the last line that is not blank is read (the marks of a code block count as blank). It
    must be the JSON object that was asked for: the context's nonce, pass or fail, and no more.

    Args:
        text: What the critic wrote; any string.
        nonce: The context's, from ``review_nonce``.
    """
    ending = read_ending(_REVIEW_REASONING.sub("", text), SHOWN)
    if ending is None:
        return Review(None, "the critic's answer is empty")
    match ending.entries:
        case [("id", str(given)), ("verdict", "pass" | "fail" as verdict)] if given == nonce:
            return Review(verdict, ending.reason)
    return Review(None, "the critic's answer ends in no verdict")


@dataclass(frozen=True, slots=True)
class Ending:
    """Last line of an answer, where its verdict belongs, and the reason before it."""

    entries: list[tuple[str, Any]] | None
    """Entries of the JSON object on the last line, sorted; repeated keys are kept. None where there
    is no object."""
    reason: str
    """Text before it, shortened, and without what can't be stored."""


def read_ending(text: str, shown: int) -> Ending | None:
    """Find the last line that is not blank, and the reason before it; None in a blank answer.

    The marks of a code block count as blank.

    Args:
        text: Any string.
        shown: Characters of the reason that are kept.
    """
    lines = [line for line in text.splitlines() if not _BLANK.fullmatch(line)]
    if not lines:
        return None
    words = " ".join(lines[:-1])[: 5 * shown].encode("utf-8", "replace").decode()
    reason = textwrap.shorten(words, shown, placeholder=" ...") if words.strip() else ""
    last = lines[-1].strip(_MARKUP)
    if len(last) > LONGEST_LINE:
        return Ending(None, reason)
    try:
        pairs = json.loads(last, object_pairs_hook=tuple)
    except ValueError:
        return Ending(None, reason)
    # An object is a tuple of pairs, so that a key that stands twice is seen.
    return Ending(sorted(pairs, key=str) if isinstance(pairs, tuple) else None, reason)
