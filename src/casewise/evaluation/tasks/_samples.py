"""Parts that the tasks share: a case as Inspect's sample, its request, a provider's answer."""

import math
import typing
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer
from inspect_ai.solver import Generate, Solver, TaskState
from inspect_ai.util import Store

import casewise
from casewise.cases import Case, Turn, flags_query, wanted_reply
from casewise.choices import Sampling
from casewise.errors import CasewiseError, ModelError
from casewise.evaluation.models._in_process import InProcess
from casewise.evaluation.models._model_address import with_address
from casewise.evaluation.models._provider_calls import other_model
from casewise.evaluation.models._reachability import UnreachableError, reach_of
from casewise.evaluation.models._seam import PrerequisiteError
from casewise.evaluation.plan._condition import Condition, choose, make_condition
from casewise.evaluation.plan._sampling import (
    WITHOUT_LOGPROBS,
    DrawSettings,
    make_draw,
    resolve_sampling,
    setting_parts,
)
from casewise.evaluation.tasks._messages import to_message
from casewise.logs import GENERATE, OF_RUN
from casewise.protocols import Opening, Protocol, Script

REPLIES = "replies"
"""Key in a sample of the number of its replies."""

TURNS = "later_turns"
"""Key in a sample of the user's turns after the first reply."""

EXPECTATIONS = "expectations"
"""Key in a sample of the replies that the deployer wants, turn by turn."""

GRADE_ALL = "grade_all"
"""True if every reply is graded against the query, and not the last one alone."""

QUERY = "query"
CONTEXT = "context"
HISTORY = "history"
LANGUAGE = "language"
"""Key in a sample of the language in which its answer is read, beside English."""


def to_sample(case: Case, condition: Condition, draw: DrawSettings) -> Sample:
    """A case as Inspect's sample; its metadata is what the judgement table is made from."""
    opening = condition.prompts.open(case)
    first, *later = opening.turns
    said = [*opening.messages, Turn(role="user", content=first)]
    if draw.system and not any(turn.role == "system" for turn in said):
        said.insert(0, Turn(role="system", content=draw.system))
    messages = [to_message(turn) for turn in said]
    return Sample(
        id=case.id,
        input=messages,
        target=case.intended or "",
        metadata={
            "query_id": case.query_id,
            "category": case.category,
            "intended": case.intended,
            "votes_safe": case.votes_safe,
            "votes_unsafe": case.votes_unsafe,
            "published_safe_rate": case.published_safe_rate,
            "query_flagged": flags_query(case.query),
            QUERY: case.query,
            CONTEXT: case.context.root if case.context is not None else None,
        }
        | ({LANGUAGE: language} if (language := condition.answered_in(case)) else {})
        | (
            {HISTORY: [turn.model_dump(mode="json") for turn in case.history]}
            if case.history
            else {}
        )
        | ({"no_context": True} if case.context is None else {})
        | (_for_replies(case, later) if condition.protocol is Protocol.RESPOND else {})
        | ({GRADE_ALL: True} if condition.escalates else {}),
    )


def _for_replies(case: Case, later: list[str]) -> dict[str, Any]:
    """Metadata that the conversation and its grader need."""
    return {TURNS: later, "expected": wanted_reply(case)}


def script_sample(script: Script, opening: Opening) -> Sample:
    """A script as Inspect's sample; each of its turns becomes a row of the judgement table."""
    first, *later = opening.turns
    return Sample(
        id=script_id(script.name),
        input=[to_message(turn) for turn in (*opening.messages, Turn(role="user", content=first))],
        metadata={
            "query_id": script_id(script.name),
            "category": "script",
            TURNS: later,
            EXPECTATIONS: " ".join(turn.expect for turn in script.turns),
        },
    )


def script_id(name: str) -> str:
    """The id of a script's sample."""
    return f"script:{name}"


