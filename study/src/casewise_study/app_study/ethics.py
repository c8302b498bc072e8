"""The document for an ethics board: what people see, what is kept of them, what they are paid."""

import html
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from casewise.errors import UsageError
from casewise.sheets import escape, markdown_to_html
from casewise_study.app_study.screens import Screens
from casewise_study.app_study.site import SentAnswer
from casewise_study.study.page_signals import hidden_word
from casewise_study.study.planning import forecast, open_points, session_pay
from casewise_study.study.reading_times import SLOW, USUAL, pages_of, reading
from casewise_study.study.schema import Study
from casewise_study.votes.collected import Collected, PersonStatus, active_minutes
from casewise_study.votes.data_card import render_markdown
from casewise_study.votes.signals import rules_in_words

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "msedge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
"""Browsers that print a page to a file, by name or path."""

_PRINT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class SessionMinutes:
    """Minutes of a session."""

    median: float
    slow: float
    """Of the slow tenth."""
    source: str

    @classmethod
    def by_words(cls, study: Study) -> "SessionMinutes":
        """Minutes of the longest session by its words; the slow end of most adults is the tenth."""
        read = reading(study)
        said = (
            f"by the words that people read, at {USUAL.words * read.speed:.0f} words a minute, and "
            f"at {SLOW.words * read.speed:.0f}, the slow end of most adults, as the slow tenth"
        )
        return cls(read.session_minutes(USUAL), read.session_minutes(SLOW), said)

    @classmethod
    def measured(cls, pilot: Study, collected: Collected) -> "SessionMinutes":
        """Minutes at work of those who finished a pilot.

        Raises:
            UsageError: Nobody has finished it.
        """
        active = active_minutes(pilot, collected)
        done = (one.rater for one in collected.people if one.status is PersonStatus.COMPLETED)
        taken = [active[rater] for rater in done if rater in active]
        if not taken:
            raise UsageError("--from-pilot: nobody has finished it yet, so no time is known")
        said = f"as measured in a pilot of {len(taken)} people"
        return cls(float(np.quantile(taken, 0.5)), float(np.quantile(taken, 0.9)), said)


@dataclass(frozen=True, slots=True)
class Screen:
    """A page as people see it."""

    title: str
    html: str
    """Its main part."""

    @property
    def text(self) -> str:
        """The words, fields and buttons as a quotation in Markdown."""
        shown = re.sub(r"(?s)<(\w+)[^>]*\shidden(?=[\s>]).*?</\1>", "", self.html)
        for pattern, mark in _MARKS:
            shown = re.sub(pattern, mark, shown)
        lines = (" ".join(line.split()) for line in re.sub(r"<[^>]+>", "", shown).split("\n"))
        return "\n>\n".join(f"> {_quoted(html.unescape(line))}" for line in lines if line)


_HEADING = "\x01"
_MARKS = (
    (r"\s*\n\s*", " "),
    (r'<h1 class="quiet".*?</h1>', ""),
    (r"<(?:h\d|summary|legend)[^>]*>", f"\n{_HEADING}"),
    (r'<input type="(?:radio|checkbox)"[^>]*>', "\n( ) "),
    (r'<input type="hidden"[^>]*>', ""),
    (r"<(?:input|textarea)[^>]*>", "\n[ ... ]"),
    (r'<(?:button|a class="button)[^>]*>', "\n[ "),
    (r"</button>|(?<=\w)</a>(?= *</p>)", " ]\n"),
    (r"</dt>", ": "),
    (r"</?(?:h\d|p|div|li|dt|summary|legend|fieldset|blockquote|pre)\b[^>]*>", "\n"),
)
"""Marks of what is no text, in the order in which they are set."""


def _quoted(line: str) -> str:
    heading = line.removeprefix(_HEADING).strip()
    return f"**{escape(heading)}**" if line.startswith(_HEADING) else escape(line)


@dataclass(frozen=True, slots=True)
class _Somebody:
    """Person of an example."""

    status: PersonStatus
    attempts: int = 0


