"""Conversations under one variation."""

from collections.abc import Mapping
from dataclasses import dataclass

from casewise.cases import Case
from casewise.protocols._respond import Conversations, Opening
from casewise.protocols._types import Delivery
from casewise.protocols._variations import variation_version, vary


@dataclass(frozen=True, slots=True)
class VariedConversations:
    """How the cases of one condition are asked, each conversation changed in one way."""

    plain: Conversations
    name: str
    """One of ``VARIATIONS``, with its size where it has one."""
    seed: int
    twins: Mapping[str, Case]
    """By the id of a case, the case of the same query in the other context."""

    @property
    def delivery(self) -> Delivery:
        """Where the context stands."""
        return self.plain.delivery

    @property
    def deployer(self) -> str | None:
        """A deployment's own system message."""
        return self.plain.deployer

    @property
    def version(self) -> str:
        """The version of the plain wording: the variation is told by the run's variant."""
        return self.plain.version

    @property
    def change_version(self) -> str:
        """The version of what the variation says."""
        return variation_version(self.name)

    def applies(self, case: Case) -> bool:
        """Whether the variation means anything for a case."""
        return self._open(case) is not None

    def open(self, case: Case) -> Opening:
        """The conversation in which a case is asked; the plain one where nothing is changed."""
        return self._open(case) or self.plain.open(case)

    def render(self, case: Case) -> str:
        """All that is said before the first reply, and all that the user says after it."""
        opening = self.open(case)
        return "\n\n".join([*(one.content for one in opening.messages), *opening.turns])

    def _open(self, case: Case) -> Opening | None:
        opening = self.plain.open(case)
        return vary(self.name, case, self.twins.get(case.id), opening, self.delivery, self.seed)
