"""What the models that run in this process have in common."""

from collections.abc import Mapping
from itertools import count
from typing import Any

from inspect_ai.model import GenerateConfig, ModelAPI

from casewise.evaluation.local._text_order import TextOrder

WINDOW = 64
"""Cases of a task under way at once: so many wait in text order, where those of other tasks join
them. They cost memory only, as one is answered at a time."""

PROVIDERS = frozenset({"casewise", "casewise-hf"})
"""How the names of these models begin."""

_numbers = count(1)


def is_in_process(model: str) -> bool:
    """Whether a model, by its name, runs in this process."""
    return model.partition("/")[0] in PROVIDERS


class InProcess(ModelAPI):
    """A model of this process: its requests wait in one line, whichever task they are of.

    Each task has a client of its own, so that none keeps the others' requests out of the line.
    """

    def __init__(self, model_name: str, config: GenerateConfig) -> None:
        super().__init__(model_name, config=config)
        self.asker = next(_numbers)
        """Tells this client from the others of its model."""

    @property
    def line(self) -> TextOrder[Any, Any]:
        """Where the requests of all clients of the model wait."""
        raise NotImplementedError

    @property
    def made_with(self) -> Mapping[str, str]:
        """What its numbers depend on, besides the model: ``dtype``, ``device``, versions."""
        return {}

    def connection_key(self) -> str:
        """One for each client: what is allowed at once is allowed to each task."""
        return f"{self.model_name}#{self.asker}"

    def max_connections(self) -> int:
        """How many requests of a task wait in the line."""
        return WINDOW

    async def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text under the model's tokenizer, and whether it is the only one."""
        raise NotImplementedError