def task_metadata(condition: Condition, sampling: Sampling, draw: DrawSettings) -> dict[str, Any]:
    """Metadata of a run by which its judgements differ from others'."""
    settings = setting_parts(draw.settings)
    told = replace(condition.identity, sampling=str(sampling), settings=settings)
    return (
        {
            "casewise": casewise.__version__,
            **{name: told[name] for name in OF_RUN},
            "samples": draw.samples,
            "variation_version": condition.variation_version,
            "dataset": condition.data.name,
            "dataset_size": len(condition.data.cases),
        }
        | ({"verdict_words": words} if (words := condition.words_version) else {})
        | ({GENERATE: dict(draw.settings)} if draw.settings else {})
    )


def samples_of(condition: Condition, draw: DrawSettings) -> Iterator[Sample]:
    """Every case of a condition, each made when it is asked for, then its script."""
    for case in condition.cases:
        yield to_sample(case, condition, draw)
    if condition.script is not None and (opening := condition.script_opening) is not None:
        yield script_sample(condition.script, opening)


@dataclass(frozen=True, slots=True)
class TaskParts:
    """A condition, and how its model is asked: what every task is made of."""

    condition: Condition
    sampling: Sampling
    draw: DrawSettings

    @classmethod
    def of_options(
        cls,
        cases: str,
        protocol: str,
        *,
        sampling: str,
        model_name: str | None,
        max_tokens: int | None,
        samples: int | None = None,
        **others: Any,
    ) -> "TaskParts":
        """Check the options of ``inspect eval``; ``others`` are those of ``make_condition``.

        Raises:
            PrerequisiteError: One can't be used; Inspect shows it without a traceback.
        """
        try:
            condition = make_condition(cases, protocol=protocol, **others)
        except CasewiseError as error:
            raise PrerequisiteError(str(error)) from error
        chosen = choose(Sampling, sampling, "sampling")
        asked = model_name or ("" if chosen is Sampling.GREEDY else str(get_model()))
        resolved = resolve_sampling(chosen, asked)
        draw = make_draw(
            condition.protocol, resolved, model=asked, samples=samples, max_tokens=max_tokens
        )
        return cls(condition, resolved, draw)

    def task(
        self,
        solver: Solver,
        scorer: Scorer,
        version: str,
        said: Mapping[str, Any] | None = None,
        model_roles: dict[str, str | Model] | None = None,
    ) -> Task:
        """Inspect's task; ``said`` is what its log says besides ``task_metadata``."""
        return Task(
            dataset=MemoryDataset(
                list(samples_of(self.condition, self.draw)), name=self.condition.data.name
            ),
            solver=solver,
            scorer=scorer,
            config=self.draw.config,
            model_roles=model_roles,
            version=version,
            metadata=task_metadata(self.condition, self.sampling, self.draw) | dict(said or {}),
        )


class CaseState(typing.Protocol):
    """State of a case between asking and reading: ours, or Inspect's ``TaskState``."""

    messages: list[ChatMessage]
    output: ModelOutput
    metadata: dict[str, Any]

    @property
    def store(self) -> Store:
        """Store beside the messages."""


_OUTPUTS = "outputs"


def keep_outputs(state: CaseState, outputs: list[ModelOutput]) -> None:
    """Leave every answer to a sample where the scorer finds it, the last as its output."""
    state.output = outputs[-1]
    state.messages.append(outputs[-1].message)
    if len(outputs) > 1:
        state.store.set(_OUTPUTS, [output.model_dump(mode="json") for output in outputs])


def all_outputs(state: CaseState) -> list[ModelOutput]:
    """Every answer to a sample, in the order asked."""
    kept = state.store.get(_OUTPUTS)
    return [ModelOutput.model_validate(output) for output in kept] if kept else [state.output]


def provider_refused(output: ModelOutput) -> bool:
    """Tell whether the provider itself says that the model, or its filter, declined."""
    if output.stop_reason == "content_filter":
        return True
    content = output.message.content if output.choices else ""
    return not isinstance(content, str) and any(getattr(part, "refusal", None) for part in content)


def was_cut(output: ModelOutput) -> bool:
    """Tell whether a token limit ended the answer, and not its author."""
    return output.stop_reason in ("max_tokens", "model_length")


