"""What the checks read: the cases with their texts taken out once."""

from collections.abc import Sequence
from dataclasses import dataclass

from casewise.cases import Case, Context, find_twins
from casewise.contexts import context_text, words_of

USUAL_PARAMETERS = (
    "sender.platform_type",
    "sender.nature_of_the_interaction",
    "recipient.type",
    "recipient.background",
    "transmission_principle.urgency",
    "transmission_principle.sender_purpose",
    "transmission_principle.confidentiality",
    "transmission_principle.source_accountability",
)
"""The parameters of the paper's contexts."""


@dataclass(frozen=True, slots=True)
class Material:
    """A set of cases and their texts, by place."""

    cases: tuple[Case, ...]
    contexts: tuple[str, ...]
    """Plain texts of the contexts; empty without one."""
    parameters: tuple[dict[str, str], ...]
    """Of each context, the plain text of each parameter, by ``group.parameter``."""
    words: tuple[tuple[str, ...], ...]
    """Of each context."""
    queries: dict[str, str]
    """The query of each query id."""
    pairs: tuple[tuple[int, int], ...]
    """Places of the case intended safe and of its twin, one pair a query."""

    def ids(self, places: Sequence[int]) -> tuple[str, ...]:
        """The ids of cases by their places."""
        return tuple(self.cases[place].id for place in places)

    @property
    def with_context(self) -> int:
        """How many cases have a context."""
        return sum(case.context is not None for case in self.cases)


def to_material(cases: Sequence[Case]) -> Material:
    """Take the texts out of the cases."""
    twins = find_twins(cases)
    places = {case.id: place for place, case in enumerate(cases)}
    pairs: dict[str, tuple[int, int]] = {}
    for place, case in enumerate(cases):
        if case.intended == "safe" and case.id in twins:
            pairs.setdefault(case.query_id, (place, places[twins[case.id].id]))
    contexts = tuple(context_text(case.context) for case in cases)
    return Material(
        tuple(cases),
        contexts,
        tuple(_parameters(case.context) for case in cases),
        tuple(tuple(words_of(text)) for text in contexts),
        {case.query_id: case.query for case in cases},
        tuple(pairs.values()),
    )


def _parameters(context: Context | None) -> dict[str, str]:
    """The text of each parameter, nested ones with what stands in them."""
    found = {}
    for group, inner in (context.root if context is not None else {}).items():
        if isinstance(inner, dict):
            for name, value in inner.items():
                found[f"{group}.{name}"] = context_text(Context({group: {name: value}}))
        else:
            found[group] = context_text(Context({group: inner}))
    return found
