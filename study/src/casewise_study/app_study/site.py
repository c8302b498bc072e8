"""Parts that all routes share: study, store, templates, sessions, and the forms' fields."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal
from unicodedata import category

from fastapi import Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from casewise.cases import Side
from casewise_study.app_study.guard import Rates, Settings
from casewise_study.app_study.screens import Screens
from casewise_study.app_study.sessions import SESSION_SECONDS, ProlificLinks, Sessions
from casewise_study.store.study_store import Store, Visitor
from casewise_study.store.tables import Person
from casewise_study.study.page_signals import SentSignals, hidden_word
from casewise_study.votes.collected import PersonStatus

MOST_REASON = 2000
"""Characters."""


def _blank_to_none(value: object) -> object:
    return None if value == "" else value


def clean(value: object) -> Any:
    """Remove control characters: PostgreSQL stores no zero bytes, and the others are invisible."""
    if not isinstance(value, str):
        return value
    lines = value.replace("\r\n", "\n").replace("\r", "\n")
    printable = "".join(
        char for char in lines if char in "\n\t" or category(char) not in ("Cc", "Cs")
    )
    return printable.strip() or None


class PageForm(BaseModel):
    """The field that every form has."""

    model_config = ConfigDict(frozen=True)

    form: str = Field(max_length=200)
    """From ``Sessions.form``."""


SentForm = Annotated[PageForm, Form()]
"""A form without other fields."""


class SentConsent(PageForm):
    """The consent form."""

    agree: Literal["yes", "no"]
    age: bool = False
    read: bool = False


class SentAnswer(PageForm, SentSignals):
    """The answer to a page."""

    verdict: Annotated[Side | None, BeforeValidator(_blank_to_none)] = None
    confidence: Annotated[int | None, BeforeValidator(_blank_to_none), Field(ge=1, le=5)] = None
    reason: Annotated[
        Annotated[str, StringConstraints(max_length=MOST_REASON)] | None, BeforeValidator(clean)
    ] = None


@dataclass(frozen=True, slots=True)
class Sender:
    """The person or visitor who sends a request."""

    visitor: Visitor
    person: Person | None
    """None before the consent."""


_UNSAID = SentAnswer(form="")


class Site:
    """A served study with its store, settings and templates."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.study = store.study
        self.settings = settings
        self.rates = Rates(settings)
        self.links = ProlificLinks(settings.origin)
        self.sessions = Sessions(store.keys, self.study.id, secure=settings.secure)
        self.screens = Screens(self.study, settings.still_open)
        self.say = self.screens.say

    def show(
        self, template: str, sender: Sender | None = None, status: int = 200, **values: Any
    ) -> HTMLResponse:
        """Answer with a page for somebody."""
        shared: dict[str, Any] = {}
        if sender is not None:
            key = sender.visitor.key
            shared |= {"form": self.sessions.form(key), "person": sender.person}
            if sender.person is not None:
                # Signed: by it the person comes back in any browser.
                shared["own_address"] = f"{self.settings.origin}/resume/{self.sessions.token(key)}"
                shared["personal_code"] = self.store.keys.personal_code(key)
        return HTMLResponse(self.screens.render(template, shared | values), status)

    def case_page(
        self,
        sender: Sender,
        person: Person,
        sent: SentAnswer = _UNSAID,
        problem: str | None = None,
    ) -> Response:
        """The page of the case that a person is to judge."""
        assert person.block is not None
        assert person.position is not None
        pages = self.store.pages(person)
        return self.show(
            "page.html",
            sender,
            422 if problem else 200,
            number=person.position + 1,
            pages=len(pages),
            shown=self.screens.content(pages[person.position]),
            wait=round(self.store.wait(person), 1),
            word=hidden_word(self.study, person.block, person.position),
            sent=sent,
            problem=problem,
        )

    def find_sender(self, request: Request) -> Sender | None:
        """The sender of a request; None without a cookie of this study."""
        cookie = request.cookies.get(self.sessions.cookie)
        visitor = self.sessions.read_visit(cookie) if cookie else None
        return Sender(visitor, self.store.person(key=visitor.key)) if visitor else None

    def sender_at(self, request: Request, place: str) -> Sender:
        """The sender of a request, who must be at this page.

        Raises:
            ElsewhereError: The person's place is another, which is the answer; or nobody's cookie.
        """
        sender = self.find_sender(request)
        where = place_of(sender.person) if sender else "/"
        if sender is None or where != place:
            raise ElsewhereError(go(where))
        return sender

    def form_sender(self, request: Request, form: str) -> Sender:
        """The sender of a form with a valid CSRF token.

        Args:
            request: With the cookie, at the address where somebody with an old form goes on.
            form: What came in the form, from ``Sessions.form``.

        Raises:
            ElsewhereError: There is no cookie, or the form is another person's.
        """
        sender = self.find_sender(request)
        if sender is None:
            raise ElsewhereError(self.show("lost.html", status=403))
        if not self.sessions.fits(sender.visitor.key, form):
            raise ElsewhereError(self.show("stale.html", status=403, where=request.url.path))
        return sender

    def person_sending(self, request: Request, form: str) -> tuple[Sender, Person]:
        """The sender of a form who has consented.

        Raises:
            ElsewhereError: As ``form_sender``, or nobody has agreed in this browser.
        """
        sender = self.form_sender(request, form)
        if sender.person is None:
            raise ElsewhereError(self.show("lost.html", status=403))
        return sender, sender.person

    def remember(self, response: Response, visitor: Visitor) -> Response:
        """Set the cookie by which somebody is known."""
        sessions = self.sessions
        return self.set_cookie(response, sessions.cookie, sessions.visit(visitor), SESSION_SECONDS)

    def set_cookie(
        self, response: Response, name: str, value: str, seconds: int | None = None
    ) -> Response:
        """Set a cookie; without ``seconds`` it ends with the browser."""
        secure = self.settings.secure
        response.set_cookie(name, value, seconds, secure=secure, httponly=True, samesite="lax")
        return response


class ElsewhereError(Exception):
    """The request is answered with another page than the one that was asked for."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


def go(where: str) -> Response:
    """Redirect to another page (303: the browser follows with GET)."""
    return RedirectResponse(where, 303)


def place_of(person: Person | None) -> str:
    """The address of the page where a person continues."""
    if person is None:
        return "/consent"
    if person.status is PersonStatus.ACTIVE:
        assert person.position is not None
        return f"/page/{person.position + 1}"
    if person.status is PersonStatus.COMPLETED and person.about_due:
        return "/about"
    if person.status is PersonStatus.STARTED:
        return "/wait" if person.passed else "/tutorial"
    return "/done"
