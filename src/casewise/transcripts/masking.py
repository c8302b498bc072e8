"""Names, addresses, numbers and keys in conversations, masked before anything is sent."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module

from pydantic import JsonValue

from casewise.cases import Turn, find_personal_data
from casewise.errors import UsageError, install_hint

Mask = Callable[[tuple[Turn, ...]], tuple[Turn, ...]]
"""Function from the turns of a conversation to masked ones, all of them together."""


def open_mask() -> Mask:
    """Mask of the turns of a conversation.

    Each piece becomes its kind with a number (``<PERSON_1>``): the same piece the same one
    throughout a conversation, tools' arguments included. What stood there is kept nowhere.

    Raises:
        UsageError: The library of names is not installed.
    """
    _names()
    return mask_turns


def mask_turns(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The turns of one conversation with masks in the place of what looks personal or secret."""
    kinds: dict[str, str] = {}

    def collect(text: str) -> str:
        for kind, piece in find_secrets(_composed(text)):
            kinds.setdefault(_small(piece), kind)
        return text

    for turn in turns:
        _changed(turn, collect)
    if not kinds:
        return turns
    # The longest first: a piece may stand within another.
    labels = sorted(_labels(kinds).items(), key=lambda item: -len(item[0]))
    pattern = re.compile("|".join(f"({_whole_words(piece)})" for piece, _ in labels), re.IGNORECASE)

    def put(text: str) -> str:
        return pattern.sub(lambda match: labels[(match.lastindex or 0) - 1][1], _composed(text))

    return tuple(_changed(turn, put) for turn in turns)


def _whole_words(piece: str) -> str:
    """Pattern of a piece where it is not within a word."""
    before = r"(?<![^\W_])" if piece[0].isalnum() else ""
    return before + re.escape(piece) + (r"(?![^\W_])" if piece[-1].isalnum() else "")


def _small(text: str) -> str:
    """A text in small letters, but for capitals (İ) whose small form is two."""
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _changed(turn: Turn, change: Callable[[str], str]) -> Turn:
    """A turn with each of its texts changed, those of tools' arguments too."""
    calls = tuple(
        call.model_copy(update={"arguments": _each_text(call.arguments, change)})
        for call in turn.tool_calls
    )
    return turn.model_copy(update={"content": change(turn.content), "tool_calls": calls})


