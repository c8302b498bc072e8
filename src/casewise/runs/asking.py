"""Ask a case: send what its protocol asks, read the answers, and make the log's sample of both."""

import asyncio
import json
import logging
import math
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
)
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolChoice
from inspect_ai.util import Store
from pydantic import TypeAdapter

from casewise.cases import Context, ToolDefinition
from casewise.contexts import leaf_parameters
from casewise.errors import CasewiseError, ModelError
from casewise.logs import (
    ANSWERED_BY,
    CANCELLED,
    CUT,
    CUT_TURNS,
    GRADER,
    TURN_DOUBTS,
    TURNS_BY,
    LogWriter,
    calls_of,
    message_text,
    provider_refused,
)
from casewise.models.embedded import InProcess
from casewise.models.faults import FaultKind, failed, logged_kind
from casewise.models.keys import redacted
from casewise.models.open import ATTEMPT_TIMEOUT_S, in_own_loop, open_model
from casewise.models.patience import ModelLostError, PatientModel, SampleAttempt
from casewise.models.target import TargetModel, tell_case
from casewise.protocols import (
    MAX_TOKENS,
    NOT_RUN,
    Answer,
    Conversation,
    Grade,
    Graded,
    GradedReply,
    Open,
    Protocol,
    Question,
    Reading,
    Request,
    ResponseClass,
    Say,
    Status,
    Stop,
    Verdict,
    drive,
    grade_reply,
    named_parameters,
    surface_forms,
)
from casewise.runs.samples import (
    CONTEXT,
    EXPECTATIONS,
    GRADE_ALL,
    LANGUAGE,
    OPENINGS,
    QUERY,
    TURNS,
    Clients,
    Piece,
    scorer_of,
    to_tool,
)
from casewise.runs.sampling import WITHOUT_ALTERNATIVES, WITHOUT_LOGPROBS


@dataclass(slots=True)
class _State:
    """Conversation state of one case; see ``CaseState``."""

    messages: list[ChatMessage]
    metadata: dict[str, Any]
    output: ModelOutput = field(default_factory=ModelOutput)
    store: Store = field(default_factory=Store)


async def ask_case(
    sample: Sample,
    epoch: int,
    piece: Piece,
    clients: Clients,
    config: GenerateConfig,
    log: LogWriter,
) -> EvalSample | None:
    """Ask a case, read the answers, and add its sample to the log.

    How often a request is repeated, the table of faults says.

    Args:
        sample: The case.
        epoch: Its epoch, as the log counts.
        piece: The cases of the log.
        clients: Clients of the model and its grader.
        config: Settings of the requests.
        log: The log.

    Returns:
        The sample; None where no answer came before the model was left.

    Raises:
        OSError: The log can't be written.
    """
    begun, started = monotonic(), now()
    cell, attempt = piece.cell, SampleAttempt()
    condition, withhold = cell.condition, cell.request.withhold
    model = attempt.count_answers(clients.model)
    grader = attempt.count_answers(clients.grader, is_grader=True) if clients.grader else None
    assert not isinstance(sample.input, str)
    state = _State(list(sample.input), sample.metadata or {})
    score = problem = None
    try:
        for client in clients.all:
            client.server.check()
        await ask(
            state,
            model,
            condition.protocol,
            config,
            samples=cell.draw.samples,
            tools=condition.tools,
            tells_context=condition.tells_context,
        )
        clients.model.server.is_proven = True
        arguments = str(sample.target), model, condition.protocol
        score = await read(state, *arguments, cell.request.grader, grader)
    except ModelLostError:
        if not attempt.answers:
            return None
        # What they took is counted; its case is asked again.
        problem = CANCELLED
    except Exception as error:
        problem = _message(error, withhold=withhold)
        if isinstance(error, ModelError) and not clients.model.server.is_proven:
            # It can't do what the protocol needs: what follows would fail alike.
            clients.model.server.lose(str(error))
    eval_sample = EvalSample(
        id=str(sample.id),
        epoch=epoch,
        input=sample.input,
        target=sample.target,
        messages=state.messages,
        output=state.output,
        scores=None if score is None else {scorer_of(cell): score},
        metadata=state.metadata,
        store=dict(state.store.items()),
        model_usage=attempt.usage,
        role_usage={} if (used := attempt.graders_usage) is None else {GRADER: used},
        started_at=started,
        completed_at=now(),
        total_time=monotonic() - begun,
        working_time=attempt.seconds,
        uuid=uuid4().hex,
        # Without its traceback, which would hold what was asked.
        error=problem and EvalError(message=problem, traceback="", traceback_ansi=""),
    )
    if withhold:
        eval_sample = eval_sample.model_copy(update=_without_texts(eval_sample, cell.model))
    log.add(eval_sample)
    return eval_sample