def first_token(output: ModelOutput) -> dict[str, float]:
    """The candidates of the first token and their natural-log probabilities.

    Raises:
        ModelError: The provider returned none.
    """
    choice = output.choices[0] if output.choices else None
    if choice is None or choice.logprobs is None or not choice.logprobs.content:
        raise ModelError(WITHOUT_LOGPROBS)
    first = choice.logprobs.content[0]
    candidates = {first.token: first.logprob}
    seen: dict[str, float] = {}
    for top in first.top_logprobs or []:
        # Two tokens may have one text; their probabilities add up.
        before = seen.get(top.token)
        both = top.logprob if before is None else float(np.logaddexp(before, top.logprob))
        seen[top.token] = both
    return candidates | seen


def mean_of(name: str) -> Metric:
    """The mean of a number over the scores in which it is defined; NaN where it is in none."""

    # Inspect looks at the annotation to tell what a metric takes.
    def compute(scores: list[SampleScore]) -> float:
        values = [score.score.value for score in scores]
        return mean(float(value[name]) for value in values if isinstance(value, Mapping))  # type: ignore[arg-type]

    return compute


def mean(numbers: Iterable[float]) -> float:
    """The mean of the numbers that are defined; NaN of none."""
    defined = [number for number in numbers if not math.isnan(number)]
    return sum(defined) / len(defined) if defined else math.nan


Read = Callable[[CaseState, str, Model], Awaitable[Score]]
"""One protocol's way of reading: makes a score of what asking left, of the intended side ("" if
unknown) and of the model that was asked."""


def answered_by(outputs: Sequence[ModelOutput], model: Model) -> dict[str, str]:
    """The name of the model that answered, where it is not the one that was asked."""
    names = [other_model(model, output) for output in outputs]
    return next(({"answered_by": name} for name in names if name is not None), {})


HOPELESS = frozenset({401, 403, 404})
"""HTTP statuses that no later request will mend: a wrong key, no permission, no such model."""


Ask = Callable[[CaseState, Model, GenerateConfig], Awaitable[None]]
"""One protocol's way of asking: sends a case's requests and leaves the answers in its state."""


@dataclass(slots=True)
class ModelHealth:
    """Models that have answered, and those that never will: by the client's identity."""

    answered: set[int] = field(default_factory=set)
    lost: dict[int, str] = field(default_factory=dict)
    """The reason for which a model is given up."""

    def check(self, model: Model, grader: Model | None = None) -> None:
        """Fail at once, without a request, if the model is given up, or its grader.

        Raises:
            ModelError: One is.
        """
        if id(model) in self.lost:
            raise ModelError(self.lost[id(model)])
        for asked in (model, grader):
            if asked is not None and not isinstance(asked.api, InProcess):
                reach_of(asked).check()

    def fail(self, model: Model, error: Exception) -> str | None:
        """Why an error gives a model up, if it does: it can't be reached, or none will do.

        What is hopeless at the first answers (a wrong key, a model that gives no log-probabilities
        where they are needed) stays so: what follows fails at once, without a request.
        """
        if isinstance(error, UnreachableError):
            return str(error)
        if id(model) not in self.answered | self.lost.keys() and _is_hopeless(error):
            self.lost[id(model)] = with_address(model, getattr(error, "plain", error))
        return self.lost.get(id(model))

    def answer(self, model: Model) -> None:
        """The model has answered: from now on no error gives it up."""
        self.answered.add(id(model))


def solve_by(ask: Ask) -> Solver:
    """Inspect's solver for a protocol; a model is given up as ``casewise run`` gives it up."""
    health = ModelHealth()

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        model = get_model()
        health.check(model)
        try:
            await ask(state, model, GenerateConfig())
        except Exception as error:
            health.fail(model, error)
            raise
        health.answer(model)
        return state

    return solve


def _is_hopeless(error: Exception) -> bool:
    return isinstance(error, ModelError) or getattr(error, "status_code", None) in HOPELESS