def _each_text(value: JsonValue, change: Callable[[str], str], name: str = "") -> JsonValue:
    """A tool's arguments with each text changed; what is named as a secret is told as a secret.

    A number stays a number where nothing in it is changed.
    """
    if isinstance(value, dict):
        return {change(key): _each_text(inner, change, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_each_text(inner, change, name) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    if _NAMED_SECRET.search(name):
        change(f"{name}: {text}")
    changed = change(text)
    return value if changed == text else changed


def _labels(kinds: dict[str, str]) -> dict[str, str]:
    """Placeholder of each piece in small letters; parts of a full name have that of the name."""
    full = {
        part: name
        for name, kind in kinds.items()
        if kind == "PERSON" and " " in name
        for part in name.split()
        if len(part) > 2 and part not in _COMMON
    }
    counts: Counter[str] = Counter()
    labels: dict[str, str] = {}
    for piece, kind in kinds.items():
        if piece not in full:
            counts[kind] += 1
            labels[piece] = f"<{kind}_{counts[kind]}>"
    return labels | {part: labels[name] for part, name in full.items() if name in labels}


def _composed(text: str) -> str:
    """A text with each letter and its accents as one character, as the patterns know them."""
    return unicodedata.normalize("NFC", text)


# --- what is masked -----------------------------------------------------------------------------

_LABELS = {
    "e-mail address": "EMAIL",
    "account number": "ACCOUNT",
    "card number": "CARD",
    "US social security number": "ID",
    "UK national insurance number": "ID",
    "IP address": "IP",
    "phone number": "PHONE",
    "street address": "ADDRESS",
    "social handle": "HANDLE",
}
"""Placeholder of each kind of piece."""

_NAMED_SECRET = re.compile(
    r"(api|access|secret|private|auth)[ _-]?(key|token)|secret|token|passw(or)?d|\bpin\b", re.I
)

_KEYS = tuple(
    re.compile(pattern)
    for pattern in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
        r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",
        r"\b(?:sk|pk|rk)[-_][\w-]{12,}",
        r"\b(?:gh[opsur]|github_pat|glpat|npm|hf|xox[abeoprs])[-_][\w-]{10,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{10,}|\bSG\.[\w.-]{20,}",
        r"(?i:\b(?:bearer|basic))\s+([\w.~+/=-]{8,})",
        r"\w+://[^\s/:@]+:([^\s/@]+)@",
        # What is said to be a key, whatever it looks like.
        r"(?i:(?:(?:api|access|secret|private|auth)[ _-]?(?:key|token)|secret|token|passw(?:or)?d"
        r"|\bpin\b)\W{0,3}(?:\bis\b|=|:)\s*[\"'`]?)(?=[^\s\"'`,;]*[\d_!@#$%^&*+=-])([^\s\"'`,;]{4,})",
        # Long mixtures of letters and digits are nobody's words; a full stop may end the sentence.
        r"(?<![\w/.-])(?=[\w+=-]*\d)(?=[\w+=-]*[A-Za-z])[\w+=-]{24,}(?![\w/-]|\.\w)",
    )
)
"""Patterns of keys and passwords; the group, where there is one, is the secret."""

_GAP = r"[ \xa0]+"
_STREET_WORD = r"(?:[A-ZÀ-ÖØ-ÞŒŠŽ][\w.’'-]*)"
_HOUSE = rf"{_GAP}\d{{1,4}}(?:[ \xa0]?[A-Za-z])?(?: ?[-–/] ?\d{{1,4}}[a-z]?)?\b"
_ROAD = r"(?i:straße|strasse|str\.|str\b)"
_OTHER_ROAD = r"(?i:weg|platz|gasse|allee|ufer|damm|chaussee|promenade)"

_STREETS = re.compile(
    r"\b(?:"
    # Hauptstraße, Karl-Marx-Straße; capitals before it belong to the name.
    rf"(?:{_STREET_WORD}{_GAP}){{0,3}}[\w.-]{{0,40}}{_ROAD}"
    rf"|(?:{_STREET_WORD}{_GAP}){{0,3}}[\w.-]{{1,40}}{_OTHER_ROAD}"
    # Grüne Straße, grüne strasse, Breiter Weg.
    rf"|[\w.-]{{2,40}}{_GAP}{_ROAD}"
    rf"|(?:{_STREET_WORD}{_GAP}){{0,2}}(?!(?:Auf|De[mnr]|Eine?)\b){_STREET_WORD}{_GAP}{_OTHER_ROAD}"
    # Straße des 17. Juni, Platz der Republik.
    rf"|(?:{_ROAD}|{_OTHER_ROAD}){_GAP}(?i:de[rsn]|zum|zur|am|von){_GAP}"
    rf"(?:\d{{1,2}}\.{_GAP})?{_STREET_WORD}(?:{_GAP}{_STREET_WORD})?"
    rf"){_HOUSE}(?:[,\s]{{1,3}}(?:D-)?\d{{5}}\b)?"
)
"""German streets with the number of a house, and the post code that only its street tells from
other numbers; of one word or more, in capitals or not."""

_POST_CODES = re.compile(r"\b[A-Z]{2} \d{5}(?:-\d{4})?\b|\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b")
"""American and British post codes."""

_DIGITS = re.compile(
    r"[\w-]{0,40}?(?<![\d<])(?<![\d\s][.,])(?P<number>\d(?:[ ./-]?\d){5,})[\w-]{0,40}"
)
"""Six digits and more, with their letters (MRN-00482913): customers' numbers, dates of birth,
whatever is no other kind."""

_CALLED_A_NUMBER = re.compile(
    r"(?i:number|nummer|zeichen|\b(?:mrn|passport|reisepass|id|ref|no|nr))(?:\.|\b)"
    r"[\s:#.=-]{0,3}(?i:(?:is|ist|lautet)\s+)?"
    r"((?=(?:[\w/-]*?\d){4})\w[\w/-]*\w)"
)
"""A number with four digits and more that is said to be one, whatever else is in it."""


_PLAIN = re.compile(r"(?:19|20)\d\d ?[-/] ?(?:19|20)?\d\d|\d+\.\d+|(?i:cve)-\d{4}-\d+")
"""Digits that tell of nobody: years, fractions, and known weaknesses of programs."""


def find_secrets(text: str) -> Iterator[tuple[str, str]]:
    """Kinds and pieces of what looks personal or secret, those that say most first."""
    yield from _matches("KEY", _KEYS, text)
    for piece in find_personal_data(text):
        yield _LABELS[piece.kind], piece.text
    yield from _matches("ADDRESS", (_STREETS, _POST_CODES), text)
    for match in _DIGITS.finditer(text):
        whole = match.group().strip("-_")
        if not any(map(_PLAIN.fullmatch, (match["number"], whole))):
            yield "NUMBER", whole
    yield from _matches("NUMBER", (_CALLED_A_NUMBER,), text)
    yield from (("PERSON", name) for name in _find_names(text))


def _matches(
    kind: str, patterns: Sequence[re.Pattern[str]], text: str
) -> Iterator[tuple[str, str]]:
    """Pieces of a kind: the group of each pattern, where it has one."""
    for pattern in patterns:
        for match in pattern.finditer(text):
            yield kind, match[match.lastindex or 0].rstrip(".)")


# --- names --------------------------------------------------------------------------------------

_LOCALES = (
    *("cs_CZ", "da_DK", "de_DE", "en_GB", "en_IN", "en_KE", "en_NG", "en_PK", "en_US", "es_ES"),
    *("es_MX", "fi_FI", "fr_FR", "it_IT", "nl_NL", "no_NO", "pl_PL", "pt_BR", "sv_SE", "tr_TR"),
)
"""Locales of names in Latin letters."""

_COMMON = frozenset(
    """
    amber an angel april art august austin autumn bas bill can carol carolina cas chase che
    chelsea christian cliff crystal daisy dakota dale dallas dawn dean del dev do drew duke earl
    edit einer el elif else faith florence floor forum georgia glen grace grant gun guy harm
    heath holm hope houston in ina ing iris israel ivy jade job jordan joy june king lage lane
    li lily line lo lone long lore lot love lucky madison man mark max may meta miles my nada
    odd owe paris patience peace pearl penny per pero ray rich rose ruby said sandy sep server
    so sue summer sydney sys ties till tone tore troy uno us virginia will
    """.split()  # noqa: SIM905 - a list would take a page
)
"""Names that are words, too: alone they stay."""

_WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*"
_CAPITAL = rf"(?=[A-ZÀ-ÖØ-ÞĀ-Ž]){_WORD}"
_PARTICLES = r"(?:(?:de|da|di|la|van|von|der|den|bin|al|el) ){0,2}"
_RUN = re.compile(rf"\b{_CAPITAL}(?: {_PARTICLES}{_CAPITAL}){{0,3}}")
"""Words with capitals that follow each other, as the parts of a name do."""

_TITLED = re.compile(
    r"\b(?:Mrs?|Ms|Miss|Dr|Prof|Herr|Frau|Señora?|Mme|Sir|Madam)\.? "
    rf"({_CAPITAL}(?: {_CAPITAL})?)"
)
_INTRODUCED = re.compile(
    r"(?i:\b(?:my (?:full )?name is|name's|i am called|call me|signed,?|name:)) "
    rf"({_WORD}(?: {_CAPITAL}){{0,2}})"
)


@cache
def _names() -> tuple[frozenset[str], frozenset[str]]:
    """First and last names, in small letters, from the lists of Faker."""
    first: set[str] = set()
    last: set[str] = set()
    for locale in _LOCALES:
        try:
            lists = vars(import_module(f"faker.providers.person.{locale}").Provider)
        except ModuleNotFoundError:
            raise UsageError(f"--mask needs lists of names: {install_hint('mask')}") from None
        for name, listed in lists.items():
            kind = first if "first_name" in name else last if "last_name" in name else None
            if kind is not None and not callable(listed):
                kind.update(part for entry in listed for part in entry.lower().split())
    return frozenset(first), frozenset(last)


def _find_names(text: str) -> Iterator[str]:
    """Words that are introduced or titled as a name, and capitals that begin with a first name."""
    first, last = _names()
    for match in _TITLED.finditer(text):
        yield match[1]
    for match in _INTRODUCED.finditer(text):
        if match[1][0].isupper() or match[1].split()[0].lower() in first:
            yield match[1]
    for match in _RUN.finditer(text):
        words = match.group().split()
        for place, word in enumerate(words):
            known = word.lower()
            following = [*map(str.lower, words[place + 1 :])]
            if known in first and (
                known not in _COMMON or any(name in last for name in following[:1])
            ):
                yield " ".join(words[place:])
                break
