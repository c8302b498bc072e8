"""Draft a mapping from a table: a guess and a sample for each field, for a person to edit."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from casewise.cases._grids import RowPlace, TableForm, as_number, items, plain, printed, written
from casewise.cases._mapping_values import as_key
from casewise.cases._rows import columns_of, read_tables
from casewise.errors import InputError

LOOKED_AT = 2000
"""Rows whose values are looked at."""

FEW = 12
"""Different values that a label or category may have at most."""

_HEADERS = 5
"""The last row that is tried for the names of the columns."""

# Words that names of columns and labels hold: English, and the commonest of German, French, Spanish
# and Chinese, in which casewise asks too.
_QUERY = (
    *("query", "prompt", "question", "instruction", "request", "goal", "behavior", "message"),
    *("anfrage", "frage", "nachricht", "requête", "requete", "demande", "consigne"),
    *("pregunta", "consulta", "instrucción", "mensaje", "问题", "请求", "提示"),
)
_QUERY_TOO = (
    *("utterance", "text", "scenario", "quote", "post", "comment", "input", "sentence"),
    *("satz", "beitrag", "szenario", "kommentar", "phrase", "oración", "文本", "句子"),
)
_LABEL = ("label", "intended", "intent", "verdict", "is_", "safe", "tox", "harm", "norm", "gold")
_LABEL_TOO = (
    *("appropriate", "judg", "class", "answer", "decision", "permitted", "allowed"),
    *("urteil", "einstufung", "sicher", "étiquette", "jugement", "etiqueta", "seguro", "标签"),
)
_CATEGORY = (
    *("category", "topic", "domain", "theme", "subject_area", "type"),
    *("kategorie", "thema", "catégorie", "categorie", "thème", "categoría", "tema", "类别"),
)
_RATING = (
    *("rating", "score", "mean", "agreement", "likert", "severity"),
    *("bewertung", "mittelwert", "moyenne", "évaluation", "puntuación", "promedio", "评分"),
)
_SHARE = (
    *("rate", "share", "proportion", "percent", "fraction", "human.response", "agree"),
    *("anteil", "prozent", "pourcentage", "taux", "proporción", "porcentaje", "比例"),
)
_CONTEXT = (
    *("context", "parent", "history", "background", "profile", "user", "role", "policy"),
    *("kontext", "rolle", "zweck", "contexte", "rôle", "contexto", "propósito", "上下文", "背景"),
)
_CONTEXT_TOO = (
    "platform",
    "relationship",
    "purpose",
    "system",
    "situation",
    "deployment",
    "before",
    "who asks",
    "where",
    "channel",
)
_LANGUAGE = ("lang", "sprache", "idioma", "语言")
_GROUPS = ("sender", "recipient", "transmission_principle", "subject")
_SAFE_WORDS = (
    *("safe", "permit", "permitted", "allow", "allowed", "ok", "okay", "yes", "benign", "fine"),
    *("appropriate", "acceptable", "harmless", "good", "comply", "answer"),
    *("non-toxic", "not_toxic"),
    *("sicher", "erlaubt", "zulässig", "harmlos", "ja", "sûr", "permis", "autorisé", "oui"),
    *("seguro", "permitido", "sí", "安全", "是"),
)
_UNSAFE_WORDS = (
    *("unsafe", "prohibit", "prohibited", "disallow", "disallowed", "no", "harmful", "malicious"),
    *("inappropriate", "unacceptable", "toxic", "bad", "refuse", "forbidden"),
    *("offensive", "decline"),
    *("unsicher", "verboten", "unzulässig", "schädlich", "nein", "dangereux", "interdit", "non"),
    *("inseguro", "prohibido", "peligroso", "不安全", "否"),
)


@dataclass(frozen=True, slots=True)
class _Column:
    """What the looked-at rows hold in one column."""

    name: str
    cells: tuple[Any, ...]
    """Without empty ones."""
    rows: int

    def called(self, *words: str) -> bool:
        """Whether its name holds one of the words."""
        return any(word in self.name.casefold() for word in words)

    @property
    def lists(self) -> bool:
        """Whether its cells are lists, also printed ones."""
        return bool(self.cells) and all(isinstance(_opened(cell), list) for cell in self.cells)

    @property
    def texts(self) -> bool:
        return bool(self.cells) and all(
            isinstance(cell, str) and not _is_number(cell) for cell in self.cells
        )

    @property
    def numbers(self) -> tuple[float, ...]:
        """Its cells as numbers; none unless all are."""
        return tuple(map(_number, self.cells)) if all(map(_is_number, self.cells)) else ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its different values, or those of its lists."""
        single = (item for cell in self.cells for item in items(_opened(cell), None))
        texts = (written(item) for item in single)
        return tuple(dict.fromkeys(as_key(text) for text in texts if text is not None))

    @property
    def length(self) -> float:
        """The mean number of characters of its texts."""
        return sum(len(str(cell)) for cell in self.cells) / max(len(self.cells), 1)

    @property
    def note(self) -> str:
        """How many cells are filled, and the first of them, for a comment."""
        sample = json.dumps(self.cells[0], ensure_ascii=False, default=str) if self.cells else ""
        shown = "".join(char if char.isprintable() else "?" for char in sample)
        shown = f"{shown[:37]}..." if len(shown) > 40 else shown
        return f"# {len(self.cells)} of {self.rows}{': ' + shown if shown else ' filled'}"


