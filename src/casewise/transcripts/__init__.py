"""Conversations that were held elsewhere: read from the files of others, placed in cases."""

from casewise.transcripts._conversation import BadLine, Conversation
from casewise.transcripts._placing import Places, Reply, Unplaced, plain, reply_of
from casewise.transcripts._sources import read_conversations

__all__ = [
    "BadLine",
    "Conversation",
    "Places",
    "Reply",
    "Unplaced",
    "plain",
    "read_conversations",
    "reply_of",
]