def _without_texts(sample: EvalSample, model: str) -> dict[str, Any]:
    """Fields of a sample without text of the case or of an answer: a list of what is kept.

    Args:
        sample: The sample.
        model: Model that was asked; the name in its answer is a server's text.
    """
    scores = {}
    for name, score in (sample.scores or {}).items():
        metadata = {
            key: value for key, value in (score.metadata or {}).items() if key in _TEXTLESS_KEYS
        }
        metadata |= {ANSWERED_BY: "another"} if ANSWERED_BY in metadata else {}
        scores[name] = Score(value=score.value, metadata=metadata)
    return {
        "input": "(withheld)",
        "messages": [],
        "output": ModelOutput(model=model),
        "scores": scores or None,
        "metadata": {name: value for name, value in sample.metadata.items() if name in _OF_CASE},
        "store": {},
    }


_TEXTLESS_KEYS = (
    *("status", "verdict", "response_class", "graded_by", "doubt"),
    *("turns", TURNS_BY, TURN_DOUBTS, CUT, CUT_TURNS, ANSWERED_BY),
)
"""Keys of a score that hold no text of the case or of an answer."""

_OF_CASE = ("query_id", "category", "intended", "expected", "no_context")
"""Keys of a case that hold no text of it."""


def _message(error: Exception, *, withhold: bool) -> str:
    """An error as the log keeps it."""
    text = redacted(str(error) if isinstance(error, ModelError) else failed(error).message)
    return logged_kind(text).words if withhold else text


def now() -> str:
    """The time as logs have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class CaseState(typing.Protocol):
    """State of a unit between asking and reading: ours, or Inspect's ``TaskState``."""

    messages: list[ChatMessage]
    output: ModelOutput
    metadata: dict[str, Any]

    @property
    def store(self) -> Store:
        """Store beside the messages."""


ANSWERS = "answers"
"""Key in a sample's store of the answers as protocols read them."""

_ANSWERS = TypeAdapter(list[Answer])
_STOPS = {"max_tokens": Stop.LIMIT, "model_length": Stop.WINDOW}


async def ask(
    state: CaseState,
    model: Model,
    protocol: Protocol,
    config: GenerateConfig,
    *,
    samples: int = 1,
    tools: Sequence[ToolDefinition] = (),
    tells_context: bool = False,
) -> None:
    """Send a unit's requests to a model, and leave the answers in the unit's state.

    Args:
        state: State of the unit.
        model: The model.
        protocol: Protocol of the requests.
        config: Settings of the requests.
        samples: Answers to each opening.
        tools: Tools that the model may call.
        tells_context: Whether requests to a target may hold the context.
    """
    definitions = [to_tool(tool) for tool in tools]
    choice: ToolChoice | None = "auto" if definitions else None
    opening, answers = list(state.messages), list[Answer]()
    question = _question(state.metadata, samples)
    case = {name: state.metadata.get(name) for name in (QUERY, "category")}
    case[CONTEXT] = state.metadata.get(CONTEXT) if tells_context else None

    async def send(request: Request) -> Answer:
        messages = _request_messages(request, state, opening, question)
        messages = tell_case(messages, case) if isinstance(model.api, TargetModel) else messages
        output = await model.generate(messages, definitions, choice, config=config)
        state.messages.append(output.message)
        state.output = output
        answers.append(_answer(output, model, logprobs=protocol.candidates > 0))
        return answers[-1]

    await drive(protocol.ask(question), send)
    state.store.set(ANSWERS, answers)


