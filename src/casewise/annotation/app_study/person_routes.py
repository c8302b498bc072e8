"""A participant's pages: consent, tutorial, comprehension check, cases, end."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from casewise.annotation.app_study.entry_routes import add_entry_routes, in_use
from casewise.annotation.app_study.site import (
    MOST_REASON,
    Known,
    PageForm,
    SentAnswer,
    SentConsent,
    Site,
    clean,
    go,
    place_of,
)
from casewise.annotation.store.people import REMARK, TOOL
from casewise.annotation.store.standing import Person, Taken, Vacancy, Visitor, hidden_word
from casewise.annotation.study.schema import ComprehensionQuestion
from casewise.annotation.votes.collected import TOOL_ANSWERS, PersonStatus


def add_person_routes(app: FastAPI, site: Site) -> None:
    """Add the participants' addresses, from the invitation link to the completion code."""
    add_entry_routes(app, site)
    _add_consent(app, site)
    _add_check(app, site)
    _add_cases(app, site)
    _add_about(app, site)
    _add_withdrawal(app, site)
    _add_end(app, site)


def _add_consent(app: FastAPI, site: Site) -> None:
    @app.get("/consent")
    def consent(request: Request) -> Response:
        """Show the consent page."""
        known = site.known_at(request, "/consent")
        places = site.store.places()
        if places is not Vacancy.OPEN:
            return site.show("full.html", places=places, waiting=False)
        return site.show("consent.html", known, problem=None)

    @app.post("/consent")
    def agree(request: Request, sent: Annotated[SentConsent, Form()]) -> Response:
        """Take the decision about consent."""
        known = site.sender(request, sent.form, "/consent")
        if known.person is not None:
            return go(place_of(known.person))
        if sent.agree == "no":
            site.store.decline()
            return go("/declined")
        if not (sent.read and (sent.age or not site.study.consent.least_age)):
            problem = site.say("Please tick each box, or say that you do not agree.")
            return site.show("consent.html", known, 422, problem=problem)
        visitor = known.visitor
        address = request.scope["casewise_address"]
        near = site.arrivals.near(address, visitor.key, site.store.now())
        person = site.store.enter(visitor, near)
        if person.key != visitor.key and not visitor.signed:
            return in_use(site)
        here = Visitor(person.key, visitor.platform_key, signed=visitor.signed)
        return site.remember(go(place_of(person)), here)

    @app.get("/declined")
    def declined() -> Response:
        """Show the page for those who do not consent."""
        code = site.study.recruitment.withdrawn
        return site.show("declined.html", code=code, back=site.back(code))


def _add_check(app: FastAPI, site: Site) -> None:
    questions = site.study.comprehension.questions

    @app.get("/tutorial")
    def tutorial(request: Request) -> Response:
        """Instructions and worked examples."""
        known = site.known_at(request, "/tutorial")
        examples = list(zip(site.study.tutorial, site.examples, strict=True))
        return site.show("tutorial.html", known, examples=examples, questions=questions)

    @app.get("/check")
    def check(request: Request) -> Response:
        """The comprehension check."""
        known = site.known_at(request, "/tutorial")
        return _check_page(site, known, {}, ())

    @app.post("/check")
    async def read_check(request: Request) -> Response:
        """Read the answers: their names are not known before, so no model reads them."""
        fields = await request.form()
        texts = {name: value for name, value in fields.items() if isinstance(value, str)}
        return await run_in_threadpool(answer_check, request, texts)

    def answer_check(request: Request, fields: dict[str, str]) -> Response:
        known, person = site.person_sending(request, fields.get("form", ""), "/check")
        given = _answers(questions, fields)
        attempt = fields.get("attempt", "")
        if attempt != str(person.attempts + 1):
            return go(place_of(person))
        if len(given) < len(questions):
            return _check_page(
                site, known, given, (), 422, site.say("Please answer every question.")
            )
        missed = tuple(
            number for number, question in enumerate(questions) if given[number] != question.answer
        )
        after = site.store.answer_comprehension(known.visitor.key, int(attempt), passed=not missed)
        if after is None or after.status is not PersonStatus.STARTED or after.passed:
            return go(place_of(after))
        return _check_page(site, Known(known.visitor, after), given, missed, 422)

    @app.get("/wait")
    def wait(request: Request) -> Response:
        """Show the waiting page: the check is passed, but no block is free."""
        known = site.known_at(request, "/wait")
        code = site.study.recruitment.screened_out
        return site.show(
            "full.html",
            known,
            places=site.store.places(),
            waiting=True,
            code=code,
            back=site.back(code),
        )

    @app.post("/wait")
    def try_again(request: Request, sent: Annotated[PageForm, Form()]) -> Response:
        """Try again to lease a block."""
        known, _ = site.person_sending(request, sent.form, "/wait")
        return go(place_of(site.store.lease(known.visitor.key)))


