"""Standard output for results, standard error for everything else."""

import codecs
import io
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.status import Status

from casewise.choices import Format as Format
from casewise.cli._help import OUTPUT

if TYPE_CHECKING:
    from casewise.sheets import Sheet

PIPE_WIDTH = 10_000
"""Columns that a line may take where it does not go to a terminal: nothing is folded there."""


DEGRADED = "casewise-degraded"
"""Replacement of a character that an encoding lacks: what is near to it, else a question mark."""

_NEAR = {"\u00b1": "+-", "\u2192": "->", "\u2264": "<=", "\u2265": ">=", "\u2713": "v"} | dict(
    zip(
        "\u2010\u2011\u2012\u2013\u2014\u2212\u2018\u2019\u201c\u201d\u2502\u2503\u2022\u00b7\u00d7\u2248",
        "------''\"\"||**x~",
        strict=True,
    )
)


def write_any_character() -> None:
    """Let standard output and error write what their encoding lacks as what is near to it.

    Whatever writes there, no character ends a command: neither ours nor one of the data.
    """
    codecs.register_error(DEGRADED, _degrade)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=DEGRADED)


def _degrade(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_near_characters, error.object[error.start : error.end])), error.end


def _near_characters(character: str) -> str:
    """What is near to a character: of a table's lines, of bars, of letters with accents."""
    if "\u2500" <= character <= "\u259f":
        return _NEAR.get(character, "-" if character <= "\u257f" else "#")
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return _NEAR.get(character) or plain or "?"


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
"""Characters that move a terminal's cursor, colour it, or turn its lines round."""


def _without_controls(text: str) -> str:
    """Text whose control characters are named by their numbers, as JSON names them."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class _Console(Console):
    """Console on which texts of others stay texts."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects, and texts without control characters."""
        printable = (_without_controls(item) if isinstance(item, str) else item for item in objects)
        super().print(*printable, **options)

    def on_broken_pipe(self) -> None:
        """Go on without a reader: what is left to do is done, and the status is the command's."""
        write_to_nobody()


def write_to_nobody() -> None:
    """Drop what follows on standard output, whose reader has what it wanted."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def out() -> Console:
    """Console of results. Piped, nothing is folded (unless COLUMNS says so), and has no colours."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return _Console(width=width, highlight=False, soft_wrap=False)


def err() -> Console:
    """Console of notes, progress and errors."""
    return _Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def working(text: str) -> Status:
    """Say what takes a while, on a terminal alone, for as long as the block lasts."""
    return err().status(text)


def note(text: str) -> None:
    """Say something beside the result."""
    err().print(text, markup=False, style="dim")


def command_line(text: str) -> None:
    """Say a command as it is, on one line: folded by us, it could not be pasted."""
    print(f"  {text}", file=sys.stderr)


def note_all(lines: Iterable[str]) -> None:
    """Say what a person should know, each thing once."""
    for line in dict.fromkeys(lines):
        note(f"note: {line}")


def write_out(text: str) -> None:
    """Write text as it is, but for control characters: results that programs read.

    Where the encoding lacks a character, JSON names it by its number, so that nothing is lost.
    """
    text = _without_controls(text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        if text.startswith(("{", "[")):
            # Outside of its texts, JSON is ASCII.
            text = "".join(char if char.isascii() else json.dumps(char)[1:-1] for char in text)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        write_to_nobody()


FormatOption = Annotated[Format, typer.Option(help="Form of the output.", rich_help_panel=OUTPUT)]


def print_as(format: Format, sheet: "Sheet") -> None:
    """Print a result for a terminal, or as text that is written as it is."""
    if format is Format.TABLE:
        out().print(sheet.terminal())
    else:
        write_out(sheet.json if format is Format.JSON else sheet.markdown())
