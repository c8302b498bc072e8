"""One simulated person's visit, over HTTP, from the study's address to the code."""

import asyncio
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import cycle
from urllib.parse import urlencode

import httpx
from bs4 import BeautifulSoup

from casewise.cases import Side
from casewise_study.simulation.simulated_people import SimulatedPerson
from casewise_study.study.accounts import ACCOUNT_PARAMETER
from casewise_study.study.schema import Platform, Study

ACCOUNTS = {
    Platform.NONE: "sim-{:06d}",
    Platform.PROLIFIC: "51a{:021x}",
}
"""Ids of simulated people, in the form of each platform's."""

CONFUSED = 0.1
"""How often somebody misses the comprehension check, each time."""

"""What people are taken to read before they come."""

PATIENCE = 90
"""Seconds for which a request is sent again while the server is away."""

THINK = (1, 3)
"""Least and most seconds a page, in the study's own time."""

AWAY_LEASES = 1.2
"""Who leaves and comes back does so after so many leases."""


@dataclass(frozen=True, slots=True)
class Mishaps:
    """The chances of mishaps on the participant's side, for each person or page."""

    leave: float = 0.04
    """A person closes the browser half-way; half of them come back when the lease is over."""
    withdraw: float = 0.01
    """A person withdraws half-way."""
    double: float = 0.02
    """A page is sent twice at once."""
    back: float = 0.02
    """After a page the one before is shown again, and the other answer is sent from it."""
    tabs: float = 0.02
    """A page is open in two tabs, and answered otherwise in the second."""


class VisitOutcome(StrEnum):
    """How a visit ended."""

    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    WITHDRAWN = "withdrawn"
    LEFT = "left"
    """The browser was closed half-way."""
    FULL = "full"
    """There was nothing left to judge."""
    FAILED = "failed"
    """The server did not answer in time."""


@dataclass(slots=True)
class VisitLog:
    """One person's visit, from the person's side."""

    platform_id: str
    outcome: VisitOutcome = VisitOutcome.FAILED
    code: str | None = None
    shown: list[int] = field(default_factory=list)
    """Places of the cells that were seen, each once, in order."""
    given: list[tuple[int | None, Side]] = field(default_factory=list)
    """Answers that the server took, as the next page came: the place of the cell, None at an
    attention check, and the verdict."""
    waits: list[float] = field(default_factory=list)
    """Seconds from each request to its whole answer, without those during an outage."""
    retries: int = 0
    """Requests that were sent again, as the server was away."""
    oddities: list[str] = field(default_factory=list)
    """What must not happen: an answer that contradicts the rules of a study."""


Words = tuple[tuple[str, ...], tuple[str, ...]]
"""Of a query and of its context, punctuation left out."""


class _LostError(Exception):
    """The server was away for too long, or gave an answer that leads nowhere."""


class SeenPage:
    """A page's words and forms, read from its HTML alone."""

    def __init__(self, html: str) -> None:
        self._soup = BeautifulSoup(html, "html.parser")

    @property
    def state(self) -> str:
        """What the first heading says, for programs: complete, withdrawn, or nothing."""
        heading = self._soup.select_one("h1[data-state]")
        return str(heading["data-state"]) if heading else ""

    def has_form(self, action: str) -> bool:
        return self._soup.find("form", attrs={"action": action}) is not None

    def form(self, action: str) -> dict[str, str]:
        """What the form that goes to an address holds before anything is chosen."""
        hidden = self._soup.select(f"form[action='{action}'] input[type=hidden]")
        if not hidden:
            raise _LostError(f"no form to {action}")
        return {str(field["name"]): str(field["value"]) for field in hidden}

    def case(self) -> Words:
        """The words of the query and of the context that are shown."""
        query = self._soup.select_one("section.query blockquote")
        context = self._soup.select_one("section.context .parts")
        return (
            split_words(query.get_text(" ") if query else ""),
            split_words(context.get_text(" ") if context else ""),
        )

    @property
    def code(self) -> str | None:
        """The code of the last page."""
        element = self._soup.select_one("#code")
        return element.get_text(strip=True) if element else None


