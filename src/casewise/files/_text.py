"""Bytes to text to JSON, with errors that name the place."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from casewise.errors import InputError


def read_text(path: Path) -> str:
    """Read a UTF-8 file (a byte order mark is dropped), line ends untouched.

    Raises:
        InputError: The file is missing, a folder, unreadable, empty, or not UTF-8.
    """
    return utf8_text(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Read a file as it is.

    Raises:
        InputError: The file is missing, a folder, or unreadable.
    """
    with _opened(path) as file:
        return file.read()


def utf8_text(data: bytes, path: Path) -> str:
    """What ``read_text`` makes of a file's bytes.

    Raises:
        InputError: They are empty, or not UTF-8.
    """
    if not data.strip():
        raise InputError("the file is empty", file=path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _wrong_encoding(data, error, path, line=1) from None


def raw_lines(path: Path, longest: int) -> Iterator[bytes | None]:
    """The lines of a file as they are, one in memory at a time; None in place of a longer one.

    Lines end at line feeds alone, which are left out.

    Args:
        path: The file.
        longest: The most bytes of a line that are taken into memory.

    Raises:
        InputError: The file is missing, a folder, unreadable, or empty.
    """
    empty = True
    with _opened(path) as file:
        while data := file.readline(longest + 1):
            empty = empty and not data.strip()
            whole = data.endswith(b"\n") or len(data) <= longest
            yield data.removesuffix(b"\n") if whole else None
            while not whole:
                rest = file.readline(longest)
                whole = rest.endswith(b"\n") or not rest
    if empty:
        raise InputError("the file is empty", file=path)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file (a byte order mark is dropped), one in memory at a time.

    Lines end at line feeds alone, which are left out.

    Raises:
        InputError: As ``read_text``; wrong encoding once its line is reached.
    """
    empty = True
    with _opened(path) as file:
        for number, data in enumerate(file, start=1):
            empty = empty and not data.strip()
            try:
                line = data.removesuffix(b"\n")
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise _wrong_encoding(data, error, path, line=number) from None
    if empty:
        raise InputError("the file is empty", file=path)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except IsADirectoryError:
        raise InputError("is a folder, expected a file", file=path) from None
    except OSError as error:
        raise InputError(f"can't be read: {error.strerror}", file=path) from None


def _wrong_encoding(data: bytes, error: UnicodeDecodeError, path: Path, line: int) -> InputError:
    line += data.count(b"\n", 0, error.start)
    return InputError(
        "wrong encoding",
        file=path,
        record=f"line {line}",
        found=data[error.start : error.start + 4],
        expected="UTF-8",
    )


def parse_json(text: str, *, file: Path, record: str | None = None) -> Any:
    """Parse JSON, refusing a key that stands twice in one object (one value would be lost).

    Raises:
        InputError: The text is not JSON (truncated, say), with line and column.
    """

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError("the key stands twice", file=file, record=record, field=twice)
        return result

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(text.rstrip())
        problem = "truncated JSON" if at_end or "Unterminated" in error.msg else "not valid JSON"
        place = f"column {error.colno}"
        if record is None:
            place = f"line {error.lineno} {place}"
        raise InputError(f"{problem}: {error.msg} at {place}", file=file, record=record) from None
    except RecursionError:
        raise InputError("nested too deeply", file=file, record=record) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"not valid JSON: {error}", file=file, record=record) from None
