"""A result in every form that commands print."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import RenderableType

from casewise.sheets._formats import to_json


@dataclass(frozen=True, slots=True)
class Sheet:
    """A result as commands print it; each form is made when it is asked for."""

    terminal: Callable[[], RenderableType]
    markdown: Callable[[], str]
    record: Callable[[], object]
    """Values for JSON."""

    @property
    def json(self) -> str:
        """A JSON document; what is undefined is null."""
        return to_json(self.record())
