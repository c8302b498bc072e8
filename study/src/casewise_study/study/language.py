"""The language of a study: its texts by gettext, its numbers, money and dates by Babel.

English is the language that everything is written in. Another is one file, ``de.po`` for German,
with a translation of each message: of the pages, and of the texts that a new study begins with.
"""

import gettext
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po, write_po
from babel.numbers import format_currency, format_decimal

from casewise.errors import InputError
from casewise.files import write_atomically
from casewise.files.yaml import read_plain_yaml

SOURCE = "en"

HEADING = "## "
"""Beginning of a paragraph that is a heading, as in Markdown."""

_UNSAID = {"verdict", "expected", "id", "name", "answer"}
"""Fields of the texts of a new study that are no texts."""

_FIELD = re.compile(r"%\(\w+\)s|\{\w+\}")
_OWN_LINE = re.compile(r"\s*([-*•]|\d{1,2}[.)])\s")
"""Beginning of a line that is not run on from the one before."""


@dataclass(frozen=True, slots=True)
class Language:
    """Texts that a study's people read, in their language."""

    code: str
    locale: Locale
    catalogue: gettext.NullTranslations
    lacking: tuple[str, ...] = ()
    """Messages that are shown in English, as they are not translated, or wrongly."""

    def say(self, message: str) -> str:
        """Translate a message; what is not translated stays English."""
        return self.catalogue.gettext(message)

    def say_many(self, one: str, many: str, number: int) -> str:
        """Translate a message that depends on a number."""
        return self.catalogue.ngettext(one, many, number)

    def say_all(self, value: Any) -> Any:
        """Translate the texts of a new study, paragraph by paragraph."""
        return _each_text(value, lambda text: "\n\n".join(map(self.say, paragraphs(text))))

    def number(self, value: float) -> str:
        """A number as it is written in this language."""
        return format_decimal(value, locale=self.locale)

    def money(self, amount: float, currency: str) -> str:
        """An amount with its currency's three letters, such as ``12.50 GBP`` or ``12,50 GBP``."""
        return format_currency(
            amount, currency, "#,##0.00 ¤¤", locale=self.locale, currency_digits=False
        ).replace("\xa0", " ")

    def date(self, day: date) -> str:
        """A day in words, such as ``May 4, 2027`` or ``4. Mai 2027``."""
        return format_date(day, "long", locale=self.locale)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, without the line ends that only serve the file.

    As in Markdown, a blank line parts paragraphs, and a line end is a space; items of a list, and
    lines after one that ends in two spaces, stay lines of their own.
    """
    parted = []
    for paragraph in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in paragraph.split("\n") if line.strip()]
        joined = "".join(
            line.strip() if not number else f"{_between(lines[number - 1], line)}{line.strip()}"
            for number, line in enumerate(lines)
        )
        if joined:
            parted.append(joined)
    return parted


def _between(before: str, line: str) -> str:
    return "\n" if _OWN_LINE.match(line) or before.endswith("  ") else " "


def open_language(code: str, folder: Path | None = None) -> Language:
    """Open a language by its code.

    Args:
        code: Such as ``de`` or ``pt-BR``.
        folder: Of the study, where a file ``CODE.po`` goes before ours.

    Raises:
        InputError: No such language, no file for it, or the file can't be read.
    """
    locale = _locale(code)
    own = folder / f"{code}.po" if folder is not None else None
    if own is not None and own.is_file():
        return _read(code, locale, own.read_bytes(), own)
    if locale.language == SOURCE:
        return Language(code, locale, gettext.NullTranslations())
    for name in (code, locale.language):
        ours = files("casewise_study.data") / f"{name}.po"
        if ours.is_file():
            return _read(code, locale, ours.read_bytes(), Path(f"{name}.po"))
    raise InputError(
        "no texts in this language",
        field="language",
        found=code,
        expected=f"en, de, or a file {code}.po beside the study: casewise annotate texts makes one "
        "to translate",
    )


def _locale(code: str) -> Locale:
    try:
        return Locale.parse(code.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        raise InputError(
            "no such language", field="language", found=code, expected="a code such as en or pt-BR"
        ) from None


@lru_cache(maxsize=8)
def _read(code: str, locale: Locale, text: bytes, path: Path) -> Language:
    catalogue = _catalogue(text, locale, path)
    lacking = []
    for message in messages():
        entry = catalogue.get(_first(message))
        if entry is None or entry.fuzzy or not _is_whole(message, entry.string):
            lacking.append(_first(message))
            if entry is not None:
                catalogue.delete(entry.id)
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return Language(code, locale, gettext.GNUTranslations(compiled), tuple(lacking))


def _first(message: str | tuple[str, ...]) -> str:
    """The message, of one that depends on a number the form for one."""
    return message if isinstance(message, str) else message[0]


def _is_whole(message: str | tuple[str, ...], said: Any) -> bool:
    """Tell if a message is translated in all its forms, with the fields that it is filled in."""
    source = message if isinstance(message, str) else message[-1]
    forms = [said] if isinstance(said, str) else list(said or ())
    fields = set(_FIELD.findall(source))
    return (
        bool(forms)
        and all(bool(form) and set(_FIELD.findall(form)) <= fields for form in forms)
        and set(_FIELD.findall(forms[-1])) == fields
    )


def source_texts() -> dict[str, Any]:
    """The texts that a new study begins with, in English."""
    with as_file(files("casewise_study.data") / "texts.en.yaml") as path:
        texts: dict[str, Any] = read_plain_yaml(path, "file of texts")
    return texts


@lru_cache(maxsize=1)
def messages() -> tuple[str | tuple[str, ...], ...]:
    """Every message in English, once; one that depends on a number is two."""
    found = list(_of_pages())
    _each_text(source_texts(), lambda text: found.extend(paragraphs(text)))
    return tuple(dict.fromkeys(found))


def _of_pages() -> Iterator[str | tuple[str, ...]]:
    """Messages of the study's pages: in templates within ``_()``, in code within ``say()``."""
    from jinja2.ext import babel_extract

    app = files("casewise_study.app_study")
    words = {"_": None, "say": None, "ngettext": (1, 2)}
    ways: tuple[tuple[Any, str, Any], ...] = (
        (app / "templates", ".html", babel_extract),
        (app, ".py", "python"),
    )
    for folder, ending, way in ways:
        for file in sorted(folder.iterdir(), key=lambda one: str(one.name)):
            if file.name.endswith(ending) and not file.name.startswith("admin"):
                for _, message, _, _ in extract(way, io.BytesIO(file.read_bytes()), words):
                    yield message