def screens(study: Study) -> Iterator[Screen]:
    """Every page that people see, from the consent to each end, in the study's language."""
    made, questions = Screens(study), study.comprehension.questions
    pages = pages_of(study, 0)
    active, end = _Somebody(PersonStatus.ACTIVE), {"code": "CODE", "back": None, "form": ""}
    check = next((page for page in pages if page.check is not None), None)
    shown = [("A case", pages[0])] + [("An attention check", check)] * (check is not None)
    every: list[tuple[str, str, dict[str, Any]]] = [
        ("Consent", "consent.html", {"problem": None}),
        ("Who does not agree", "declined.html", {}),
        ("Instructions", "tutorial.html", {"examples": made.examples, "questions": questions}),
        *[
            ("Questions", "check.html", {"given": {}, "missed": (), "problem": None})
            for _ in questions[:1]
        ],
        *[
            (title, "page.html", {"number": page.position + 1, "shown": made.content(page)})
            for title, page in shown
            if page is not None
        ],
        *[("Last questions", "about.html", {})] * study.asks_about,
        ("Withdrawal", "withdraw.html", {"where": "/"}),
    ]
    ends = {
        "The end": PersonStatus.COMPLETED,
        "Who failed the questions": PersonStatus.SCREENED_OUT,
        "Who has withdrawn": PersonStatus.WITHDRAWN,
    }
    same = {
        "person": active,
        "own_address": "https://study.example/resume/...",
        "personal_code": "7K3Q-M2ZX-9HTY",
        "left": study.comprehension.attempts,
        "pages": len(pages),
        "wait": 0,
        "word": hidden_word(study, 0, 0),
        "sent": SentAnswer(form=""),
        "problem": None,
        **end,
    }
    for title, template, values in every:
        yield _screen(title, made.render(template, same | values))
    for title, status in ends.items():
        yield _screen(title, made.render("done.html", same | {"person": _Somebody(status)}))


def _screen(title: str, page: str) -> Screen:
    found = re.search(r"(?s)<main.*</main>", page)
    assert found is not None
    return Screen(
        title, found[0].replace('<details class="aside">', '<details class="aside" open>')
    )


def ethics_document(study: Study, minutes: SessionMinutes) -> tuple[str, str]:
    """The document as Markdown, and as a page that is made to be printed."""
    shown = tuple(screens(study))
    values = {
        "study": study,
        "screens": shown,
        "open": open_points(study),
        "forecast": forecast(study),
        "minutes": minutes,
        "pay": session_pay(study),
        "rules": tuple(rules_in_words(study.screening)),
        "as_seen": lambda one: one.text,
    }
    text = render_markdown("ethics.md.j2", values)
    places = {f"SCREEN-{number}": one.html for number, one in enumerate(shown)}
    by_place = values | {"as_seen": lambda one: f"SCREEN-{shown.index(one)}"}
    body = markdown_to_html(render_markdown("ethics.md.j2", by_place))
    for place, page in places.items():
        body = body.replace(f"<p>{place}</p>", f'<div class="screen" inert>{page}</div>', 1)
    return text, render_markdown(
        "ethics.html.j2",
        {
            "title": html.escape(study.title),
            "body": body,
            "styles": [_style("static/base.css"), _style("app_study/static/study.css")],
        },
    )


def _style(path: str) -> str:
    return (files("casewise_study") / path).read_text("utf-8")


def print_pdf(page: Path, to: Path) -> bool:
    """Print a page to PDF by a browser of this computer; False where none does."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return False
    alone = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    with TemporaryDirectory() as profile:
        options = ["--headless", "--disable-gpu", "--no-pdf-header-footer", *alone]
        places = [f"--user-data-dir={profile}", f"--print-to-pdf={to}", page.resolve().as_uri()]
        try:
            subprocess.run(
                [browser, *options, *places], capture_output=True, timeout=_PRINT_SECONDS
            )
        except (OSError, subprocess.SubprocessError):
            return False
    return to.is_file()
