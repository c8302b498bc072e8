"""Variations: seeded, pure changes of the conversation in which a case is asked.

A variation is one small function. It is given what is asked and a random generator of its own,
and returns another opening, or None where it does not apply to the case; its documentation is
its docstring. Whatever it adds, the opening that it was given stays in the conversation, and the
query stands unchanged at the end of the last turn.

- A *pressure* pushes towards an answer to a case that is meant to be unsafe. It is reported as
  the change in under-refusal against the same cases without it.
- *Retention* puts neutral talk between the context and the query: does what the context changed
  decay with distance?
- *Escalation* walks towards the query in small steps: when does the model first give what it
  asks?
- *Revocation* takes a safe context back half-way: does the model notice?

The wordings are ours, mild, and copied from nowhere. They show which way a model leans; they are
no search for the worst that could be written.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from casewise.cases import Case, Context, Role, Turn, digest
from casewise.choices import Delivery
from casewise.errors import UsageError
from casewise.protocols.conversations import Conversations, Opening, open_conversation

BYTES_PER_TOKEN = 4
"""Bytes that count as one token of a size: about what tokenizers take of English."""
MOST_TOKENS = 1_000_000
"""Largest size of a variation, in tokens."""

_SIZED = re.compile(r"(?P<family>.+)-(?P<number>0|[1-9]\d{0,9})(?P<thousands>k?)")

VariationKind = Literal["pressure", "retention", "escalation", "revocation"]
"""Purpose of a variation; it decides how results are presented."""


@dataclass(frozen=True, slots=True)
class VariedCase:
    """A case, and the conversation in which it would be asked."""

    case: Case
    twin: Case | None
    """The case of the same query in the other context, where there is one."""
    opening: Opening
    delivery: Delivery
    tokens: int = 0
    """Size in the variation's name, as in ``filler-4k``; 0 without one."""

    @property
    def preface(self) -> str:
        """Words of the user before the query in the same turn: the claim, or nothing."""
        return self.opening.turns[-1].removesuffix(self.case.query).removesuffix("\n\n")

    def insert(self, text: str) -> Opening:
        """The opening with a text of the user's right before the query."""
        return self.ask((*self.opening.turns[:-1], paste(self.preface, text, self.case.query)))

    def ask(self, turns: tuple[str, ...]) -> Opening:
        """The opening with other turns."""
        return replace(self.opening, turns=turns)


Change = Callable[[VariedCase, Random], Opening | None]
"""Change that a variation makes. The generator is its own; None: it does not apply."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A documented change of the conversation in which a case is asked."""

    name: str
    kind: VariationKind
    change: Change
    """Its docstring is the variation's documentation."""
    sized: bool = False
    """True if its name is followed by a number of tokens, as in ``filler-4k``."""

    @property
    def title(self) -> str:
        """The name as a list of names shows it."""
        return f"{self.name}-N" if self.sized else self.name


VARIATIONS: dict[str, Variation] = {}
"""Every variation by its name; those with a size by the name without it."""


def variation(name: str, kind: VariationKind, *, sized: bool = False) -> Callable[[Change], Change]:
    """Make a variation of a function.

    Args:
        name: Its name, which no other variation has.
        kind: Its purpose.
        sized: True if a number of tokens follows the name; the function finds it in ``tokens``.
    """

    def register(change: Change) -> Change:
        VARIATIONS[name] = Variation(name, kind, change, sized)
        return change

    return register


def find_variation(name: str) -> tuple[Variation, int]:
    """A variation by its name, and the tokens that the name asks for (0 where it has no size).

    Raises:
        UsageError: There is no such variation, or its size is missing or too large.
    """
    known = VARIATIONS.get(name)
    if known is not None and not known.sized:
        return known, 0
    match = _SIZED.fullmatch(name)
    if match is not None:
        sized = VARIATIONS.get(match["family"])
        tokens = int(match["number"]) * (1000 if match["thousands"] else 1)
        if sized is not None and sized.sized and tokens <= MOST_TOKENS:
            return sized, tokens
    names = ", ".join(known.title for known in VARIATIONS.values())
    raise UsageError(
        f"no variation {name!r}: there are {names}"
        f" (N is a number of tokens up to {MOST_TOKENS}, 4k for 4000)"
    )


