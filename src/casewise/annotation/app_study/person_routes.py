"""A participant's pages: consent, tutorial, comprehension check, cases, end."""

import re
import secrets
from collections.abc import Mapping
from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from casewise.annotation.app_study.site import (
    MANY_TRIES,
    WRONG_CODE,
    Known,
    PageForm,
    SentAnswer,
    SentCode,
    SentConsent,
    SentWithdrawal,
    Site,
    go,
    place_of,
)
from casewise.annotation.store.standing import Person, Taken, Vacancy, Visitor
from casewise.annotation.study.accounts import (
    ACCOUNT_FORM,
    ACCOUNT_PARAMETER,
    AccountFault,
    account_fault,
    given_account,
)
from casewise.annotation.study.schema import Platform, Question
from casewise.annotation.votes.collected import PersonStatus

_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""MTurk's assignmentId of those who only look."""

_SHOWN = 60
"""Characters of an id that isn't one which its page shows."""

_PANEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def add_person_routes(app: FastAPI, site: Site) -> None:
    """Add the participants' addresses, from the invitation link to the completion code."""
    _add_start(app, site)
    _add_return(app, site)
    _add_consent(app, site)
    _add_check(app, site)
    _add_cases(app, site)
    _add_withdrawal(app, site)
    _add_end(app, site)


def _add_start(app: FastAPI, site: Site) -> None:
    @app.get("/")
    def start(request: Request) -> Response:
        """Start here: platforms and invitations link to this address."""
        platform = site.study.recruitment.platform
        given = dict(request.query_params)
        if given.get("assignmentId") == _PREVIEW:
            return site.show("preview.html")
        account = given_account(platform, given)
        known = site.known(request)
        if account is None:
            if known is not None:
                return go(place_of(known.person))
            if platform is not Platform.NONE:
                return site.show("no_account.html", status=400, platform=platform)
            return site.remember(go("/consent"), _visitor(given))
        if fault := account_fault(platform, account):
            return _bad_account(site, account, fault)
        platform_key = site.store.keys.platform_key(platform, account)
        if known is not None and known.visitor.platform_key == platform_key:
            return go(place_of(known.person))
        before = site.store.person_of_platform(platform_key)
        if known is not None and known.person not in (None, before):
            site.store.another_id(known.person)
        if before is None:
            return site.remember(go("/consent"), _visitor(given, platform_key))
        if known is not None and known.visitor.key == before.key:
            return go(place_of(before))
        if platform is Platform.NONE:
            return _in_use(site)
        visitor = Visitor(before.key, platform_key, by_account=True)
        return site.remember(go(place_of(before)), visitor)


def _visitor(given: Mapping[str, str], platform_key: str | None = None) -> Visitor:
    return Visitor(secrets.token_urlsafe(16), platform_key, _panel(given))


def _bad_account(site: Site, account: str, fault: AccountFault) -> Response:
    """Explain a link without a valid id: whose mistake it is, and what to do."""
    platform = site.study.recruitment.platform
    return site.show(
        "bad_account.html",
        status=400,
        given=account[:_SHOWN],
        fault=fault,
        platform=platform,
        parameter=ACCOUNT_PARAMETER[platform],
        form_of=ACCOUNT_FORM.get(platform),
    )


def _in_use(site: Site) -> Response:
    """Refuse an id in use: without a platform it could be guessed."""
    return site.show("in_use.html", status=409)


def _add_return(app: FastAPI, site: Site) -> None:
    @app.get("/resume")
    def ask_code() -> Response:
        """Ask for the personal code of a returning person."""
        return site.show("resume.html", problem=None)

    @app.post("/resume")
    def by_code(request: Request, sent: Annotated[SentCode, Form()]) -> Response:
        """Admit a person by personal code."""
        if not site.rates.admits("code", request):
            return site.show("resume.html", status=429, problem=MANY_TRIES)
        person = site.store.person_of_code(sent.code)
        if person is None:
            return site.show("resume.html", status=403, problem=WRONG_CODE)
        return site.remember(go(place_of(person)), Visitor(person.key))

    @app.get("/resume/{token}")
    def resume(token: str) -> Response:
        """Admit a person by the signed address that is theirs alone."""
        key = site.sessions.read_token(token)
        person = site.store.person(key) if key else None
        if person is None:
            return site.show("lost.html", status=404)
        return site.remember(go(place_of(person)), Visitor(person.key))


def _panel(given: Mapping[str, str]) -> str:
    """The person's panel: the parameter ``panel``, or Prolific's study id."""
    names = (given.get(name, "") for name in ("panel", "STUDY_ID"))
    return next((panel for panel in names if _PANEL.fullmatch(panel)), "")


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
            problem = "Please tick each box, or say that you do not agree."
            return site.show("consent.html", known, 422, problem=problem)
        person = site.store.enter(known.visitor)
        other = person.key != known.visitor.key
        if other and site.study.recruitment.platform is Platform.NONE:
            return _in_use(site)
        visitor = Visitor(person.key, known.visitor.platform_key, by_account=other)
        return site.remember(go(place_of(person)), visitor)

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
            return _check_page(site, known, given, (), 422, "Please answer every question.")
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


def _answers(questions: tuple[Question, ...], fields: dict[str, str]) -> dict[int, int]:
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
        """Ask to confirm the withdrawal."""
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
