"""The offline reader of replies: complied, in part, refused, or it can't be told."""

from casewise.protocols.replies._read import READER_VERSION, read_reply

__all__ = ["READER_VERSION", "read_reply"]
