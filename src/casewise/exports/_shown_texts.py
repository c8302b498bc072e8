"""Which names are shown where texts are withheld, and the judgement table without its texts."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from casewise.cases import GROUPS
from casewise.scores import length_of


def hashed(text: str, kind: str, digits: int = 16) -> str:
    """A name in place of one that is not shown: the same for the same text, wherever it stands."""
    if re.fullmatch(rf"{kind}-[0-9a-f]{{{digits}}}", text):
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{kind}-{digest[:digits]}"


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+@-]{0,63}")
_NAME = re.compile(r"[\w.:@+-][\w.:@+ -]{0,63}")
_WORDS = re.compile(r"[a-z_-]{1,20}( [a-z_-]{1,20})*|")
_OPTION = re.compile(r"[\w.=,:@+ -]{1,80}")
_VERSION = re.compile(r"[0-9a-f]+(\.[0-9]+){0,2}")
_PERSONAL = re.compile(r"(^|[/\\])(home|Users|root|~[^/\\]*|\.\.?)([/\\]|$)|^[A-Za-z]:\\|\\|//|^/")

Rules = Mapping[str, Callable[[str], str]]
"""For each column of names, how a value is shown."""

CATEGORY_LENGTH = 80
"""Characters of the longest category that is taken for a name."""

PARAMETERS = frozenset(
    {
        *GROUPS,
        "platform_type",
        "nature_of_the_interaction",
        "type",
        "background",
        "urgency",
        "sender_purpose",
        "confidentiality",
        "source_accountability",
    }
)
"""The names that the paper gives to the parts of a context."""


def show_id(text: str) -> str:
    """An id of at most 64 letters, digits and marks, without spaces and slashes."""
    return text if _ID.fullmatch(text) else hashed(text, "id")


def show_model(text: str) -> str:
    """A model's name; of a path on somebody's machine, the provider and the last part."""
    parts = text.split("/")
    if not _PERSONAL.search(text) and len(parts) <= 5 and all(map(_NAME.fullmatch, parts)):
        return text
    ends = [part for part in (parts[0], re.split(r"[/\\]", text)[-1]) if _NAME.fullmatch(part)]
    return "/".join([*dict.fromkeys(ends), hashed(text, "path")])


def show_category(text: str) -> str:
    """A category of one line and at most ``CATEGORY_LENGTH`` characters."""
    return text if text.isprintable() and len(text) <= CATEGORY_LENGTH else hashed(text, "category")


def show_words(text: str) -> str:
    """Words of a fixed vocabulary: a status, a verdict, the classes of replies."""
    return text if _WORDS.fullmatch(text) else hashed(text, "word")


def show_options(text: str) -> str:
    """What was asked for on the command line: parts joined by semicolons."""
    return ";".join(
        part if _OPTION.fullmatch(part) else hashed(part, "option") for part in text.split(";")
    )


def show_prompt(text: str) -> str:
    """The version of a prompt: where it is from, a slash, its name and hash."""
    parts = text.split("/")
    plain = len(parts) <= 2 and all(map(_NAME.fullmatch, parts))
    return text if plain else hashed(text, "prompt")


def show_version(text: str) -> str:
    """The version of a data set: numbers, or the beginning of a commit."""
    return text if _VERSION.fullmatch(text) else hashed(text, "version")


def show_parameters(text: str, known: frozenset[str]) -> str:
    """Paths of parameters joined by spaces; parts that are not known are replaced."""
    return " ".join(
        ".".join(name if name in known else hashed(name, "p", 8) for name in path.split("."))
        for path in text.split()
    )


def known_parameters(
    ablations: Iterable[str | None], variants: Iterable[str | None]
) -> frozenset[str]:
    """The paper's names, and those that somebody removed or swapped by name.

    The keys of a context are its author's text; the names of conditions are typed by whoever
    runs them, and scores are kept by them.
    """
    swapped = [
        part.removeprefix("swap=")
        for variant in variants
        for part in (variant or "").split(";")
        if part.startswith("swap=")
    ]
    named = [name for name in (*ablations, *swapped) if name and _OPTION.fullmatch(name)]
    return PARAMETERS | frozenset(re.split(r"[\s.,]+", " ".join(named)))


def shown_by_column(known: frozenset[str]) -> Rules:
    """For each column of names of the judgement table, how a value is shown.

    Args:
        known: Names of parameters that may be shown.
    """

    def parameters(text: str) -> str:
        return show_parameters(text, known)

    return {
        **dict.fromkeys(("run_id", "dataset_hash", "case_id", "query_id"), show_id),
        **dict.fromkeys(("model", "graded_by"), show_model),
        **dict.fromkeys(("ablation", "variant"), show_options),
        **dict.fromkeys(
            ("protocol", "delivery", "intended", "expected", "status", "verdict"), show_words
        ),
        **dict.fromkeys(("response_class", "turn_classes"), show_words),
        **dict.fromkeys(("mentions", "parameters"), parameters),
        "prompt_version": show_prompt,
        "dataset_version": show_version,
        "category": show_category,
    }


def show_value(column: str, value: Any, rules: Rules) -> Any:
    """A value of a column as it is shown: numbers as they are, text by its rule, the rest not."""
    if value is None or isinstance(value, bool | int | float):
        return value
    rule = rules.get(column)
    return rule(value) if rule is not None and isinstance(value, str) else None


TEXT_COLUMNS = ("answer", "explanation", "error")
"""Columns that may quote a query, a context or a reply."""


def withhold(table: pl.DataFrame) -> pl.DataFrame:
    """A table that scores like the one given, and holds no text.

    ``answer``, ``explanation`` and ``error`` make place for ``answer_length``,
    ``explanation_length`` and ``error_length`` (characters); names that don't look like names are
    replaced.
    """
    rules = shown_by_column(known_parameters(table["ablation"].unique(), table["variant"].unique()))
    columns = []
    for name, kind in table.schema.items():
        values = table[name]
        if name in TEXT_COLUMNS:
            lengths = [length_of(text) for text in values]
            columns.append(pl.Series(f"{name}_length", lengths, pl.Int64))
        elif kind == pl.String:
            distinct = values.unique()
            shown = [show_value(name, value, rules) for value in distinct]
            replaced = values.replace_strict(distinct, shown, return_dtype=pl.String)
            columns.append(replaced.alias(name))
        else:
            columns.append(values)
    return pl.DataFrame(columns)
