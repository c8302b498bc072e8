"""The cases, one a page, and what comes after the last."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.responses import Response

from casewise.annotation.app_study.site import (
    MANY_TRIES,
    WRONG_CODE,
    Known,
    SentAnswer,
    SentWithdrawal,
    Site,
    go,
    place_of,
)
from casewise.annotation.store.standing import Person, Taken
from casewise.annotation.votes.collected import PersonStatus

_UNSAID = SentAnswer(form="")


def add_pages(app: FastAPI, site: Site) -> None:
    """Add the addresses from the first case on."""
    _add_cases(app, site)
    _add_withdrawal(app, site)
    _add_end(app, site)


def _add_cases(app: FastAPI, site: Site) -> None:
    @app.get("/page/{number}")
    def page(request: Request, number: int) -> Response:
        """A case to judge; a page that is answered says where to go on."""
        known = site.known(request)
        if known is None or known.person is None:
            return go("/consent" if known else "/")
        person = known.person
        if person.status is not PersonStatus.ACTIVE:
            return go(place_of(person))
        assert person.position is not None
        if 0 < number <= person.position:
            return site.show("answered.html", known, number=number, where=place_of(person))
        if number != person.position + 1:
            return go(place_of(person))
        return _case_page(site, known, person)

    @app.post("/page/{number}")
    def answer(request: Request, number: int, sent: Annotated[SentAnswer, Form()]) -> Response:
        """Take an answer. Whatever becomes of it, the current page is next."""
        known, person = site.person_sending(request, sent.form, f"/page/{number}")
        if person.status is not PersonStatus.ACTIVE or person.position != number - 1:
            return go(place_of(person))
        if sent.verdict is None:
            problem = "Please choose safe or unsafe."
            return _case_page(site, known, person, sent, problem)
        ask = site.study.ask
        step = site.store.answer(
            known.visitor.key,
            number - 1,
            sent.verdict,
            confidence=sent.confidence if ask.confidence else None,
            reason=sent.reason if ask.reason else None,
        )
        if step is None:
            return site.show("lost.html", status=403)
        if step.taken is Taken.TOO_SOON:
            problem = "Please read the case first: the answer was not taken yet."
            return _case_page(site, known, person, sent, problem)
        return go(place_of(step.person))


def _case_page(
    site: Site,
    known: Known,
    person: Person,
    sent: SentAnswer = _UNSAID,
    problem: str | None = None,
) -> Response:
    assert person.block is not None
    assert person.position is not None
    pages = site.store.pages(person.block)
    return site.show(
        "page.html",
        known,
        422 if problem else 200,
        number=person.position + 1,
        pages=len(pages),
        shown=site.content(pages[person.position]),
        wait=round(site.store.wait(person), 1),
        sent=sent,
        problem=problem,
    )


def _add_withdrawal(app: FastAPI, site: Site) -> None:
    def ask(
        known: Known, person: Person, status: int = 200, problem: str | None = None
    ) -> Response:
        return site.show("withdraw.html", known, status, where=place_of(person), problem=problem)

    @app.get("/withdraw")
    def ask_withdraw(request: Request) -> Response:
        """Ask whether the person means it."""
        known = site.known(request)
        if known is None or known.person is None:
            return go("/")
        if known.person.status in (PersonStatus.WITHDRAWN, PersonStatus.SCREENED_OUT):
            return go("/done")
        return ask(known, known.person)

    @app.post("/withdraw")
    def withdraw(request: Request, sent: Annotated[SentWithdrawal, Form()]) -> Response:
        """Delete what the person has answered."""
        known, person = site.person_sending(request, sent.form, "/withdraw")
        if known.visitor.by_account:
            if not site.rates.admits("code", request):
                return ask(known, person, 429, MANY_TRIES)
            coded = site.store.person_of_code(sent.code)
            if coded is None or coded.id != person.id:
                return ask(known, person, 403, WRONG_CODE)
        return go(place_of(site.store.withdraw(known.visitor.key)))


def _add_end(app: FastAPI, site: Site) -> None:
    @app.get("/done")
    def done(request: Request) -> Response:
        """The code, and the way back."""
        known = site.known_at(request, "/done")
        assert known.person is not None
        code = code_of(site, known.person)
        return site.show("done.html", known, code=code, back=site.back(code))


def code_of(site: Site, person: Person) -> str:
    """What a person brings back to the platform."""
    codes = site.study.recruitment
    if person.outcome is PersonStatus.COMPLETED:
        return codes.completed
    if person.outcome is PersonStatus.SCREENED_OUT:
        return codes.screened_out
    return codes.withdrawn
