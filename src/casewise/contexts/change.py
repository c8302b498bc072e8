"""Change contexts: remove groups or parameters, or take one from the twin."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from pydantic import JsonValue

from casewise.cases import Case, Context, find_twins
from casewise.errors import UsageError

Place = tuple[str, ...]
Tree = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Ablation:
    """Cases with parts of their contexts removed. Ids are those of the whole cases."""

    cases: tuple[Case, ...]
    names: tuple[str, ...]
    """Parts that were removed, in the order given."""
    missing: dict[str, int]
    """Number of cases that lack a part, by its name."""


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


def ablate(context: Context, names: str | Sequence[str]) -> Context:
    """Remove whole groups or single parameters from a context; absent names change nothing.

    A name is a group (``recipient``), a parameter wherever it stands (``urgency``), or a
    parameter of one place (``recipient.type``). Groups that become empty stay, as in the
    published outputs; removing every group leaves ``{}``.
    """
    return _ablate(context, parse_names(names) if isinstance(names, str) else names)[0]


def ablate_cases(cases: Iterable[Case], names: str) -> Ablation:
    """Remove names from every case's context.

    Raises:
        UsageError: A name exists in no case; the message lists the names that do.
    """
    wanted, cases = parse_names(names), tuple(cases)
    kept = []
    missing = dict.fromkeys(wanted, 0)
    for case in cases:
        if case.context is None:
            removed = set[str]()
        else:
            context, removed = _ablate(case.context, wanted)
        for name in wanted:
            missing[name] += name not in removed
        kept.append(case.model_copy(update={"context": context}) if removed else case)
    for name, count in missing.items():
        if count == len(kept):
            raise _unknown("--ablate", name, cases)
    return Ablation(tuple(kept), wanted, missing)


def _unknown(option: str, name: str, cases: Iterable[Case]) -> UsageError:
    known = ", ".join(parameter_names(cases)) or "no parameters at all"
    return UsageError(f"{option}: no context of these cases has {name!r}; they have {known}")


def parameter_names(cases: Iterable[Case]) -> list[str]:
    """Every group and parameter name of the cases' contexts, in order of appearance."""
    roots = (case.context.root for case in cases if case.context is not None)
    return list(dict.fromkeys(name for root in roots for name in _names(root)))


def _names(value: JsonValue) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [*value, *(name for inner in value.values() for name in _names(inner))]


def _ablate(context: Context, names: Sequence[str]) -> tuple[Context, set[str]]:
    # Found in the whole context: an earlier name may have taken this one's group away.
    places = {name: list(_places(context.root, name)) for name in names}
    root = context.root
    for path in chain.from_iterable(places.values()):
        root = _without(root, path)
    return Context(root), {name for name, paths in places.items() if paths}


def _without(root: Tree, path: Sequence[str]) -> Tree:
    """Copy a mapping without the value at a path; its group stays."""
    key, *rest = path
    if not rest:
        return _less(root, key)
    inner = root.get(key)
    return {**root, key: _without(inner, rest)} if isinstance(inner, dict) else root


def swap(context: Context, twin: Context, name: str) -> Context | None:
    """Take one group or parameter from the twin; None where nothing changes.

    Names are those of ``ablate``: a group (``recipient``), a parameter wherever it stands
    (``urgency``), or a parameter of one place (``recipient.type``). What only the twin has is
    added where it stands there, with its group; what it lacks is removed, and with it a group
    that becomes empty and that the twin lacks too. A parameter whose group is plain text in one
    of the two can't be swapped alone.
    """
    root = context.root
    places = [*_places(context.root, name), *_places(twin.root, name)]
    for path in dict.fromkeys(places):
        root = _swapped(root, twin.root, path)
    return None if _same(root, context.root) else Context(root)


def swap_cases(cases: Iterable[Case], name: str) -> tuple[Case, ...]:
    """Swap a name in every case that has a twin.

    Cases whose context the swap doesn't change are left out; ids are the cases' own.

    Raises:
        UsageError: The name exists in no case; the message lists the names that do.
    """
    cases = tuple(cases)
    contexts = (case.context for case in cases if case.context is not None)
    if not any(any(_places(context.root, name)) for context in contexts):
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


def _places(root: Tree, name: str, above: Place = ()) -> Iterator[Place]:
    """Paths of a name, none within another."""
    for key, inner in root.items():
        path = (*above, key)
        if name in (key, ".".join(path)):
            yield path
        elif isinstance(inner, dict):
            yield from _places(inner, name, path)


def _differing(mine: Tree, theirs: Tree, above: Place = ()) -> Iterator[Place]:
    for key in dict.fromkeys([*mine, *theirs]):
        path = (*above, key)
        # A group that one of them lacks differs in every parameter of the other's.
        left, right = (
            one[key] if key in one else ({} if other[key] else None)
            for one, other in ((mine, theirs), (theirs, mine))
        )
        if isinstance(left, dict) and isinstance(right, dict):
            yield from _differing(left, right, path)
        elif (key in mine) != (key in theirs) or not _same(left, right):
            yield path


def _swapped(mine: Tree, theirs: Tree, path: Sequence[str]) -> Tree:
    """Copy a mapping with the other's value at a path, or without it where the other has none."""
    key, *rest = path
    if not rest:
        return _put(mine, theirs, key, theirs[key]) if key in theirs else _less(mine, key)
    left, right = mine.get(key, {}), theirs.get(key, {})
    if not isinstance(left, dict) or not isinstance(right, dict):
        return mine
    inner = _swapped(left, right, rest)
    return _put(mine, theirs, key, inner) if inner or key in theirs else _less(mine, key)


def _less(mine: Tree, key: str) -> Tree:
    return {name: value for name, value in mine.items() if name != key}


def _put(mine: Tree, theirs: Tree, key: str, value: JsonValue) -> Tree:
    """Set a value; a new key goes behind the last key that it follows in ``theirs``."""
    if key in mine:
        return {**mine, key: value}
    order = list(theirs)
    before = [name for name in order[: order.index(key)] if name in mine]
    entries = list(mine.items())
    entries.insert(list(mine).index(before[-1]) + 1 if before else 0, (key, value))
    return dict(entries)


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Tell whether two values are the same JSON; ``==`` takes 1 for true and for 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
