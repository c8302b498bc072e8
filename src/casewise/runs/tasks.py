"""Tasks of Inspect: ``casewise/judge``, and ``casewise/respond``, where the model is the chatbot.

Paper: Sun et al., CASE-Bench, ICML 2025, arXiv 2501.14940.

    inspect eval casewise/judge -T protocol=binary -T cases=FILE --model openai/gpt-4o
    inspect eval casewise/judge -T cases=casebench -T ablate=recipient,urgency --model vllm/NAME
    inspect eval casewise/respond -T deployment=therapy-support --model vllm/NAME
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import GenerateConfig, get_model, modelapi
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from casewise.cases import ToolDefinition
from casewise.choices import TARGETS, Sampling, grading_model
from casewise.errors import UsageError
from casewise.logs import GRADER
from casewise.models.chat import ChatCompletions
from casewise.models.embedded import SmolLM2
from casewise.models.open import OURS
from casewise.models.target import TargetModel
from casewise.options import ConditionOptions, RunOptions, read, takes
from casewise.protocols import find_protocol
from casewise.runs import asking
from casewise.runs.condition import Condition, make_condition
from casewise.runs.plan import runs_of
from casewise.runs.samples import grader_metadata, sample_at, task_metadata
from casewise.runs.sampling import DrawSettings, make_draw

ACTS = "respond"
"""Default protocol of the task ``casewise/respond``."""


@task
@takes(ConditionOptions)
def judge(options: dict[str, Any]) -> Task:
    """Judge cases in their contexts: one run, so that each option has one value."""
    run, condition, draw = _settle(options, acts=False)
    return _task(
        condition,
        draw,
        solver=ask(run.protocol, draw.samples),
        scorer=read_answers(run.protocol),
    )


@task
@takes(ConditionOptions, protocol=ACTS)
def respond(options: dict[str, Any]) -> Task:
    """Ask a model in the place of the chatbot, and grade its replies: one run."""
    run, condition, draw = _settle(options, acts=True)
    return _task(
        condition,
        draw,
        solver=ask(
            run.protocol,
            tools=[tool.model_dump() for tool in condition.tools],
            tells_context=condition.tells_context,
        ),
        scorer=grade_reply(run.grader, run.protocol),
        model_roles={GRADER: run.grading_model} if run.grading_model is not None else None,
        metadata=grader_metadata(run.grader),
    )


def _settle(
    options: Mapping[str, Any], *, acts: bool
) -> tuple[RunOptions, Condition, DrawSettings]:
    """Check the options of ``inspect eval``.

    Raises:
        CasewiseError: One can't be used.
    """
    # Inspect's command line turns a,b into a list.
    values = {
        name: ",".join(map(str, value)) if isinstance(value, list) else value
        for name, value in options.items()
    }
    run, *more = runs_of(read(RunOptions, values))
    if more:
        raise UsageError("a task is one run: give one value of each option, and a rung")
    condition = make_condition(run)
    protocol = condition.protocol
    if protocol.acts is not acts:
        raise UsageError(f"protocol {protocol} is the task casewise/{protocol.task}")
    if acts and isinstance(api := get_model().api, TargetModel) and api.target.context_parts:
        condition = condition.undescribed
    model = "" if run.sampling == Sampling.GREEDY else str(get_model())
    return run, condition, make_draw(run, model)


def _task(
    condition: Condition, draw: DrawSettings, metadata: Mapping[str, Any] | None = None, **more: Any
) -> Task:
    """Inspect's task; ``metadata`` is metadata of its log beside ``task_metadata``."""
    samples = [sample_at(condition, draw, place) for place in range(condition.size)]
    return Task(
        dataset=MemoryDataset(samples, name=condition.data.name),
        config=draw.config,
        version=condition.version,
        metadata=task_metadata(condition, draw) | dict(metadata or {}),
        **more,
    )


@solver
def ask(
    protocol: str,
    samples: int = 1,
    tools: Sequence[dict[str, Any]] = (),
    tells_context: bool = False,
) -> Solver:
    """The solver of both tasks; see ``casewise.runs.asking.ask``.

    Args:
        protocol: Name of the protocol.
        samples: Answers to each opening.
        tools: Definitions of tools, as chat formats write them.
        tells_context: Whether requests to a target may hold the context.
    """
    definitions = [ToolDefinition.model_validate(tool) for tool in tools]

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        arguments = state, get_model(), find_protocol(protocol), GenerateConfig()
        await asking.ask(
            *arguments, samples=samples, tools=definitions, tells_context=tells_context
        )
        return state

    return solve


@metric
def mean_of_defined() -> Metric:
    """Mean of a number over the scores in which it is defined; NaN where it is in none.

    A first look only: ``casewise score`` measures against people.
    """

    # Inspect looks at the annotation to tell what a metric takes.
    def compute(scores: list[SampleScore]) -> float:
        numbers = [score.score.as_float() for score in scores]
        defined = [number for number in numbers if not math.isnan(number)]
        return sum(defined) / len(defined) if defined else math.nan

    return compute


def _means(*names: str) -> dict[str, list[Metric]]:
    return {name: [mean_of_defined()] for name in names}


@scorer(metrics=_means("read", "says_safe", "as_intended"))
def read_answers(protocol: str) -> Scorer:
    """Read the answers to a case under a protocol, in English and in the language of the case."""

    async def score(state: TaskState, target: Target) -> Score:
        return await asking.read(state, target.text, get_model(), find_protocol(protocol))

    return score


@scorer(metrics=_means("graded", "refusal"))
def grade_reply(grader: str | None = None, protocol: str = ACTS) -> Scorer:
    """Grade the reply that counts: by the provider's own signal, the offline reader, a model."""

    async def score(state: TaskState, target: Target) -> Score:
        model = get_model(role=GRADER) if grading_model(grader) is not None else None
        arguments = target.text, get_model(), find_protocol(protocol)
        return await asking.read(state, *arguments, grader, model)

    return score


casewise = modelapi(name="casewise")(SmolLM2)
"""The provider of ``casewise/smollm2``."""

casewise_target = modelapi(name=TARGETS)(TargetModel)
"""The provider of ``casewise-target/NAME``: bots behind addresses of their own, functions."""


casewise_openai = modelapi(name=OURS)(ChatCompletions)
"""The provider of ``openai-api/SERVICE/MODEL``: servers that speak OpenAI's protocol."""


__all__ = ["casewise_openai", "casewise", "casewise_target", "judge", "respond"]
