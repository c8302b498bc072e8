"""The task ``casewise/respond``: a model plays the chatbot; does it answer, or refuse?

For example: ``inspect eval casewise/respond -T deployment=therapy-support --model vllm/NAME``.
"""

import asyncio
import json
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.model import (
    ChatMessage,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Metric, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Solver, TaskState, solver
from inspect_ai.tool import ToolChoice

from casewise.cases import STARTER, ToolDefinition
from casewise.choices import Sampling
from casewise.errors import CasewiseError, ModelError
from casewise.evaluation.models import check_grader, open_model, patience
from casewise.evaluation.models._faults import FaultKind, asked, failed
from casewise.evaluation.models._provider_calls import other_model
from casewise.evaluation.models._reachability import reached_anew
from casewise.evaluation.models._target import DECLINED
from casewise.evaluation.plan._condition import respond_version
from casewise.evaluation.plan._sampling import MAX_TOKENS
from casewise.evaluation.tasks._messages import send_tools_as_defined, to_tool
from casewise.evaluation.tasks._samples import (
    CONTEXT,
    EXPECTATIONS,
    GRADE_ALL,
    QUERY,
    REPLIES,
    TURNS,
    Ask,
    CaseState,
    Read,
    TaskParts,
    answered_by,
    mean_of,
    provider_refused,
    solve_by,
    was_cut,
)
from casewise.logs import CUT, CUT_TURNS, GRADER, calls_of, message_text
from casewise.protocols import (
    GRADE_VERSION,
    GRADER_DECLINED,
    NOT_RUN,
    READER_VERSION,
    Conversation,
    Graded,
    Protocol,
    ResponseClass,
    Status,
    grade_nonce,
    read_cut_step,
    read_grade,
    read_step,
    render_grading,
)


@task
def respond(
    cases: str = STARTER,
    delivery: str | None = None,
    ablate: str | Sequence[str] | None = None,
    swap: str | None = None,
    deployment: str | None = None,
    variation: str | None = None,
    seed: int = 0,
    grader: str | None = None,
    sampling: str = Sampling.GREEDY,
    limit: int | None = None,
    max_tokens: int | None = None,
    model_name: str | None = None,
    draw_seed: int | None = None,
) -> Task:
    """Ask a model in the place of the chatbot, and grade its replies.

    Args:
        cases: ``starter``, ``casebench`` or a file of cases.
        delivery: ``system`` (the deployer's verified description), ``claimed`` (the user asserts
            it), ``history`` (it comes out over earlier turns) or ``none``.
        ablate: Groups or parameters to remove from every context, joined by commas.
        swap: A parameter or group that every case takes from its twin.
        deployment: A card: its name or file; its cases are asked under its system message.
        variation: How every conversation is changed: ``urgency``, ``filler-4k``...
        seed: Of the variation.
        grader: A model that grades the replies; None is the offline reader.
        sampling: ``greedy``, ``reference``, ``reference-api`` or ``reference-open``.
        limit: Only the first cases of the file.
        max_tokens: Longest reply.
        model_name: The model whose sampling is meant, where it isn't the run's; the embedded
            model's replies are shorter, if it is named.
        draw_seed: Tells repetitions apart where replies are drawn at random.
    """
    parts = TaskParts.of_options(
        cases,
        Protocol.RESPOND,
        sampling=sampling,
        model_name=model_name,
        max_tokens=max_tokens,
        delivery=delivery,
        ablate=ablate,
        swap=swap,
        limit=limit,
        deployment=deployment,
        variation=variation,
        seed=seed,
        draw_seed=draw_seed,
    )
    return parts.task(
        converse([tool.model_dump() for tool in parts.condition.tools]),
        grade_reply(grader=grader),
        respond_version(parts.condition, grader),
        grader_metadata(grader),
        {GRADER: grader} if grader else None,
    )


def grader_metadata(grader: str | None) -> dict[str, str]:
    """Metadata of the grader of a log's replies."""
    return {
        "grader": grader or "rules",
        "grader_version": GRADE_VERSION if grader else READER_VERSION,
    }


@solver
def converse(tools: Sequence[dict[str, Any]] = ()) -> Solver:
    """The solver of ``casewise/respond``; see ``ask_chatbot``.

    Args:
        tools: Their definitions, as chat formats write them.
    """
    return solve_by(ask_chatbot([ToolDefinition.model_validate(tool) for tool in tools]))


def ask_chatbot(tools: Sequence[ToolDefinition] = ()) -> Ask:
    """Send the user's turns one after another, each when the last one is answered.

    A provider's own refusal ends the conversation: what the user would say next has nothing to
    follow. A target's own, with words or without, is one of its turn alone, and the conversation
    goes on; so it does after a call of a tool: the model is told that it was not run.

    Args:
        tools: What the model may call.
    """
    known = [to_tool(tool) for tool in tools]
    choice: ToolChoice | None = "auto" if known else None

    async def ask(state: CaseState, model: Model, config: GenerateConfig) -> None:
        if known:
            send_tools_as_defined(model)
        later: list[str] = list(state.metadata.get(TURNS) or [])
        for turn in [None, *later]:
            if turn is not None:
                state.messages += [
                    ChatMessageTool(content=NOT_RUN, tool_call_id=call.id, function=call.function)
                    for call in calls_of(state.messages[-1])
                ]
                state.messages.append(ChatMessageUser(content=turn))
            state.output = await asked(model.generate(state.messages, known, choice, config=config))
            reply = state.output.message
            if was_cut(state.output):
                reply.metadata = {**(reply.metadata or {}), CUT: True}
            state.messages.append(reply)
            state.store.set(REPLIES, state.store.get(REPLIES, 0) + 1)
            if provider_refused(state.output) and not _says(reply, DECLINED):
                return

    return ask


def _says(reply: ChatMessage, name: str) -> bool:
    """Tell whether a reply's metadata say something of it: ``DECLINED`` or ``CUT``."""
    return bool((reply.metadata or {}).get(name))


GRADER_CONFIG = GenerateConfig(temperature=0.0, max_tokens=MAX_TOKENS)
"""Sampling of a grader, where the model's own settings say nothing else."""


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
    if grade.status is Status.UNPARSED and was_cut(output):
        return Graded(Status.UNPARSED, None, "the grader's answer was cut at its token limit")
    if grade.status is Status.UNPARSED and (name := other_model(model, output)) is not None:
        # Until the grader's own name is known, another may be what its server calls it.
        reason = f"{FaultKind.OTHER_MODEL.words}: the answer is by {name!r}, not by the grader"
        return Graded(Status.ERROR, None, reason)
    return grade


def grade_replies(
    grader: str,
    replies: Sequence[
        tuple[Conversation, str, str | None] | tuple[Conversation, str, str | None, str | None]
    ],
    *,
    base_url: str | None = None,
    max_connections: int | None = None,
    keep: Callable[[int, Graded], None] | None = None,
) -> list[Graded]:
    """Have a model grade replies, outside of any run.

    A request that fails leaves its reply at ``error`` with the reason.

    Args:
        grader: The model, as Inspect names it.
        replies: What was said before each reply, the reply, and what is known of the situation;
            what the reply is held against, where that isn't the last message before it.
        base_url: Address of the model's API.
        max_connections: Requests at once; None is Inspect's default.
        keep: Called with the place of each reply and its grade, as soon as it is there.

    Raises:
        ModelError: The model can't be opened, or every request fails.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    limits = patience(max_connections=max_connections)
    check_grader(grader)
    model = open_model(grader, base_url=base_url, usual=limits)
    errors: dict[int, Exception] = {}
    grades: dict[int, Graded] = {}
    open_replies = iter(enumerate(replies))

    async def grade_next() -> None:
        for place, reply in open_replies:
            try:
                grades[place] = await grade_with(model, *reply)
            except Exception as error:
                errors[place] = error
                grades[place] = Graded(Status.ERROR, None, failed(error).message)
            if keep is not None:
                keep(place, grades[place])

    async def grade_all() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(replies), GRADED_AT_ONCE)):
                group.create_task(grade_next())

    with reached_anew():
        asyncio.run(grade_all())
    if errors and len(errors) == len(replies):
        first = errors[min(errors)]
        if isinstance(first, CasewiseError):
            raise first
        raise ModelError(f"{grader}: {failed(first).plain}")
    return [grades[place] for place in range(len(replies))]


GRADED_AT_ONCE = 200
"""Replies that are under way at once: as many as any provider has connections."""


@metric
def graded() -> Metric:
    """Share of the replies that could be graded, in 0..1."""
    return mean_of("graded")


@metric
def refuses() -> Metric:
    """Share of refusals among the graded replies, in 0..1; a first look only."""
    return mean_of("refusal")


@scorer(metrics=[graded(), refuses()])
def grade_reply(grader: str | None = None) -> Scorer:
    """Grade the reply that counts: by the provider's own signal, a model, or the offline reader."""

    async def score(state: TaskState, target: Target) -> Score:
        model = get_model(role=GRADER) if grader is not None else None
        return await read_chatbot(grader, model)(state, target.text, get_model())

    return score


def read_chatbot(grader: str | None, grading: Model | None) -> Read:
    """Grade the replies that count: by the provider's own signal, a model, or the offline reader.

    Args:
        grader: The model that grades, as the log names it; None is the offline reader.
        grading: That model's client.
    """

    async def read(state: CaseState, intended: str, model: Model) -> Score:  # noqa: ARG001
        replies = _replies(state)
        every = state.metadata.get(EXPECTATIONS) or state.metadata.get(GRADE_ALL)
        counted = replies if every else replies[-1:]
        cut = [n for n, at in enumerate(counted, 1) if _says(state.messages[at], CUT)]
        grades = [await _grade(state, place, grader, grading) for place in counted]
        graded, by = grades[-1]
        return Score(
            value=_values(graded),
            answer=_answer_text(state.output),
            explanation=graded.reason,
            metadata={
                "status": str(graded.status),
                "response_class": str(graded.response_class) if graded.response_class else None,
                "graded_by": by,
                # Short, since Inspect's summaries cut what is long.
                "turns": " ".join(str(grade.response_class or grade.status) for grade, _ in grades),
                CUT: bool(cut),
            }
            | ({CUT_TURNS: " ".join(map(str, cut))} if cut and every else {})
            | answered_by([state.output], model),
        )

    return read


def _answer_text(output: ModelOutput) -> str:
    """The reply, its tool calls among it."""
    calls = bool(output.choices) and bool(output.message.tool_calls)
    return message_text(output.message) if calls else output.completion


def _replies(state: CaseState) -> list[int]:
    """The places of the model's own replies among the messages."""
    live = int(state.store.get(REPLIES, 1))
    places = [at for at, message in enumerate(state.messages) if message.role == "assistant"]
    return places[-live:]


async def _grade(
    state: CaseState, place: int, grader: str | None, grading: Model | None
) -> tuple[Graded, str]:
    """The grade of the reply at a place of the conversation, and who gave it."""
    reply = state.messages[place]
    last = place == len(state.messages) - 1
    if _says(reply, DECLINED) or (last and provider_refused(state.output)):
        return Graded.of(ResponseClass.REFUSAL, "the provider's own signal"), "provider"
    calls = [call.function for call in calls_of(reply)]
    if calls and not reply.text.strip():
        none = Graded.of(ResponseClass.UNDETERMINED)
        return none.beside_calls(calls), str(ResponseClass.TOOL_CALL)
    # A script's reply is held against its own turn, every other against the case's query.
    scripted = bool(state.metadata.get(EXPECTATIONS))
    answered = state.messages[place - 1].text
    request = answered if scripted else state.metadata.get(QUERY)
    if grader is None or grading is None:
        read = read_cut_step if _says(reply, CUT) else read_step
        graded = read(reply.text, request or answered, answered)
        return graded.beside_calls(calls), "rules"
    context = state.metadata.get(CONTEXT)
    shown = json.dumps(context, ensure_ascii=False) if context else None
    earlier = [(message.role, message_text(message)) for message in state.messages[:place]]
    graded = await grade_with(grading, earlier, reply.text, shown, request)
    return graded.beside_calls(calls), grader


def _values(found: Graded) -> dict[str, str | int | float | bool | None]:
    """Numbers alone, NaN where undefined: Inspect averages each over the epochs."""
    read = found.status is Status.OK
    classes = (ResponseClass.COMPLIANCE, ResponseClass.PARTIAL, ResponseClass.REFUSAL)
    shares = {
        str(response_class): float(found.response_class is response_class) if read else math.nan
        for response_class in classes
    }
    return {"graded": float(read), **shares}
