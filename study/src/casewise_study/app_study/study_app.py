"""The application of a study, its administrator's pages, and its server."""

import contextlib
import math
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Form, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from casewise.sheets import UNDEFINED, percent, seconds
from casewise.statistics import agreement
from casewise_study import app_base
from casewise_study.app_base import Write, new_app, write_nothing
from casewise_study.app_study.person_routes import add_person_routes
from casewise_study.app_study.site import (
    ElsewhereError,
    PageForm,
    SentForm,
    SentPurge,
    Site,
    go,
)
from casewise_study.app_study.study_guard import Settings, StudyGuard
from casewise_study.store.database import StoreUnavailableError
from casewise_study.store.places import Progress
from casewise_study.store.study_store import Store
from casewise_study.study.planning import pay_shortfall
from casewise_study.study.schema import Arm, Study
from casewise_study.votes.cells import cell_stops, decided_cases
from casewise_study.votes.collected import (
    Collected,
    Identity,
    PersonStatus,
    vote_table,
)
from casewise_study.votes.collected_csv import VOTES, collected_files
from casewise_study.votes.results import median_minutes
from casewise_study.votes.screening import SCREENED, screen, with_screened

_RETRY_SECONDS = "10"

_TELL_AGAIN_SECONDS = 60
"""Seconds before the terminal is told again that the database does not answer."""


def make_app(store: Store, settings: Settings, log: Write = write_nothing) -> StudyGuard:
    """Make the application of a study with its guard.

    Args:
        store: The study's database.
        settings: How it is run.
        log: Takes a line for each request: time, method, path pattern, status, milliseconds.
    """
    site = Site(store, settings)
    broken = site.show("broken.html", status=500)
    app = new_app(__package__ or "", broken, cache_control="public, max-age=86400")

    @app.get("/health")
    async def health() -> Response:
        """Answer a load balancer's health check."""
        return Response("ok", media_type="text/plain")

    last_told = -math.inf

    @app.exception_handler(StoreUnavailableError)
    def unavailable(_: Request, error: Exception) -> Response:
        nonlocal last_told
        if time.monotonic() - last_told > _TELL_AGAIN_SECONDS:
            last_told = time.monotonic()
            print(f"casewise: {error}", file=sys.stderr)
        response = site.show("unavailable.html", status=503)
        response.headers["retry-after"] = _RETRY_SECONDS
        return response

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, __: Exception) -> Response:
        return site.show("malformed.html", status=422)

    @app.exception_handler(HTTPException)
    def missing(_: Request, error: HTTPException) -> Response:
        return site.show("missing.html", status=error.status_code)

    @app.exception_handler(ElsewhereError)
    def elsewhere(_: Request, error: ElsewhereError) -> Response:
        return error.response

    add_person_routes(app, site)
    for add in (_add_entry, _add_pages, _add_actions):
        add(app, site)
    return StudyGuard(app, settings, site.rates, broken, log)


@contextlib.contextmanager
def opened_log(path: Path | None) -> Iterator[Write]:
    """Open the request log; ``-`` is standard error.

    A line that can't be written is dropped, and the first of them told: a full disk must not take
    the study's pages with it.
    """
    if path is None:
        yield write_nothing
        return
    if str(path) == "-":
        yield sys.stderr.write
        return
    # Without a buffer nothing is left to be written at the end.
    with open(path, "ab", 0, opener=partial(os.open, mode=0o600)) as file:
        failing = False

        def write(line: str) -> None:
            nonlocal failing
            try:
                file.write(line.encode())
                failing = False
            except OSError as error:
                if not failing:
                    print(
                        f"casewise: {path}: {error.strerror}: requests are not logged until it "
                        "can be written again; free some room",
                        file=sys.stderr,
                    )
                failing = True

        yield write


