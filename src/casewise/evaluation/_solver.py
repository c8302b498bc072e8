"""Ask a case's prompt, once or several times."""

from collections.abc import Awaitable, Callable

from inspect_ai.model import Model, ModelOutput, get_model, model_roles
from inspect_ai.solver import Generate, Solver, TaskState, solver

from casewise.errors import ModelError
from casewise.evaluation._answers import first_token, keep_outputs, provider_refused
from casewise.evaluation._budget import admitted
from casewise.evaluation._faults import asked
from casewise.evaluation._progress import give_up, observe
from casewise.evaluation._reach import UnreachableError, reach_of, with_address
from casewise.evaluation.local import is_in_process
from casewise.protocols import Status

HOPELESS = frozenset({401, 403, 404})
"""HTTP statuses that no later request will mend: a wrong key, no permission, no such model."""


def until_hopeless(work: Callable[[TaskState], Awaitable[None]]) -> Solver:
    """A solver's step that gives a model up when its first samples show that none will do.

    What is hopeless at the first answers (a wrong key, a model that gives no log-probabilities
    where they are needed) stays so: the samples that follow fail at once, without a request.
    """
    answered: set[int] = set()
    hopeless: dict[int, str] = {}

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        # Several models may share the solver.
        client = id(get_model())
        for model in _others():
            # A grader that can't be reached: what it would have graded is not asked for.
            reach_of(model).check()
        if client in hopeless:
            observe(Status.ERROR)
            raise ModelError(hopeless[client])
        await admitted()
        try:
            await work(state)
        except Exception as error:
            observe(Status.ERROR)
            if client not in answered | hopeless.keys() and _is_hopeless(error):
                hopeless[client] = with_address(get_model(), getattr(error, "plain", error))
                give_up(hopeless[client])
            raise
        answered.add(client)
        return state

    return solve


@solver
def ask(samples: int = 1, logprobs: bool = False) -> Solver:
    """Send the prompt ``samples`` times, each time from the start; see ``until_hopeless``."""

    async def work(state: TaskState) -> None:
        outputs = [await asked(get_model().generate(state.messages)) for _ in range(samples)]
        if logprobs:
            _check_logprobs(outputs[0])
        keep_outputs(state, outputs)

    return until_hopeless(work)


def _check_logprobs(output: ModelOutput) -> None:
    if not provider_refused(output) and output.stop_reason != "model_length":
        first_token(output)


def _others() -> list[Model]:
    """The models that the sample needs besides the one that is asked."""
    found = [one for one in model_roles().values() if isinstance(one, Model)]
    return [one for one in found if not is_in_process(str(one))]


def _is_hopeless(error: Exception) -> bool:
    if isinstance(error, UnreachableError):
        # That was reported, and every later request fails by itself.
        return False
    return isinstance(error, ModelError) or getattr(error, "status_code", None) in HOPELESS
