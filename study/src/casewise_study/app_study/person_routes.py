"""A participant's pages: coming and coming back, consent, tutorial, check, cases, end."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import Depends, FastAPI, Form, Request
from fastapi.responses import Response

from casewise_study.app_study.sessions import (
    SIGNATURES,
    KeysUnavailableError,
    constant_time_equal,
)
from casewise_study.app_study.site import (
    MOST_REASON,
    ElsewhereError,
    Sender,
    SentAnswer,
    SentConsent,
    SentForm,
    Site,
    clean,
    go,
    place_of,
)
from casewise_study.store.places import Vacancy
from casewise_study.store.study_store import REMARK, TOOL, Visitor
from casewise_study.store.tables import Person
from casewise_study.study.accounts import (
    ACCOUNT_FORM,
    ACCOUNT_PARAMETER,
    AccountFault,
    account_fault,
    given_account,
)
from casewise_study.study.schema import Platform
from casewise_study.votes.collected import TOOL_ANSWERS, PersonStatus


async def _sent_texts(request: Request) -> dict[str, str]:
    fields = await request.form()
    return {name: value for name, value in fields.items() if isinstance(value, str)}


SentTexts = Annotated[dict[str, str], Depends(_sent_texts)]
"""The fields of a form whose names stand in the study file, so that no model reads them."""


def add_person_routes(app: FastAPI, site: Site) -> None:
    """Add the participants' addresses, from the invitation link to the completion code."""
    for add in (_add_start, _add_return, _add_consent, _add_check, _add_cases, _add_end):
        add(app, site)


def _add_start(app: FastAPI, site: Site) -> None:
    @app.get("/")
    def start(request: Request) -> Response:
        """Start here: platforms and invitations link to this address."""
        platform = site.study.recruitment.platform
        parameters = dict(request.query_params)
        account = given_account(platform, parameters)
        sender = site.find_sender(request)
        visitor = Visitor(secrets.token_urlsafe(16))
        if account is None:
            if sender is not None:
                return go(place_of(sender.person))
            if platform is not Platform.NONE:
                return site.show("no_account.html", status=400)
            if site.study.recruitment.signed:
                return _bad_account(site, "", AccountFault.UNSIGNED)
            return site.remember(go("/consent"), visitor)
        fault, signed = _checked(site, parameters, account)
        if fault is not None:
            return _bad_account(site, account, fault)
        platform_key = site.store.keys.platform_key(platform, account)
        if sender is not None and sender.visitor.platform_key == platform_key:
            return go(place_of(sender.person))
        before = site.store.person(platform_key=platform_key)
        here = sender.person if sender is not None else None
        if here is not None and before is not None and here.id == before.id:
            return go(place_of(before))
        if here is not None:
            site.store.same_browser(here, before if signed else None)
            visitor = replace(visitor, earlier=here.key)
        visitor = replace(visitor, platform_key=platform_key, signed=signed)
        if before is None:
            return site.remember(go("/consent"), visitor)
        if not signed:
            return site.show("in_use.html", status=409)
        return site.remember(go(place_of(before)), Visitor(before.key, platform_key, signed=True))


def _checked(
    site: Site, parameters: Mapping[str, str], account: str
) -> tuple[AccountFault | None, bool]:
    """Fault of an id, and whether it is signed that it is the person's."""
    recruitment = site.study.recruitment
    if fault := account_fault(recruitment.platform, account):
        return fault, False
    signature = parameters.get(SIGNATURES.get(recruitment.platform, ""))
    if signature is None:
        return (AccountFault.UNSIGNED if recruitment.signed else None), False
    try:
        if recruitment.platform is Platform.PROLIFIC:
            holds = site.links.holds(parameters)
        else:
            holds = constant_time_equal(signature, site.store.keys.signature(account))
    except KeysUnavailableError:
        # Without the keys a link says what an unsigned one does.
        return (AccountFault.UNCHECKED if recruitment.signed else None), False
    return (None, True) if holds else (AccountFault.UNSIGNED, False)


def _bad_account(site: Site, account: str, fault: AccountFault) -> Response:
    """Explain a link without a valid id: whose mistake it is, and what to do."""
    platform = site.study.recruitment.platform
    return site.show(
        "bad_account.html",
        status=503 if fault is AccountFault.UNCHECKED else 400,
        given=account[:60],
        fault=fault,
        parameter=ACCOUNT_PARAMETER[platform],
        form_of=ACCOUNT_FORM.get(platform),
    )


