"""Ask a case's prompt, once or several times."""

from inspect_ai.model import ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from casewise.errors import ModelError
from casewise.evaluation._answers import first_token, keep_outputs, no_logprobs, provider_refused
from casewise.evaluation._progress import observe
from casewise.protocols import Status


@solver
def ask(samples: int = 1, logprobs: bool = False) -> Solver:
    """Send the prompt ``samples`` times, each time from the start.

    Where ``logprobs`` are needed and the first answer has none, the model can't be run so: the
    samples that follow fail at once, without a request.
    """
    logprobs_seen: bool | None = None

    def check(output: ModelOutput) -> None:
        nonlocal logprobs_seen
        if not logprobs or provider_refused(output) or output.stop_reason == "model_length":
            return
        try:
            first_token(output)
        except ModelError as error:
            logprobs_seen = logprobs_seen or False
            raise error
        logprobs_seen = True

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001
        try:
            if logprobs_seen is False:
                raise ModelError(no_logprobs(str(state.model)))
            outputs = [await get_model().generate(state.messages) for _ in range(samples)]
            check(outputs[-1])
        except Exception:
            observe(Status.ERROR)
            raise
        keep_outputs(state, outputs)
        return state

    return solve
