"""Conversations that were held elsewhere: read from the files of others, placed in cases."""

from casewise.transcripts.conversations import BadLine, Conversation, Endings
from casewise.transcripts.masking import open_mask
from casewise.transcripts.placing import (
    Places,
    ReplayTurns,
    Reply,
    find_turns,
    last_reply,
    plain,
)
from casewise.transcripts.tools import read_columns, read_conversations