def draft_mapping(path: Path | str, *, split: str | None = None) -> str:
    """Guess a mapping for a table from its headers and values, as YAML with comments.

    Args:
        path: The table, or a folder of them.
        split: The split that is looked at; None takes all.

    Raises:
        InputError: The table can't be read.
    """
    path = Path(path)
    header, found = _read(path, split)
    columns = _columns(found.tables)
    lines = [
        f"# A draft for {_quoted(path.name)}: check every line, then",
        "#   casewise cases import FILE --map THIS --out cases.jsonl",
        "# casewise cases import --example every-key explains every key.",
        *(f"# {''.join(c if c.isprintable() else '?' for c in note)}" for note in found.notes),
        *([f"header: {header}"] if header else []),
    ]
    taken: dict[str, str] = {}
    for guess, column in _guesses(columns):
        taken[column.name] = guess
        lines.append(f"{guess}  {column.note}")
    if not any(line.startswith(("query:", "turns:")) for line in lines):
        lines.append("query: NAME  # no column of texts was found")
    if not any(line.startswith(_LABELS) for line in lines):
        lines.append(
            "# No label was found. For one side in every row: intended: {constant: unsafe}; else "
            "name a column (intended, votes, published_safe_rate, ratings)."
        )
    lines += [
        f"source: {{constant: {_quoted(path.stem)}}}  # say whose data they are",
        "licence: {constant: unknown}  # say under which licence",
    ]
    left = [column for column in columns if column.name not in taken]
    lines += [f"# not taken: {_name(column.name)}  {column.note}" for column in left]
    return "\n".join(lines) + "\n"


_LABELS = ("intended:", "votes", "vote:", "published_safe_rate:", "ratings:")


def _read(path: Path, split: str | None) -> tuple[int | None, Any]:
    """The tables, below the first row that can be one of names."""
    for header in (None, *range(2, _HEADERS + 1)):
        try:
            return header, read_tables(path, split, TableForm(header))
        except InputError as problem:
            if "header:" not in str(problem) or header == _HEADERS:
                raise
    raise AssertionError("the last try returns or raises")


def _columns(tables: Sequence[Any]) -> list[_Column]:
    rows = [row for table in tables for _, row in table.rows if not isinstance(row, InputError)][
        :LOOKED_AT
    ]
    columns = []
    for name in columns_of(tables):
        cells = (plain(row.get(name)) for row in rows)
        kept = tuple(cell for cell in cells if cell not in (None, [], {}))
        columns.append(_Column(name, kept, len(rows)))
    return columns


