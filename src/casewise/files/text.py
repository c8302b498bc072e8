"""Addresses of files; text, JSON and CSV from them, with errors that name the place.

CSV is in UTF-8: written so that no spreadsheet runs a cell, and read back exactly.
"""

import codecs
import csv
import io
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from zipfile import BadZipFile, ZipFile

from casewise.errors import InputError

if TYPE_CHECKING:
    import polars as pl

LARGEST: Final = 1 << 28
"""Bytes of the largest file that is read whole: 256 MiB."""

LONGEST: Final = 1 << 26
"""Bytes of the longest line, and characters of the longest cell, that is read: 64 MiB."""

MOST_ROWS: Final = 1 << 23
"""Rows of the largest table that is read."""

TOO_LONG: Final = f"too long (expected at most {LONGEST >> 20} MiB a line)"


def read_text(path: Path) -> str:
    """Read a UTF-8 file (a byte order mark is dropped), line ends untouched.

    Raises:
        InputError: The file is missing, a folder, unreadable, too large, empty, or not UTF-8.
    """
    check_whole(path)
    text = "".join(text_lines(path))
    if not text.strip():
        raise InputError("the file is empty", path)
    return text


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Read the bytes of a file, or at most so many from its start.

    Raises:
        InputError: The file is missing, no file, unreadable, or too large to be read whole.
    """
    if most is None:
        check_whole(path)
    with _opened(path) as file:
        return file.read(-1 if most is None else most)


def _too_large(path: Path, what: str, most: str) -> InputError:
    return InputError(f"{what} is too large", path, expected=f"at most {most}")


def check_whole(path: Path) -> None:
    """Refuse a file that is too large to be read whole, before anything of it is read.

    Raises:
        InputError: It is, or is no file.
    """
    with _opened(path) as file:
        size = file.seek(0, os.SEEK_END)
    if size > LARGEST:
        most = f"{LARGEST >> 20} MiB; else JSON Lines, or several files"
        raise _too_large(path, "the file", most)


def check_archive(path: Path) -> None:
    """Refuse an archive, such as a log, that unpacks to far more than it holds.

    Raises:
        InputError: It does, or is no file.
    """
    with _opened(path) as file, suppress(BadZipFile):
        for member in ZipFile(file).infolist():
            if member.file_size > max(LARGEST, 100 * member.compress_size):
                raise _too_large(path, f"{member.filename} in it", "a hundred times what is packed")


def check_rows(rows: int, path: Path) -> None:
    """Refuse a table of too many rows.

    Raises:
        InputError: It has.
    """
    if rows > MOST_ROWS:
        raise _too_large(path, "the table", f"{MOST_ROWS} rows")


def check_unpacked(size: float, path: Path) -> None:
    """Refuse a table that unpacks to far more than it holds.

    Raises:
        InputError: It does.
    """
    if size > max(LONGEST, 100 * path.stat().st_size):
        raise _too_large(path, "the table", "a hundred times what is packed")


def check_size(table: "pl.DataFrame", path: Path) -> None:
    """Refuse a table that takes far more memory than its file.

    Raises:
        InputError: It has too many rows, or a column that holds too much.
    """
    import polars as pl

    if table.estimated_size() > max(LARGEST, 1000 * path.stat().st_size):
        raise _too_large(path, "the table", "a thousand times what is packed")
    check_rows(table.height, path)
    for sizes in table.select(pl.col(pl.String).str.len_bytes().cast(pl.Int64)):
        if (sizes > LONGEST).any() or int(sizes.sum()) > 8 * LARGEST:
            raise _too_large(
                path, f"column {sizes.name!r}", f"{LONGEST >> 20} MiB a cell, 2 GiB in all"
            )


def text_lines(
    path: Path,
    encoding: str | None = None,
    notes: list[str] | None = None,
    *,
    newline: str = "\n",
    longest: int | None = None,
) -> Iterator[str]:
    r"""Lines of a text with their ends, one in memory at a time.

    Args:
        path: The file.
        encoding: Its encoding; None is UTF-8, or UTF-16 with a byte order mark.
        notes: Where a note goes if the file is in neither and is read as Windows-1252; None
            refuses it.
        newline: End of a line; empty for each of ``\n``, ``\r`` and ``\r\n``.
        longest: Characters of a line at which it is parted; None refuses lines over ``LONGEST``.

    Raises:
        InputError: The file is missing, no file, unreadable, no text, or of another encoding.
    """
    encoding = _encoding(path, encoding, notes)
    with _opened(path) as raw, io.TextIOWrapper(raw, encoding, newline=newline) as file:
        number = 0
        while line := file.readline(longest or LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                raise InputError(TOO_LONG, path, f"line {number}")
            yield line


def _encoding(path: Path, encoding: str | None, notes: list[str] | None) -> str:
    """The encoding of a text, once all of it was read by it."""
    with _opened(path) as file:
        marked = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        name = encoding or ("utf-16" if marked else "utf-8-sig")
        try:
            decoder = codecs.getincrementaldecoder(name)()
        except LookupError:
            raise InputError("unknown encoding", path, field="encoding", found=name) from None
        file.seek(0)
        lines, is_last = 0, False
        while not is_last:
            data = file.read(1 << 20)
            is_last = not data
            try:
                decoder.decode(data, final=is_last)
                if data.count(0) > max(1000, len(data) // 10):
                    raise InputError("not a text: it holds zero bytes", path)
            except UnicodeDecodeError as error:
                if encoding is None and notes is not None and b"\0" not in data:
                    notes.append(_READ_AS % path.name)
                    return _encoding(path, "cp1252", None)
                line = lines + error.object.count(b"\n", 0, error.start) + 1
                raise InputError(
                    "wrong encoding",
                    path,
                    f"line {line}",
                    found=error.object[error.start : error.start + 4],
                    expected="UTF-8: save it so, or name its encoding in the mapping of an import "
                    "(encoding: shift_jis)",
                ) from None
            lines += data.count(b"\n")
    return name


_READ_AS = (
    "%s is not in UTF-8: read as Windows-1252, as spreadsheet programs write it. If letters come "
    "out wrong, name the encoding in the mapping (encoding: mac_roman)"
)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        # To open a pipe waits for who writes to it, and a device may have no end.
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError("is a pipe or a device, expected a file", path)
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", path) from None
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", path) from None


def parse_json(text: str, file: Path, record: str | None = None) -> Any:
    """Parse JSON, refusing a key that stands twice in one object (one value would be lost).

    Raises:
        InputError: The text is not JSON (truncated, say), with line and column.
    """

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError("the key stands twice", file, record, field=twice)
        return result

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text.rstrip())
        problem = "truncated JSON" if at_end or "Unterminated" in error.msg else "not valid JSON"
        place = f"column {error.colno}"
        if record is None:
            place = f"line {error.lineno} {place}"
        what = "cut off" if at_end else error.msg.removesuffix(" at")
        raise InputError(f"{problem}: {what} at {place}", file, record) from None
    except RecursionError:
        raise InputError("nested too deeply", file, record) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"not valid JSON: {error}", file, record) from None


def whole_characters(value: Any) -> Any:
    """A text, or a value of JSON, with U+FFFD for each half of a character.

    JSON's escapes can write half of a surrogate pair, which no file can hold.
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return value


