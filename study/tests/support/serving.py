"""A study's server in a thread, and people who come to it over HTTP."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import httpx
from support.studies import KEYS, Clock

from casewise_study.app_base import listen, make_server
from casewise_study.app_study.study_app import make_app
from casewise_study.app_study.study_guard import Settings
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import Secrets
from casewise_study.study.schema import Study
from casewise_study.study.study_file import load_study


class Serving:
    """A server with a clock that tests turn, or another. ``log`` is what it has logged."""

    def __init__(
        self,
        path: Path,
        address: str | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
        patience: float = 20,
        keys: Secrets = KEYS,
        **settings: Any,
    ) -> None:
        study = load_study(path)
        self.clock = Clock()
        address = address or f"sqlite:///{path.with_suffix('.db')}"
        self.store = Store(study, address, keys, clock=clock or self.clock, patience=patience)
        self._listening = listen("127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.lines: list[str] = []
        given = {"origin": self.origin, "rate": None} | settings
        app = make_app(self.store, Settings(**given), self.lines.append)
        self._server = make_server(app)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listening]}
        )

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()
        self.store.close()


@dataclass(frozen=True)
class Origin:
    """A study's server in another process, by its address."""

    origin: str


class Guest:
    """A person with a browser without JavaScript: the last page is ``page``."""

    def __init__(self, server: Serving | Origin, start: str = "/", **headers: str) -> None:
        self.server = server
        # Without TLS: to read the certificates of all authorities takes 23 ms a person. On a busy
        # machine a page may take longer than the usual five seconds.
        self.client = httpx.Client(
            base_url=server.origin,
            follow_redirects=True,
            headers=headers,
            verify=False,
            timeout=60,
        )
        self.page = self.client.get(start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    @property
    def at(self) -> str:
        return self.page.url.path

    @property
    def form(self) -> str:
        found = re.search('name="form" value="([^"]+)"', self.page.text)
        assert found is not None, self.page.text
        return found[1]

    @property
    def code(self) -> str:
        found = re.search('id="code">([^<]+)<', self.page.text)
        assert found is not None, self.page.text
        return found[1]

    @property
    def personal_code(self) -> str:
        found = re.search('id="personal-code">([^<]+)<', self.page.text)
        assert found is not None, self.page.text
        return found[1]

    @property
    def own_address(self) -> str:
        found = re.search('id="own-address" readonly value="([^"]+)"', self.page.text)
        assert found is not None, self.page.text
        return found[1]

    def get(self, path: str) -> httpx.Response:
        self.page = self.client.get(path)
        return self.page

    def send(self, path: str, **fields: str) -> httpx.Response:
        self.page = self.client.post(path, data={"form": self.form, **fields})
        return self.page

    def come_back(self, code: str) -> httpx.Response:
        """With a personal code."""
        self.page = self.client.post("/resume", data={"code": code})
        return self.page

    def agree(self) -> Self:
        self.send("/consent", agree="yes", age="true", read="true")
        return self

    def check(self, answer: int = 1, attempt: int = 1) -> Self:
        self.get("/check")
        self.send("/check", attempt=str(attempt), **{"question-0": str(answer)})
        return self

    def understand(self, study: Study, attempt: int = 1) -> Self:
        """Answer all questions about the instructions right."""
        self.get("/check")
        right = enumerate(study.comprehension.questions)
        given = {f"question-{number}": str(one.answer) for number, one in right}
        self.send("/check", attempt=str(attempt), **given)
        return self

    def begin(self) -> Self:
        """As far as the first case."""
        return self.agree().check()

    def answer(self, verdict: str = "safe", seconds: float = 3, **fields: str) -> httpx.Response:
        """Judge the page that is shown, after a while."""
        if isinstance(self.server, Serving):
            self.server.clock.turn(seconds=seconds)
        return self.send(self.at, verdict=verdict, **fields)

    def finish(self) -> Self:
        while self.at.startswith("/page/"):
            self.answer()
        return self
