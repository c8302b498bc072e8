"""The critic's rules for a context among the others of its set. Order is that of the file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from casewise.cases import Side
from casewise.contexts._likeness import context_text, misfits, near_copies
from casewise.contexts.making._faults import Fault, FaultKind
from casewise.contexts.making._parameters import Values, make_context

NEAR_COPY: Final = 0.5
"""Jaccard index of runs of three words from which a context is a near-copy of another."""


@dataclass(frozen=True, slots=True)
class Member:
    """A context of the set."""

    query: int
    """The place of its query."""
    side: Side
    values: Values
    clean: bool
    """Whether nothing else is wrong with it: only then is it compared with others' texts."""


def check_set(
    members: Sequence[Member], queries: Sequence[str], *, matched: bool
) -> dict[tuple[int, Side], Fault]:
    """What is wrong with contexts beside each other: at most one fault each.

    A context that fits another query than its own is at fault for that. Of two near-copies, the
    later one is, unless one of them is at fault already: then the other is not blamed for it.

    Args:
        members: In the order of the file, the safe side of a query first.
        queries: What is asked, by place.
        matched: Whether twins may be alike.
    """
    texts = [context_text(make_context(one.values)) for one in members]
    found: dict[tuple[int, Side], Fault] = {}
    for misfit in misfits(texts, queries, [one.query for one in members]):
        member = members[misfit.context]
        found[member.query, member.side] = Fault(
            FaultKind.MISFIT,
            f"fits question {misfit.other + 1} of the set, and not its own (likeness "
            f"{misfit.other_likeness:.2f} against {misfit.own_likeness:.2f})",
            member.side,
        )
    clean = [place for place, one in enumerate(members) if one.clean]
    copies = near_copies([texts[place] for place in clean], threshold=NEAR_COPY)
    for copy in sorted(copies, key=lambda one: (one.second, one.first)):
        first, second = members[clean[copy.first]], members[clean[copy.second]]
        places = (first.query, first.side), (second.query, second.side)
        if (matched and first.query == second.query) or any(one in found for one in places):
            continue
        found[places[1]] = Fault(
            FaultKind.COPY,
            f"nearly the same as the {first.side} context of question {first.query + 1} "
            f"(likeness {copy.likeness:.2f}): choose another place and another person",
            second.side,
        )
    return found
