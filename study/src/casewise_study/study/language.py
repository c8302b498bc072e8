"""The language of a study: its texts by gettext, its numbers and money by Babel.

English is the language that everything is written in. Another is one file, ``de.po`` for German,
with a translation of each message: of the pages, and of the texts that a new study begins with.
"""

import gettext
import io
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from babel import Locale, UnknownLocaleError
from babel.messages.catalog import Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po
from babel.numbers import format_currency, format_decimal

from casewise.errors import InputError
from casewise.files.yaml import read_plain_yaml

SOURCE = "en"

HEADING = "## "
"""Beginning of a paragraph that is a heading, as in Markdown."""

UNSAID = {"verdict", "expected", "id", "name", "answer"}
"""Fields of the texts of a new study that are no texts."""

_FIELD = re.compile(r"%\(\w+\)s|\{\w+\}")
_OWN_LINE = re.compile(r"\s*([-*•]|\d{1,2}[.)])\s")
"""Beginning of a line that is not run on from the one before."""


@dataclass(frozen=True, slots=True)
class Language:
    """Texts that a study's people read, in their language."""

    locale: Locale
    catalogue: gettext.NullTranslations
    lacking: tuple[str, ...] = ()
    """Messages that are shown in English, as they are not translated, or wrongly."""

    def say(self, message: str) -> str:
        """Translate a message; what is not translated stays English."""
        return self.catalogue.gettext(message)

    def say_many(self, singular: str, plural: str, number: int) -> str:
        """Translate a message that depends on a number."""
        return self.catalogue.ngettext(singular, plural, number)

    def say_all(self, value: Any) -> Any:
        """Translate the texts of a new study, paragraph by paragraph."""
        if isinstance(value, str):
            return "\n\n".join(map(self.say, paragraphs(value)))
        if isinstance(value, list):
            return list(map(self.say_all, value))
        if isinstance(value, dict):
            return {
                name: inner if name in UNSAID else self.say_all(inner)
                for name, inner in value.items()
            }
        return value

    def number(self, value: float) -> str:
        """A number as it is written in this language."""
        return format_decimal(value, locale=self.locale)

    def money(self, amount: float, currency: str) -> str:
        """An amount with its currency's three letters, such as ``12.50 GBP`` or ``12,50 GBP``."""
        return format_currency(
            amount, currency, "#,##0.00 ¤¤", locale=self.locale, currency_digits=False
        ).replace("\xa0", " ")


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
        return _read(locale, own.read_bytes(), own)
    if locale.language == SOURCE:
        return Language(locale, gettext.NullTranslations())
    for name in (code, locale.language):
        ours = files("casewise_study.data") / f"{name}.po"
        if ours.is_file():
            return _read(locale, ours.read_bytes(), Path(f"{name}.po"))
    raise InputError(
        "no texts in this language",
        field="language",
        found=code,
        expected=f"en, de, or a file {code}.po beside the study, such as de.po translated anew",
    )


def _locale(code: str) -> Locale:
    try:
        return Locale.parse(code.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        raise InputError(
            "no such language", field="language", found=code, expected="a code such as en or pt-BR"
        ) from None


@lru_cache(maxsize=8)
def _read(locale: Locale, text: bytes, path: Path) -> Language:
    try:
        catalogue = read_po(io.BytesIO(text), locale, abort_invalid=True)
    except (PoFileError, ValueError) as error:
        raise InputError(f"not a catalogue of messages ({error})", file=path) from None
    lacking = [message for message in catalogue if message.id and not _is_whole(message)]
    for message in lacking:
        catalogue.delete(message.id)
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    names = (message.id if isinstance(message.id, str) else message.id[0] for message in lacking)
    return Language(locale, gettext.GNUTranslations(compiled), tuple(names))


def _is_whole(message: Message) -> bool:
    """Tell if a message is translated in all its forms, with the fields that it is filled in."""
    source = message.id if isinstance(message.id, str) else message.id[-1]
    forms = [message.string] if isinstance(message.string, str) else [*(message.string or ("",))]
    fields = set(_FIELD.findall(source))
    return (
        not message.fuzzy
        and all(bool(form) and set(_FIELD.findall(form)) <= fields for form in forms)
        and set(_FIELD.findall(forms[-1])) == fields
    )


def source_texts() -> dict[str, Any]:
    """The texts that a new study begins with, in English."""
    with as_file(files("casewise_study.data") / "texts.en.yaml") as path:
        texts: dict[str, Any] = read_plain_yaml(path, "file of texts")
    return texts