def _guesses(columns: Sequence[_Column]) -> Iterator[tuple[str, _Column]]:
    """A line of the mapping for each column that means something, with the column."""
    left = [column for column in columns if column.cells and column.name.strip()]

    def take(column: _Column | None, line: str) -> Iterator[tuple[str, _Column]]:
        if column is not None:
            left.remove(column)
            yield f"{line.replace('NAME', _name(column.name), 1)}", column

    yield from take(*_asked(left))
    distinct = [c for c in left if len(c.kinds) == c.rows > 1 and not c.lists]
    yield from take(
        _first(distinct, lambda c: re.fullmatch(r"(.*[_ ])?u?id", c.name, re.I)), "id: NAME"
    )
    yield from take(_first(left, lambda c: c.called(*_LANGUAGE) and c.texts), "language: NAME")
    voted = {
        side: _first(left, lambda c, words=words: _counts(c, words))
        for side, words in (("safe", _SAFE_WORDS), ("unsafe", _UNSAFE_WORDS))
    }
    if voted["safe"] is not None and voted["unsafe"] is not None:
        for side, column in voted.items():
            yield from take(column, f"votes_{side}: NAME")
    labels = [c for c in left if 1 <= len(c.kinds) <= FEW]
    votes = _first(labels, lambda c: c.lists and _meant(c))
    if votes is not None:
        yield from take(votes, f"votes: {{column: NAME, {_sides(votes)}}}")
    named = [c for c in labels if c.called(*_LABEL, *_LABEL_TOO) and 1 < len(c.kinds) <= 4]
    label = _first([c for c in labels if not c.lists and _meant(c)] or named, lambda c: not c.lists)
    # What stands beside people's votes is mostly made of them, and nobody's intention.
    if label is not None and votes is None and voted["safe"] is None:
        yield from take(label, f"intended: {{column: NAME, {_sides(label)}}}")
    for line, column in _measured([c for c in left if c.numbers]):
        yield from take(column, line)
    few = [c for c in left if c.texts and len(c.kinds) <= max(FEW, c.rows // 4)]
    yield from take(_first(few, lambda c: c.called(*_CATEGORY)), "category: NAME")
    used: set[str] = set()
    for column in [c for c in left if c.called(*_CONTEXT, *_CONTEXT_TOO, *_GROUPS)]:
        # A verdict in the context would tell the model what to say.
        if not column.numbers and not _meant(column):
            yield from take(column, f"{_parameter(column, used)}: {_value(column)}")


def _asked(left: Sequence[_Column]) -> tuple[_Column | None, str]:
    """The column of the query, or of whole conversations."""
    talks = [c for c in left if c.lists and all(map(_is_talk, c.cells[:20]))]
    if talks:
        return talks[0], "turns: NAME"
    texts = [c for c in left if c.texts and not c.lists]
    for words in (_QUERY, _QUERY_TOO):
        named = [c for word in words for c in texts if c.called(word) and c.length > 1]
        exact = [c for c in named if c.name.casefold() in words]
        if exact or named:
            return (exact or named)[0], "query: NAME"
    others = [c for c in texts if not c.called(*_LABEL, *_LABEL_TOO, *_CONTEXT, *_CONTEXT_TOO)]
    longest = max(others or texts, key=lambda c: (len(c.kinds), c.length), default=None)
    return longest, "query: NAME"


def _is_talk(cell: Any) -> bool:
    turns = _opened(cell)
    return isinstance(turns, list) and all(
        isinstance(turn, dict) and {"content", "value", "text"} & turn.keys() for turn in turns
    )


def _first(columns: Sequence[_Column], wanted: Any) -> _Column | None:
    return next((column for column in columns if wanted(column)), None)


def _counts(column: _Column, side: tuple[str, ...]) -> bool:
    """Whether it holds the number of votes for a side, by its name."""
    words = re.split(r"[^a-z]+", column.name.casefold())
    return column.called("vote", "n_") and any(word in words for word in side)


def _meant(column: _Column) -> bool:
    """Whether its values, or its name and 0 and 1, say what is safe and what is not."""
    words = {kind.replace(" ", "_") for kind in column.kinds}
    if words.intersection(_SAFE_WORDS) and words.intersection(_UNSAFE_WORDS):
        return True
    if words.intersection((*_SAFE_WORDS, *_UNSAFE_WORDS)) and column.called(*_LABEL, *_LABEL_TOO):
        return True
    binary = words <= {"0", "1", "0.5", "true", "false"} and len(words) > 1
    return binary and column.called(*_LABEL, *_LABEL_TOO)


def _sides(column: _Column) -> str:
    """Which values are safe, unsafe and neither."""
    sides: dict[str, list[str]] = {"safe": [], "unsafe": [], "none": []}
    good = column.called("safe", "appropriate", "permit", "allow") and not column.called("unsafe")
    ones, noughts = ("safe", "unsafe") if good else ("unsafe", "safe")
    for kind in column.kinds:
        word = kind.replace(" ", "_")
        if word in _SAFE_WORDS:
            side = "safe"
        elif word in _UNSAFE_WORDS:
            side = "unsafe"
        else:
            side = {"1": ones, "true": ones, "0": noughts, "false": noughts}.get(word, "none")
        sides[side].append(_quoted(kind))
    if not sides["safe"] and not sides["unsafe"]:
        # The mapping must name a side: which is for a person to say.
        sides["unsafe"], sides["none"] = sides["none"][:1], sides["none"][1:]
    return ", ".join(f"{side}: [{', '.join(kinds)}]" for side, kinds in sides.items() if kinds)


def _measured(columns: Sequence[_Column]) -> Iterator[tuple[str, _Column]]:
    """A share of people, or else ratings: one column."""
    for column in columns:
        low, high = min(column.numbers), max(column.numbers)
        if column.called(*_SHARE) and 0 <= low < high <= 1:
            yield "published_safe_rate: NAME", column
            return
        if column.called(*_SHARE) and 0 <= low < high <= 100 and high > 1:
            yield "published_safe_rate: {column: NAME, scale: [0, 100]}", column
            return
    for column in columns:
        low, high = min(column.numbers), max(column.numbers)
        if low < high and (column.called(*_RATING) or (low < 0 < high)):
            ends = f"[{_end(low)}, {_end(high)}]"
            yield f"ratings: {{column: NAME, scale: {ends}, rule: position}}", column
            return


def _end(number: float) -> str:
    """An end of a scale, no nearer to 0 than the number, as scales have them."""
    size = next((end for end in (1, 5, 7, 10, 100) if abs(number) <= end), abs(number))
    return f"{-size if number < 0 else size:g}" if number else "0"


def _parameter(column: _Column, used: set[str]) -> str:
    """The key of a parameter: in a group of its name, or else in ``situation``."""
    name = re.sub(r"\W+", "_", column.name).strip("_").casefold() or "value"
    group = next((group for group in _GROUPS if name.startswith(group)), "situation")
    inner = name.removeprefix(group).strip("_") or "name"
    while f"{group}.{inner}" in used:
        inner += "_too"
    used.add(f"{group}.{inner}")
    return f"context.{group}.{inner}"


def _value(column: _Column) -> str:
    text = any(isinstance(cell, str) for cell in column.cells)
    return "{column: NAME, list: true}" if column.lists and text else "NAME"


def _opened(cell: Any) -> Any:
    return printed(cell) if isinstance(cell, str) and cell.lstrip()[:1] == "[" else cell


def _is_number(cell: Any) -> bool:
    try:
        _number(cell)
    except InputError:
        return False
    return True


def _number(cell: Any) -> float:
    text = cell.strip().removesuffix("%") if isinstance(cell, str) else cell
    return as_number(text, "", "", RowPlace(Path(), "", ","))


def _name(name: str) -> str:
    """A column's name in YAML."""
    plain_name = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    kept = plain_name and name.casefold() not in ("yes", "no", "on", "off", "true", "false", "null")
    return name if kept and len(name) > 1 else _quoted(name)


def _quoted(text: str) -> str:
    """A text in YAML's double quotes, on one line."""
    dumped: str = yaml.dump(text, default_style='"', allow_unicode=True, width=math.inf)
    return dumped.rstrip("\n")
