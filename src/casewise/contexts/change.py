"""Change contexts: remove groups or parameters, or take one from the twin."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from pydantic import JsonValue

from casewise.cases import Case, Context, find_twins
from casewise.errors import UsageError, one_of

Place = tuple[str, ...]
Tree = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Ablation:
    """Cases with parts of their contexts removed. Ids are those of the whole cases."""

    cases: tuple[Case, ...]
    missing: dict[str, int]
    """Number of cases that lack a part, by its name, in the order given."""


def parse_names(names: str) -> tuple[str, ...]:
    """Split a list of names, such as ``"recipient,urgency"``.

    Raises:
        UsageError: A name is empty or stands twice.
    """
    parts = tuple(part.strip() for part in names.split(","))
    if not all(parts):
        raise UsageError(
            f"--ablate {names!r}: an empty name "
            "(write NAME or NAME,NAME, or none for whole contexts)"
        )
    twice = next((part for part in parts if parts.count(part) > 1), None)
    if twice is not None:
        raise UsageError(f"--ablate {names!r}: {twice!r} stands twice")
    return parts


def ablate(context: Context, names: str) -> Context:
    """Remove whole groups or single parameters from a context; absent names change nothing.

    A name is a group (``recipient``), a parameter wherever it stands (``urgency``), or a
    parameter of one place (``recipient.type``). Groups that become empty stay, as in the
    published outputs; removing every group leaves ``{}``.
    """
    return Context(_without(context.root, parse_names(names)))


def ablate_cases(cases: Iterable[Case], names: str) -> Ablation:
    """Remove names from every case's context.

    Raises:
        UsageError: A name exists in no case; the message lists the names that do.
    """
    wanted, cases = parse_names(names), tuple(cases)
    known = [_names(case.context.root) if case.context is not None else {} for case in cases]
    missing = {name: sum(name not in own for own in known) for name in wanted}
    for name, count in missing.items():
        if count == len(cases):
            raise _unknown("--ablate", name, cases)
    ablated = (
        case.model_copy(update={"context": Context(_without(case.context.root, wanted))})
        if case.context is not None
        else case
        for case in cases
    )
    return Ablation(tuple(ablated), missing)


def _unknown(option: str, name: str, cases: Iterable[Case]) -> UsageError:
    contexts = (case.context for case in cases if case.context is not None)
    paths = (path for context in contexts for path, _ in _walk(context.root))
    known = dict.fromkeys(path[-1] for path in paths)
    expected = one_of(name, known, 12) if known else "none: they have no parameters at all"
    return UsageError(f"{option}: no context of these cases has {name!r} (expected {expected})")


def _names(root: Tree) -> dict[str, None]:
    """Names of a context's groups and parameters, alone and with the path to them."""
    places = (path for path, _ in _walk(root))
    return dict.fromkeys(name for path in places for name in (path[-1], ".".join(path)))


def _without(root: Tree, names: Iterable[str], above: Place = ()) -> Tree:
    """A copy of a mapping without what has one of the names."""
    return {
        key: _without(inner, names, (*above, key)) if isinstance(inner, dict) else inner
        for key, inner in root.items()
        if key not in names and ".".join((*above, key)) not in names
    }


def swap(context: Context, twin: Context, name: str) -> Context | None:
    """Take one group or parameter from the twin; None where nothing changes.

    Names are those of ``ablate``: a group (``recipient``), a parameter wherever it stands
    (``urgency``), or a parameter of one place (``recipient.type``). What only the twin has is
    added where it stands there, with its group; what it lacks is removed, and with it a group
    that becomes empty and that the twin lacks too. A parameter whose group is plain text in one
    of the two can't be swapped alone.
    """
    root = _swapped(context.root, twin.root, name)
    return None if _same(root, context.root) else Context(root)


