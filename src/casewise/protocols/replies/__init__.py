"""The offline reader of replies: complied, in part, refused, or can't be told; plain baselines."""

from casewise.choices import Rulings
from casewise.protocols.replies._read_reply import READER_VERSION, count_fitted, read_reply
from casewise.protocols.replies._string_match import phrase_match, string_match

__all__ = [
    "READER_VERSION",
    "Rulings",
    "count_fitted",
    "phrase_match",
    "read_reply",
    "string_match",
]
