"""Remove groups or single parameters from contexts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from casewise.cases import Case, Context
from casewise.errors import UsageError


@dataclass(frozen=True, slots=True)
class Ablation:
    """Cases with parts of their contexts removed. Ids are those of the whole cases."""

    cases: tuple[Case, ...]
    names: tuple[str, ...]
    """What was removed, in the order given."""
    unchanged: int
    """Cases that lack every one of the names and are kept as they were."""
    missing: dict[str, int]
    """For each name, the number of cases that lack it."""


def parse_names(names: str) -> tuple[str, ...]:
    """Split ``"recipient,urgency"``.

    Raises:
        UsageError: A name is empty or stands twice.
    """
    parts = tuple(part.strip() for part in names.split(","))
    if not all(parts):
        raise UsageError(f"--ablate {names!r}: an empty name (write NAME or NAME,NAME)")
    for part in parts:
        if parts.count(part) > 1:
            raise UsageError(f"--ablate {names!r}: {part!r} stands twice")
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
    kept, unchanged = [], 0
    missing = dict.fromkeys(wanted, 0)
    for case in cases:
        context, found = (
            _ablate(case.context, wanted) if case.context is not None else (None, set[str]())
        )
        unchanged += not found
        for name in wanted:
            missing[name] += name not in found
        kept.append(case.model_copy(update={"context": context}) if found else case)
    for name, count in missing.items():
        if count == len(kept):
            raise UsageError(
                f"--ablate: no context of these cases has {name!r}; "
                f"they have {', '.join(parameter_names(cases)) or 'no parameters at all'}"
            )
    return Ablation(tuple(kept), wanted, unchanged, missing)


def parameter_names(cases: Iterable[Case]) -> list[str]:
    """Every group and parameter name of the cases' contexts, in order of appearance."""
    names: dict[str, None] = {}
    for case in cases:
        if case.context is not None:
            names.update(dict.fromkeys(_names(case.context.root)))
    return list(names)


def _names(value: JsonValue) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [*value, *(name for inner in value.values() for name in _names(inner))]


def _ablate(context: Context, names: Sequence[str]) -> tuple[Context, set[str]]:
    found: set[str] = set()
    root = context.root
    for name in names:
        path, anywhere = name.split("."), "." not in name
        # Found in the whole context: an earlier name may have taken this one's group away.
        if _without(context.root, path, anywhere=anywhere)[1]:
            found.add(name)
            root, _ = _without(root, path, anywhere=anywhere)
    return Context(root), found


def _without(
    value: dict[str, JsonValue], path: Sequence[str], *, anywhere: bool
) -> tuple[dict[str, JsonValue], bool]:
    """Copy a mapping without a key; ``anywhere`` looks into nested mappings too."""
    result: dict[str, JsonValue] = {}
    removed = False
    for name, inner in value.items():
        if name == path[0] and len(path) == 1:
            removed = True
            continue
        if isinstance(inner, dict) and (anywhere or name == path[0]):
            rest = path if anywhere else path[1:]
            inner, inner_removed = _without(inner, rest, anywhere=anywhere)
            removed |= inner_removed
        result[name] = inner
    return result, removed
