"""``casewise contexts revise`` as a person starts it: a process, and HTTP to its page."""

import http.client
import json
import re
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from conftest import clean_env
from support.starts import Start


class Revising:
    """A server in a process of its own; ``kill`` is kill -9."""

    def __init__(self, file: Path, *options: str) -> None:
        command = ["contexts", "revise", file.name, "--no-browser", "--author", "Ada", *options]
        self.process = Start(command, file.parent, clean_env())
        self.url = self.process.line().strip()
        assert self.url, self.log
        self.host = urlsplit(self.url).netloc
        self.origin = f"http://{self.host}"
        self.cookie = self.token = ""

    @property
    def log(self) -> str:
        """All that the terminal showed beside the address."""
        return self.process.stderr

    def __enter__(self) -> Self:
        self.cookie = self.ask("GET", self.url.removeprefix(self.origin))[1]["set-cookie"]
        self.cookie = self.cookie.split(";")[0]
        page = self.ask("GET", "/")[2].decode()
        found = re.search('name="casewise-token" content="([^"]+)"', page)
        assert found is not None
        self.token = found[1]
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ask(
        self, method: str, path: str, body: Any = None, **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """One request as the page sends it, but for the headers that are given (None: left out)."""
        usual: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie}
        if method not in ("GET", "HEAD"):
            usual |= {
                "Origin": self.origin,
                "X-Casewise-Token": self.token,
                "Content-Type": "application/json",
                "If-Match": '"0-0"',
            }
        given = {name.replace("_", "-").title(): value for name, value in headers.items()}
        sent = {name: value for name, value in (usual | given).items() if value is not None}
        data = None if body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            if data is not None:
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            answer = connection.getresponse()
            lowered = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, lowered, answer.read()
        finally:
            connection.close()

    def pairs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.ask("GET", "/api/pairs")[2])["pairs"]
        return found

    def pair(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("GET", f"/api/pairs/{key}")[2])
        return found

    def save(self, pair: dict[str, Any], **fields: Any) -> tuple[int, dict[str, Any]]:
        """Edit the first case of a pair."""
        edit = {"id": pair["cases"][0]["id"], **fields}
        body = {"author": "Ada", "reason": "because", "cases": [edit]}
        status, _, data = self.ask(
            "PUT", f"/api/pairs/{pair['key']}", body, if_match=f'"{pair["version"]}"'
        )
        return status, json.loads(data)
