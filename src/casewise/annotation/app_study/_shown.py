"""A case as people read it: the very words that judges read."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from casewise.cases import Case, Context, Turn
from casewise.contexts import parameter_title, render_text


@dataclass(frozen=True, slots=True)
class Part:
    """A parameter, or a group of them."""

    title: str
    text: str | None
    """None for a group."""
    parts: tuple["Part", ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows of a case."""

    query: str
    text: str | None
    """The context as ``render_text`` gives it; None without one."""
    parts: tuple[Part, ...] = ()
    """The same words as a list; empty where they would not be the same."""
    history: tuple[Turn, ...] = ()


def shown_case(case: Case) -> Shown:
    """A case of the study."""
    return shown(case.query, case.context, case.history)


def shown(query: str, context: Context | None, history: tuple[Turn, ...] = ()) -> Shown:
    """A query in its context."""
    if context is None or not context.root:
        return Shown(query, None, history=history)
    text = render_text(context)
    parts = tuple(_parts(context.root))
    same = "\n".join(_lines(parts, 0)) == text
    return Shown(query, text, parts if same else (), history)


def _parts(value: dict[str, JsonValue]) -> Iterator[Part]:
    for name, inner in value.items():
        title = parameter_title(name)
        if isinstance(inner, dict) and inner:
            yield Part(title, None, tuple(_parts(inner)))
        else:
            yield Part(title, render_text(Context({name: inner})).removeprefix(f"{title}: "))


def _lines(parts: tuple[Part, ...], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for part in parts:
        if part.text is None:
            yield f"{indent}{part.title}:"
            yield from _lines(part.parts, depth + 1)
        else:
            yield f"{indent}{part.title}: {part.text}"
