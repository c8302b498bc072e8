"""Verdict words by language, as patterns that the readers match beside English.

The table of words is the one that ships, with a person's own beside it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from casewise.cases import read_plain_yaml
from casewise.errors import InputError
from casewise.protocols._types import Verdict

Words = tuple[str, ...]

_EDITION: Final = 1


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_min_length=0)


class AnswerOpening(_Strict):
    """Opening of an answer of one word, token by token."""

    words: Words = Field(min_length=1)
    """Whole words; where one of them is a token, the pieces count for nothing."""
    pieces: Words = ()
    """Beginnings that stand for them otherwise, longest first."""


class Openings(_Strict):
    """The openings of both verdicts; both are needed, since a share of one alone is no share."""

    safe: tuple[AnswerOpening, ...] = Field(min_length=1)
    unsafe: tuple[AnswerOpening, ...] = Field(min_length=1)


class LanguageTable(_Strict):
    """The words of one language; the head of ``data/verdicts.yaml`` says what each list is."""

    name: str = ""
    spaces: bool = True
    """True if the language parts words by spaces."""
    safe: Words = Field(min_length=1)
    unsafe: Words = Field(min_length=1)
    also_sure: Words = ()
    other_words: Words = ()
    first_tokens: Openings | None = None
    adverbs: Words = ()
    articles: Words = ()
    particles: Words = ()
    determiners: Words = ()
    nouns: Words = ()
    pronouns: Words = ()
    prepositions: Words = ()
    is_: Words = Field(default=(), alias="is")
    is_not: Words = ()
    not_: Words = Field(default=(), alias="not")
    opinions: Words = ()
    as_: Words = Field(default=(), alias="as")
    openers: Words = ()
    reasons: Words = ()
    follows: Words = ()
    takes_back: Words = ()
    undecided: Words = ()
    cannot: Words = ()
    judging: Words = ()
    declines: Words = ()
    judgement_labels: Words = ()
    verdict_labels: Words = ()
    explanation_labels: Words = ()
    label_prefixes: Words = ()
    label_suffixes: Words = ()
    label_is: Words = ()
    score_is: Words = ()
    out_of: Words = ()
    points: Words = ()
    scale: Words = ()
    other_quantities: Words = ()


def base_language(tag: str | None) -> str:
    """The language of a BCP 47 tag, without region or script; ``en`` where there is no tag.

    >>> base_language("es-MX"), base_language("zh_Hant"), base_language(None)
    ('es', 'zh', 'en')
    """
    return (tag or "en").replace("_", "-").partition("-")[0].strip().lower() or "en"


@cache
def shipped_tables() -> dict[str, LanguageTable]:
    """The tables that ship, by language; English has none, its words stand in the readers."""
    return _load(_path())


@cache
def shipped_version() -> str:
    """The version of the shipped table, in the form of a template's."""
    return f"casewise/verdicts-{_EDITION}@{_digest(_path())}"


def _path() -> Path:
    return Path(str(files("casewise.data"))) / "verdicts.yaml"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]


def _load(path: Path) -> dict[str, LanguageTable]:
    data = read_plain_yaml(path, "table of verdict words")
    if not isinstance(data, dict) or not data:
        expected = "languages (es, pt, ...), each with its lists of words"
        raise InputError("not a table of verdict words", file=path, found=data, expected=expected)
    tables = {}
    for key, lists in data.items():
        language = base_language(key)
        if language != key or not key.isalpha():
            expected = "a language alone, such as es"
            raise InputError("not a language", file=path, field=key, expected=expected)
        tables[key] = _table(lists, key, path)
        _check(tables[key], key, path)
    return tables


def _table(lists: Any, language: str, path: Path) -> LanguageTable:
    try:
        return LanguageTable.model_validate(lists)
    except ValidationError as error:
        detail = error.errors()[0]
        field = ".".join(map(str, (language, *detail["loc"])))
        if detail["type"] == "extra_forbidden":
            expected = f"one of {', '.join(_KEYS)}"
            raise InputError("unknown list", file=path, field=field, expected=expected) from None
        expected = detail["msg"].removeprefix("Input should be ")
        found = ... if detail["type"] == "missing" else detail["input"]
        raise InputError(
            "wrong value", file=path, field=field, found=found, expected=expected
        ) from None


_KEYS: Final = tuple(field.alias or name for name, field in LanguageTable.model_fields.items())