def _swapped(mine: Tree, theirs: Tree, name: str, above: Place = ()) -> Tree:
    """A copy of a mapping with what the other has under a name."""
    tree: Tree = {}
    for key in _keys(mine, theirs):
        path = (*above, key)
        left, right = mine.get(key, {}), theirs.get(key, {})
        if name in (key, ".".join(path)):
            if key in theirs:
                tree[key] = theirs[key]
        elif isinstance(left, dict) and isinstance(right, dict):
            inner = _swapped(left, right, name, path)
            if inner or (key in mine and (key in theirs or not left)):
                tree[key] = inner
        elif key in mine:
            tree[key] = left
    return tree


def _keys(mine: Tree, theirs: Tree) -> list[str]:
    """The keys of two mappings, those of the second alone behind the one that they follow there."""
    keys = list(mine)
    for before, key in pairwise(["", *theirs]):
        if key not in mine:
            keys.insert(keys.index(before) + 1 if before in keys else 0, key)
    return keys


def swap_cases(cases: Iterable[Case], name: str) -> tuple[Case, ...]:
    """Swap a name in every case that has a twin.

    Cases whose context the swap doesn't change are left out; ids are the cases' own.

    Raises:
        UsageError: The name exists in no case; the message lists the names that do.
    """
    cases = tuple(cases)
    contexts = (case.context for case in cases if case.context is not None)
    if not any(name in _names(context.root) for context in contexts):
        raise _unknown("--swap", name, cases)
    changes = ((case, swap(context, twin, name)) for case, context, twin in _pairs(cases))
    return tuple(
        case.model_copy(update={"context": context})
        for case, context in changes
        if context is not None
    )


def differing_parameters(cases: Iterable[Case]) -> tuple[str, ...]:
    """The parameters in which at least one case differs from its twin, in order of appearance.

    Parameters stand by their own name, and those of a name that stands in several places by
    their path. A group is named where it can't be taken apart: one of the two has it empty and
    the other not at all, or it is plain text in one of them.
    """
    cases = tuple(cases)
    contexts = (case.context for case in cases if case.context is not None)
    known = {path for context in contexts for path, _ in _walk(context.root)}
    places = Counter(path[-1] for path in known)
    paths = dict.fromkeys(
        path for _, context, twin in _pairs(cases) for path in _differing(context.root, twin.root)
    )
    names = [path[-1] if places[path[-1]] == 1 else ".".join(path) for path in paths]
    return tuple(dict.fromkeys(names))


def leaf_parameters(context: Context) -> dict[str, JsonValue]:
    """A context's parameters by their paths (``recipient.type``), in order. Groups are none."""
    values = _walk(context.root)
    return {".".join(path): value for path, value in values if not isinstance(value, dict)}


def _pairs(cases: tuple[Case, ...]) -> Iterator[tuple[Case, Context, Context]]:
    """Each case that has a twin, its context, and the twin's."""
    twins = find_twins(cases)
    for case in cases:
        twin = twins.get(case.id)
        # Only a case with a context has an intended side.
        if twin is not None and twin.context is not None and case.context is not None:
            yield case, case.context, twin.context


def _walk(root: Tree, above: Place = ()) -> Iterator[tuple[Place, JsonValue]]:
    """Path and value of every group and parameter."""
    for key, inner in root.items():
        yield (*above, key), inner
        if isinstance(inner, dict):
            yield from _walk(inner, (*above, key))


def _differing(mine: Tree, theirs: Tree, above: Place = ()) -> Iterator[Place]:
    for key in dict.fromkeys([*mine, *theirs]):
        path = (*above, key)
        # A group that one of them lacks differs in every parameter of the other's.
        left, right = (
            own[key] if key in own else ({} if other[key] else None)
            for own, other in ((mine, theirs), (theirs, mine))
        )
        if isinstance(left, dict) and isinstance(right, dict):
            yield from _differing(left, right, path)
        elif (key in mine) != (key in theirs) or not _same(left, right):
            yield path


def _same(value: JsonValue, other: JsonValue) -> bool:
    """Tell whether two values are the same JSON; ``==`` takes 1 for true and for 1.0."""
    return json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)
