"""The administrator's page: how far the study is, and what can be done about it."""

from typing import Annotated

from fastapi import FastAPI, Form, Request
from fastapi.responses import Response

from casewise.annotation.app_study._figures import figures
from casewise.annotation.app_study._forms import SentForm, SentPurge, SentToken
from casewise.annotation.app_study._guard import Rates
from casewise.annotation.app_study._site import Site, go
from casewise.annotation.votes import collected_files

_KEY = "admin"
"""Whose forms the administrator's are."""


def add_admin(app: FastAPI, site: Site, rates: Rates) -> None:
    """Add the administrator's addresses."""
    _add_entry(app, site, rates)
    _add_pages(app, site)
    _add_actions(app, site)


def _let_in(request: Request, site: Site) -> bool:
    cookie = request.cookies.get(site.sessions.admin_cookie)
    return bool(cookie) and site.sessions.read_admin(cookie or "")


def _add_entry(app: FastAPI, site: Site, rates: Rates) -> None:
    def enter(request: Request, token: str) -> Response:
        if not rates.admits_try(request.scope["casewise_address"]):
            return site.show(
                "admin_entry.html", status=429, problem="Too many tries. Wait a minute."
            )
        if not site.sessions.is_admin_token(token):
            return site.show("admin_entry.html", status=403, problem="That is not the token.")
        response = go("/admin")
        response.set_cookie(
            site.sessions.admin_cookie,
            site.sessions.admin(),
            secure=site.settings.secure,
            httponly=True,
            samesite="lax",
        )
        return response

    @app.post("/admin/enter")
    def by_form(request: Request, sent: Annotated[SentToken, Form()]) -> Response:
        """The token, typed."""
        return enter(request, sent.token.strip())

    @app.get("/admin/enter/{token}")
    def by_address(request: Request, token: str) -> Response:
        """The address that the terminal shows."""
        return enter(request, token)


def _add_pages(app: FastAPI, site: Site) -> None:
    @app.get("/admin")
    def admin(request: Request) -> Response:
        """How far the study is."""
        if not _let_in(request, site):
            return site.show("admin_entry.html", status=403, problem=None)
        return _admin_page(site)

    @app.get("/admin/cells")
    def cells(request: Request) -> Response:
        """Every cell, by the ids of its case."""
        if not _let_in(request, site):
            return go("/admin")
        progress = site.store.progress()
        rows = zip(site.study.design.cells, progress.counts, strict=True)
        return site.show("admin_cells.html", rows=list(rows))

    @app.get("/admin/votes.csv")
    def votes(request: Request) -> Response:
        """Every vote, by pseudonym, as the plain CSV that ``annotate export --votes`` reads."""
        if not _let_in(request, site):
            return go("/admin")
        text = collected_files(site.store.collected())["votes.csv"]
        name = f'attachment; filename="{site.study.id}-votes.csv"'
        headers = {"content-disposition": name}
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _add_actions(app: FastAPI, site: Site) -> None:
    def refused(request: Request, sent: SentForm) -> Response | None:
        if not _let_in(request, site):
            return site.show("admin_entry.html", status=403, problem=None)
        if not site.sessions.fits(_KEY, sent.form):
            return site.show("stale.html", status=403, where="/admin")
        return None

    @app.post("/admin/pause")
    def pause(request: Request, sent: Annotated[SentForm, Form()]) -> Response:
        """Nobody new gets a block."""
        if refusal := refused(request, sent):
            return refusal
        site.store.pause(True)
        return go("/admin")

    @app.post("/admin/resume")
    def resume(request: Request, sent: Annotated[SentForm, Form()]) -> Response:
        """People get blocks again."""
        if refusal := refused(request, sent):
            return refusal
        site.store.pause(False)
        return go("/admin")

    @app.post("/admin/purge")
    def purge(request: Request, sent: Annotated[SentPurge, Form()]) -> Response:
        """Delete all of a person."""
        if refusal := refused(request, sent):
            return refusal
        given = sent.rater.strip()
        done = site.store.purge(rater=given) or site.store.purge(code=given)
        said = "Deleted, and the block is free." if done else "Nobody has this pseudonym or code."
        return _admin_page(site, said, 200 if done else 404)


def _admin_page(site: Site, said: str | None = None, status: int = 200) -> Response:
    found = figures(site.study, site.store.progress(), site.store.collected(), site.cases)
    form = site.sessions.form(_KEY)
    return site.show("admin.html", status=status, figures=found, form=form, said=said)
