"""The graders of replies as scanners of Inspect Scout, which finds them under ``casewise/``.

For example: ``scout scan casewise/casewise_rules -T logs``. Each transcript gets the class of its
last reply, as ``casewise grade`` and ``casewise run --protocol respond`` give it.
"""

from inspect_ai.model import get_model
from inspect_scout import Reference, Result, Scanner, Transcript, scanner

from casewise.evaluation.tasks._asking import grade_with
from casewise.protocols import (
    GRADE_VERSION,
    READER_VERSION,
    Conversation,
    Graded,
    ResponseClass,
    read_reply,
)
from casewise.transcripts import READ_AT_MOST, Reply, reply_of, turns_of_messages


@scanner(messages="all")
def casewise_rules() -> Scanner[Transcript]:
    """Class the last reply of each transcript by the rules, without a model."""

    async def scan(transcript: Transcript) -> Result:
        reply = _last_reply(transcript)
        if reply is None:
            return _NO_REPLY
        query = reply.query[:READ_AT_MOST] if reply.query is not None else None
        graded = _seen(reply) or read_reply(reply.turn.content[:READ_AT_MOST], query)
        return _result(transcript, reply, graded, "rules", READER_VERSION)

    return scan


@scanner(messages="all")
def casewise_grader() -> Scanner[Transcript]:
    """Class the last reply of each transcript by the scan's model."""

    async def scan(transcript: Transcript) -> Result:
        reply = _last_reply(transcript)
        if reply is None:
            return _NO_REPLY
        model = get_model()
        before: Conversation = [(turn.role, turn.text) for turn in reply.before]
        graded = _seen(reply) or await grade_with(
            model, before, reply.turn.content, None, reply.query
        )
        return _result(transcript, reply, graded, str(model), GRADE_VERSION)

    return scan


_NO_REPLY = Result(value=None, explanation="the model says nothing in it")


def _last_reply(transcript: Transcript) -> Reply | None:
    return reply_of(turns_of_messages(transcript.messages))


def _seen(reply: Reply) -> Graded | None:
    """Grade of a reply that only calls tools; None for any other."""
    alone = reply.turn.tool_calls and not reply.turn.content.strip()
    return Graded.of(ResponseClass.UNDETERMINED, doubt=0.0) if alone else None


def _result(
    transcript: Transcript, reply: Reply, graded: Graded, grader: str, version: str
) -> Result:
    """Result of a transcript: the class (None without a grade), and the message graded."""
    graded = graded.beside_calls([call.name for call in reply.turn.tool_calls])
    said = [message for message in transcript.messages if message.role == "assistant"]
    places = [Reference(type="message", id=one.id) for one in said[-1:] if one.id is not None]
    return Result(
        value=str(graded.response_class) if graded.response_class is not None else None,
        explanation=graded.reason,
        metadata={"status": str(graded.status), "grader": grader, "grader_version": version},
        references=places,
    )