def _request_messages(
    request: Request, state: CaseState, opening: Sequence[ChatMessage], question: Question
) -> list[ChatMessage]:
    """Messages of a request; the new ones are put at the end of the state's."""
    match request:
        case Open(0):
            state.messages = list(opening)
        case Open(place):
            prompt = ChatMessageUser(content=question.more[place - 1])
            state.messages.append(prompt)
            return [prompt]
        case Say(text):
            state.messages += [
                ChatMessageTool(content=NOT_RUN, tool_call_id=call.id, function=call.function)
                for call in calls_of(state.messages[-1])
            ]
            state.messages.append(ChatMessageUser(content=text))
        case Grade():
            raise TypeError("a grader is asked when the answers are read")
    return state.messages


async def read(
    state: CaseState,
    intended: str,
    model: Model,
    protocol: Protocol,
    grader: str | None = None,
    grading: Model | None = None,
) -> Score:
    """Read the answers to a unit, or have its replies graded.

    Args:
        state: State of the unit, with the answers.
        intended: The intended side; empty if unknown.
        model: The model that was asked.
        protocol: Protocol that was asked.
        grader: The model that grades, as the log names it; None is the offline reader.
        grading: That model's client.
    """

    async def send(request: Request) -> Answer:
        assert grading is not None
        return await _send_to_grader(request, grading)

    question = _question(state.metadata)
    # Out of a log they come as mappings.
    answers = _ANSWERS.validate_python(state.store.get(ANSWERS, []))
    if protocol.acts:
        replies = [at for at, message in enumerate(state.messages) if message.role == "assistant"]
        conversation = state.messages[: replies[-len(answers)]]
        question = replace(
            question,
            messages=tuple((message.role, message_text(message)) for message in conversation),
            grader=grader if grading is not None else None,
        )
        graded = await drive(protocol.judge(question, answers), send)
        assert isinstance(graded, tuple)
        return _graded(graded, state, answers, every=question.every)
    if protocol.candidates and isinstance(api := model.api, InProcess):
        # First tokens of the words of verdicts: its tokenizer is at hand.
        forms = surface_forms(question.language)
        pieces = {form: await api.first_piece(form) for form in forms}
        answers = [replace(answer, pieces=pieces) for answer in answers]
    reading = await drive(protocol.judge(question, answers), send)
    assert isinstance(reading, Reading)
    return _judged(reading, intended, state, answers, cut=protocol.is_cut(answers))


def _question(metadata: Mapping[str, Any], samples: int = 1) -> Question:
    """The question that a sample was made of; see ``to_sample``."""
    language, scripted = metadata.get(LANGUAGE), bool(metadata.get(EXPECTATIONS))
    return Question(
        more=tuple(metadata.get(OPENINGS) or ()),
        later=tuple(metadata.get(TURNS) or ()),
        query=metadata.get(QUERY),
        context=metadata.get(CONTEXT),
        language=language,
        samples=samples,
        scripted=scripted,
        every=scripted or bool(metadata.get(GRADE_ALL)),
    )


def _answer(output: ModelOutput, model: Model, *, logprobs: bool = False) -> Answer:
    """An answer as protocols read it.

    Raises:
        ModelError: The provider gave no log-probabilities where they are needed.
    """
    text, refused = output.completion, provider_refused(output)
    stop = _STOPS.get(str(output.stop_reason), Stop.ITSELF)
    reply = output.message if output.choices else ChatMessageAssistant(content="")
    calls = tuple(call.function for call in calls_of(reply))
    is_scored = logprobs and not refused and stop is not Stop.WINDOW
    return Answer(
        text=text,
        stop=stop,
        refused=refused,
        declined=refused and FaultKind.DECLINED in (reply.metadata or {}),
        calls=calls,
        said=message_text(reply) if calls else text,
        logprobs=_candidates(output, model) if is_scored else None,
        other_model=model.other_name(output) if isinstance(model, PatientModel) else None,
    )


