"""The pages of a study, rendered from its file: as people see them, whoever they are shown to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import JsonValue

from casewise import __version__
from casewise.cases import Context, Turn
from casewise.contexts import parameter_title, render_text
from casewise_study.study.language import paragraphs
from casewise_study.study.reading_times import Page
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases, study_language


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A parameter, or a group of them."""

    title: str
    text: str | None
    """None for a group."""
    parts: tuple["ContextPart", ...] = ()


@dataclass(frozen=True, slots=True)
class ShownCase:
    """Case as a page shows it."""

    query: str
    text: str | None
    """The context as ``render_text`` gives it; None without one."""
    parts: tuple[ContextPart, ...] = ()
    """The same words as a list; empty where they would not be the same."""
    history: tuple[Turn, ...] = ()


def shown(query: str, context: Context | None, history: tuple[Turn, ...] = ()) -> ShownCase:
    """Prepare a query in its context for a page."""
    if context is None or not context.root:
        return ShownCase(query, None, history=history)
    text = render_text(context)
    parts = tuple(_parts(context.root))
    same = "\n".join(_lines(parts, 0)) == text
    return ShownCase(query, text, parts if same else (), history)


def _parts(value: dict[str, JsonValue]) -> Iterator[ContextPart]:
    for name, inner in value.items():
        title = parameter_title(name)
        if isinstance(inner, dict) and inner:
            yield ContextPart(title, None, tuple(_parts(inner)))
        else:
            yield ContextPart(title, render_text(Context({name: inner})).removeprefix(f"{title}: "))


def _lines(parts: tuple[ContextPart, ...], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for part in parts:
        if part.text is None:
            yield f"{indent}{part.title}:"
            yield from _lines(part.parts, depth + 1)
        else:
            yield f"{indent}{part.title}: {part.text}"


class Screens:
    """Templates in a study's language, with its texts and cases; values are always escaped."""

    def __init__(self, study: Study, trial: tuple[str, ...] | None = None) -> None:
        self.study = study
        self._language = study_language(study)
        self._templates = Environment(
            loader=PackageLoader(__package__ or ""),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["paragraphs"] = paragraphs
        self._templates.globals |= {"study": study, "version": __version__, "trial": trial}
        self._templates.globals |= {"_": self._say, "ngettext": self._say_many}
        self._templates.globals["examples"] = [
            (example, shown(example.query, example.context)) for example in study.tutorial
        ]
        # Compiled before the first person comes.
        for name in self._templates.list_templates():
            self._templates.get_template(name)
        self.content = lru_cache(maxsize=8192)(self._content)

    def _content(self, page: Page) -> ShownCase:
        """Contents of a page: the same for a case and for a check."""
        if page.place is None:
            check = self.study.check(page.check)
            return shown(check.query, check.context)
        case = study_cases(self.study)[page.place]
        return shown(case.query, case.context, case.history)

    def _say(self, message: str, **fields: object) -> Markup:
        """A message in the study's language; fields are escaped, and numbers written as usual."""
        return Markup(self._language.say(message)) % {
            name: self._language.number(value) if isinstance(value, int) else value
            for name, value in fields.items()
        }

    def _say_many(self, singular: str, plural: str, number: int) -> Markup:
        markup = Markup(self._language.say_many(singular, plural, number))
        return markup % {"num": self._language.number(number)}

    def say(self, message: str) -> str:
        """A message in the study's language."""
        return self._language.say(message)

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """A page's HTML."""
        usual = dict.fromkeys(("person", "own_address", "personal_code", "problem", "waiting"))
        return self._templates.get_template(template).render({**usual, "code": None, **values})