def _add_return(app: FastAPI, site: Site) -> None:
    @app.get("/resume")
    def ask_code() -> Response:
        """Ask for the personal code of a returning person."""
        return site.show("resume.html")

    @app.post("/resume")
    def by_code(request: Request, code: Annotated[str, Form(max_length=64)]) -> Response:
        """Admit a person by personal code."""
        if not site.rates.admits("secret", request):
            problem = site.say("Too many tries. Wait a minute.")
            return site.show("resume.html", status=429, problem=problem)
        person = site.store.person(code_key=site.store.keys.code_key(code) or "")
        if person is not None:
            return _admit(site, request, person)
        problem = site.say("That is not your personal code: look at each letter and digit again.")
        return site.show("resume.html", status=403, problem=problem)

    def person_of(token: str) -> Person:
        key = site.sessions.read_token(token)
        person = site.store.person(key=key) if key else None
        if person is None:
            raise ElsewhereError(site.show("lost.html", status=404))
        return person

    @app.get("/resume/{token}")
    def resume(request: Request, token: str) -> Response:
        """Admit a person by the signed address that is theirs alone.

        Ask first in another person's browser: any page may lead there, and the two are linked.
        """
        return _admit(site, request, person_of(token), token)

    @app.post("/resume/{token}")
    def resume_here(request: Request, token: str, sent: SentForm) -> Response:
        """Admit a person in the browser of another, once asked."""
        site.form_sender(request, sent.form)
        return _admit(site, request, person_of(token))


def _admit(site: Site, request: Request, person: Person, token: str = "") -> Response:
    """Admit a person who has shown to be one, in whosever browser; by a link, ask before."""
    sender = site.find_sender(request)
    if sender is not None and sender.person is not None and sender.person.id != person.id:
        if token:
            return site.show("other_person.html", sender, token=token)
        site.store.same_browser(sender.person, person)
    return site.remember(go(place_of(person)), Visitor(person.key))


def _add_consent(app: FastAPI, site: Site) -> None:
    @app.get("/consent")
    def consent(request: Request) -> Response:
        """Show the consent page."""
        sender = site.sender_at(request, "/consent")
        places = site.store.places()
        if places is not Vacancy.OPEN:
            return site.show("full.html", places=places)
        return site.show("consent.html", sender)

    @app.post("/consent")
    def agree(request: Request, sent: Annotated[SentConsent, Form()]) -> Response:
        """Take the decision about consent."""
        sender = site.form_sender(request, sent.form)
        if sender.person is not None:
            return go(place_of(sender.person))
        if sent.agree == "no":
            return go("/declined")
        if not (sent.read and (sent.age or not site.study.consent.least_age)):
            problem = site.say("Please tick each box, or say that you do not agree.")
            return site.show("consent.html", sender, 422, problem=problem)
        visitor = sender.visitor
        if not visitor.signed and not site.rates.admits_newcomer(request):
            return site.show("full.html", status=429, places="crowded")
        person = site.store.enter(visitor)
        if person.key != visitor.key and not visitor.signed:
            return site.show("in_use.html", status=409)
        here = Visitor(person.key, visitor.platform_key, signed=visitor.signed)
        return site.remember(go(place_of(person)), here)

    @app.get("/declined")
    def declined() -> Response:
        """Show the page for those who do not consent."""
        return site.show("declined.html")


def _add_check(app: FastAPI, site: Site) -> None:
    questions = site.study.comprehension.questions

    @app.get("/tutorial")
    def tutorial(request: Request) -> Response:
        """Instructions and worked examples."""
        return site.show("tutorial.html", site.sender_at(request, "/tutorial"))

    def ask(
        sender: Sender,
        answers: dict[int, int],
        missed: tuple[int, ...] = (),
        problem: str | None = None,
    ) -> Response:
        status = 422 if problem or missed else 200
        return site.show(
            "check.html", sender, status, given=answers, missed=missed, problem=problem
        )

    @app.get("/check")
    def check(request: Request) -> Response:
        """The comprehension check."""
        return ask(site.sender_at(request, "/tutorial"), {})

    @app.post("/check")
    def answer_check(request: Request, fields: SentTexts) -> Response:
        """Take the answers to the check."""
        sender, person = site.person_sending(request, fields.get("form", ""))
        options = {
            number: _option(fields, f"question-{number}", question.options)
            for number, question in enumerate(questions)
        }
        answers = {number: option for number, option in options.items() if option is not None}
        attempt = fields.get("attempt", "")
        if attempt != str(person.attempts + 1):
            return go(place_of(person))
        if len(answers) < len(questions):
            return ask(sender, answers, problem=site.say("Please answer every question."))
        missed = tuple(n for n, question in enumerate(questions) if answers[n] != question.answer)
        after = site.store.answer_comprehension(person.key, int(attempt), passed=not missed)
        if after is None or after.status is not PersonStatus.STARTED or after.passed:
            return go(place_of(after))
        return ask(Sender(sender.visitor, after), answers, missed)

    @app.get("/wait")
    def wait(request: Request) -> Response:
        """Show the waiting page: the check is passed, but no block is free."""
        sender = site.sender_at(request, "/wait")
        return site.show("full.html", sender, places=site.store.places(), waiting=True)

    @app.post("/wait")
    def try_again(request: Request, sent: SentForm) -> Response:
        """Try again to lease a block."""
        _, person = site.person_sending(request, sent.form)
        return go(place_of(site.store.lease(person.key)))