_FORMULA = re.compile(r"'*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Beginning of a cell that a spreadsheet may run, after apostrophes; in Japanese, full-width
too."""

_NUMBER = re.compile(r"'*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def guard_cell(text: str) -> str:
    """Cell of CSV for a text: with an apostrophe before it, if a spreadsheet might run it.

    Run is what starts, also after white space, with ``=``, ``+``, ``-``, ``@`` or their full-width
    forms, or with a tab or line end. Such texts that have apostrophes before them already get one
    more, so that ``unguard_cell`` gives back every text exactly. Numbers stay numbers.
    """
    return f"'{text}" if _may_run(text) else text


def unguard_cell(cell: str) -> str:
    """Text of a cell that ``guard_cell`` made; other cells, ``'tis`` for one, stay as they are."""
    return cell[1:] if cell.startswith("'") and _may_run(cell) else cell


def _may_run(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def csv_text(
    names: Sequence[str], rows: Iterable[Sequence[object]], *, guarded: bool = True
) -> str:
    """Write CSV as RFC 4180 says, with a header.

    Args:
        names: The header.
        rows: Texts, numbers, and None for an empty cell.
        guarded: Whether to put an apostrophe before texts that a spreadsheet might run. False only
            where the reader shows cells as they stand; the texts must then be safe in themselves.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    for row in chain([names], rows):
        cells = (guard_cell(cell) if guarded and isinstance(cell, str) else cell for cell in row)
        writer.writerow(list(cells))
    return out.getvalue()


_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)


def address_of(path: Path | str) -> str:
    """Address of a folder or file, as fsspec and Inspect take it.

    A path makes one slash of two: the two of ``s3://`` are put back. Whatever has no scheme, and
    ``file://``, is a path of this machine.
    """
    text = str(path)
    match = _URL.fullmatch(text)
    if match is None:
        return text
    scheme, rest = match.groups()
    return f"/{rest}" if scheme == "file" else f"{scheme}://{rest}"


def quoted(path: Path | str) -> str:
    """Address of a folder or file as a word of a command that a person copies into a shell."""
    return shlex.quote(address_of(path))


def is_elsewhere(path: Path | str) -> bool:
    """Tell whether a path is an address, and not on this machine."""
    return "://" in address_of(path)


def place_of(path: Path) -> Path:
    """The path, without ``file://`` where it is on this machine."""
    return path if is_elsewhere(path) else Path(address_of(path))


def cache_dir() -> Path:
    """Folder of fetched files, which may not exist yet."""
    # Only here: most commands fetch nothing.
    import platformdirs

    folder = os.environ.get("CASEWISE_CACHE")
    return Path(folder) if folder else platformdirs.user_cache_path("casewise", appauthor=False)
