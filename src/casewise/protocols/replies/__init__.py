"""The offline reader of replies: complied, in part, refused, or can't be told; a baseline."""

from casewise.protocols.replies._read_reply import READER_VERSION, read_reply, string_match

__all__ = [
    "READER_VERSION",
    "read_reply",
    "string_match",
]
