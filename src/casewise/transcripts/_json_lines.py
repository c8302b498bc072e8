"""Conversations as JSON Lines, one in memory at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from casewise.errors import InputError
from casewise.files import parse_json, raw_lines
from casewise.transcripts._conversation import (
    BadLine,
    Conversation,
    UnreadableError,
)
from casewise.transcripts._other_tools import record_conversation

LONGEST: Final = 2**26
"""Bytes of the longest line that is read: 64 MiB."""


def read_json_lines(path: Path) -> Iterator[Conversation | BadLine]:
    """The conversations of a file, in its order; blank lines are none.

    Args:
        path: JSON Lines; on each line a conversation, or a query with its reply.

    Raises:
        InputError: The file can't be read, or is empty.
    """
    for number, data in enumerate(raw_lines(path, LONGEST), start=1):
        if data is None:
            yield BadLine(number, f"too long (expected at most {LONGEST >> 20} MiB a line)")
            continue
        if not data.strip():
            continue
        try:
            text = data.decode("utf-8-sig" if number == 1 else "utf-8")
            # What stands twice in an object is named by its key, which may be anything.
            yield record_conversation(parse_json(text, file=path), number)
        except UnicodeDecodeError:
            yield BadLine(number, "wrong encoding (expected UTF-8)")
        except InputError as error:
            yield BadLine(number, error.problem)
        except UnreadableError as error:
            yield BadLine(number, str(error))
