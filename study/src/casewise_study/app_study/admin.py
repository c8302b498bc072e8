"""The administrator's pages: entry, the study's figures, pause."""

from collections import Counter
from statistics import median
from typing import Any

from fastapi import FastAPI, Request, Response

from casewise.sheets import seconds
from casewise_study.app_study.site import ElsewhereError, SentForm, Site, go
from casewise_study.store.places import Progress
from casewise_study.study.planning import pay_shortfall
from casewise_study.study.schema import Study
from casewise_study.votes.collected import Collected, vote_table
from casewise_study.votes.results import decided_cases, median_minutes
from casewise_study.votes.screening import screen

_KEY = "admin"
"""Owner of the administrator's forms."""


def add_admin_routes(app: FastAPI, site: Site) -> None:
    """Add the administrator's addresses."""

    def check(request: Request) -> None:
        if not site.sessions.read_admin(request.cookies.get(site.sessions.admin_cookie, "")):
            raise ElsewhereError(site.show("admin_entry.html", status=403))

    @app.get("/admin/enter/{token}")
    def enter(request: Request, token: str) -> Response:
        """Enter by the address that the terminal shows."""
        if not site.rates.admits("secret", request):
            return site.show("admin_entry.html", status=429)
        if not site.sessions.is_admin_token(token):
            return site.show("admin_entry.html", status=403)
        return site.set_cookie(go("/admin"), site.sessions.admin_cookie, site.sessions.admin())

    @app.get("/admin")
    def admin(request: Request) -> Response:
        """Show the progress of the study."""
        check(request)
        shown = figures(site.study, site.store.progress(), site.store.collected())
        shown |= {"turned_away": site.rates.turned_away, "newcomers": site.settings.newcomers}
        return site.show("admin.html", form=site.sessions.form(_KEY), **shown)

    @app.post("/admin/pause")
    @app.post("/admin/resume")
    def pause(request: Request, sent: SentForm) -> Response:
        """Pause, so that nobody gets a new block, or end the pause."""
        check(request)
        if not site.sessions.fits(_KEY, sent.form):
            raise ElsewhereError(site.show("stale.html", status=403, where="/admin"))
        site.store.pause(request.url.path == "/admin/pause")
        return go("/admin")


def figures(study: Study, progress: Progress, collected: Collected) -> dict[str, Any]:
    """Compute the figures of the administrator's page, by the names that its template has.

    ``arms``: votes, votes wanted, cells with every vote or decided with fewer, cells. ``flagged``:
    people whom a rule of the study flags so far. ``left_out``: second accounts that don't count.
    ``underpaid``: hourly pay at the median time so far, where the consent promises more.
    """
    spent = [vote.seconds for vote in collected.votes if vote.counted and vote.seconds is not None]
    decided = decided_cases(study, vote_table(study, collected))
    arms = []
    for arm in study.arms:
        both = zip(study.design.cells, progress.counts, strict=True)
        cells = [(cell.case_id, sum(count)) for cell, count in both if cell.arm is arm]
        full = sum(votes >= study.votes or case_id in decided for case_id, votes in cells)
        total, quota = sum(votes for _, votes in cells), study.votes * len(cells)
        arms.append((arm, total, quota, full, len(cells)))
    assert collected.identity is not None
    return {
        "progress": progress,
        "arms": arms,
        "seconds": seconds(median(spent) if spent else None),
        "collected": collected,
        "statuses": Counter(person.status for person in collected.people),
        "flagged": [person for person in screen(study, collected).people if person.flags],
        "left_out": collected.identity.left_out(study.second_accounts),
        "underpaid": pay_shortfall(study, median_minutes(study, collected)),
    }
