"""Hold a conversation live: the model's own replies stand in its history."""

from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.solver import Solver, TaskState, solver

from casewise.evaluation._answers import provider_refused
from casewise.evaluation._faults import asked
from casewise.evaluation._samples import TURNS
from casewise.evaluation._solver import until_hopeless

REPLIES = "replies"
"""Where a sample keeps how many replies it has."""


@solver
def converse() -> Solver:
    """Send the user's turns one after another, each when the last one is answered.

    A provider's own refusal ends the conversation: what the user would say next has nothing to
    follow. A model is given up as when judging: see ``until_hopeless``.
    """
    return until_hopeless(_talk)


async def _talk(state: TaskState) -> None:
    later: list[str] = list(state.metadata.get(TURNS) or [])
    for turn in [None, *later]:
        if turn is not None:
            state.messages.append(ChatMessageUser(content=turn))
        state.output = await asked(get_model().generate(state.messages))
        state.messages.append(state.output.message)
        state.store.set(REPLIES, state.store.get(REPLIES, 0) + 1)
        if provider_refused(state.output):
            return
