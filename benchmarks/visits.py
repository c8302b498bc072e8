"""One simulated person's visit to a study over HTTP, from the address to the code."""

import asyncio
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle
from urllib.parse import urlencode

import httpx
from bs4 import BeautifulSoup
from support.exchanged import account

from casewise.cases import Side
from casewise.contexts import render_text
from casewise_study.simulation.simulated_people import SimulatedPerson
from casewise_study.study.accounts import ACCOUNT_PARAMETER
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases

LEAVE, WITHDRAW = 0.1, 0.05
"""Chances that a person closes the browser half-way, of whom half come back when the place is free
again, or withdraws half-way."""
TWICE, TABS = 0.1, 0.1
"""Chances that a page is sent twice at once, and is answered otherwise in a second tab."""
THINK = (1, 3)
"""Least and most seconds a page, in the study's own time."""
AWAY_LEASES = 1.2
PATIENCE_S = 90
"""Time for which a request is sent again while the server is away."""

Words = tuple[tuple[str, ...], tuple[str, ...]]
"""Of a query and of its context, punctuation left out."""


class Outcome(StrEnum):
    """How a visit ended; the first three are also the names of a study's codes."""

    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    WITHDRAWN = "withdrawn"
    LEFT = "left"
    """The browser was closed half-way."""
    FULL = "full"
    """There was nothing left to judge."""
    FAILED = "failed"
    """The server did not answer in time, or not as it must."""


@dataclass(slots=True)
class VisitLog:
    """A visit from the person's side."""

    account: str
    outcome: Outcome = Outcome.FAILED
    shown: list[int] = field(default_factory=list)
    """Places of the cells that were seen, each once, in order."""
    given: dict[int, Side] = field(default_factory=dict)
    """Verdicts that the server took, as the next page came, by the place of the cell."""
    retries: int = 0
    """Requests that were sent again, as the server was away."""
    oddities: list[str] = field(default_factory=list)
    """Answers that contradict the rules of a study."""


class _LostError(Exception):
    """The server was away for too long, or gave an answer that leads nowhere."""


class SeenPage:
    """A page's words and forms, read from its HTML alone."""

    def __init__(self, response: httpx.Response) -> None:
        self.path = response.url.path
        self._soup = BeautifulSoup(response.text, "html.parser")

    @property
    def state(self) -> str:
        """What the first heading says, for programs: complete, withdrawn, or nothing."""
        heading = self._soup.select_one("h1[data-state]")
        return str(heading["data-state"]) if heading else ""

    def form(self, action: str) -> dict[str, str]:
        """What the form that goes to an address holds before anything is chosen."""
        hidden = self._soup.select(f"form[action='{action}'] input[type=hidden]")
        return {str(field["name"]): str(field["value"]) for field in hidden}

    def text(self, selector: str) -> str:
        found = self._soup.select_one(selector)
        return found.get_text(" ", strip=True) if found else ""

    def case(self) -> Words:
        """The words of the query and of the context that are shown."""
        return words(self.text("section.query blockquote"), self.text("section.context .parts"))


def words(query: str, context: str) -> Words:
    """The words of a query and its context, punctuation left out."""
    return tuple(re.findall(r"\w+", query)), tuple(re.findall(r"\w+", context))


def known_pages(study: Study) -> dict[Words, int | str]:
    """Map the words of each page to its cell's place, or to its attention check's id.

    A person knows nothing of ids and arms, so a page is known by its words alone: what the
    database says was shown is held against what was shown.
    """
    cases = (*study.attention.checks, *study_cases(study))
    names = (*(check.id for check in study.attention.checks), *range(len(study.design.cells)))
    return {
        words(case.query, render_text(case.context) if case.context else ""): name
        for case, name in zip(cases, names, strict=True)
    }


@dataclass(frozen=True, slots=True)
class Scene:
    """The settings that all visits share."""

    urls: tuple[str, ...]
    """Of the servers; requests go to each in turn, as a load balancer sends them."""
    study: Study
    pages: Mapping[Words, int | str]
    """From ``known_pages``."""
    rates: tuple[float, ...]
    """Of each cell: the share of people of mean leniency who say safe."""
    speed: float
    """So many times as fast as the study's own time."""


