"""Rules of revised cases: which fields may change, their ids, and when votes forbid a change."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from casewise.annotation.revision.journal import UnfitError, VotedError
from casewise.annotation.revision.revision_state import VERDICTS
from casewise.cases import Case, digest, to_fields, to_line
from casewise.contexts import leaf_parameters

EDITABLE = ("query", "context", "history", "category", "intended", "tags")
"""The fields that a revision may change."""

Fields = Mapping[str, Any]


def is_voted(case: Case) -> bool:
    """Whether people have voted on the case, so that its text must not change."""
    counted = (case.votes_safe or 0) + (case.votes_unsafe or 0)
    given = (case.author_vote, case.published_safe_rate, case.ratings)
    return counted > 0 or any(one is not None for one in given)


def next_edition(case: Case, taken: Collection[str]) -> Case:
    """The next version of a case: the same text, an id of its own, no votes."""
    fields = {name: value for name, value in to_fields(case).items() if name not in VERDICTS}
    version = case.version + 1
    stem = case.id
    if case.version > 1:
        stem = stem.removesuffix(f"-v{case.version}")
    new = {"id": _free(f"{stem}-v{version}", taken), "version": version, "replaces": case.id}
    return Case.model_validate(fields | new)


def revise_cases(
    cases: Sequence[Case], edits: Mapping[str, Fields], taken: Collection[str]
) -> tuple[Case, ...]:
    """The cases of a pair after an edit, in their order.

    An id that is a hash of the text follows the text, as does the query id; given ones stay. A
    hash that an earlier edition has already is told apart by the version (``...-v2``).

    Args:
        cases: The pair.
        edits: By case id, the fields that change (of ``EDITABLE``) and their plain JSON values.
        taken: Ids of other cases, and of editions that were replaced.

    Raises:
        UnfitError: The edit makes no valid cases, or takes a pair apart.
        VotedError: A case that would change carries votes.
    """
    unknown = set(edits) - {case.id for case in cases}
    if unknown:
        raise UnfitError("the pair has no such case: was it replaced meanwhile?")
    revised = [_edited(case, edits.get(case.id, {})) for case in cases]
    if len({case.query for case in cases}) == 1 < len({case.query for case in revised}):
        raise UnfitError("the cases of a pair share their query: change it in all of them")
    query_id = _query_id(cases, revised)
    done: list[Case] = []
    for old, new in zip(cases, revised, strict=True):
        whole = new.model_copy(update={"query_id": query_id})
        if to_line(whole) == to_line(old):
            done.append(old)
            continue
        if is_voted(old):
            raise VotedError(
                "people voted on this text; their votes would come to stand on another. "
                "Open a new version of the case first"
            )
        done.append(_with_own_id(old, whole, {*taken, *(case.id for case in done)}))
    if len({case.id for case in done}) < len(done):
        raise UnfitError("two cases of the pair would have the same query, context and history")
    return tuple(done)


@dataclass(frozen=True, slots=True)
class RevisedField:
    """One field of a case, or one parameter of its context, before and after."""

    name: str
    """A field's name, or a parameter's path (``recipient.type``)."""
    old: str | None
    """Text as it is, other values as JSON; None where there was none."""
    new: str | None


def changes_between(before: Case, after: Case) -> tuple[RevisedField, ...]:
    """What differs: fields in their order, then the parameters of the context."""
    old, new = _named(before), _named(after)
    return tuple(
        RevisedField(name, old.get(name), new.get(name))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    )


def _named(case: Case) -> dict[str, str]:
    fields: dict[str, Any] = to_fields(case)
    context = fields.pop("context", None)
    parts = leaf_parameters(case.context) if case.context is not None else {}
    if context is not None and not parts:
        parts = {"context": context}
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in {**fields, **parts}.items()
    }


def _edited(case: Case, fields: Fields) -> Case:
    forbidden = sorted(set(fields) - set(EDITABLE))
    if forbidden:
        raise UnfitError(f"{', '.join(forbidden)}: not to be changed here")
    merged = {**to_fields(case), **fields}
    try:
        edited = Case.model_validate(merged)
        to_line(edited).encode()
    except UnicodeEncodeError:
        raise UnfitError("a text holds half of a character") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise UnfitError(f"{place}: {said}" if place else said) from None
    return edited


def _query_id(old: Sequence[Case], new: Sequence[Case]) -> str:
    """The pair's query id: a hash follows the query."""
    given = old[0].query_id
    follows = given == digest(old[0].query) and len({case.query for case in old}) == 1
    return digest(new[0].query) if follows else given


def _with_own_id(old: Case, new: Case, taken: Collection[str]) -> Case:
    made = _text_id(old)
    if old.id not in (made, f"{made}-v{old.version}"):
        return new
    own = _text_id(new)
    if own in taken:
        own = f"{own}-v{new.version}"
    if own in taken:
        raise UnfitError("another case has the same query, context and history")
    return new.model_copy(update={"id": own})


def _text_id(case: Case) -> str:
    """The id of a case to which none is given."""
    return Case(query=case.query, context=case.context, history=case.history).id


def _free(id: str, taken: Collection[str]) -> str:
    free, more = id, 1
    while free in taken:
        more += 1
        free = f"{id}.{more}"
    return free