def _answers(
    questions: tuple[ComprehensionQuestion, ...], fields: dict[str, str]
) -> dict[int, int]:
    """The chosen option of each answered question, by the question's number."""
    chosen = {}
    for number, question in enumerate(questions):
        value = fields.get(f"question-{number}", "")
        if value in {str(option) for option in range(len(question.options))}:
            chosen[number] = int(value)
    return chosen


def _check_page(
    site: Site,
    known: Known,
    given: dict[int, int],
    missed: tuple[int, ...],
    status: int = 200,
    problem: str | None = None,
) -> Response:
    assert known.person is not None
    left = site.study.comprehension.attempts - known.person.attempts
    return site.show(
        "check.html", known, status, given=given, missed=missed, left=left, problem=problem
    )


_UNSAID = SentAnswer(form="")


def _add_cases(app: FastAPI, site: Site) -> None:
    @app.get("/page/{number}")
    def page(request: Request, number: int) -> Response:
        """Show a case to judge, or where to go on from an answered page."""
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
            problem = site.say("Please choose safe or unsafe.")
            return _case_page(site, known, person, sent, problem)
        ask = site.study.ask
        assert person.block is not None
        step = site.store.answer(
            known.visitor.key,
            number - 1,
            sent.verdict,
            confidence=sent.confidence if ask.confidence else None,
            reason=sent.reason if ask.reason else None,
            signals=sent.signals(site.study, person.block, number - 1, sent.reason),
        )
        if step is None:
            return site.show("lost.html", status=403)
        if step.taken is Taken.TOO_SOON:
            problem = site.say("Please read the case first: the answer was not taken yet.")
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
    pages = site.store.pages(person.block, person.drawn)
    return site.show(
        "page.html",
        known,
        422 if problem else 200,
        number=person.position + 1,
        pages=len(pages),
        shown=site.content(pages[person.position]),
        wait=round(site.store.wait(person), 1),
        word=hidden_word(site.study, person.block, person.position),
        sent=sent,
        problem=problem,
    )


def _add_about(app: FastAPI, site: Site) -> None:
    @app.get("/about")
    def about(request: Request) -> Response:
        """Ask about the person and the study, once all cases are judged."""
        return site.show("about.html", site.known_at(request, "/about"))

    @app.post("/about")
    async def read_about(request: Request) -> Response:
        """Read the answers: their names stand in the study file, so no model reads them."""
        fields = await request.form()
        texts = {name: value for name, value in fields.items() if isinstance(value, str)}
        return await run_in_threadpool(tell, request, texts)

    def tell(request: Request, fields: dict[str, str]) -> Response:
        known, _ = site.person_sending(request, fields.get("form", ""), "/about")
        answers = {}
        for question in site.study.demographics:
            chosen = fields.get(f"about-{question.name}", "")
            if chosen in {str(number) for number in range(len(question.options))}:
                answers[question.name] = question.options[int(chosen)]
        remark = clean(fields.get("remark", ""))
        if site.study.exit_question and remark:
            answers[REMARK] = remark[:MOST_REASON]
        if site.study.tool_question and fields.get("tool") in TOOL_ANSWERS:
            answers[TOOL] = fields["tool"]
        return go(place_of(site.store.tell_about(known.visitor.key, answers)))


def _add_withdrawal(app: FastAPI, site: Site) -> None:
    @app.get("/withdraw")
    def ask_withdraw(request: Request) -> Response:
        """Ask to confirm the withdrawal."""
        known = site.known(request)
        if known is None or known.person is None:
            return go("/")
        if known.person.status in (PersonStatus.WITHDRAWN, PersonStatus.SCREENED_OUT):
            return go("/done")
        return site.show("withdraw.html", known, where=place_of(known.person))

    @app.post("/withdraw")
    def withdraw(request: Request, sent: Annotated[PageForm, Form()]) -> Response:
        """Delete what the person has answered."""
        known, _ = site.person_sending(request, sent.form, "/withdraw")
        return go(place_of(site.store.withdraw(known.visitor.key)))


def _add_end(app: FastAPI, site: Site) -> None:
    @app.get("/done")
    def done(request: Request) -> Response:
        """Show the completion code and the way back to the platform."""
        known = site.known_at(request, "/done")
        assert known.person is not None
        code = code_of(site, known.person)
        return site.show("done.html", known, code=code, back=site.back(code))


def code_of(site: Site, person: Person) -> str:
    """The completion code that a person takes back to the platform."""
    codes = site.study.recruitment
    if person.outcome is PersonStatus.COMPLETED:
        return codes.completed
    if person.outcome is PersonStatus.SCREENED_OUT:
        return codes.screened_out
    return codes.withdrawn
