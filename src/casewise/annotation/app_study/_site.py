"""What every route has at hand: the study, its store, its pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from casewise import __version__
from casewise.annotation._web import template_names, templates
from casewise.annotation.app_study._sessions import Sessions
from casewise.annotation.app_study._settings import Settings
from casewise.annotation.app_study._shown import Shown, shown, shown_case
from casewise.annotation.store import Person, Store, Visitor
from casewise.annotation.study import Page, Study, paragraphs
from casewise.annotation.votes import PersonStatus
from casewise.cases import Case

WRONG_CODE = "That is not your personal code: look at each letter and digit again."
MANY_CODES = "Too many tries. Wait a minute."


@dataclass(frozen=True, slots=True)
class Known:
    """Who asks."""

    visitor: Visitor
    person: Person | None
    """None before the consent."""


class Site:
    """A study that is served."""

    def __init__(self, store: Store, cases: Sequence[Case], settings: Settings) -> None:
        self.store = store
        self.study: Study = store.study
        self.settings = settings
        self.sessions = Sessions(store.keys, self.study.id, secure=settings.secure)
        self.cases = cases
        self._checks = {check.id: check for check in self.study.attention.checks}
        self._templates = templates(__package__ or "")
        self._templates.filters["paragraphs"] = paragraphs
        self.examples = [shown(one.query, one.context) for one in self.study.tutorial]
        # Compiled before the first person comes.
        for name in template_names(__package__ or ""):
            self._templates.get_template(name)
        self.content = lru_cache(maxsize=8192)(self._content)

    def _content(self, page: Page) -> Shown:
        """What a page shows: the same for a case and for a check."""
        if page.place is not None:
            return shown_case(self.cases[page.place])
        check = self._checks[page.check or ""]
        return shown(check.query, check.context)

    def html(self, template: str, **values: Any) -> str:
        """A page."""
        shared = {"study": self.study, "version": __version__}
        nobody = dict.fromkeys(("key", "person", "own_address", "personal_code"))
        return self._templates.get_template(template).render(shared | nobody | values)

    def show(
        self, template: str, known: Known | None = None, status: int = 200, **values: Any
    ) -> HTMLResponse:
        """Answer with a page for somebody."""
        if known is not None:
            key = known.visitor.key
            values |= {"form": self.sessions.form(key), "person": known.person}
            if known.person is not None and not known.visitor.by_account:
                values["own_address"] = self.own_address(key)
                values["personal_code"] = self.store.keys.personal_code(key)
        return HTMLResponse(self.html(template, **values), status)

    def back(self, code: str) -> str | None:
        """The platform's address for who brings a code."""
        address = self.study.recruitment.return_url
        return address.replace("{code}", code) if address else None

    def own_address(self, key: str) -> str:
        """By which a person comes back on any computer."""
        return f"{self.settings.origin}/resume/{self.sessions.token(key)}"

    def known(self, request: Request) -> Known | None:
        """Who asks; None without a cookie of this study."""
        cookie = request.cookies.get(self.sessions.cookie)
        visitor = self.sessions.read_visit(cookie) if cookie else None
        return Known(visitor, self.store.person(visitor.key)) if visitor else None

    def remember(self, response: Response, visitor: Visitor) -> Response:
        """Set the cookie by which somebody is known."""
        response.set_cookie(
            self.sessions.cookie,
            self.sessions.visit(visitor),
            max_age=180 * 24 * 3600,
            secure=self.settings.secure,
            httponly=True,
            samesite="lax",
        )
        return response


def go(where: str) -> Response:
    """Send to another page; with GET, whatever was asked."""
    return RedirectResponse(where, 303)


def place_of(person: Person | None) -> str:
    """The address of the page at which somebody goes on."""
    if person is None:
        return "/consent"
    if person.status is PersonStatus.ACTIVE:
        assert person.position is not None
        return f"/page/{person.position + 1}"
    if person.status is PersonStatus.STARTED:
        return "/wait" if person.passed else "/tutorial"
    return "/done"
