"""Ask a case's prompt, once or several times."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import Store

from casewise.errors import ModelError
from casewise.evaluation._address import with_address
from casewise.evaluation._answers import first_token, keep_outputs, provider_refused
from casewise.evaluation._faults import asked
from casewise.evaluation._reach import UnreachableError, reach_of
from casewise.evaluation.local import is_in_process

HOPELESS = frozenset({401, 403, 404})
"""HTTP statuses that no later request will mend: a wrong key, no permission, no such model."""


class CaseState(Protocol):
    """What asking leaves of a case, and reading finds: ours, or Inspect's ``TaskState``."""

    messages: list[ChatMessage]
    output: ModelOutput
    metadata: dict[str, Any]

    @property
    def store(self) -> Store:
        """What is kept beside the messages."""


Ask = Callable[[CaseState, Model, GenerateConfig], Awaitable[None]]
"""One protocol's way of asking: sends a case's requests and leaves the answers in its state."""


@dataclass(slots=True)
class Hopes:
    """Which models have answered, and which never will: by the client's identity."""

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
        for one in (model, grader):
            if one is not None and not is_in_process(str(one)):
                reach_of(one).check()

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
    hopes = Hopes()

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        model = get_model()
        hopes.check(model)
        try:
            await ask(state, model, GenerateConfig())
        except Exception as error:
            hopes.fail(model, error)
            raise
        hopes.answer(model)
        return state

    return solve


def ask_judge(samples: int, logprobs: bool) -> Ask:
    """Send the prompt ``samples`` times, each time from the start."""

    async def ask(state: CaseState, model: Model, config: GenerateConfig) -> None:
        outputs = [
            await asked(model.generate(state.messages, config=config)) for _ in range(samples)
        ]
        if logprobs:
            _check_logprobs(outputs[0])
        keep_outputs(state, outputs)

    return ask


@solver
def ask(samples: int = 1, logprobs: bool = False) -> Solver:
    """The solver of ``casewise/judge``; see ``ask_judge``."""
    return solve_by(ask_judge(samples, logprobs))


def _check_logprobs(output: ModelOutput) -> None:
    if not provider_refused(output) and output.stop_reason != "model_length":
        first_token(output)


def _is_hopeless(error: Exception) -> bool:
    return isinstance(error, ModelError) or getattr(error, "status_code", None) in HOPELESS