def split_words(text: str) -> tuple[str, ...]:
    """The words of a text, punctuation left out."""
    return tuple(re.findall(r"\w+", text))


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
    mishaps: Mishaps
    speed: float
    """So many times as fast as the study's own time."""
    calm: Callable[[], bool] = lambda: True
    """Whether nothing is wrong at the moment: waits of other moments are not counted."""


@cache
def _certificates() -> ssl.SSLContext:
    """Shared: to read them takes longer than a page, and would be counted as the server's."""
    return ssl.create_default_context()


class Visit:
    """A person in front of a browser."""

    def __init__(self, scene: Scene, person: SimulatedPerson) -> None:
        self.scene = scene
        self.person = person
        platform = scene.study.recruitment.platform
        account = ACCOUNTS[platform].format(person.number)
        self.log = VisitLog(account)
        self._client = httpx.AsyncClient(
            follow_redirects=True,
            timeout=30,
            trust_env=False,
            verify=_certificates(),
        )
        self._servers = cycle(scene.urls)
        self._withdraws = person.draw.random() < scene.mishaps.withdraw
        self._leaves = person.draw.random() < scene.mishaps.leave
        self._returns = person.draw.random() < 0.5
        self._turns_at = int(person.draw.integers(1, 12))

    async def run(self) -> VisitLog:
        """Go through the study; returns what happened."""
        platform = self.scene.study.recruitment.platform
        account = urlencode({ACCOUNT_PARAMETER[platform]: self.log.platform_id})
        try:
            async with self._client:
                await self._think()  # people don't come all in one moment
                response = await self._ask("GET", f"/?{account}")
                while (after := await self._step(response)) is not None:
                    response = after
        except _LostError as error:
            self.log.outcome = VisitOutcome.FAILED
            self.log.oddities.append(f"visitor {self.person.number}: {error}")
        return self.log

    async def _step(self, response: httpx.Response) -> httpx.Response | None:
        """One page; None at the end."""
        path, page = response.url.path, SeenPage(response.text)
        if path == "/done":
            self._end(page)
            return None
        if path.startswith("/page/"):
            return await self._judge(path, page)
        if page.state == "complete":
            self.log.outcome = VisitOutcome.FULL
            return None
        await self._think()
        if path == "/consent":
            if not page.has_form(path):  # every place is taken at the moment
                await self._wait(0.1)
                return await self._ask("GET", path)
            return await self._send(path, page.form(path), agree="yes", age="true", read="true")
        if path == "/wait":
            await self._wait(0.1)
            return await self._send(path, page.form(path))
        if path == "/about":
            return await self._send(path, page.form(path), tool=self.person.tool)
        if path == "/tutorial":
            return await self._ask("GET", "/check")
        if path == "/check":
            questions = enumerate(self.scene.study.comprehension.questions)
            confused = self.person.draw.random() < CONFUSED
            chosen = {f"question-{n}": str(0 if confused else one.answer) for n, one in questions}
            return await self._send(path, page.form(path), **chosen)
        raise _LostError(f"{response.status_code} at {path}")

    async def _judge(self, path: str, page: SeenPage) -> httpx.Response | None:
        shown = self.scene.pages.get(page.case())
        if shown is None:
            raise _LostError(f"no case of the study at {path}")
        place = shown if isinstance(shown, int) else None
        if place is not None and place not in self.log.shown:
            self.log.shown.append(place)
        if len(self.log.given) >= self._turns_at and (self._withdraws or self._leaves):
            return await (self._withdraw() if self._withdraws else self._leave())
        if place is not None:
            verdict = self.person.verdict(self.scene.rates[place])
        else:
            verdict = self.person.check(self.scene.study.check(str(shown)).expected)
        fields: dict[str, str] = page.form(path) | {"verdict": verdict}
        if self.scene.study.ask.confidence:
            fields["confidence"] = str(self.person.draw.integers(1, 6))
        await self._think()
        after = await self._answer(path, fields)
        if after.url.path == path:  # too soon
            await self._think()
            after = await self._answer(path, fields)
        if after.url.path == path:
            raise _LostError(f"an answer was not taken at {path}")
        completed = self._code(VisitOutcome.COMPLETED)
        if after.url.path == "/done" and SeenPage(after.text).code != completed:
            # The lease ran out under the answer: another person has the block.
            return after
        self.log.given.append((place, verdict))
        if self.person.draw.random() < self.scene.mishaps.back:
            await self._go_back(path, fields, after)
        return after

    async def _answer(self, path: str, fields: dict[str, str]) -> httpx.Response:
        """Send an answer as people do: once, twice at once, or from two tabs."""
        draw = self.person.draw.random()
        mishaps = self.scene.mishaps
        if draw < mishaps.double:
            both = await asyncio.gather(self._send(path, fields), self._send(path, fields))
            return both[0] if both[0].url.path != path else both[1]
        response = await self._send(path, fields)
        if draw > 1 - mishaps.tabs and response.url.path != path:
            second = await self._send(path, _opposite(fields))
            if second.url.path != response.url.path:
                self._odd(f"a second tab led to {second.url.path} from {path}")
        return response

    async def _go_back(self, path: str, fields: dict[str, str], after: httpx.Response) -> None:
        back = await self._ask("GET", path)
        if back.url.path == path and SeenPage(back.text).has_form(path):
            self._odd(f"{path} could be answered again")
        again = await self._send(path, _opposite(fields))
        if again.url.path != after.url.path:
            self._odd(f"going back to {path} led to {again.url.path}")

    async def _withdraw(self) -> httpx.Response:
        self._withdraws = False
        page = SeenPage((await self._ask("GET", "/withdraw")).text)
        return await self._send("/withdraw", page.form("/withdraw"))

    async def _leave(self) -> httpx.Response | None:
        self.log.outcome = VisitOutcome.LEFT
        self._leaves = False
        if not self._returns:
            return None
        await self._wait(AWAY_LEASES)
        return await self._ask("GET", "/")

    def _end(self, page: SeenPage) -> None:
        ends = (VisitOutcome.COMPLETED, VisitOutcome.SCREENED_OUT, VisitOutcome.WITHDRAWN)
        self.log.code = page.code
        ended = next((outcome for outcome in ends if self._code(outcome) == page.code), None)
        if ended is None:
            self._odd(f"no code of the study: {page.code}")
        elif ended is VisitOutcome.WITHDRAWN and self.log.outcome is VisitOutcome.LEFT:
            return  # the block was given to another person meanwhile
        elif ended is VisitOutcome.WITHDRAWN and page.state != "withdrawn":
            self.log.outcome = VisitOutcome.LEFT
        else:
            self.log.outcome = ended

    def _code(self, outcome: VisitOutcome) -> str:
        return str(getattr(self.scene.study.recruitment, outcome.value))

    def _odd(self, what: str) -> None:
        self.log.oddities.append(f"visitor {self.person.number}: {what}")

    async def _think(self) -> None:
        await asyncio.sleep(float(self.person.draw.uniform(*THINK)) / self.scene.speed)

    async def _wait(self, leases: float) -> None:
        """Places become free when a lease runs out."""
        lease = 60 * self.scene.study.timing.lease_minutes / self.scene.speed
        await asyncio.sleep(max(0.5, leases * lease))

    async def _send(self, path: str, fields: dict[str, str], **chosen: str) -> httpx.Response:
        return await self._ask("POST", path, fields | chosen)

    async def _ask(
        self, method: str, path: str, fields: dict[str, str] | None = None
    ) -> httpx.Response:
        """One request, sent again while the server is away: every one may come twice."""
        until = time.monotonic() + PATIENCE
        calm = self.scene.calm()
        while True:
            try:
                response = await self._client.request(
                    method, next(self._servers) + path, data=fields
                )
                if response.status_code not in (429, 503):
                    break
                problem = f"{response.status_code}"
            except httpx.TransportError as error:
                problem = type(error).__name__
            calm = False
            self.log.retries += 1
            if time.monotonic() > until:
                raise _LostError(f"{problem} for {PATIENCE} s at {path.split('?')[0]}")
            await asyncio.sleep(0.25)
        if response.status_code >= 500:
            raise _LostError(f"{response.status_code} at {response.url.path}")
        if calm and self.scene.calm():
            for step in (*response.history, response):
                self.log.waits.append(step.elapsed.total_seconds())
        return response


def _opposite(fields: dict[str, str]) -> dict[str, str]:
    return fields | {"verdict": "unsafe" if fields["verdict"] == "safe" else "safe"}
