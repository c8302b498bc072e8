"""Declaration of an option: all that a field's type and default don't say."""

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Input(NamedTuple):
    """Option of commands for a field of a dataclass."""

    help: str
    panel: str = ""
    """Panel of the help; empty of an option that commands don't have."""
    metavar: str = ""
    option: str = ""
    """Spellings, parted by spaces, where they are not made of the field's name."""
    axis: bool = False
    """True if several values may be given, whose product is run, and each tells runs apart."""
    commas: bool = False
    """True if commas part several values."""
    choices: Callable[[], Iterable[str]] | None = None
    """The only values; with a metavar, names that are known among others."""
    file: bool = False
    complete: str = ""
    """Name of the completion, where it isn't ``choices``."""
    least: float | None = None
    most: float | None = None
