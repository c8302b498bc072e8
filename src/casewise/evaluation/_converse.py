"""Hold a conversation live: the model's own replies stand in its history."""

from inspect_ai.model import ChatMessageUser, GenerateConfig, Model
from inspect_ai.solver import Solver, solver

from casewise.evaluation._answers import provider_refused
from casewise.evaluation._faults import asked
from casewise.evaluation._samples import TURNS
from casewise.evaluation._solver import CaseState, solve_by

REPLIES = "replies"
"""Where a sample keeps how many replies it has."""


@solver
def converse() -> Solver:
    """The solver of ``casewise/respond``; see ``ask_chatbot``."""
    return solve_by(ask_chatbot)


async def ask_chatbot(state: CaseState, model: Model, config: GenerateConfig) -> None:
    """Send the user's turns one after another, each when the last one is answered.

    A provider's own refusal ends the conversation: what the user would say next has nothing to
    follow.
    """
    later: list[str] = list(state.metadata.get(TURNS) or [])
    for turn in [None, *later]:
        if turn is not None:
            state.messages.append(ChatMessageUser(content=turn))
        state.output = await asked(model.generate(state.messages, config=config))
        state.messages.append(state.output.message)
        state.store.set(REPLIES, state.store.get(REPLIES, 0) + 1)
        if provider_refused(state.output):
            return