def _check(table: LanguageTable, language: str, path: Path) -> None:
    """Refuse a table with a blank word, or one in which a word or an opening says both verdicts.

    Raises:
        InputError: The message names the list and the word.
    """

    def refuse(field: str, found: str, problem: str) -> None:
        raise InputError(problem, file=path, field=f"{language}.{field}", found=found)

    for name in ("safe", "unsafe", "nouns", "takes_back", "reasons", "undecided", "other_words"):
        blank = next((word for word in getattr(table, name) if not word.strip()), None)
        if blank is not None:
            refuse(name, blank, "a blank word would be found everywhere")
    both = {word.lower() for word in table.safe} & {word.lower() for word in table.unsafe}
    if both:
        refuse("unsafe", min(both), "the word is safe and unsafe")
    if table.first_tokens is None:
        return
    safe, unsafe = (
        [*_openings(side)] for side in (table.first_tokens.safe, table.first_tokens.unsafe)
    )
    english = {"safe": ["safe"], "unsafe": ["unsafe"]}
    for field, mine, others in (
        ("first_tokens.safe", safe, [*unsafe, *english["unsafe"]]),
        ("first_tokens.unsafe", unsafe, [*safe, *english["safe"]]),
    ):
        for opening in mine:
            clash = next((other for other in others if other.startswith(opening)), None)
            if clash is not None:
                refuse(field, opening, f"it also opens {clash!r}, which says the contrary")


def _openings(side: tuple[AnswerOpening, ...]) -> Iterator[str]:
    for opening in side:
        yield from (text.lower() for text in (*opening.words, *opening.pieces))


_GAP: Final = "…"
_NEVER: Final = r"(?!)"
_PLACE_WORDS: Final = 7


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The verdict words and the small grammar of one language, as patterns.

    ``label``, ``explained``, ``refusal``, ``score_is``, ``other_quantity`` and ``numbers`` are
    matched on the text of an answer in any case, the others on what ``Lexicon.plain`` returns. A
    group ``word`` is the verdict's word; ``negated`` and ``denied`` are set where it is negated.
    """

    version: str
    """Version of the shipped table and, where a person's own adds to it, of that."""
    words: Mapping[str, Verdict]
    first_tokens: Openings | None
    mention: re.Pattern[str]
    """Any word that is a verdict."""
    other: re.Pattern[str]
    """A phrase in which such a word means something else."""
    bare: re.Pattern[str]
    """A line that is a verdict and nothing else."""
    also_sure: re.Pattern[str]
    """A line of one word that may only say "sure"."""
    sure_start: re.Pattern[str]
    """A value that opens with such a word and a comma."""
    leading: re.Pattern[str]
    """A value that opens with a verdict."""
    reasoned: re.Pattern[str]
    """A sentence that opens with a verdict and goes on with its reason."""
    said: tuple[re.Pattern[str], ...]
    """A sentence that says a verdict of the query, or as the judge's opinion."""
    opener: re.Pattern[str]
    """Words that may stand right before such a sentence."""
    tail: re.Pattern[str]
    """Words and marks that may follow a verdict."""
    reason: re.Pattern[str]
    takes_back: re.Pattern[str]
    undecided: re.Pattern[str]
    refusal: re.Pattern[str]
    label: re.Pattern[str]
    """A label at the start of a line or sentence, before its colon."""
    own_label: re.Pattern[str]
    """A label at the start of a value."""
    explained: re.Pattern[str]
    """A labelled explanation; group ``text``."""
    keys: Mapping[str, str]
    """English keys of JSON objects, by this language's."""
    score_is: re.Pattern[str]
    other_quantity: re.Pattern[str]
    numbers: tuple[tuple[re.Pattern[str], str], ...]
    """Patterns of words around a number, each with its replacement."""

    def plain(self, text: str) -> str:
        """A sentence or value for matching: lower case, single spaces, no quotes, composed.

        A phrase of ``other`` is masked.
        """
        text = _QUOTES.sub("", unicodedata.normalize("NFC", text).lower())
        return self.other.sub(_MASK, " ".join(text.replace("。", ".").split()))


_MASK: Final = "¤"
_QUOTES: Final = re.compile(r"[\"\u300c-\u300f\u300a\u300b\u2039\u203a*_`]|(?<!\w)'|'(?!\w)")


def find_lexicon(language: str | None) -> Lexicon | None:
    """The lexicon of a language tag, None for English and where there is none.

    Args:
        language: BCP 47; its region plays no role.
    """
    return _shipped(base_language(language))


@cache
def _shipped(language: str) -> Lexicon | None:
    table = shipped_tables().get(language)
    return compile_lexicon(table, shipped_version()) if table else None