def _candidates(output: ModelOutput, model: Model) -> dict[str, float] | None:
    """The candidates of the first token; None where an answer lacks them and another had them.

    Raises:
        ModelError: No answer of the model has had them so far.
    """
    server = model.server if isinstance(model, PatientModel) else None
    try:
        candidates = first_token(output)
    except ModelError:
        if server is None or not server.gives_logprobs:
            raise
        return None
    if server is not None:
        server.gives_logprobs = True
    return candidates


def first_token(output: ModelOutput) -> dict[str, float]:
    """The candidates of the first token and their natural-log probabilities.

    Raises:
        ModelError: The provider returned none, or the token alone: any word would have all of the
            probability.
    """
    choice = output.choices[0] if output.choices else None
    if choice is None or choice.logprobs is None or not choice.logprobs.content:
        raise ModelError(WITHOUT_LOGPROBS)
    first = choice.logprobs.content[0]
    candidates = {first.token: first.logprob}
    seen: dict[str, float] = {}
    for top in first.top_logprobs or []:
        # Two tokens may have one text; their probabilities add up.
        seen[top.token] = float(np.logaddexp(seen.get(top.token, -math.inf), top.logprob))
    candidates |= seen
    if len(candidates) < 2:
        raise ModelError(WITHOUT_ALTERNATIVES)
    return candidates


# --- scores ---------------------------------------------------------------------------------


def _judged(
    reading: Reading,
    intended: str,
    state: CaseState,
    answers: Sequence[Answer],
    *,
    cut: bool,
) -> Score:
    """Score of a judge's reading. Its numbers are NaN where undefined: Inspect averages them."""
    says_safe = as_intended = math.nan
    if reading.verdict is not None:
        says_safe = float(reading.verdict is Verdict.SAFE)
        as_intended = float(reading.verdict == intended) if intended else math.nan
    texts = [answer.text for answer in answers]
    return Score(
        value={
            "read": float(reading.status is Status.OK),
            "says_safe": says_safe,
            "p_safe": _or_nan(reading.p_safe),
            "raw_score": _or_nan(reading.raw_score),
            "mass": _or_nan(reading.mass),
            "as_intended": as_intended,
            **reading.numbers,
        },
        answer=texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False),
        explanation=reading.explanation,
        metadata={"status": str(reading.status), "verdict": reading.verdict, CUT: cut}
        | _mentions(texts, state)
        | _answered_by(answer.other_model for answer in answers),
    )


def _mentions(texts: Sequence[str], state: CaseState) -> dict[str, str]:
    """Parameters that the first answer to name any names, and all of the context's, by spaces."""
    for text in texts:
        # Most prompts don't ask.
        if "context_parts" not in text:
            continue
        context = Context(state.metadata.get(CONTEXT) or {})
        named = named_parameters(text, context)
        if named is not None:
            return {"mentions": " ".join(named), "parameters": " ".join(leaf_parameters(context))}
    return {}


def _or_nan(number: float | None) -> float:
    return math.nan if number is None else number


def _graded(
    replies: Sequence[GradedReply], state: CaseState, answers: Sequence[Answer], *, every: bool
) -> Score:
    """Score of graded replies, by the last one. Its numbers are NaN where undefined."""
    last, grades = replies[-1], [reply.grade for reply in replies]
    last_grade, read = last.grade, last.grade.status is Status.OK
    cut = [str(number) for number, reply in enumerate(replies, 1) if reply.cut]
    calls = bool(state.output.choices) and bool(state.output.message.tool_calls)
    classes = (ResponseClass.COMPLIANCE, ResponseClass.PARTIAL, ResponseClass.REFUSAL)
    return Score(
        value={"graded": float(read)}
        | {
            str(class_): float(last_grade.response_class is class_) if read else math.nan
            for class_ in classes
        },
        answer=message_text(state.output.message) if calls else state.output.completion,
        explanation=last_grade.reason,
        metadata={
            "status": str(last_grade.status),
            "response_class": str(last_grade.response_class) if last_grade.response_class else None,
            "graded_by": last.by,
            "doubt": _rounded(last_grade.doubt),
            # Short, since Inspect's summaries cut what is long.
            "turns": " ".join(str(grade.response_class or grade.status) for grade in grades),
            CUT: bool(cut),
        }
        | ({CUT_TURNS: " ".join(cut)} if cut and every else {})
        | (_by_turn(replies) if every else {})
        | _answered_by([answers[-1].other_model]),
    )


