"""The document for an ethics board: what people see, what is kept of them, what they are paid."""

import html
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from casewise.sheets import markdown_to_html
from casewise_study.app_study.screens import Screens
from casewise_study.app_study.site import SentAnswer
from casewise_study.study.language import HEADING
from casewise_study.study.page_signals import hidden_word
from casewise_study.study.planning import forecast, open_points
from casewise_study.study.reading_times import SLOW, USUAL, pages_of, reading
from casewise_study.study.schema import Study
from casewise_study.votes.data_card import quote, render_markdown
from casewise_study.votes.screening_words import rules_in_words

_MARKS = (
    (r"\s*\n\s*", " "),
    (r'<h1 class="quiet".*?</h1>', ""),
    (r"<(?:h\d|summary|legend)[^>]*>", f"\n{HEADING}"),
    (r'<input type="(?:radio|checkbox)"[^>]*>', "\n( ) "),
    (r'<input type="hidden"[^>]*>', ""),
    (r"<(?:input|textarea)[^>]*>", "\n[ ... ]"),
    (r'<(?:button|a class="button)[^>]*>', "\n[ "),
    (r"</button>|(?<=\w)</a>(?= *</p>)", " ]\n"),
    (r"</dt>", ": "),
    (r"</?(?:h\d|p|div|li|dt|summary|legend|fieldset|blockquote|pre)\b[^>]*>", "\n"),
)
"""Marks of what is no text, in the order in which they are set."""


def _as_text(page: str) -> str:
    """The words, fields and buttons of a page as a quotation in Markdown."""
    shown = re.sub(r"(?s)<(\w+)[^>]*\shidden(?=[\s>]).*?</\1>", "", page)
    for pattern, mark in _MARKS:
        shown = re.sub(pattern, mark, shown)
    lines = (" ".join(line.split()) for line in re.sub(r"<[^>]+>", "", shown).split("\n"))
    return quote("\n\n".join(html.unescape(line) for line in lines if line))


def ethics_document(study: Study) -> tuple[str, str]:
    """The document as Markdown, and as a page that is made to be printed.

    Its template says which screens stand in it; each is a template of the study's pages, for
    a person who takes part.
    """
    made, pages, read = Screens(study), pages_of(study, 0), reading(study)
    example: dict[str, Any] = {
        **{"examples": made.examples, "questions": study.comprehension.questions, "form": ""},
        **{"own_address": "https://study.example/resume/...", "personal_code": "7K3Q-M2ZX-9HTY"},
        **{"left": study.comprehension.attempts, "pages": len(pages), "wait": 0},
        **{"word": hidden_word(study, 0, 0), "sent": SentAnswer(form=""), "problem": None},
        **{"given": {}, "missed": (), "code": "CODE", "back": None},
    }
    values = {
        "study": study,
        "open": open_points(study),
        "forecast": forecast(study),
        "minutes": {"median": read.session_minutes(USUAL), "slow": read.session_minutes(SLOW)},
        "pace": [f"{pace.words * read.speed:.0f}" for pace in (USUAL, SLOW)],
        "pay": forecast(study).pay_each,
        "rules": tuple(rules_in_words(study.screening)),
        "case": (1, made.content(pages[0])),
        "check": next(
            ((page.position + 1, made.content(page)) for page in pages if page.check), None
        ),
    }

    def document(show: Callable[[str], str]) -> str:
        def screen(template: str, **more: Any) -> str:
            found = re.search(r"(?s)<main.*</main>", made.render(template, example | more))
            assert found is not None
            return show(found[0].replace('<details class="aside">', '<details class="aside" open>'))

        return render_markdown("ethics.md.j2", values | {"screen": screen})

    shown = list[str]()

    def place(page: str) -> str:
        shown.append(page)
        return f"SCREEN-{len(shown)}-"

    body = markdown_to_html(document(place))
    for number, page in enumerate(shown, 1):
        framed = f'<div class="screen" inert>{page}</div>'
        body = body.replace(f"<p>SCREEN-{number}-</p>", framed, 1)
    styles = [(files("casewise_study.app_study") / "static/study.css").read_text("utf-8")]
    return document(_as_text), render_markdown(
        "ethics.html.j2", {"title": html.escape(study.title), "body": body, "styles": styles}
    )
