"""Unfinished texts, words that judge, languages that do not go together, personal data.

What is found of personal data is masked.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from casewise.cases import find_pieces
from casewise.contexts import VERDICT_WORDS
from casewise.dataset._findings import Finding, Material, counted, counted_cases, ids_of
from casewise.sheets import plural

_PLACEHOLDER = re.compile(
    r"\[(?:[A-Z][A-Z0-9_]*(?:[ _/-][A-Z0-9_]+)*|(?:insert|your|fill in|add)\b[^\]\n]{0,40})\]"
    r"|<(?:[A-Z][A-Z0-9_]{2,}|(?:insert|your|name|placeholder)\b[^>\n]{0,40})>"
    r"|\{\{[^}\n]{1,40}\}\}|\{[a-z_]{2,30}\}"
    r"|\b(?:TODO|TBD|FIXME|XXX+|PLACEHOLDER)\b|(?i:\blorem ipsum\b)|_{4,}"
)
"""Places left open. Capitals in brackets count from two letters on, so that notes stay."""

_NOTHING = re.compile(
    r"(?i:n/?a|none|null|nil|unknown|undefined|not (?:specified|applicable)|[-–.?]*)"
)


def texts(material: Material) -> list[Finding]:
    """Findings about single texts."""
    return [
        *_placeholders(material),
        *_empty(material),
        *_verdict_words(material),
    ]


def _placeholders(material: Material) -> list[Finding]:
    pieces: dict[str, str] = {}
    for case, parameters in zip(material.cases, material.parameters, strict=True):
        turns = (turn.content for turn in case.history)
        for text in (case.query, *parameters.values(), *turns):
            if piece := _placeholder(text):
                pieces.setdefault(case.id, piece)
    what = "with a place left open, such as [NAME] or TODO. Fill it in."
    return _pieces("placeholder", pieces, len(material.cases), what)


def _pieces(
    code: str, pieces: dict[str, str], of: int, what: str, noun: str = "case"
) -> list[Finding]:
    """A finding that can show a piece of the text of each case."""
    shown = [f"{case}: {piece}" for case, piece in pieces.items()]
    return counted_cases(code, list(pieces), of, what, noun=noun, shown=shown)


def _placeholder(text: str) -> str:
    match = _PLACEHOLDER.search(text)
    if match is None or (match.group().startswith("[") and len(match.group()) < 4):
        return ""
    return match.group()


def _empty(material: Material) -> Iterator[Finding]:
    bare, blank = [], []
    for case, text, parameters in zip(
        material.cases, material.contexts, material.parameters, strict=True
    ):
        if case.context is not None and not text.strip():
            bare.append(case.id)
        elif any(_NOTHING.fullmatch(value.strip()) for value in parameters.values()):
            blank.append(case.id)
    yield from counted_cases(
        "empty-context",
        bare,
        material.with_context,
        "that hold no text at all. Write them, or set them to null for the arm without context.",
        noun="context",
    )
    yield from counted_cases(
        "empty-value",
        blank,
        material.with_context,
        "with a parameter that says nothing (blank, none, unknown, n/a). Leave the parameter out, "
        "or fill it in.",
        noun="context",
    )


def _verdict_words(material: Material) -> list[Finding]:
    words = {
        case.id: match.group()
        for case, text in zip(material.cases, material.contexts, strict=True)
        if (match := VERDICT_WORDS.search(text))
    }
    what = (
        "with a word of the verdict itself, such as harmful or legitimate purpose. It tells "
        "the judge what to say: describe, and leave the judging to the reader."
    )
    return _pieces("verdict-words", words, material.with_context, what, "context")


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


def languages(material: Material) -> tuple[Languages | None, list[Finding]]:
    """Languages of queries and contexts; None without the extra ``audit``, which tells them."""
    bare = ids_of(case for case in material.cases if not case.language)
    unnamed = counted_cases("missing-language", bare, len(material.cases), "without a language.")
    if find_spec("py3langid") is None:
        return None, unnamed
    queries = {query: language_of(text) for query, text in material.queries.items()}
    contexts = [language_of(text) if text.strip() else "" for text in material.contexts]
    counts = [
        dict(Counter(one).most_common()) for one in (queries.values(), filter(None, contexts))
    ]
    return Languages(*counts), [*_findings(material, queries, contexts), *unnamed]


def language_of(text: str) -> str:
    """The ISO 639-1 code of a text's language, or ``und``."""
    letters = [letter for letter in text if letter.isalpha()]
    wide = 0 if text.isascii() else sum(ord(letter) >= 0x3040 for letter in letters)
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


def _findings(
    material: Material, queries: dict[str, str], contexts: list[str]
) -> Iterator[Finding]:
    by_query: dict[str, set[str]] = {query: {language} for query, language in queries.items()}
    for case, language in zip(material.cases, contexts, strict=True):
        by_query[case.query_id].add(language)
    mixed = {query for query, spoken in by_query.items() if len(spoken - {"", UNDETERMINED}) > 1}
    yield from counted(
        "mixed-languages",
        f"{plural(len(mixed), 'query')} whose query and contexts are in several languages. Unless "
        "that is what the set is about, the language tells cases apart.",
        ids_of(case for case in material.cases if case.query_id in mixed),
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
    what = "with a query or a context in another language than its field language says."
    yield from counted_cases("language-mismatch", unlike, len(named), what)


def _primary(tag: str) -> str:
    """The language of a BCP 47 tag: ``en`` of ``en-GB``."""
    return tag.replace("_", "-").split("-")[0].casefold()


@dataclass(frozen=True, slots=True)
class PersonalData:
    """One piece that looks like personal data."""

    case: str
    kind: str
    """Such as ``e-mail address``."""
    masked: str
    """First and last character, with dots between."""


def personal_data(material: Material) -> tuple[tuple[PersonalData, ...], list[Finding]]:
    """Look for personal data in queries, contexts and earlier turns."""
    personal = []
    for case, context in zip(material.cases, material.contexts, strict=True):
        texts = (case.query, context, *(turn.text for turn in case.history))
        pieces = dict.fromkeys(piece for text in texts for piece in find_personal(text))
        personal += [PersonalData(case.id, *piece) for piece in pieces]
    kinds = Counter(piece.kind for piece in personal).most_common()
    cases = list(dict.fromkeys(piece.case for piece in personal))
    named = ", ".join(f"{kind} ({count})" for kind, count in kinds)
    findings = counted_cases(
        "personal-data",
        cases,
        len(material.cases),
        f"with what looks like personal data: {named}. Make sure that it is invented, and say so, "
        "before you publish.",
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
