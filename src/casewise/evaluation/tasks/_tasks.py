"""Tasks of Inspect: ``casewise/judge``, and ``casewise/respond``, where the model is the chatbot.

Paper: Sun et al., CASE-Bench, ICML 2025, arXiv 2501.14940.

    inspect eval casewise/judge -T protocol=binary -T cases=FILE --model openai/gpt-4o
    inspect eval casewise/judge -T cases=casebench -T ablate=recipient,urgency --model vllm/NAME
    inspect eval casewise/respond -T deployment=therapy-support --model vllm/NAME
"""

from collections.abc import Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import Metric, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from casewise.cases import STARTER, ToolDefinition
from casewise.choices import PROTOCOL, Sampling, grading_model, read_grader
from casewise.evaluation.models._seam import PrerequisiteError
from casewise.evaluation.plan._condition import task_version
from casewise.evaluation.tasks._asking import Ask, ModelHealth, ask_unit, read_unit
from casewise.evaluation.tasks._samples import TaskParts, grader_metadata, mean_of
from casewise.logs import GRADER
from casewise.protocols import acting, find_protocol

ACTS = "respond"
"""Default protocol of the task ``casewise/respond``."""


@task
def judge(
    protocol: str = PROTOCOL,
    cases: str = STARTER,
    delivery: str | None = None,
    ablate: str | Sequence[str] | None = None,
    swap: str | None = None,
    prompt: str | None = None,
    sampling: str = Sampling.GREEDY,
    samples: int | None = None,
    limit: int | None = None,
    pairs: int | None = None,
    max_tokens: int | None = None,
    model_name: str | None = None,
    draw_seed: int | None = None,
    evidence: str | None = None,
    rung: str | None = None,
) -> Task:
    """Judge cases in their contexts.

    Args:
        protocol: ``binary``, ``score`` (1 to 10) or ``probability`` (of the first token).
        cases: ``starter``, ``casebench`` or a file of cases.
        delivery: ``judge`` (the context stands in the prompt) or ``none`` (the query alone).
        ablate: Groups or parameters to remove from every context, joined by commas.
        swap: A parameter or group that every case takes from its twin.
        prompt: ``upstream`` or a template's path; ours by default, in the language of each case.
        sampling: ``greedy``, ``reference``, ``reference-api`` or ``reference-open``.
        samples: Answers that ``score`` averages.
        limit: Only the first cases of the file.
        pairs: The most pairs of one query, where the protocol asks of pairs.
        max_tokens: Longest answer.
        model_name: The model whose reference sampling is meant, where it isn't the run's.
        draw_seed: Tells repetitions apart where answers are drawn at random.
        evidence: A ladder of evidence: ``ladder``, or a file; contexts are what is said on it.
        rung: The ladder's rung.
    """
    if protocol in acting():
        raise PrerequisiteError(f"protocol {protocol} is the task casewise/respond")
    parts = TaskParts.of_options(
        cases,
        protocol,
        sampling=sampling,
        model_name=model_name,
        max_tokens=max_tokens,
        samples=samples,
        delivery=delivery,
        ablate=ablate,
        prompt=prompt,
        limit=limit,
        pairs=pairs,
        swap=swap,
        draw_seed=draw_seed,
        evidence=evidence,
        rung=rung,
    )
    return parts.task(
        ask(protocol, parts.draw.samples),
        read_answers(protocol),
        task_version(parts.condition),
    )