def serve(
    store: Store,
    settings: Settings,
    listening: socket.socket,
    *,
    ready: Callable[[], None] = lambda: None,
    done: Callable[[], bool] | None = None,
) -> None:
    """Serve a study until Ctrl-C, or until it is done; requests that have begun are finished.

    Args:
        store: The study's database.
        settings: How it is run.
        listening: From ``app_base.listen``.
        ready: Called once people can come.
        done: Asked every few seconds.
    """
    with opened_log(settings.log) as log, listening:
        app = make_app(store, settings, log)
        ready()
        app_base.serve(app, listening, done)
        if app.unanswered:
            many = "1 request" if app.unanswered == 1 else f"{app.unanswered} requests"
            why = "they took too long"
            print(
                f"casewise: {many} had no answer when the server stopped: {why}. What was answered "
                "before is kept; these people send their last answer again",
                file=sys.stderr,
            )


def exclude_flagged(store: Store) -> int:
    """Exclude people whom the study's rules flag, once each case has its votes, for others to come.

    All who judged are screened together, also those who were excluded so before: else each round
    would flag its own share of them.

    Returns:
        The number of people excluded now.
    """
    number, found = 0, with_screened(store.collected())
    before = {one.rater for one in found.people if one.status is PersonStatus.EXCLUDED}
    for person in screen(store.study, found).people:
        if person.flags and person.rater not in before:
            reasons = "; ".join(flag.reason for flag in person.flags)
            number += store.exclude(person.rater, SCREENED + reasons) is not None
    return number


def figures(study: Study, progress: Progress, collected: Collected) -> dict[str, Any]:
    """Compute the figures of the administrator's page, by the names that its template has.

    ``flagged``: pseudonyms of people whom a rule of the study flags so far, and why. ``people``:
    with their votes. ``second_accounts``: people who may have come before. ``underpaid``: hourly
    pay at the median time so far, where the consent promises more.
    """
    votes = Counter(vote.rater for vote in collected.votes)
    decided = decided_cases(cell_stops(study, vote_table(study, collected)))
    spent = [vote.seconds for vote in collected.votes if vote.counted]
    passed = sum(check.passed for check in collected.checks)
    return {
        "progress": progress,
        "arms": [_arm(study, progress, arm, decided) for arm in study.arms],
        "funnel": _funnel(progress),
        "seconds": seconds(median(spent) if spent else None),
        "checks": f"{passed} of {len(collected.checks)}" if collected.checks else UNDEFINED,
        "flagged": [
            (person.rater, "; ".join(flag.reason for flag in person.flags))
            for person in screen(study, collected).people
            if person.flags
        ],
        "people": [(person, votes[person.rater]) for person in reversed(collected.people)],
        "second_accounts": list(_second(study, collected.identity)),
        "underpaid": pay_shortfall(study, median_minutes(study, collected)),
    }


def _second(study: Study, identity: Identity | None) -> Iterator[tuple[str, str, str, str]]:
    if identity is None:
        return
    out = identity.left_out(study.second_accounts)
    for second in identity.seconds:
        counts = "left out" if second.other and second.rater in out else "count"
        other = second.other or "an id that did not begin there"
        yield second.rater, other, SHARED[second.kind], counts


SHARED = {"browser": "one browser", "address": "one address range, within minutes"}


def _arm(study: Study, progress: Progress, arm: Arm, decided: frozenset[str]) -> dict[str, Any]:
    """The figures of one arm.

    ``full``: cells with every vote, or decided with fewer. ``agreement``: the chance that two
    people who judge one case say the same.
    """
    both = zip(study.design.cells, progress.counts, strict=True)
    cells = [(cell.case_id, count) for cell, count in both if cell.arm is arm]
    table = np.array([count for _, count in cells], np.float64).reshape(-1, 2)
    value = agreement(*table.T).pairwise.value if cells else math.nan
    return {
        "arm": arm,
        "votes": int(table.sum()),
        "wanted": study.votes * len(cells),
        "full": sum(sum(count) >= study.votes or case_id in decided for case_id, count in cells),
        "cells": len(cells),
        "agreement": percent(value, 0),
    }