# --- compiling ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Script:
    """Patterns of phrases, in scripts that part words by spaces and in others."""

    spaces: bool

    @property
    def space(self) -> str:
        return r"\s" if self.spaces else r"\s?"

    def phrase(self, text: str) -> str:
        gap = r"(?:\s[\w'-]+){0,4}?\s" if self.spaces else r"[^.,;:!?\n]{0,8}?"
        parts = [r"\s".join(map(re.escape, part.lower().split())) for part in text.split(_GAP)]
        return gap.join(parts)

    def any_of(self, texts: Iterable[str]) -> str:
        """Any of the phrases as whole words, the longest first; never a match for none."""
        longest_first = sorted({text for text in texts if text}, key=len, reverse=True)
        if not longest_first:
            return _NEVER
        joined = "|".join(self.bounded(self.phrase(text), text) for text in longest_first)
        return rf"(?:{joined})"

    def bounded(self, pattern: str, text: str) -> str:
        before = r"(?<![\w-])" if self.spaces else ""
        # "l'" and "c'" go on without a space.
        after = r"(?![\w-])" if self.spaces and text[-1].isalnum() else ""
        return f"{before}{pattern}{after}"

    def then(self, texts: Iterable[str]) -> str:
        """Any of the phrases and the space behind it, which an elided one lacks."""
        listed = [text for text in texts if text]
        elided = [text for text in listed if text.endswith("'")]
        whole = [text for text in listed if text not in elided]
        return rf"(?:{self.any_of(whole)}{self.space}|{self.any_of(elided)})"


def compile_lexicon(table: LanguageTable, version: str) -> Lexicon:
    """Compile a table's lists into patterns."""
    script = _Script(table.spaces)
    words = {word.lower(): Verdict.SAFE for word in table.safe}
    words |= {word.lower(): Verdict.UNSAFE for word in table.unsafe}
    word = rf"(?P<word>{script.any_of(words)})(?:{script.any_of(table.particles)})?"
    adverbs = rf"(?:{script.then(table.adverbs)})*"
    negation = rf"(?P<negated>{script.then(table.not_)})?"
    article = rf"(?:{script.then(table.articles)}(?:{script.then(table.nouns)})?)?"
    before_word = f"{adverbs}{negation}{adverbs}{article}"
    reason = script.any_of(table.reasons)
    follows = script.any_of((*table.follows, *(table.nouns if table.articles else ())))
    takes_back, space = script.any_of(table.takes_back), script.space
    end = r"[^\w?!]*$"
    bare = rf"[^\w?]*(?:{script.then(table.adverbs)})?(?:{script.then(table.not_)})?"
    sure = script.any_of(table.also_sure)
    return Lexicon(
        version=version,
        words=words,
        first_tokens=table.first_tokens,
        mention=re.compile(script.any_of(words)),
        other=re.compile(script.any_of(table.other_words)),
        bare=re.compile(rf"(?:\d{{1,2}}[.)])?{bare}{word}[^\w?!]*"),
        also_sure=re.compile(rf"[^\w]*{sure}[^\w]*"),
        sure_start=re.compile(rf"[^\w]*{sure}\s?,"),
        leading=re.compile(rf"[^\w?]*{before_word}{word}"),
        reasoned=re.compile(
            rf"[^\w?!¡¿]*{before_word}{word}(?=\s?[,;:(\u2013\u2014-]?\s?{reason})"
        ),
        said=_said(table, script, before_word, word),
        opener=re.compile(rf"(?:{script.any_of(table.openers)}|¤)[,:]?\s?$"),
        tail=re.compile(rf"{end}|\s?[,;:(\u2013\u2014]|\s-\s|{space}(?:{reason}|{follows})"),
        reason=re.compile(rf"{reason}|(?:[:(\u2013\u2014;]|\s-\s)\s?+(?!{takes_back})"),
        takes_back=re.compile(takes_back),
        undecided=re.compile(rf"\W*(?:{script.any_of(table.undecided)})\W*"),
        refusal=_refusal(table, script),
        label=_label(table, script),
        own_label=re.compile(rf"\W*{_label_words(table, script)}\s?[:=]\s?"),
        explained=_explained(table, script),
        keys=_keys(table),
        score_is=re.compile(rf"{script.any_of(table.score_is)}\s?(?:[:=]\s?)?(?=[0-9])", re.I),
        other_quantity=re.compile(rf"{script.any_of(table.other_quantities)}[^0-9]{{0,20}}$", re.I),
        numbers=_numbers(table, script),
    )


