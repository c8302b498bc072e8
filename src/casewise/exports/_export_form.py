"""Request of an export, the names that it shows, and its folder.

Folders appear whole or not at all, and replace nothing but their own kind. Where texts are
withheld, only some names are shown.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, StrictUndefined

import casewise
from casewise.cases import Case, LabelRule
from casewise.choices import ExportForm
from casewise.contexts import PARAMETERS
from casewise.errors import UsageError
from casewise.files import replace_folder
from casewise.judgements import length_of
from casewise.protocols import RunCondition


def hashed(text: str, kind: str, digits: int = 16) -> str:
    """A name in place of one that is not shown, the same wherever the same text stands."""
    if re.fullmatch(rf"{kind}-[0-9a-f]{{{digits}}}", text):
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{kind}-{digest[:digits]}"


def _if_like(pattern: str, kind: str) -> Callable[[str], str]:
    """Rule that shows a text of a form as it is, and a name of that kind in place of others."""
    form = re.compile(pattern)
    return lambda text: text if form.fullmatch(text) else hashed(text, kind)


_NAME = re.compile(r"[\w.:@+-][\w.:@+ -]{0,63}")
_OPTION = re.compile(r"[\w.=,:@+ -]{1,80}")
_PERSONAL = re.compile(r"(^|[/\\])(home|Users|root|~[^/\\]*|\.\.?)([/\\]|$)|^[A-Za-z]:\\|\\|//|^/")

Rules = Mapping[str, Callable[[str], str]]
"""For each column of names, how a value is shown."""

CATEGORY_LENGTH = 80
"""Characters of the longest category that is taken for a name."""

_PAPER_NAMES = frozenset(name for place in PARAMETERS for name in place.split("."))
"""The names that the paper gives to the parts of a context."""

show_id = _if_like(r"[A-Za-z0-9][A-Za-z0-9._:+@-]{0,63}", "id")
"""An id of at most 64 letters, digits and marks, without spaces and slashes."""

show_words = _if_like(r"[a-z_-]{1,20}( [a-z_-]{1,20})*|", "word")
"""Words of a fixed vocabulary: a status, a verdict, the classes of replies."""

show_stopped = _if_like(r"[A-Za-z0-9 ,:()'-]{1,100}", "reason")
"""Reason why a run did not end: a sentence of ours, without a line's end or a quote."""

show_version = _if_like(r"[0-9a-f]+(\.[0-9]+){0,2}", "version")
"""The version of a data set: numbers, or the beginning of a commit."""


def show_model(text: str) -> str:
    """A model's name; of a path on somebody's machine, the provider and the last part."""
    parts = text.split("/")
    if not _PERSONAL.search(text) and len(parts) <= 5 and all(map(_NAME.fullmatch, parts)):
        return text
    ends = filter(_NAME.fullmatch, (parts[0], re.split(r"[/\\]", text)[-1]))
    return "/".join([*dict.fromkeys(ends), hashed(text, "path")])


def show_grader(text: str) -> str:
    """A grader's name or version; of ``rules,MODEL`` each part by itself."""
    return ",".join(map(show_model, text.split(",")))


def show_category(text: str) -> str:
    """A category of one line and at most ``CATEGORY_LENGTH`` characters."""
    return text if text.isprintable() and len(text) <= CATEGORY_LENGTH else hashed(text, "category")


def show_options(text: str) -> str:
    """Options on the command line: parts joined by semicolons."""
    return ";".join(map(_if_like(_OPTION.pattern, "option"), text.split(";")))


def show_prompt(text: str) -> str:
    """The version of a prompt: where it is from, a slash, its name and hash."""
    parts = text.split("/")
    plain = len(parts) <= 2 and all(map(_NAME.fullmatch, parts))
    return text if plain else hashed(text, "prompt")


def show_parameters(text: str, known: frozenset[str]) -> str:
    """Paths of parameters joined by spaces; parts that are not known are replaced."""
    return " ".join(
        ".".join(name if name in known else hashed(name, "p", 8) for name in path.split("."))
        for path in text.split()
    )