def _funnel(progress: Progress) -> tuple[tuple[str, int], ...]:
    people = progress.people
    return (
        ("did not agree", progress.declined),
        ("agreed", sum(people.values())),
        ("failed the comprehension check", people[PersonStatus.SCREENED_OUT]),
        ("passed it", progress.passed),
        ("answered a first page", progress.answered_one),
        ("are at work or have left for now", people[PersonStatus.ACTIVE]),
        ("lost their block to another", people[PersonStatus.ABANDONED]),
        ("withdrew", people[PersonStatus.WITHDRAWN]),
        ("finished", people[PersonStatus.COMPLETED]),
    )


_KEY = "admin"
"""Owner of the administrator's forms."""


def _is_admin(request: Request, site: Site) -> bool:
    return site.sessions.read_admin(request.cookies.get(site.sessions.admin_cookie, ""))


def _add_entry(app: FastAPI, site: Site) -> None:
    def enter(request: Request, token: str) -> Response:
        if not site.rates.admits("token", request):
            return site.show(
                "admin_entry.html", status=429, problem="Too many tries. Wait a minute."
            )
        if not site.sessions.is_admin_token(token):
            return site.show("admin_entry.html", status=403, problem="That is not the token.")
        return site.set_cookie(go("/admin"), site.sessions.admin_cookie, site.sessions.admin())

    @app.post("/admin/enter")
    def by_form(request: Request, token: Annotated[str, Form(max_length=500)]) -> Response:
        """Enter by typing the token."""
        return enter(request, token.strip())

    @app.get("/admin/enter/{token}")
    def by_address(request: Request, token: str) -> Response:
        """Enter by the address that the terminal shows."""
        return enter(request, token)


def _add_pages(app: FastAPI, site: Site) -> None:
    @app.get("/admin")
    def admin(request: Request) -> Response:
        """Show the progress of the study."""
        if not _is_admin(request, site):
            return site.show("admin_entry.html", status=403, problem=None)
        return _admin_page(site)

    @app.get("/admin/cells")
    def cells(request: Request) -> Response:
        """Every cell, by the ids of its case."""
        if not _is_admin(request, site):
            return go("/admin")
        progress = site.store.progress()
        rows = zip(site.study.design.cells, progress.counts, strict=True)
        return site.show("admin_cells.html", rows=list(rows))

    @app.get("/admin/votes.csv")
    def votes(request: Request) -> Response:
        """Every vote, by pseudonym, as the plain CSV that ``annotate export --votes`` reads."""
        if not _is_admin(request, site):
            return go("/admin")
        text = collected_files(site.store.collected())[VOTES]
        headers = {"content-disposition": f'attachment; filename="{site.study.id}-{VOTES}"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


def _add_actions(app: FastAPI, site: Site) -> None:
    def check(request: Request, sent: PageForm) -> None:
        if not _is_admin(request, site):
            raise ElsewhereError(site.show("admin_entry.html", status=403, problem=None))
        if not site.sessions.fits(_KEY, sent.form):
            raise ElsewhereError(site.show("stale.html", status=403, where="/admin"))

    @app.post("/admin/pause")
    @app.post("/admin/resume")
    def pause(request: Request, sent: SentForm) -> Response:
        """Pause, so that nobody gets a new block, or end the pause."""
        check(request, sent)
        site.store.pause(request.url.path == "/admin/pause")
        return go("/admin")

    @app.post("/admin/purge")
    def purge(request: Request, sent: Annotated[SentPurge, Form()]) -> Response:
        """Delete all data of a person."""
        check(request, sent)
        given = sent.rater.strip()
        done = site.store.purge(rater=given) or site.store.purge(code=given)
        said = "Deleted, and the block is free." if done else "Nobody has this pseudonym or code."
        return _admin_page(site, said, 200 if done else 404)


def _admin_page(site: Site, said: str | None = None, status: int = 200) -> Response:
    shown = figures(site.study, site.store.progress(), site.store.collected())
    values = {"figures": shown, "form": site.sessions.form(_KEY), "said": said}
    limits = {"turned_away": site.rates.turned_away, "newcomers": site.settings.newcomers}
    return site.show("admin.html", None, status, **values, **limits)
