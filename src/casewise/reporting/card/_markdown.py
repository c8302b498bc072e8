"""Text that Markdown leaves as it is."""

import re
import shlex
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_MARKS = re.compile(r"[\\`*\[\]<>|~&$#!]|(?<![^\W_])_|_(?![^\W_])")
"""What starts emphasis, code, a link, a cell, HTML or a formula; an underscore inside of a word
does not."""

_LIST = re.compile(r"^([+-]|\d+[.)])(?=\s)")
"""What makes a list at the start of a line."""


@dataclass(frozen=True, slots=True)
class Table:
    """Texts in rows; the first columns are words, the others numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    """How many columns are words."""

    @property
    def marks(self) -> Sequence[str]:
        """The line under the heads."""
        return ["---"] * self.words + ["---:"] * (len(self.heads) - self.words)


def escape(text: object) -> str:
    """A text on one line in which nothing is markup."""
    plain = "".join(
        " " if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") else letter
        for letter in str(text)
    )
    plain = _MARKS.sub(lambda found: f"\\{found[0]}", " ".join(plain.split()))
    return _LIST.sub(lambda found: f"{found[1][:-1]}\\{found[1][-1]}", plain)


def code_block(text: str, language: str) -> str:
    """A text in a fence that it can't close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def shell_line(arguments: Sequence[str]) -> str:
    """A command for a POSIX shell."""
    return shlex.join(("casewise", *arguments))