def _said(
    table: LanguageTable, script: _Script, before_word: str, word: str
) -> tuple[re.Pattern[str], ...]:
    noun = rf"(?:{script.then(table.determiners)}){{1,3}}{script.any_of(table.nouns)}"
    preposition = script.any_of(table.prepositions)
    if table.spaces:
        place = rf"(?P<place>(?:\s{preposition}(?:\s[\w'-]+){{0,{_PLACE_WORDS}}}?)?)"
    else:
        place = rf"(?P<place>(?:{preposition}[^\s.,;:!?]{{1,14}}?)?)"
    space = script.space
    listed = [text for text in table.is_ if text]
    copula = rf"(?:(?P<denied>{script.then(table.is_not)})|{script.then(listed)}"
    copula += "|)" if "" in table.is_ else ")"
    pronoun = script.then(table.pronouns) + ("|" if "" in table.pronouns else "")
    subject = rf"(?:{noun}{place}{space}|(?P<pronoun>{pronoun}))"
    stated = rf"{subject}{copula}{before_word}{word}"
    as_ = rf"(?:{script.then(table.as_)})?"
    what = rf"(?:{noun}{place}{space}|{script.then(table.pronouns)})?"
    held = rf"{script.then(table.opinions)}{what}{as_}{before_word}{word}"
    return re.compile(stated), re.compile(held)


def _label_words(table: LanguageTable, script: _Script) -> str:
    labels = script.any_of((*table.judgement_labels, *table.verdict_labels))
    prefix = rf"(?:{script.then(table.label_prefixes)}){{0,3}}"
    suffix = rf"(?:{script.space}{script.any_of(table.label_suffixes)}){{0,2}}"
    return f"{prefix}{labels}{suffix}"


def _label(table: LanguageTable, script: _Script) -> re.Pattern[str]:
    copula = rf"(?:\s?{script.any_of(table.label_is)})?"
    return re.compile(
        rf"(?P<head>^|[.!?;|]\s|\n)(?P<gap>[^\w\n]{{0,9}})(?:{_label_words(table, script)})"
        rf"(?:[\"')\]】]{{0,3}}(?:\s?\([^()\n]{{0,40}}\))?{copula}[ \t]{{0,3}}"
        r"(?=[:=|>\u2192]|-+>|[-\u2013\u2014]+\s|\n|$)|(?P<boxed>[】\]])[ \t]{0,3}(?=\S))",
        re.I | re.M,
    )


def _explained(table: LanguageTable, script: _Script) -> re.Pattern[str]:
    labels = script.any_of(table.explanation_labels)
    return re.compile(rf"^\W{{0,9}}{labels}\W{{0,3}}:\s{{0,9}}(?P<text>[^\n]+)", re.I | re.M)


def _keys(table: LanguageTable) -> dict[str, str]:
    """English keys by those that models write: ``juicio``, ``juicio_final``."""
    keys: dict[str, str] = {}
    for english, labels in (
        ("judgement", table.judgement_labels),
        ("verdict", table.verdict_labels),
        ("explanation", table.explanation_labels),
    ):
        for label in labels:
            joined = [label, *(f"{label} {suffix}" for suffix in table.label_suffixes)]
            glue = " " if table.spaces else ""
            joined += [f"{prefix}{glue}{label}" for prefix in table.label_prefixes]
            keys |= {key_of(form): english for form in joined}
    return keys


def key_of(text: str) -> str:
    """A key for comparison: lower case, spaces and hyphens as underscores."""
    return re.sub(r"[\s_-]+", "_", unicodedata.normalize("NFC", text.strip().lower()[:60]))


def _refusal(table: LanguageTable, script: _Script) -> re.Pattern[str]:
    cannot, judging = script.any_of(table.cannot), script.any_of(table.judging)
    gap = r"(?:\s[\w'-]+){0,5}?\s" if table.spaces else r"[^.,;:!?\n]{0,8}?"
    return re.compile(rf"{cannot}{gap}{judging}|{script.any_of(table.declines)}", re.I)


def _numbers(table: LanguageTable, script: _Script) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Replacements of the words around a number by signs that the reader of scores knows."""
    digit = r"(?<=[0-9])"
    changes = [
        (rf"{digit}\s?{script.any_of(table.points)}", ""),
        (rf"{digit}\s{script.any_of(table.out_of)}\s(?=10(?![0-9.,]\d|\d))", "/"),
        (rf"{digit}\s{script.any_of(table.scale)}", " on a scale"),
        (rf"{digit}\s?(?={script.any_of(table.reasons)})", ", "),
    ]
    return tuple((re.compile(pattern, re.I), text) for pattern, text in changes)