@task
def respond(
    cases: str = STARTER,
    delivery: str | None = None,
    ablate: str | Sequence[str] | None = None,
    swap: str | None = None,
    deployment: str | None = None,
    vary: str | None = None,
    seed: int = 0,
    grader: str | Sequence[str] | None = None,
    sampling: str = Sampling.GREEDY,
    limit: int | None = None,
    max_tokens: int | None = None,
    model_name: str | None = None,
    draw_seed: int | None = None,
    protocol: str = ACTS,
    evidence: str | None = None,
    rung: str | None = None,
) -> Task:
    """Ask a model in the place of the chatbot, and grade its replies.

    Args:
        cases: ``starter``, ``casebench`` or a file of cases.
        delivery: ``system`` (the deployer's verified description), ``claimed`` (the user asserts
            it), ``history`` (it comes out over earlier turns) or ``none``.
        ablate: Groups or parameters to remove from every context, joined by commas.
        swap: A parameter or group that every case takes from its twin.
        deployment: A card: its name or file; its cases are asked under its system message.
        vary: Change of every conversation: ``urgency``, ``filler-4k``...
        seed: Seed of the changed conversations.
        grader: A model that grades the replies, or ``rules,MODEL``: the model grades those that the
            offline reader doubts. None is the reader alone.
        sampling: ``greedy``, ``reference``, ``reference-api`` or ``reference-open``.
        limit: Only the first cases of the file.
        max_tokens: Longest reply.
        model_name: The model whose sampling is meant, where it isn't the run's; the embedded
            model's replies are shorter, if it is named.
        draw_seed: Tells repetitions apart where replies are drawn at random.
        protocol: Name of a protocol in which the model plays the chatbot.
        evidence: A ladder of evidence: ``ladder``, or a file.
        rung: The ladder's rung.
    """
    if grader is not None:
        # Inspect's command line turns a,b into a list.
        grader = read_grader(grader if isinstance(grader, str) else ",".join(grader))
    model = grading_model(grader)
    parts = TaskParts.of_options(
        cases,
        protocol,
        sampling=sampling,
        model_name=model_name,
        max_tokens=max_tokens,
        delivery=delivery,
        ablate=ablate,
        swap=swap,
        limit=limit,
        deployment=deployment,
        vary=vary,
        seed=seed,
        draw_seed=draw_seed,
        evidence=evidence,
        rung=rung,
    )
    return parts.task(
        converse(protocol, [tool.model_dump() for tool in parts.condition.tools]),
        grade_reply(grader, protocol),
        task_version(parts.condition, grader),
        grader_metadata(grader),
        {GRADER: model} if model is not None else None,
    )


@solver
def ask(protocol: str = PROTOCOL, samples: int = 1) -> Solver:
    """The solver of ``casewise/judge``; see ``ask_unit``."""
    return _solve_by(ask_unit(find_protocol(protocol), samples))


@solver
def converse(protocol: str = ACTS, tools: Sequence[dict[str, Any]] = ()) -> Solver:
    """The solver of ``casewise/respond``; see ``ask_unit``.

    Args:
        protocol: Name of the protocol.
        tools: Definitions of tools, as chat formats write them.
    """
    known = [ToolDefinition.model_validate(tool) for tool in tools]
    return _solve_by(ask_unit(find_protocol(protocol), tools=known))


def _solve_by(ask: Ask) -> Solver:
    """Inspect's solver for a protocol; a model is given up as ``casewise run`` gives it up."""
    health = ModelHealth()

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        model = get_model()
        health.check(model)
        try:
            await ask(state, model, GenerateConfig())
        except Exception as error:
            health.fail(model, None, error)
            raise
        health.answer(model)
        return state

    return solve


@metric
def coverage() -> Metric:
    """Share of the cases whose answer could be read, in 0..1."""
    return mean_of("read")


@metric
def says_safe() -> Metric:
    """Share of safe verdicts among the answers read, in 0..1; NaN where none was."""
    return mean_of("says_safe")


@metric
def as_intended() -> Metric:
    """Share of the verdicts read that equal the intended side, in 0..1; NaN where none can.

    A first look only: ``casewise score`` measures against people.
    """
    return mean_of("as_intended")


@metric
def graded() -> Metric:
    """Share of the replies that could be graded, in 0..1."""
    return mean_of("graded")


@metric
def refuses() -> Metric:
    """Share of refusals among the graded replies, in 0..1; a first look only."""
    return mean_of("refusal")


@scorer(metrics=[coverage(), says_safe(), as_intended()])
def read_answers(protocol: str) -> Scorer:
    """Read the answers to a case under a protocol, in English and in the language of the case."""
    read = read_unit(find_protocol(protocol))

    async def score(state: TaskState, target: Target) -> Score:
        return await read(state, target.text, get_model())

    return score


@scorer(metrics=[graded(), refuses()])
def grade_reply(grader: str | None = None, protocol: str = ACTS) -> Scorer:
    """Grade the reply that counts: by the provider's own signal, the offline reader, a model."""

    async def score(state: TaskState, target: Target) -> Score:
        model = get_model(role=GRADER) if grading_model(grader) is not None else None
        read = read_unit(find_protocol(protocol), grader, model)
        return await read(state, target.text, get_model())

    return score