def known_parameters(conditions: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The paper's names, and those that somebody removed or swapped by name.

    The keys of a context are its author's text; the names of conditions are typed by whoever
    runs them, and scores are kept by them.

    Args:
        conditions: Each with its ``ablation`` and its ``variant``.
    """
    found = map(RunCondition.of_row, conditions)
    given = [name for one in found for name in (one["ablation"] or "", one.swap or "")]
    named = [name for name in given if _OPTION.fullmatch(name)]
    return _PAPER_NAMES | frozenset(re.split(r"[\s.,]+", " ".join(named)))


_WORDS = (
    *("protocol", "delivery", "intended", "expected", "status", "verdict"),
    *("response_class", "turn_classes"),
)
"""Columns of words of a fixed vocabulary."""


def shown_by_column(known: frozenset[str]) -> Rules:
    """For each column of names of the judgement table, how a value is shown.

    Args:
        known: Names of parameters that may be shown.
    """
    return {
        **dict.fromkeys(("run_id", "dataset_hash", "case_id", "query_id"), show_id),
        **dict.fromkeys(("model", "graded_by"), show_model),
        **dict.fromkeys(("ablation", "variant"), show_options),
        **dict.fromkeys(_WORDS, show_words),
        **dict.fromkeys(("mentions", "parameters"), partial(show_parameters, known=known)),
        "stopped": show_stopped,
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
    named = table.select("ablation", "variant").unique().iter_rows(named=True)
    rules = shown_by_column(known_parameters(named))
    columns = []
    for name, kind in table.schema.items():
        values = table[name]
        if name in TEXT_COLUMNS:
            lengths = [length_of(text) for text in values]
            values = pl.Series(f"{name}_length", lengths, pl.Int64)
        elif kind == pl.String:
            distinct = values.unique()
            shown = [show_value(name, value, rules) for value in distinct]
            values = values.replace_strict(distinct, shown, return_dtype=pl.String).alias(name)
        columns.append(values)
    return pl.DataFrame(columns)


CONTENT_WARNING = (
    "Content warning: holds queries, contexts or replies in full. They touch on crime, self-harm, "
    "drugs and hatred, and may be distressing."
)
"""Warning before texts that are shown."""


TABLES = {".parquet": ExportForm.PARQUET, ".csv": ExportForm.CSV}
"""The forms that are one file, by its suffix."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Judgements to export, the form, and the place."""

    paths: tuple[Path, ...]
    """Logs, tables and published outputs; may be empty where ``cases`` suffice (lm-eval)."""
    out: Path
    """A file for tables, else a folder."""
    form: ExportForm
    reveal: bool = False
    """True if queries, contexts, replies and explanations are included."""
    cases: tuple[Case, ...] | None = None
    """The whole cases; None takes those that the paths hold."""
    labels: LabelRule | None = None
    """The label rule of results and of lm-eval's documents; None is the usual choice."""
    dataset: str | None = None
    """Dataset on the Hub that results are of: ``OWNER/NAME``."""
    evaluator: str | None = None
    """Organization that made the results."""


@dataclass(frozen=True, slots=True)
class Exported:
    """Files that were written, and notes on them."""

    content: str
    """Content in few words: ``56 judgements``."""
    notes: tuple[str, ...] = ()


def form_of(out: Path, asked: ExportForm | None) -> ExportForm:
    """The form that was asked for, else the one that the suffix names.

    Raises:
        UsageError: Neither names one, or they contradict each other.
    """
    by_suffix = TABLES.get(out.suffix.lower())
    if asked is None and by_suffix is None:
        raise UsageError(
            f"{out}: end the name in .parquet or .csv, or say what to write with --to "
            f"{', '.join(ExportForm)}"
        )
    form = asked or by_suffix
    assert form is not None
    if (form in TABLES.values() or by_suffix) and form is not by_suffix:
        wanted = f"a name in .{form}" if form in TABLES.values() else "a folder"
        raise UsageError(f"{out}: --to {form} writes {wanted}")
    return form


def about(form: ExportForm, *, reveal: bool) -> dict[str, str]:
    """Description of an artefact, where it has a place for it."""
    return {
        "made by": f"casewise {casewise.__version__}",
        "form": str(form),
        "texts": "included" if reveal else "withheld",
        **({"content warning": CONTENT_WARNING} if reveal else {}),
    }


def about_parquet(*, reveal: bool) -> dict[str, str]:
    """The same as the metadata of a Parquet file."""
    return {"casewise": json.dumps(about(ExportForm.PARQUET, reveal=reveal))}


MANIFEST = ".casewise-export.json"
"""File that names the maker of a folder, and lists its files with their hashes."""


@contextmanager
def new_folder(out: Path, form: ExportForm, *, reveal: bool) -> Iterator[Path]:
    """A folder to write into, beside ``out``; at the end it takes that name.

    An earlier folder is replaced if the same form of export made it and nobody added a file; it
    stays until the new one is in its place.

    Raises:
        UsageError: Something else stands at ``out``.
    """
    with replace_folder(out, lambda: check_replaceable(out, form)) as new:
        yield new
        manifest = about(form, reveal=reveal) | {"files": _hashes(new)}
        (new / MANIFEST).write_bytes(f"{json.dumps(manifest, indent=2)}\n".encode())


def check_replaceable(out: Path, form: ExportForm) -> None:
    """Refuse to write over what this form of export did not make.

    Raises:
        UsageError: A file, a folder of somebody else's, or one to which files were added.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise UsageError(f"{out} is a file: --to {form} writes a folder; give another --out")
    present = set(_hashes(out))
    if not present:
        return
    try:
        manifest = json.loads((out / MANIFEST).read_text("utf-8"))
        made = set(manifest["files"]) if manifest["form"] == form else None
    except (OSError, ValueError, KeyError, TypeError):
        made = None
    if made is None:
        raise UsageError(f"{out} is not empty, and no --to {form} made it; give another --out")
    if added := sorted(present - made - {MANIFEST}):
        raise UsageError(
            f"{out} holds files that the export did not write, such as {added[0]}; "
            "move them away or give another --out"
        )


def _hashes(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def fill(template: str, **values: Any) -> bytes:
    """A template of ``data/exports``, filled in.

    Nothing is escaped: the files are Markdown and YAML, and their values numbers and names.
    """
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    text = (files("casewise.data") / "exports" / template).read_text("utf-8")
    return environment.from_string(text).render(**values).encode()
