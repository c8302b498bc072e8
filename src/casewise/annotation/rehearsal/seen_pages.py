"""A page of the study as a simulated browser sees it."""

import re
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag

from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_file import study_cases
from casewise.contexts import render_text

Words = tuple[tuple[str, ...], tuple[str, ...]]
"""Of a query and of its context, punctuation left out."""


@dataclass(frozen=True, slots=True)
class SentForm:
    """A form: where it goes, and what it holds before anything is chosen."""

    action: str
    fields: dict[str, str]


class SeenPage:
    """A page's words and forms, read from its HTML alone."""

    def __init__(self, html: str) -> None:
        self._soup = BeautifulSoup(html, "html.parser")

    @property
    def state(self) -> str:
        """What the first heading says, for programs: complete, withdrawn, or nothing."""
        heading = self._soup.select_one("h1[data-state]")
        return str(heading["data-state"]) if heading else ""

    def form(self, action: str) -> SentForm | None:
        """The form that goes to an address."""
        element = self._soup.find("form", attrs={"action": action})
        if not isinstance(element, Tag):
            return None
        hidden = element.find_all("input", attrs={"type": "hidden"})
        return SentForm(action, {str(field["name"]): str(field["value"]) for field in hidden})

    def questions(self) -> list[tuple[str, str, dict[str, str]]]:
        """Of the comprehension check: each question's text, its name, and options by their text."""
        questions = []
        for fieldset in self._soup.find_all("fieldset"):
            legend = fieldset.find("legend")
            options = {
                label.get_text(" ", strip=True): (
                    str(label.input["name"]),
                    str(label.input["value"]),
                )
                for label in fieldset.find_all("label")
                if label.input is not None
            }
            if legend is not None and options:
                name = next(iter(options.values()))[0]
                values = {text: value for text, (_, value) in options.items()}
                questions.append((legend.get_text(" ", strip=True), name, values))
        return questions

    def case(self) -> Words:
        """The words of the query and of the context that are shown."""
        query = self._soup.select_one("section.query blockquote")
        context = self._soup.select_one("section.context dl, section.context pre")
        return (
            _words(query.get_text(" ") if query else ""),
            _words(context.get_text(" ") if context else ""),
        )

    @property
    def words(self) -> int:
        """How many there are to read: on a case's page in the case and its question."""
        parts = self._soup.select(".case, .verdicts legend") or self._soup.select("main")
        return sum(len(part.get_text(" ").split()) for part in parts)

    @property
    def holds_hidden_text(self) -> bool:
        """Whether its source has a field that people don't see."""
        return self._soup.select_one("input[name=word]") is not None

    @property
    def wait(self) -> float:
        """Seconds until an answer is taken."""
        element = self._soup.select_one("form[data-wait]")
        return float(str(element["data-wait"])) if element else 0.0

    @property
    def code(self) -> str | None:
        """The code of the last page."""
        element = self._soup.select_one("#code")
        return element.get_text(strip=True) if element else None


def known_pages(study: Study) -> dict[Words, int | str]:
    """Map the words of each page to its cell's place, or to its attention check's id.

    A person knows nothing of ids and arms, so a page is known by its words alone: what the
    database says was shown is held against what was shown.
    """
    pages: dict[Words, int | str] = {}
    for check in study.attention.checks:
        context = render_text(check.context) if check.context else ""
        pages[_words(check.query), _words(context)] = check.id
    for place, case in enumerate(study_cases(study)):
        context = render_text(case.context) if case.context and case.context.root else ""
        pages[_words(case.query), _words(context)] = place
    return pages


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text))
