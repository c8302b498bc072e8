"""A model grades replies: one request a reply."""

import asyncio
import logging
from collections.abc import Sequence

from inspect_ai.model import GenerateConfig, Model

from casewise.errors import CasewiseError, ModelError
from casewise.evaluation._answers import provider_refused
from casewise.evaluation._faults import FaultKind, asked, failed
from casewise.evaluation._models import MAX_RETRIES, attempt_timeout, open_models
from casewise.evaluation._reach import reached_anew
from casewise.evaluation._sampling import MAX_TOKENS
from casewise.evaluation._watch import other_model
from casewise.protocols import (
    GRADER_DECLINED,
    Conversation,
    Graded,
    ResponseClass,
    Status,
    grade_nonce,
    read_grade,
    render_grading,
)

GRADER_CONFIG = GenerateConfig(temperature=0.0, max_tokens=MAX_TOKENS)
"""How a grader is sampled, where the model's own settings say nothing else."""


async def grade_with(
    model: Model,
    conversation: Conversation,
    reply: str,
    context: str | None,
    request: str | None = None,
) -> Graded:
    """Have a model grade one reply; a blank reply is ``undetermined`` without a request.

    Args:
        model: The grader.
        conversation: Role and text of each message before the reply, oldest first.
        reply: What is graded.
        context: What is known of the situation; None is nothing.
        request: What the reply is held against; None is the conversation's last message.

    Raises:
        FailedRequestError: No answer came.
    """
    if not reply.strip():
        return Graded.of(ResponseClass.UNDETERMINED, "the reply is empty")
    prompt = render_grading(conversation, reply, context, request)
    output = await asked(model.generate(prompt, config=GRADER_CONFIG.merge(model.config)))
    if provider_refused(output):
        return GRADER_DECLINED
    grade = read_grade(output.completion, grade_nonce(conversation, reply, request))
    if grade.status is Status.UNPARSED and (name := other_model(model, output)) is not None:
        # Until the grader's own name is known, another may be what its server calls it.
        reason = f"{FaultKind.OTHER_MODEL.words}: the answer is by {name!r}, not by the grader"
        return Graded(Status.ERROR, None, reason)
    return grade


def grade_replies(
    grader: str,
    replies: Sequence[tuple[Conversation, str, str | None]],
    *,
    base_url: str | None = None,
    max_connections: int | None = None,
) -> list[Graded]:
    """Have a model grade replies, outside of any run.

    A request that fails leaves its reply at ``error`` with the reason.

    Args:
        grader: The model, as Inspect names it.
        replies: What was said before each reply, the reply, and what is known of the situation.
        base_url: Address of the model's API.
        max_connections: Requests at once; None is Inspect's default.

    Raises:
        ModelError: The model can't be opened, or every request fails.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    (model,) = open_models([grader], base_url=base_url)
    limits = GenerateConfig(
        attempt_timeout=attempt_timeout(), max_retries=MAX_RETRIES, max_connections=max_connections
    )
    model.config = limits.merge(model.config)

    async def grade_all() -> list[Graded | BaseException]:
        asked = [grade_with(model, *one) for one in replies]
        return await asyncio.gather(*asked, return_exceptions=True)

    with reached_anew():
        found = asyncio.run(grade_all())
    errors = [one for one in found if isinstance(one, BaseException)]
    if errors and len(errors) == len(found):
        if isinstance(errors[0], CasewiseError):
            raise errors[0]
        raise ModelError(f"{grader}: {failed(errors[0]).plain}")
    return [
        Graded(Status.ERROR, None, failed(one).message) if isinstance(one, BaseException) else one
        for one in found
    ]