def _option(fields: dict[str, str], name: str, options: Sequence[str]) -> int | None:
    """The place of the option that a field of a form names; None if it names none."""
    places = {str(place): place for place in range(len(options))}
    return places.get(fields.get(name, ""))


def _add_cases(app: FastAPI, site: Site) -> None:
    @app.get("/page/{number}")
    def page(request: Request, number: int) -> Response:
        """Show a case to judge, or where to go on from an answered page."""
        sender = site.find_sender(request)
        if sender is None or sender.person is None:
            return go("/consent" if sender else "/")
        person = sender.person
        if person.status is not PersonStatus.ACTIVE:
            return go(place_of(person))
        assert person.position is not None
        if 0 < number <= person.position:
            return site.show("answered.html", sender, number=number, where=place_of(person))
        if number != person.position + 1:
            return go(place_of(person))
        return site.case_page(sender, person)

    @app.post("/page/{number}")
    def answer(request: Request, number: int, sent: Annotated[SentAnswer, Form()]) -> Response:
        """Take an answer. Whatever becomes of it, the current page is next."""
        sender, person = site.person_sending(request, sent.form)
        if person.status is not PersonStatus.ACTIVE or person.position != number - 1:
            return go(place_of(person))
        if sent.verdict is None:
            problem = site.say("Please choose safe or unsafe.")
            return site.case_page(sender, person, sent, problem)
        ask = site.study.ask
        assert person.block is not None
        if site.store.wait(person):
            problem = site.say("Please read the case first: the answer was not taken yet.")
            return site.case_page(sender, person, sent, problem)
        after = site.store.answer(
            person.key,
            number - 1,
            sent.verdict,
            confidence=sent.confidence if ask.confidence else None,
            reason=sent.reason if ask.reason else None,
            signals=sent.signals(site.study, person.block, number - 1, sent.reason),
        )
        return go(place_of(after))


def _add_end(app: FastAPI, site: Site) -> None:
    @app.get("/about")
    def about(request: Request) -> Response:
        """Ask about the person and the study, once all cases are judged."""
        return site.show("about.html", site.sender_at(request, "/about"))

    @app.post("/about")
    def tell(request: Request, fields: SentTexts) -> Response:
        """Take what the person says."""
        _, person = site.person_sending(request, fields.get("form", ""))
        answers = {}
        for question in site.study.demographics:
            option = _option(fields, f"about-{question.name}", question.options)
            if option is not None:
                answers[question.name] = question.options[option]
        remark = clean(fields.get("remark", ""))
        if site.study.exit_question and remark:
            answers[REMARK] = remark[:MOST_REASON]
        if site.study.tool_question and fields.get("tool") in TOOL_ANSWERS:
            answers[TOOL] = fields["tool"]
        return go(place_of(site.store.tell_about(person.key, answers)))

    @app.get("/withdraw")
    def ask_withdraw(request: Request) -> Response:
        """Ask to confirm the withdrawal."""
        sender = site.find_sender(request)
        if sender is None or sender.person is None:
            return go("/")
        if sender.person.status in (PersonStatus.WITHDRAWN, PersonStatus.SCREENED_OUT):
            return go("/done")
        return site.show("withdraw.html", sender, where=place_of(sender.person))

    @app.post("/withdraw")
    def withdraw(request: Request, sent: SentForm) -> Response:
        """Delete what the person has answered."""
        _, person = site.person_sending(request, sent.form)
        return go(place_of(site.store.withdraw(person.key)))

    @app.get("/done")
    def done(request: Request) -> Response:
        """Show the completion code and the way back to the platform."""
        return site.show("done.html", site.sender_at(request, "/done"))
