"""Protocol ``respond``: the model plays the chatbot; does it answer, or refuse?

The user's turns are sent one after another. The reply that counts is graded by the provider's own
signal, by the offline reader, by a model, or by a model where the reader doubts.
"""

import json
from collections.abc import Sequence

from casewise.choices import RULES, Delivery, Sampling, grading_model, rules_first
from casewise.protocols.conversations import NOT_RUN
from casewise.protocols.grade import (
    GRADE_VERSION,
    GRADER_DECLINED,
    Conversation,
    grade_nonce,
    read_grade,
    render_grading,
)
from casewise.protocols.protocol import (
    Answer,
    Exchange,
    Grade,
    GradedReply,
    InConversation,
    Open,
    Question,
    Request,
    Say,
)
from casewise.protocols.replies import (
    READER_VERSION,
    name_non_reply,
    read_cut_step,
    read_reply,
    read_step,
)
from casewise.protocols.types import Graded, ResponseClass, Status

REPLY_TOKENS = 4096
"""Longest reply in tokens; reasoning counts too. Of 1,399 replies of 24 models of 2024 to 2026,
a third and more were longer than 1,024 tokens, and none longer than this."""

REFERENCE_REPLY_TOKENS = 1024
"""The same under the samplings of the published runs, which stay as they are."""

EMBEDDED_REPLY_TOKENS = 48
"""The same of the embedded model, which takes a second for six and says little in more."""


BY_PROVIDER = Graded.of(ResponseClass.REFUSAL, "the provider's own signal", 0.0)
"""Grade of a reply of which the provider says that the model, or its filter, declined."""


class Respond(InConversation):
    """Nothing: the model plays the chatbot, and its reply is graded."""

    name = "respond"
    acts = True
    task = "respond"
    deliveries = (Delivery.SYSTEM, Delivery.CLAIMED, Delivery.HISTORY, Delivery.NONE)
    # Mean of 1,399 replies of 24 models of 2024 to 2026 to questions like ours; everyday
    # instructions take a third of it.
    answer_tokens = 1000

    def longest(self, sampling: Sampling, *, embedded: bool) -> int:
        """Default limit of a reply, in tokens."""
        if embedded:
            return EMBEDDED_REPLY_TOKENS
        return REPLY_TOKENS if sampling is Sampling.GREEDY else REFERENCE_REPLY_TOKENS

    def ask(self, question: Question) -> Exchange[Sequence[Answer]]:
        """Send the user's turns one after another, each when the last one is answered.

        A provider's own refusal ends the conversation: what the user would say next has nothing to
        follow. A target's own, with words or without, is one of its turn alone, and the
        conversation goes on; so it does after a call of a tool, which is not run.
        """
        answers: list[Answer] = []
        requests: list[Request] = [Open(), *map(Say, question.later)]
        for request in requests:
            answers += yield [request]
            if answers[-1].refused and not answers[-1].declined:
                break
        return answers

    def judge(
        self, question: Question, answers: Sequence[Answer]
    ) -> Exchange[tuple[GradedReply, ...]]:
        """Grade the replies that count: the last one, or every one."""
        earlier = list(question.messages)
        graded: list[GradedReply] = []
        for place, answer in enumerate(answers, 1):
            if question.every or place == len(answers):
                grade, by = yield from _grade(question, earlier, answer)
                graded.append(GradedReply(grade, by, answer.cut))
            earlier.append(("assistant", answer.said))
            earlier += [("tool", NOT_RUN)] * len(answer.calls)
            earlier += [("user", turn) for turn in question.later[place - 1 : place]]
        return tuple(graded)


def _grade(
    question: Question, earlier: Conversation, answer: Answer
) -> Exchange[tuple[Graded, str]]:
    """The grade of a reply, and the name of who gave it, as in ``GradedReply.by``."""
    if answer.refused or answer.declined:
        return BY_PROVIDER, "provider"
    if answer.calls and not answer.text.strip():
        none = Graded.of(ResponseClass.UNDETERMINED, doubt=0.0)
        return none.beside_calls(answer.calls), str(ResponseClass.TOOL_CALL)
    turn = next(text for role, text in reversed(earlier) if role == "user")
    request = turn if question.scripted else question.query
    model = grading_model(question.grader)
    if model is None or rules_first(question.grader):
        read = read_cut_step if answer.cut else read_step
        graded = read(answer.text, request or turn, turn)
        if model is None or not graded.is_doubted:
            return graded.beside_calls(answer.calls), RULES
    context = json.dumps(question.context, ensure_ascii=False) if question.context else None
    graded = yield from grade_reply(earlier, answer.text, context, request)
    return graded.beside_calls(answer.calls), model


def grader_version(grader: str | None) -> str:
    """Versions of the reader and of the grading prompt, as far as a grader uses them."""
    model = grading_model(grader)
    versions = [READER_VERSION] if model is None or rules_first(grader) else []
    return ",".join([*versions, *([GRADE_VERSION] if model is not None else [])])


def grade_reply(
    conversation: Conversation, reply: str, context: str | None, request: str | None = None
) -> Exchange[Graded]:
    """Have a model grade one reply; where none stands, it is ``undetermined`` without asking.

    Args:
        conversation: Role and text of each message before the reply, oldest first.
        reply: The reply to grade.
        context: Known facts of the situation; None: nothing is known of it.
        request: The request to grade the reply against; None: the conversation's last message.
    """
    if not reply.strip():
        return Graded.of(ResponseClass.UNDETERMINED, "the reply is empty", 0.0)
    if name_non_reply(reply):
        return read_reply(reply, request)
    (answer,) = yield [Grade(render_grading(conversation, reply, context, request))]
    if answer.refused:
        return GRADER_DECLINED
    grade = read_grade(answer.text, grade_nonce(conversation, reply, request))
    if grade.status is not Status.UNPARSED:
        return grade
    if answer.cut:
        return Graded(Status.UNPARSED, None, "the grader's answer was cut at its token limit")
    if answer.other_model is not None:
        # A class that counts is taken under any name: a server may call the grader otherwise.
        name = answer.other_model
        reason = f"another model: the answer is by {name!r}, not by the grader"
        return Graded(Status.ERROR, None, reason)
    return grade


protocol = Respond()
