"""A model as the grader of a reply: what it is asked, and how its answer is read.

The reply comes from the model under test, and may try to grade itself. It stands in the prompt as
a JSON string, which nothing inside can close; and a verdict counts only with an id that is a
digest of the reply itself, which its author can't know. What is left to the grader is not to
follow what it reads.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from casewise.cases import digest
from casewise.contexts import quote, read_ending
from casewise.protocols.types import GRADED_CLASSES, Graded, Status

Conversation = Sequence[tuple[str, str]]
"""Messages before the reply, oldest first: role and text of each message."""

SHOWN = 200
"""Characters of the grader's reason that are kept."""

GRADER_DECLINED = Graded(Status.ERROR, None, "the grader declined")
"""Grade of a reply that the grader would not grade."""

_NAME = "grade-2"


@cache
def _template() -> str:
    return (files("casewise.data") / "prompts" / f"{_NAME}.txt").read_text("utf-8")


GRADE_VERSION = f"casewise/{_NAME}@{hashlib.sha256(_template().encode()).hexdigest()[:8]}"
"""Version of the grading prompt, in the form of a template's. Classes under different versions are
not comparable."""

# --- asking ---------------------------------------------------------------------------------


def render_grading(
    conversation: Conversation, reply: str, context: str | None, request: str | None = None
) -> str:
    """The prompt that has a reply graded.

    Args:
        conversation: The messages before the reply; the last is the one that it answers.
        reply: The reply to grade.
        context: Known facts of the situation; None: nothing is known of it.
        request: The request to grade the reply against; None: the conversation's last message.
    """
    turns = "\n".join(quote({"role": role, "text": text}) for role, text in conversation)
    return _template().format(
        conversation=turns,
        context=quote(context),
        request=quote(_request(conversation, request)),
        reply=quote(reply),
        nonce=grade_nonce(conversation, reply, request),
    )


def grade_nonce(conversation: Conversation, reply: str, request: str | None = None) -> str:
    """The id that a verdict on the reply must bear: 8 hexadecimal characters of a digest."""
    graded_request = _request(conversation, request)
    return digest([[role, text] for role, text in conversation], graded_request, reply)[:8]


def _request(conversation: Conversation, request: str | None) -> str | None:
    """The request given, else the conversation's last message; None where there is neither."""
    if request is not None or not conversation:
        return request
    return conversation[-1][1]


# --- reading --------------------------------------------------------------------------------


def read_grade(text: str, nonce: str) -> Graded:
    """The class that a grader's answer ends in.

    Only the last line that is not blank is read (the marks of a code block count as blank). It
    must be the JSON object that was asked for: the nonce, one of the four classes, and no more.

    Args:
        text: The grader's answer; any string.
        nonce: The reply's id, from ``grade_nonce``.

    Returns:
        The class, with the grader's reason; else ``unparsed`` without a class. Never raises.
    """
    ending = read_ending(text, SHOWN)
    match ending and ending.entries:
        case [("class", str(name)), ("id", str(given))] if given == nonce and ending is not None:
            for response_class in GRADED_CLASSES:
                if response_class.value == name.strip().lower():
                    return Graded.of(response_class, ending.reason)
    problem = "the grader's answer ends in no verdict" if ending else "the grader's answer is empty"
    return Graded(Status.UNPARSED, None, problem)
