"""Personal data in cases; what is found is masked."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from casewise.cases import find_pieces
from casewise.dataset._findings import Finding, Material, counted, plural


@dataclass(frozen=True, slots=True)
class PersonalData:
    """One piece that looks like personal data."""

    case: str
    kind: str
    """Such as ``e-mail address``."""
    masked: str
    """Its first and last character, and dots between."""


def personal_data(material: Material) -> tuple[tuple[PersonalData, ...], list[Finding]]:
    """Look for personal data in queries, contexts and earlier turns."""
    personal = []
    for case, context in zip(material.cases, material.contexts, strict=True):
        texts = (case.query, context, *(turn.text for turn in case.history))
        pieces = dict.fromkeys(piece for text in texts for piece in find_personal(text))
        personal += [PersonalData(case.id, kind, masked) for kind, masked in pieces]
    kinds = Counter(piece.kind for piece in personal)
    cases = list(dict.fromkeys(piece.case for piece in personal))
    named = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    findings = counted(
        "personal-data",
        f"{plural(len(cases), 'case')} with what looks like personal data: {named}. Make sure "
        "that it is invented, and say so, before you publish.",
        cases,
        len(material.cases),
        shown=[f"{piece.case}: {piece.kind} {piece.masked}" for piece in personal],
    )
    return tuple(personal), findings


def find_personal(text: str) -> Iterator[tuple[str, str]]:
    """Kinds and masked pieces of what looks like personal data, and is not kept for fiction."""
    for piece in find_pieces(text):
        if not piece.is_fiction:
            yield piece.kind, _masked(piece.text)


def _masked(text: str) -> str:
    return f"{text[0]}{'•' * min(len(text) - 2, 12)}{text[-1]}"