def _by_turn(replies: Sequence[GradedReply]) -> dict[str, Any]:
    """Metadata on every reply of a conversation: numbers of each grader's, and their doubts."""
    by: dict[str, list[str]] = {}
    for number, reply in enumerate(replies, 1):
        by.setdefault(reply.by, []).append(str(number))
    doubts = [_rounded(reply.grade.doubt) for reply in replies]
    return {
        TURNS_BY: {name: " ".join(numbers) for name, numbers in by.items()},
        TURN_DOUBTS: " ".join("-" if doubt is None else f"{doubt:g}" for doubt in doubts),
    }


def _rounded(doubt: float | None) -> float | None:
    return None if doubt is None else round(doubt, 4)


def _answered_by(names: Iterable[str | None]) -> dict[str, str]:
    """Metadata on the model that answered, where it is not the one that was asked."""
    return next(({ANSWERED_BY: name} for name in names if name is not None), {})


# --- graders --------------------------------------------------------------------------------

GRADER_CONFIG = GenerateConfig(temperature=0.0, max_tokens=MAX_TOKENS)
"""Sampling of a grader, where the model's own settings say nothing else."""


async def _send_to_grader(request: Request, model: Model) -> Answer:
    assert isinstance(request, Grade)
    config = GRADER_CONFIG.merge(model.config)
    return _answer(await model.generate(request.prompt, config=config), model)


def grade_replies(
    grader: str,
    replies: Sequence[
        tuple[Conversation, str, str | None] | tuple[Conversation, str, str | None, str | None]
    ],
    *,
    base_url: str | None = None,
    max_connections: int | None = None,
) -> list[Graded]:
    """Have a model grade replies, outside of any run.

    A request that fails leaves its reply at ``error`` with the reason.

    Args:
        grader: The model, as Inspect names it.
        replies: The conversation before each reply, the reply, and the context, if known; fourth,
            the request that it is graded against, where that isn't the last message before it.
        base_url: Address of the model's API.
        max_connections: Requests at once; None is Inspect's default.

    Raises:
        ModelError: The model can't be opened, or every request fails.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    usual = GenerateConfig(attempt_timeout=ATTEMPT_TIMEOUT_S)
    model = open_model(grader, base_url=base_url, connections=max_connections, usual=usual)

    async def grade_all() -> list[Graded | BaseException]:
        room = asyncio.Semaphore(GRADED_AT_ONCE)

        async def grade(place: int) -> Graded:
            async with room:
                grading = grade_reply(*replies[place])
                return await drive(grading, lambda sent: _send_to_grader(sent, model))

        try:
            grading = map(grade, range(len(replies)))
            return await asyncio.gather(*grading, return_exceptions=True)
        finally:
            await model.api.aclose()

    result = in_own_loop(grade_all())
    errors = [outcome for outcome in result if isinstance(outcome, Exception)]
    if errors and len(errors) == len(result):
        if isinstance(errors[0], CasewiseError):
            raise errors[0]
        raise ModelError(model.server.lost or f"{grader}: {failed(errors[0]).fault.plain}")
    return [
        outcome
        if isinstance(outcome, Graded)
        else Graded(Status.ERROR, None, failed(outcome).message)
        for outcome in result
    ]


GRADED_AT_ONCE = 200
"""Most replies that are graded at once: as many as any provider has connections."""
