"""Conversations that were held elsewhere: read from the files of others, placed in cases."""

from casewise.transcripts.conversations import BadLine, Conversation, Endings
from casewise.transcripts.masking import Mask, open_mask
from casewise.transcripts.placing import (
    READ_AT_MOST,
    Chosen,
    NoReply,
    Places,
    Prefix,
    Prefixes,
    Reply,
    Unplaced,
    grade_old,
    plain,
    read_chosen,
    reply_of,
)
from casewise.transcripts.tools import read_columns, read_conversations

__all__ = [
    "BadLine",
    "Chosen",
    "Conversation",
    "Endings",
    "Mask",
    "NoReply",
    "Places",
    "Prefix",
    "Prefixes",
    "READ_AT_MOST",
    "Reply",
    "Unplaced",
    "grade_old",
    "open_mask",
    "plain",
    "read_chosen",
    "read_columns",
    "read_conversations",
    "reply_of",
]
