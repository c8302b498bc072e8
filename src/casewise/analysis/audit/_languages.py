"""The languages of queries and contexts, and where they do not go together."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from casewise.analysis.audit._finding import AuditFinding, counted
from casewise.analysis.audit._material import Material
from casewise.analysis.describe import plural

CERTAIN = 0.8
"""Probability from which on a language is taken as known."""

LEAST_LETTERS = 20
"""Letters below which a text is too short to tell; 8 of a script without spaces."""

LEAST_IDEOGRAPHS = 8

UNDETERMINED = "und"


@dataclass(frozen=True, slots=True)
class Languages:
    """Counts by ISO 639-1 code; ``und`` where a text is too short or the language uncertain."""

    queries: dict[str, int]
    contexts: dict[str, int]


def languages(material: Material) -> tuple[Languages, list[AuditFinding]]:
    """Tell the languages of queries and contexts."""
    queries = {query: language_of(text) for query, text in material.queries.items()}
    contexts = [language_of(text) if text.strip() else "" for text in material.contexts]
    found = Languages(_count(queries.values()), _count(filter(None, contexts)))
    return found, [*_findings(material, queries, contexts)]


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language, or ``und``."""
    letters = [letter for letter in text if letter.isalpha()]
    wide = sum(ord(letter) >= 0x3040 for letter in letters)
    if len(letters) < LEAST_LETTERS and wide < LEAST_IDEOGRAPHS:
        return UNDETERMINED
    # A wide character carries as much as several letters, and is counted as less by the library.
    certain = CERTAIN if wide < len(letters) / 2 else CERTAIN / 2
    language, probability = _identifier().classify(text)
    return str(language) if probability >= certain else UNDETERMINED


@cache
def _identifier() -> Any:
    # Loaded late: the model takes half a second.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _count(found: Any) -> dict[str, int]:
    return dict(Counter(found).most_common())


def _findings(
    material: Material, queries: dict[str, str], contexts: list[str]
) -> Iterator[AuditFinding]:
    by_query: dict[str, set[str]] = {query: {found} for query, found in queries.items()}
    for case, found in zip(material.cases, contexts, strict=True):
        by_query[case.query_id].add(found)
    mixed = {query for query, found in by_query.items() if len(found - {"", UNDETERMINED}) > 1}
    yield from counted(
        "mixed-languages",
        f"{plural(len(mixed), 'query')} whose query and contexts are in several languages. Unless "
        "that is what the set is about, the language tells cases apart.",
        [case.id for case in material.cases if case.query_id in mixed],
        len(queries),
        n=len(mixed),
    )
    named = [case for case in material.cases if case.language]
    unlike = [
        case.id
        for case, context in zip(material.cases, contexts, strict=True)
        if case.language
        and not {queries[case.query_id], context} <= {_primary(case.language), UNDETERMINED, ""}
    ]
    yield from counted(
        "language-mismatch",
        f"{plural(len(unlike), 'case')} with a query or a context in another language than its "
        "field language says.",
        unlike,
        len(named),
    )
    bare = [case.id for case in material.cases if not case.language]
    yield from counted(
        "missing-language",
        f"{plural(len(bare), 'case')} without a language.",
        bare,
        len(material.cases),
    )


def _primary(tag: str) -> str:
    """The language of a BCP 47 tag: ``en`` of ``en-GB``."""
    return tag.replace("_", "-").split("-")[0].casefold()
