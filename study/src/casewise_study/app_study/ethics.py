"""The document for an ethics board: what people see, what is kept of them, what they are paid."""

import html
import re
from importlib.resources import files
from typing import Any

from casewise.sheets import markdown_to_html
from casewise_study.app_study.screens import Screens
from casewise_study.app_study.site import SentAnswer
from casewise_study.study.page_signals import hidden_word
from casewise_study.study.planning import forecast, open_points
from casewise_study.study.reading_times import SLOW, USUAL, pages_of, reading
from casewise_study.study.schema import Study
from casewise_study.votes.data_card import render_markdown
from casewise_study.votes.screening import rules_in_words


def ethics_document(study: Study) -> str:
    """The document as a page that is made to be printed.

    Its template says which screens stand in it; each is a template of the study's pages, for
    a person who takes part.
    """
    screens, pages, times = Screens(study), pages_of(study, 0), reading(study)
    example: dict[str, Any] = {
        **{"own_address": "https://study.example/resume/...", "personal_code": "7K3Q-M2ZX-9HTY"},
        **{"pages": len(pages), "wait": 0, "word": hidden_word(study, 0, 0), "form": ""},
        **{"sent": SentAnswer(form=""), "given": {}, "missed": (), "code": "CODE"},
    }
    values = {
        "study": study,
        "open": open_points(study),
        "forecast": forecast(study),
        "minutes": {"median": times.session_minutes(USUAL), "slow": times.session_minutes(SLOW)},
        "pace": [f"{pace.words * times.speed:.0f}" for pace in (USUAL, SLOW)],
        "pay": forecast(study).pay_each,
        "rules": tuple(rules_in_words(study.screening)),
        "case": (1, screens.content(pages[0])),
        "check": next(
            ((page.position + 1, screens.content(page)) for page in pages if page.check), None
        ),
    }

    shown = list[str]()

    def screen(template: str, **more: Any) -> str:
        match = re.search(r"(?s)<main.*</main>", screens.render(template, example | more))
        assert match is not None
        shown.append(match[0].replace('<details class="aside">', '<details class="aside" open>'))
        return f"SCREEN-{len(shown)}-"

    body = markdown_to_html(render_markdown("ethics.md.j2", values | {"screen": screen}))
    for number, page in enumerate(shown, 1):
        framed = f'<div class="screen" inert>{page}</div>'
        body = body.replace(f"<p>SCREEN-{number}-</p>", framed, 1)
    style = (files("casewise_study.app_study") / "static/study.css").read_text("utf-8")
    filled = {"title": html.escape(study.title), "body": body, "styles": [style]}
    return render_markdown("ethics.html.j2", filled)
