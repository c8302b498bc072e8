"""The table of verdict words by language: the one that ships, and a person's own beside it."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from casewise.cases import read_plain_yaml
from casewise.errors import InputError

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


def own_version(path: Path) -> str:
    """The version of a person's own table: the file's name and its hash.

    Raises:
        InputError: There is no such file.
    """
    if not path.is_file():
        raise InputError("no such table of verdict words", file=path, expected="a YAML file")
    return f"{path.name}@{_digest(path)}"


def own_tables(path: Path) -> dict[str, LanguageTable]:
    """The shipped tables with a person's own added: to lists of a language, or as a new one.

    Raises:
        InputError: The file can't be used, or the two contradict each other.
    """
    own = _load(path)
    tables = dict(shipped_tables())
    for language, table in own.items():
        before = tables.get(language)
        tables[language] = table if before is None else _added(before, table)
        _check(tables[language], language, path)
    return tables


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


def _added(before: LanguageTable, own: LanguageTable) -> LanguageTable:
    changes: dict[str, Any] = {}
    for name in LanguageTable.model_fields:
        one, other = getattr(before, name), getattr(own, name)
        if isinstance(one, tuple):
            changes[name] = tuple(dict.fromkeys((*one, *other)))
    if own.first_tokens is not None:
        first = before.first_tokens
        changes["first_tokens"] = first and Openings(
            safe=(*first.safe, *own.first_tokens.safe),
            unsafe=(*first.unsafe, *own.first_tokens.unsafe),
        )
    return before.model_copy(update=changes)


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
