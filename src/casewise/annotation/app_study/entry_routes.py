"""How people come and come back: by a link with an id, by their own address, by their code."""

import re
import secrets
from collections.abc import Mapping
from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.responses import Response

from casewise.annotation.app_study.site import SentCode, Site, go, place_of
from casewise.annotation.app_study.study_guard import TOKEN_PARAMETER, KeysUnavailableError
from casewise.annotation.store.standing import Person, Visitor
from casewise.annotation.study.accounts import (
    ACCOUNT_FORM,
    ACCOUNT_PARAMETER,
    AccountFault,
    account_fault,
    given_account,
)
from casewise.annotation.study.schema import Platform

_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
"""MTurk's assignmentId of those who only look."""

_SHOWN = 60
"""Characters of an id that isn't one which its page shows."""

_PANEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def add_entry_routes(app: FastAPI, site: Site) -> None:
    """Add the addresses by which people come, and come back."""
    _add_start(app, site)
    _add_return(app, site)


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
        fault, signed = _checked(site, given, account)
        if fault is not None:
            return _bad_account(site, account, fault)
        platform_key = site.store.keys.platform_key(platform, account)
        if known is not None and known.visitor.platform_key == platform_key:
            return go(place_of(known.person))
        before = site.store.person_of_platform(platform_key)
        here = known.person if known is not None else None
        if here is not None and (before is None or here.id != before.id):
            site.store.same_browser(here, before if signed else None)
        if before is None:
            earlier = here.key if here is not None else None
            visitor = _visitor(given, platform_key, signed, earlier)
            return site.remember(go("/consent"), visitor)
        if here is not None and here.id == before.id:
            return go(place_of(before))
        if not signed:
            return in_use(site)
        return site.remember(go(place_of(before)), Visitor(before.key, platform_key, signed=True))


def _visitor(
    given: Mapping[str, str],
    platform_key: str | None = None,
    signed: bool = False,
    earlier: str | None = None,
) -> Visitor:
    return Visitor(secrets.token_urlsafe(16), platform_key, _panel(given), signed, earlier)


def _checked(
    site: Site, given: Mapping[str, str], account: str
) -> tuple[AccountFault | None, bool]:
    """What is wrong with an id, and whether the platform has signed that it is the person's."""
    recruitment = site.study.recruitment
    if fault := account_fault(recruitment.platform, account):
        return fault, False
    if recruitment.platform is not Platform.PROLIFIC:
        return None, False
    if TOKEN_PARAMETER not in given:
        return (AccountFault.UNSIGNED if recruitment.signed else None), False
    try:
        holds = site.links.holds(given)
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
        given=account[:_SHOWN],
        fault=fault,
        platform=platform,
        parameter=ACCOUNT_PARAMETER[platform],
        form_of=ACCOUNT_FORM.get(platform),
    )


def in_use(site: Site) -> Response:
    """Refuse an id in use that nobody has signed: whoever knows it could be here."""
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
            return site.show(
                "resume.html", status=429, problem=site.say("Too many tries. Wait a minute.")
            )
        person = site.store.person_of_code(sent.code)
        if person is None:
            problem = site.say(
                "That is not your personal code: look at each letter and digit again."
            )
            return site.show("resume.html", status=403, problem=problem)
        return _admit(site, request, person)

    @app.get("/resume/{token}")
    def resume(request: Request, token: str) -> Response:
        """Admit a person by the signed address that is theirs alone."""
        key = site.sessions.read_token(token)
        person = site.store.person(key) if key else None
        if person is None:
            return site.show("lost.html", status=404)
        return _admit(site, request, person)


def _admit(site: Site, request: Request, person: Person) -> Response:
    """Admit a person who has shown to be one, in whosever browser."""
    known = site.known(request)
    if known is not None and known.person is not None and known.person.id != person.id:
        site.store.same_browser(known.person, person)
    return site.remember(go(place_of(person)), Visitor(person.key))


def _panel(given: Mapping[str, str]) -> str:
    """The person's panel: the parameter ``panel``, or Prolific's study id."""
    names = (given.get(name, "") for name in ("panel", "STUDY_ID"))
    return next((panel for panel in names if _PANEL.fullmatch(panel)), "")
