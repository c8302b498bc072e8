"""The exceptions of casewise.

CasewiseError           anything a person can mend; the command line shows it and exits with 2
├── InputError          a file or record that can't be used: file, record, field, found, expected
├── UsageError          an option or name that doesn't exist or doesn't fit
├── ModelError          a model that can't do what was asked of it, or can't be reached
└── AssetError          a file that casewise fetches (data, model weights) is absent or altered
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from casewise import __version__

SHORT = 80
"""Characters of a found value that a message shows; queries are never printed at length."""


class CasewiseError(Exception):
    """Base of every error that a person can mend; its text is the whole message."""


class UsageError(CasewiseError):
    """An option, a name or a combination that doesn't exist."""


class ModelError(CasewiseError):
    """A model that can't do what was asked of it, or can't be reached."""


class AssetError(CasewiseError):
    """A fetched file (data, templates, model weights) is absent, altered or refused."""


class InputError(CasewiseError):
    """A file or record that can't be used, and where.

    The message reads ``file, record, field: what is wrong (found ..., expected ...)``,
    with the parts that are unknown left out.
    """

    def __init__(
        self,
        problem: str,
        file: Path | str | None = None,
        record: str | None = None,
        *,
        field: str | None = None,
        found: object = ...,
        expected: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = file
        self.record = record
        self.field = field
        self.found = found
        self.expected = expected
        place = [str(file)] if file is not None else []
        place += [record] if record else []
        place += [f"field {field!r}"] if field else []
        detail = [f"found {shorten(found)}"] if found is not ... else []
        detail += [f"expected {expected}"] if expected else []
        text = f"{', '.join(place)}: {problem}" if place else problem
        super().__init__(f"{text} ({'; '.join(detail)})" if detail else text)


def shorten(value: object) -> str:
    """Show a value in a message: its repr, cut to ``SHORT`` characters."""
    text = repr(value)
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."


def first_line(error: BaseException) -> str:
    """First line of an error's message that is not blank; its type's name, where there is none."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Question after the name nearest to one that doesn't exist; empty where none is near."""
    # From .7 on: user is no misspelt query.
    near = get_close_matches(name, [str(option) for option in known], n=1, cutoff=0.7)
    return f"did you mean {near[0]!r}? " if near else ""


def one_of(name: str, known: Iterable[str], most: int | None = None) -> str:
    """Names that are expected where one that doesn't exist was found; the nearest is asked after.

    Args:
        name: The name that was found.
        known: The names that there are.
        most: How many of them are named.
    """
    every = [str(option) for option in known]
    named = f"one of {some(every, len(every) if most is None else most)}"
    return "; ".join(filter(None, (named, did_you_mean(name, every).strip())))


def choose_from(name: str, known: Iterable[str]) -> str:
    """Names that may stand in place of one that doesn't exist, the nearest first, for a message."""
    every = [str(option) for option in known]
    return f"{did_you_mean(name, every)}choose from {', '.join(every)}"


def some(names: Sequence[str], most: int = 5, n: int | None = None) -> str:
    """The first names, and how many of ``n`` (default: of those given) are not named."""
    hidden = (len(names) if n is None else n) - most
    return ", ".join(names[:most]) + (f" and {hidden} more" if hidden > 0 else "")


def install_hint(extra: str = "", *, distribution: str = "casewise") -> str:
    """Command that installs casewise, an extra or another distribution, from source or a wheel.

    Never by the bare name: no index is known to have this project under it, and whoever registers
    the name there would run code on the machines of those who follow the message.
    """
    part = f"[{extra}]" if extra else ""
    wheel = f"{distribution.replace('-', '_')}-{__version__}-py3-none-any.whl"
    folder = "." if distribution == "casewise" else f"./{distribution.removeprefix('casewise-')}"
    return (
        f"in a checkout of casewise, pip install '{folder}{part}'; "
        f"or, where you have its wheel file, pip install '{wheel}{part}'"
    )
