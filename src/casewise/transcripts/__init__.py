"""Conversations that were held elsewhere: read from the files of others, placed in cases."""

from casewise.transcripts._conversation import BadLine, Conversation
from casewise.transcripts._endings import Endings
from casewise.transcripts._masking import Mask, open_mask
from casewise.transcripts._other_tools import turns_of_messages
from casewise.transcripts._placing import (
    READ_AT_MOST,
    Chosen,
    NoReply,
    Places,
    Prefix,
    Prefixes,
    Reply,
    Unplaced,
    look_at,
    plain,
    read_chosen,
    reply_of,
)
from casewise.transcripts._sources import read_conversations

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
    "look_at",
    "open_mask",
    "plain",
    "read_chosen",
    "read_conversations",
    "reply_of",
    "turns_of_messages",
]
