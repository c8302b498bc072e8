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
) -> dict[tuple[int, Side], tuple[Fault, ...]]:
    """What is wrong with contexts beside each other, by query and side.

    A context that fits another query than its own is at fault for that. Of two near-copies, the
    one that is at fault already is to blame, else the later one.

    Args:
        members: In the order of the file, the safe side of a query first.
        queries: What is asked, by place.
        matched: Whether twins may be alike.
    """
    if not members:
        return {}
    texts = [context_text(make_context(one.values)) for one in members]
    found: dict[int, list[Fault]] = {}
    for misfit in misfits(texts, queries, [one.query for one in members]):
        reason = (
            f"fits question {misfit.other + 1} of the set, and not its own (likeness "
            f"{misfit.other_likeness:.2f} against {misfit.own_likeness:.2f})"
        )
        side = members[misfit.context].side
        found[misfit.context] = [Fault(FaultKind.MISFIT, reason, side)]
    clean = [place for place, one in enumerate(members) if one.clean]
    copies = near_copies([texts[place] for place in clean], threshold=NEAR_COPY)
    copied: set[int] = set()
    for copy in sorted(copies, key=lambda one: (one.second, one.first)):
        first, second = clean[copy.first], clean[copy.second]
        if matched and members[first].query == members[second].query:
            continue
        if copied & {first, second}:
            continue
        blamed, other = (
            (first, second) if first in found and second not in found else (second, first)
        )
        copied.add(blamed)
        reason = (
            f"nearly the same as the {members[other].side} context of question "
            f"{members[other].query + 1} (likeness {copy.likeness:.2f}): choose another place and "
            "another person"
        )
        found.setdefault(blamed, []).append(Fault(FaultKind.COPY, reason, members[blamed].side))
    return {
        (members[place].query, members[place].side): tuple(faults)
        for place, faults in found.items()
    }