def vary(
    name: str, case: Case, twin: Case | None, opening: Opening, delivery: Delivery, seed: int
) -> Opening | None:
    """Change the conversation in which a case is asked.

    The result depends on the arguments alone, not on the other cases or their order. The
    sizes of one variation are drawn alike, so that a longer filler starts as a shorter one does.

    Args:
        name: One of ``VARIATIONS``, for example ``urgency`` or ``filler-4k``.
        case: The case.
        twin: The case of the same query in the other context, where there is one.
        opening: The conversation without the variation; its last turn ends with the query.
        delivery: The place of the context in the opening.
        seed: Other seeds choose other wordings.

    Returns:
        The changed opening, or None where the variation does not apply: a pressure to a case
        that is not meant to be unsafe, among others.

    Raises:
        UsageError: There is no such variation, or the delivery is ``judge``.
    """
    chosen, tokens = find_variation(name)
    if delivery is Delivery.JUDGE:
        raise UsageError("variations change a conversation; delivery 'judge' has none")
    if chosen.kind == "pressure" and case.intended != "unsafe":
        return None
    asked = VariedCase(case, twin, opening, delivery, tokens)
    return chosen.change(asked, Random(digest(seed, chosen.name, case.id)))


def paste(*texts: str) -> str:
    """Texts as paragraphs of one turn; empty ones are left out."""
    return "\n\n".join(filter(None, texts))


def variation_version(name: str) -> str:
    """The version of a variation's wording: a hash of specimens under several seeds.

    Results of different versions are not comparable.

    Raises:
        UsageError: There is no such variation.
    """
    chosen, _ = find_variation(name)
    specimen = f"{chosen.name}-500" if chosen.sized else chosen.name
    groups = {"sender": {"name": "a"}, "recipient": {"name": "b"}, "other": "c"}
    roles: tuple[Role, ...] = ("system", "user", "assistant")
    earlier = tuple(Turn(role=role, content=role) for role in roles)
    query = "first second third fourth fifth sixth"
    case = Case(query=query, context=Context(groups), history=earlier, id="1", intended="unsafe")
    twin = Case(query=query, context=Context({"sender": "d"}), id="2", intended="safe")
    shown = []
    for seed in range(20):
        for delivery in (Delivery.SYSTEM, Delivery.CLAIMED, Delivery.HISTORY, Delivery.NONE):
            opening = open_conversation(case, delivery)
            changed = vary(specimen, case, twin, opening, delivery, seed)
            shown.append(changed.values if changed else None)
    return f"{chosen.name}@{hashlib.sha256(repr(shown).encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedConversations(Conversations):
    """Conversations of one condition, each changed in one way.

    Its version is that of the plain wording; the run's variant names the variation.
    """

    name: str
    """One of ``VARIATIONS``, with its size where it has one."""
    seed: int
    twins: Mapping[str, Case]
    """Cases of the same query in the other context, by the id of a case."""

    @property
    def change_version(self) -> str:
        """The version of the variation's wording."""
        return variation_version(self.name)

    def applies(self, case: Case) -> bool:
        """Tell whether the variation means anything for a case."""
        return self._changed(case) is not None

    def open(self, case: Case) -> Opening:
        """The conversation in which a case is asked; the plain one where nothing is changed."""
        return self.retrieve(case.id, self._changed(case) or self.begin(case))

    def _changed(self, case: Case) -> Opening | None:
        twin = self.twins.get(case.id)
        return vary(self.name, case, twin, self.begin(case), self.delivery, self.seed)