class Visit:
    """A person in front of a browser."""

    def __init__(self, scene: Scene, person: SimulatedPerson) -> None:
        self.scene, self.person = scene, person
        self.log = VisitLog(account(person.number))
        # Without TLS: to read certificates takes longer than a page.
        self._client = httpx.AsyncClient(
            follow_redirects=True, timeout=30, trust_env=False, verify=False
        )
        self._servers: Iterator[str] = cycle(scene.urls)
        self._withdraws, self._leaves = self._happens(WITHDRAW), self._happens(LEAVE)
        self._turns_at = int(person.draw.integers(1, 8))
        """Pages after which the person withdraws or leaves."""

    def _happens(self, chance: float) -> bool:
        return bool(self.person.draw.random() < chance)

    async def run(self) -> VisitLog:
        """Go through the study; returns what happened."""
        name = ACCOUNT_PARAMETER[self.scene.study.recruitment.platform]
        try:
            async with self._client:
                await self._think()  # people don't come all in one moment
                response = await self._ask("GET", f"/?{urlencode({name: self.log.account})}")
                while (after := await self._step(response)) is not None:
                    response = after
        except _LostError as error:
            self.log.outcome = Outcome.FAILED
            self._odd(str(error))
        return self.log

    async def _step(self, response: httpx.Response) -> httpx.Response | None:
        """One page; None at the end."""
        page = SeenPage(response)
        path = page.path
        if path == "/done":
            return self._end(page)
        if path.startswith("/page/"):
            return await self._judge(page)
        if page.state == "complete":
            self.log.outcome = Outcome.FULL
            return None
        await self._think()
        if path == "/tutorial":
            return await self._ask("GET", "/check")
        form = page.form(path)
        if path == "/wait" or (path == "/consent" and not form):
            # Every place is taken at the moment: places become free when a lease runs out.
            await self._wait(0.1)
            return await (self._send(path, form) if form else self._ask("GET", path))
        questions = self.scene.study.comprehension.questions
        chosen = {
            "/consent": {"agree": "yes", "age": "true", "read": "true"},
            "/about": {"tool": "none"},
            "/check": {f"question-{n}": str(q.answer) for n, q in enumerate(questions)},
        }
        if path not in chosen or not form:
            raise _LostError(f"{response.status_code} at {path}")
        return await self._send(path, form, **chosen[path])

    async def _judge(self, page: SeenPage) -> httpx.Response | None:
        shown, path = self.scene.pages.get(page.case()), page.path
        if shown is None:
            raise _LostError(f"no case of the study at {path}")
        if isinstance(shown, int):
            if shown not in self.log.shown:
                self.log.shown.append(shown)
            verdict = self.person.verdict(self.scene.rates[shown])
        else:
            verdict = self.person.check(self.scene.study.check(shown).expected)
        if len(self.log.given) >= self._turns_at and (self._withdraws or self._leaves):
            return await (self._withdraw() if self._withdraws else self._leave())
        fields: dict[str, str] = page.form(path) | {"verdict": verdict}
        await self._think()
        after = await self._answer(path, fields)
        if after.url.path == path:  # too soon
            await self._think()
            after = await self._answer(path, fields)
        if after.url.path == path:
            raise _LostError(f"an answer was not taken at {path}")
        if after.url.path == "/done" and self._outcome(SeenPage(after)) is not Outcome.COMPLETED:
            # The lease ran out under the answer: another person has the block.
            return after
        if isinstance(shown, int):
            self.log.given[shown] = verdict
        return after

    async def _answer(self, path: str, fields: dict[str, str]) -> httpx.Response:
        """Send an answer as people do: once, twice at once, or from two tabs."""
        if self._happens(TWICE):
            both = await asyncio.gather(self._send(path, fields), self._send(path, fields))
            return both[0] if both[0].url.path != path else both[1]
        response = await self._send(path, fields)
        if self._happens(TABS) and response.url.path != path:
            other = "unsafe" if fields["verdict"] == "safe" else "safe"
            second = await self._send(path, fields, verdict=other)
            if second.url.path != response.url.path:
                self._odd(f"a second tab led to {second.url.path} from {path}")
        return response

    async def _withdraw(self) -> httpx.Response:
        self._withdraws = False
        page = SeenPage(await self._ask("GET", "/withdraw"))
        return await self._send("/withdraw", page.form("/withdraw"))

    async def _leave(self) -> httpx.Response | None:
        self.log.outcome = Outcome.LEFT
        self._leaves = False
        if self._happens(0.5):
            return None
        await self._wait(AWAY_LEASES)
        return await self._ask("GET", "/")

    def _outcome(self, page: SeenPage) -> Outcome | None:
        """The outcome whose code a page shows."""
        codes, shown = self.scene.study.recruitment, page.text("#code")
        return next((one for one in tuple(Outcome)[:3] if getattr(codes, one) == shown), None)

    def _end(self, page: SeenPage) -> None:
        ended = self._outcome(page)
        if ended is None:
            self._odd(f"no code of the study: {page.text('#code')}")
        elif ended is Outcome.WITHDRAWN and page.state != "withdrawn":
            self.log.outcome = Outcome.LEFT  # the block was given to another person meanwhile
        elif ended is not Outcome.WITHDRAWN or self.log.outcome is not Outcome.LEFT:
            self.log.outcome = ended

    def _odd(self, what: str) -> None:
        self.log.oddities.append(f"visitor {self.person.number}: {what}")

    async def _think(self) -> None:
        await asyncio.sleep(float(self.person.draw.uniform(*THINK)) / self.scene.speed)

    async def _wait(self, leases: float) -> None:
        lease = 60 * self.scene.study.timing.lease_minutes / self.scene.speed
        await asyncio.sleep(max(0.5, leases * lease))

    async def _send(self, path: str, fields: dict[str, str], **chosen: str) -> httpx.Response:
        return await self._ask("POST", path, fields | chosen)

    async def _ask(
        self, method: str, path: str, fields: dict[str, str] | None = None
    ) -> httpx.Response:
        """One request, sent again while the server is away: every one may come twice."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                url = next(self._servers) + path
                response = await self._client.request(method, url, data=fields)
                if response.status_code not in (429, 503):
                    break
                problem = str(response.status_code)
            except httpx.TransportError as error:
                problem = type(error).__name__
            self.log.retries += 1
            if time.monotonic() > until:
                raise _LostError(f"{problem} for {PATIENCE_S} s at {path.split('?')[0]}")
            await asyncio.sleep(0.25)
        if response.status_code >= 500:
            raise _LostError(f"{response.status_code} at {response.url.path}")
        return response