def _each_text(value: Any, change: Callable[[str], Any]) -> Any:
    """The same records with each of their texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each_text(inner, change) for inner in value]
    if isinstance(value, dict):
        return {
            name: inner if name in _UNSAID else _each_text(inner, change)
            for name, inner in value.items()
        }
    return value


def write_catalogue(code: str, path: Path) -> int:
    """Write a file to translate, with every message; translations that it has already stay.

    Args:
        code: The language's.
        path: Such as ``fr.po``; made, or brought up to date.

    Returns:
        How many messages are still to be translated.

    Raises:
        InputError: No such language, or the file is there and is no such catalogue.
    """
    locale = _locale(code)
    known = _catalogue(path.read_bytes(), locale, path) if path.is_file() else None
    made = Catalog(locale, project="casewise", charset="utf-8", fuzzy=False)
    for message in messages():
        entry = known.get(_first(message)) if known else None
        made.add(message, entry.string if entry is not None else None)
    written = io.BytesIO()
    write_po(written, made, width=96, omit_header=False)
    write_atomically(path, written.getvalue())
    return sum(not any(one.string or ()) for one in made if one.id)


def _catalogue(text: bytes, locale: Locale, path: Path) -> Catalog:
    try:
        return read_po(io.BytesIO(text), locale, abort_invalid=True)
    except (PoFileError, ValueError) as error:
        raise InputError(f"not a catalogue of messages ({error})", file=path) from None
