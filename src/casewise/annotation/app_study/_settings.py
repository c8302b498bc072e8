"""How the study's server is run."""

from dataclasses import dataclass
from pathlib import Path

DEFAULT_RATE = "300/second"

MOST_BYTES = 64 * 1024
"""Of a request's body."""

BODY_SECONDS = 20
"""Within which a request's body has come."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the study's server is run."""

    origin: str
    """What people reach it by, such as ``https://study.example``; without a path."""
    behind_proxy: bool = False
    """Whether the last address of X-Forwarded-For is the person's."""
    rate: str | None = DEFAULT_RATE
    """Requests that one address may make, in the notation of ``limits``; None is any number."""
    log: Path | None = None
    """Where requests are written, without content; None writes none."""

    @property
    def secure(self) -> bool:
        """Whether cookies are for https alone."""
        return self.origin.startswith("https:")
