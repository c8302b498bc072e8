"""Access to the revision page: only this computer's user, only from the page itself."""

import secrets
from dataclasses import dataclass, field

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from casewise.annotation.app_base import READING, App, Guard, constant_time_equal, security_headers

TOKEN_HEADER = "x-casewise-token"


def _random() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Keys:
    """The access tokens; each start makes new ones."""

    port: int
    entry: str = field(default_factory=_random)
    """Stands in the address that the terminal shows, and is changed for the cookie."""
    session: str = field(default_factory=_random)
    """The cookie."""
    page: str = field(default_factory=_random)
    """Stands in the page, and goes back with everything that it sends: no other site has it."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The valid Host headers; any other is DNS rebinding."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    @property
    def cookie(self) -> str:
        """The cookie's name; it holds the port, since all ports of a host share cookies."""
        return f"casewise_{self.port}"

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://127.0.0.1:{self.port}/?token={self.entry}"


class RevisionGuard(Guard):
    """Admits who has the address from the terminal; takes changes only from the page."""

    most_bytes = 8_000_000

    def __init__(self, app: App, keys: Keys, closed: str, broken: Response) -> None:
        """Guard the page's application.

        Args:
            app: The application.
            keys: What lets a person in.
            closed: The page for those who have no cookie.
            broken: The answer to what should not happen.
        """
        super().__init__(app, security_headers(forms="'none'", referrer="no-referrer"), broken)
        self._keys = keys
        self._closed = closed

    def check(self, request: Request) -> Response | None:
        """Refuse other hosts, missing cookies, and changes that are not JSON of known length."""
        keys, headers = self._keys, request.headers
        if headers.get("host") not in keys.hosts:
            return self.refuse(421, "unknown host")
        path, reads = request.scope["path"], request.method in READING
        if reads and path.startswith("/static/"):
            return None
        given = request.query_params.get("token")
        if path == "/" and given and constant_time_equal(given, keys.entry):
            cookie = f"{keys.cookie}={keys.session}; HttpOnly; SameSite=Strict; Path=/"
            return Response(status_code=303, headers={"location": "/", "set-cookie": cookie})
        if not constant_time_equal(request.cookies.get(keys.cookie, ""), keys.session):
            return Response(self._closed, 403, media_type="text/html")
        kind = headers.get("content-type", "").split(";")[0].strip()
        if not reads and kind != "application/json":
            return self.refuse(415, "expected JSON")
        if not reads and "content-length" not in headers:
            return self.refuse(411, "expected a length")
        return None

    def is_own(self, request: Request, origin: str | None) -> bool:
        """Whether the request comes from the page, which alone knows its token."""
        token = request.headers.get(TOKEN_HEADER, "")
        own = origin in [f"http://{host}" for host in self._keys.hosts]
        return own and constant_time_equal(token, self._keys.page)

    def refuse(self, status: int, reason: str) -> Response:
        """A message, as the page's script reads it."""
        return JSONResponse({"message": reason}, status)
