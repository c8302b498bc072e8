"""Signed cookies and addresses: who a request is from."""

import time
from datetime import datetime

from itsdangerous import BadSignature, Signer, URLSafeSerializer, URLSafeTimedSerializer

from casewise.annotation._web import same
from casewise.annotation.store import Secrets, Visitor
from casewise.cases import digest

_SESSION_SECONDS = 180 * 24 * 3600
_ADMIN_SECONDS = 12 * 3600


class Sessions:
    """Everything that is signed with the study's secret."""

    def __init__(self, keys: Secrets, study_id: str, *, secure: bool) -> None:
        self._admin = keys.admin
        self._visits = URLSafeTimedSerializer(keys.derived("session"), salt="visit")
        self._admins = URLSafeTimedSerializer(keys.derived("session"), salt="admin")
        self._addresses = URLSafeSerializer(keys.derived("address"), salt="resume")
        self._forms = Signer(keys.derived("form"), salt="form")
        self.secure = secure
        prefix = "__Host-" if secure else ""
        # The ports of a host share cookies, and so do studies that follow each other on one.
        self.cookie = f"{prefix}casewise_{digest(study_id)[:8]}"
        self.admin_cookie = f"{self.cookie}_admin"

    def visit(self, visitor: Visitor) -> str:
        """The cookie of a visitor or person."""
        return self._visits.dumps(
            [visitor.key, visitor.platform_key or "", visitor.panel, visitor.by_account]
        )

    def read_visit(self, cookie: str) -> Visitor | None:
        """Whose cookie it is; None where it was not made here."""
        try:
            said, made = self._visits.loads(cookie, return_timestamp=True)
        except BadSignature:
            return None
        if _age(made) > _SESSION_SECONDS:
            return None
        key, platform_key, panel, *more = said
        # A cookie of the version before holds three: nobody was known by the account alone.
        return Visitor(key, platform_key or None, panel, by_account=bool(more and more[0]))

    def token(self, key: str) -> str:
        """What stands in a person's own address."""
        return self._addresses.dumps(key)

    def read_token(self, token: str) -> str | None:
        """The key of the person whose address it is."""
        try:
            return str(self._addresses.loads(token))
        except BadSignature:
            return None

    def form(self, key: str) -> str:
        """What stands in every form: no other site knows it, and it fits one person's forms."""
        return self._forms.get_signature(key).decode()

    def fits(self, key: str, given: str) -> bool:
        """Whether a form is this person's."""
        return same(given, self.form(key))

    def is_admin_token(self, given: str) -> bool:
        """Whether somebody is the administrator."""
        return same(given, self._admin)

    def admin(self) -> str:
        """The administrator's cookie, which a new token makes worthless."""
        return self._admins.dumps(digest(self._admin))

    def read_admin(self, cookie: str) -> bool:
        """Whether the cookie is the administrator's."""
        try:
            found, made = self._admins.loads(cookie, return_timestamp=True)
        except BadSignature:
            return False
        return _age(made) <= _ADMIN_SECONDS and same(str(found), digest(self._admin))


def _age(made: datetime) -> float:
    """Seconds; below 0 after the clock was set back, which makes no cookie worthless."""
    return time.time() - made.timestamp()
