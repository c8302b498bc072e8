"""YAML written by hand: cards and scripts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from casewise.cases._records import YamlLoader
from casewise.errors import InputError
from casewise.files import read_text

MAX_BYTES = 1_000_000
MAX_DEPTH = 20
"""Lists and mappings inside one another; a card needs six."""


def read_plain_yaml(
    path: Path, what: str, known: Sequence[str] = (), *, most_bytes: int = MAX_BYTES
) -> Any:
    """Read a YAML file that a person wrote by hand, and refuse what no person would.

    Args:
        path: The file.
        what: What it is in a message: ``card``, ``script``.
        known: Names that could have been given in place of a file.
        most_bytes: The largest file; more for what is partly written by a program.

    Raises:
        InputError: No such file; too large, too deep, no YAML; aliases or tags, which make a
            small file large or endless.
    """
    try:
        size = path.stat().st_size
    except OSError:
        names = f", or one of {', '.join(known)}" if known else ""
        expected = f"a YAML file{names}"
        raise InputError(f"no such {what}", file=path, expected=expected) from None
    if size > most_bytes:
        raise InputError(
            f"too large for a {what}", file=path, found=size, expected=f"at most {most_bytes} bytes"
        )
    text = read_text(path)
    try:
        _check_events(text, path)
        return yaml.load(text, Loader=YamlLoader)
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", "unreadable")
        place = f"line {mark.line + 1}" if mark else None
        raise InputError(f"not valid YAML: {problem}", file=path, record=place) from None
    except ValueError as error:  # a date such as 2026-02-31, a number of thousands of digits
        raise InputError(f"not valid YAML: {error}; quote it", file=path) from None


def _check_events(text: str, path: Path) -> None:
    """Refuse what makes a small file large or endless once built: aliases and deep nesting."""
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=YamlLoader):
        place = f"line {event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent):
            expected = "the text itself where it is used"
            raise InputError(
                "a YAML alias", file=path, record=place, found=f"*{event.anchor}", expected=expected
            )
        if getattr(event, "tag", None):
            raise InputError("a YAML tag", file=path, record=place, found=event.tag)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise InputError("nested too deeply", file=path, record=place)
