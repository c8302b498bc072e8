"""Draft a mapping from a table: a guess and a sample for each field, for a person to edit."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from casewise.cases._grids import RowPlace, TableForm, as_number, items, plain, printed, written
from casewise.cases._mapping_values import as_key
from casewise.cases._rows import columns_of, read_tables
from casewise.errors import InputError

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


_REPLY = ("response", "reply", "completion", "output", "antwort", "réponse", "respuesta", "回复")
"""Words of columns that hold a model's reply, or a label of it."""
_DEEDS = frozenset(
    (
        *("answer", "answers", "comply", "complies", "help", "partial", "partially", "partly"),
        *("refuse", "refuses", "refusal", "decline", "declines", "deflect", "escalate"),
    )
)
"""Deeds of a reply: a column of these is a label, whatever it is called."""
MOSTLY = 0.5
"""The share of a column's texts from which on it is of that kind."""
RARELY = 0.2
"""The share of them up to which it is not."""
_CODE = re.compile(
    r"(?=[^\d]*\d)[A-Za-z0-9]+(?:[-_./#: ]?[A-Za-z0-9]*\d[A-Za-z0-9]*)*|[0-9a-f-]{16,}"
)
"""L1, Q-12, case 7: names of rows."""
_SENTENCE = re.compile(
    r"\S+\s+\S+\s+\S|.*[.?!。\uff1f\uff01…][\"'”)]*\s*\Z|[^\x00-\u2fff]{6}", re.S
)
"""Three words and more, what ends as a sentence does, or letters that need no spaces."""
_ASKED = re.compile(r"[?\uff1f][\"'”)]*\s*\Z")


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted mapping."""

    text: str
    """YAML with comments."""
    rows: int
    """Rows that were read: all of them."""
    questions: tuple[str, ...]
    """Questions that a person has to decide."""


@dataclass(frozen=True)
class _Column:
    """Contents of one column."""

    name: str
    cells: tuple[Any, ...]
    """Without empty ones."""
    rows: int

    def called(self, *words: str) -> bool:
        """Tell whether its name holds one of the words."""
        return any(word in self.name.casefold() for word in words)

    @cached_property
    def lists(self) -> bool:
        """Tell whether its cells are lists, also printed ones."""
        return bool(self.cells) and all(isinstance(_opened(cell), list) for cell in self.cells)

    @cached_property
    def texts(self) -> bool:
        return bool(self.cells) and all(
            isinstance(cell, str) and not _is_number(cell) for cell in self.cells
        )

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Its cells as numbers; none unless all are."""
        return tuple(map(_number, self.cells)) if all(map(_is_number, self.cells)) else ()

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Its different values, or those of its lists."""
        single = (item for cell in self.cells for item in items(_opened(cell), None))
        texts = (written(item) for item in single)
        return tuple(dict.fromkeys(as_key(text) for text in texts if text is not None))

    @cached_property
    def length(self) -> float:
        """The mean number of characters of its texts."""
        return sum(len(str(cell)) for cell in self.cells) / max(len(self.cells), 1)

    def share(self, pattern: re.Pattern[str]) -> float:
        """The share of its texts that begin as a pattern has it."""
        found = sum(pattern.match(str(cell).strip()) is not None for cell in self.cells)
        return found / max(len(self.cells), 1)

    @cached_property
    def codes(self) -> bool:
        """Tell whether its texts are names of rows, and nothing that anybody would ask."""
        found = sum(_CODE.fullmatch(str(cell).strip()) is not None for cell in self.cells)
        return found > MOSTLY * len(self.cells)

    @cached_property
    def sentences(self) -> float:
        return self.share(_SENTENCE)

    @cached_property
    def asked(self) -> float:
        """The share of its texts that end in a question mark."""
        found = sum(_ASKED.search(str(cell)) is not None for cell in self.cells)
        return found / max(len(self.cells), 1)

    @property
    def note(self) -> str:
        """Number of filled cells, and the first of them, for a comment."""
        sample = json.dumps(self.cells[0], ensure_ascii=False, default=str) if self.cells else ""
        shown = _printable(sample)
        shown = f"{shown[:37]}..." if len(shown) > 40 else shown
        return f"# {len(self.cells)} of {self.rows}{': ' + shown if shown else ' filled'}"


@dataclass
class _Guesses:
    """Lines of a mapping so far, and what could not be decided."""

    lines: list[tuple[str, _Column]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    why_not: dict[str, str] = field(default_factory=dict)
    """Why a column is not taken, by its name."""


def draft_mapping(path: Path | str, *, split: str | None = None) -> Draft:
    """Guess a mapping for a table from its headers and the values of all rows.

    Args:
        path: The table, or a folder of them.
        split: The split that is looked at; None takes all.

    Raises:
        InputError: The table can't be read.
    """
    path = Path(path)
    header, found = _read(path, split)
    columns, rows = _columns(found.tables)
    guessed = _guess(columns)
    lines = [
        f"# A draft for {_quoted(path.name)}: check every line, then",
        "#   casewise cases import FILE --map THIS --out cases.jsonl",
        "# casewise cases import --example every-key explains every key.",
        f"# Guessed from all {rows} row{'s' * (rows != 1)}.",
        *(f"# {_printable(note)}" for note in found.notes),
        *(f"# OPEN: {_printable(question)}" for question in guessed.questions),
        *([f"header: {header}"] if header else []),
    ]
    lines += [f"{guess}  {column.note}" for guess, column in guessed.lines]
    if not any(line.startswith(("query:", "turns:")) for line in lines):
        lines.append("query: NAME  # OPEN: the column of what the user asks")
    if not any(line.startswith(_LABELS) for line in lines):
        lines.append(
            "# No label was found. For one side in every row: intended: {constant: unsafe}; else "
            "name a column (intended, votes, published_safe_rate, ratings)."
        )
    lines += [
        f"source: {{constant: {_quoted(path.stem)}}}  # say whose data they are",
        "licence: {constant: unknown}  # say under which licence",
    ]
    taken = {column.name for _, column in guessed.lines}
    for column in columns:
        if column.name not in taken:
            why = guessed.why_not.get(column.name)
            note = f"{column.note} ({why})" if why else column.note
            lines.append(f"# not taken: {_name(column.name)}  {note}")
    return Draft("\n".join(lines) + "\n", rows, tuple(guessed.questions))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


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


def _columns(tables: Sequence[Any]) -> tuple[list[_Column], int]:
    """The columns, and the number of rows that could be read."""
    rows = [row for table in tables for _, row in table.rows if not isinstance(row, InputError)]
    columns = []
    for name in columns_of(tables):
        cells = (plain(row.get(name)) for row in rows)
        kept = tuple(cell for cell in cells if cell not in (None, [], {}))
        columns.append(_Column(name, kept, len(rows)))
    return columns, len(rows)


def _guess(columns: Sequence[_Column]) -> _Guesses:
    """A line of the mapping for each column that means something, with the column."""
    found = _Guesses()
    found.lines += _guesses(columns, found)
    return found


def _guesses(columns: Sequence[_Column], found: _Guesses) -> Iterator[tuple[str, _Column]]:
    left = [column for column in columns if column.cells and column.name.strip()]

    def take(column: _Column | None, line: str) -> Iterator[tuple[str, _Column]]:
        if column is not None:
            left.remove(column)
            yield f"{line.replace('NAME', _name(column.name), 1)}", column

    yield from take(*_asked(left, found))
    replies = [c for c in left if c.called(*_REPLY) and c.texts and not c.lists and _is_long(c)]
    for reply in replies:
        found.why_not[reply.name] = "a reply: what to ask has none"
        left.remove(reply)
    distinct = [c for c in left if len(c.kinds) == c.rows > 1 and not c.lists]
    named_id = _first(distinct, lambda c: re.fullmatch(r"(.*[_ ])?u?id", c.name, re.I))
    yield from take(named_id or _first(distinct, lambda c: c.texts and c.codes), "id: NAME")
    for judged in [c for c in left if _is_of_reply(c, replies)]:
        found.why_not[judged.name] = "a label of the reply, and not of what is asked"
        left.remove(judged)
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
    # What stands beside people's votes is mostly made of them, and nobody's intention.
    if votes is None and voted["safe"] is None:
        label = _intended([c for c in labels if not c.lists and c in left], found)
        line = "" if label is None else f"intended: {{column: NAME, {_sides(label)}}}"
        if label is not None and replies and not label.called(*_QUERY, "intend", "context"):
            found.questions.append(
                f"does {label.name!r} label what is asked in its context, or the reply in "
                f"{replies[0].name!r}? If what is asked, take the # before 'intended' away"
            )
            line = f"# {line}"
        yield from take(label, line)
    for line, column in _measured([c for c in left if c.numbers]):
        yield from take(column, line)
    few = [c for c in left if c.texts and len(c.kinds) <= max(FEW, c.rows // 4)]
    yield from take(_first(few, lambda c: c.called(*_CATEGORY)), "category: NAME")
    used: set[str] = set()
    for column in [c for c in left if c.called(*_CONTEXT, *_CONTEXT_TOO, *_GROUPS)]:
        # A verdict in the context would tell the model what to say.
        if column.numbers or _meant(column) or _is_verdict(column):
            found.why_not[column.name] = "a number or a verdict, and no part of the context"
        else:
            yield from take(column, f"{_parameter(column, used)}: {_value(column)}")


def _asked(left: Sequence[_Column], found: _Guesses) -> tuple[_Column | None, str]:
    """The column of the query, or of whole conversations; none where two could be it.

    A name counts only with texts that somebody could ask; codes (L1, Q-12) never are.
    """
    talks = [c for c in left if c.lists and all(map(_is_talk, c.cells[:20]))]
    if talks:
        return talks[0], "turns: NAME"
    texts = [c for c in left if c.texts and not c.lists and not c.codes]
    for words in (_QUERY, _QUERY_TOO):
        named = [c for word in words for c in texts if c.called(word) and c.length > 1]
        exact = [c for c in named if c.name.casefold() in words]
        likely = exact or [c for c in named if c.sentences >= MOSTLY and not c.called(*_REPLY)]
        if likely and words is _QUERY:
            return likely[0], "query: NAME"
        if likely:
            rivals = [c for c in _unnamed(texts) if c is not likely[0] and c.asked >= MOSTLY]
            return _sure([likely[0], *rivals] if likely[0].asked <= RARELY else likely[:1], found)
    others = _unnamed(texts)
    spoken = [c for c in others if c.sentences >= MOSTLY]
    asked = [c for c in spoken if c.asked >= MOSTLY]
    if len(asked) == 1 and all(c.asked <= RARELY for c in spoken if c is not asked[0]):
        spoken = asked
    return _sure(spoken, found)


def _unnamed(texts: Sequence[_Column]) -> list[_Column]:
    """Columns of texts whose names call them nothing else than a query."""
    words = (*_LABEL, *_LABEL_TOO, *_CONTEXT, *_CONTEXT_TOO, *_GROUPS, *_REPLY)
    return [c for c in texts if not c.called(*words)]


def _sure(columns: Sequence[_Column], found: _Guesses) -> tuple[_Column | None, str]:
    """The only column of some; else a question."""
    if len(columns) == 1:
        return columns[0], "query: NAME"
    named = ", ".join(repr(c.name) for c in columns)
    found.questions.append(
        f"which column is what the user asks: {named}?"
        if columns
        else "which column is what the user asks? None is sure to hold questions or requests"
    )
    return None, ""


def _is_long(column: _Column) -> bool:
    return column.sentences >= MOSTLY and len(column.kinds) > min(FEW, column.rows // 2)


def _is_of_reply(column: _Column, replies: Sequence[_Column]) -> bool:
    """Tell whether it labels replies, by its name."""
    if not column.called(*_REPLY) or column.called("human") or len(column.kinds) > FEW:
        return False
    return bool(replies) or column.called(*_LABEL, *_LABEL_TOO, *_RATING)


def _is_verdict(column: _Column) -> bool:
    """Tell whether few values say what a reply does, or one of them is a side."""
    if column.lists or len(column.kinds) > FEW:
        return False
    told = [_DEEDS.intersection(re.split(r"\W+", kind)) for kind in column.kinds]
    return sum(map(bool, told)) > MOSTLY * len(told)


def _intended(labels: Sequence[_Column], found: _Guesses) -> _Column | None:
    """The column of the authors' label; none where several mean sides and no name tells which."""
    names = (*_LABEL, *_LABEL_TOO)
    meant = [c for c in labels if _meant(c)]
    named = [c for c in meant if c.called(*names, "policy", "line")]
    if not named and len(meant) > 1:
        several = ", ".join(repr(c.name) for c in meant)
        found.questions.append(f"which column is the label (intended): {several}?")
        return None
    vague = [c for c in labels if c.called(*names) and 1 < len(c.kinds) <= 4]
    return next(iter([*named, *meant, *vague]), None)


def _is_talk(cell: Any) -> bool:
    turns = _opened(cell)
    return isinstance(turns, list) and all(
        isinstance(turn, dict) and {"content", "value", "text"} & turn.keys() for turn in turns
    )


def _first(columns: Sequence[_Column], wanted: Any) -> _Column | None:
    return next((column for column in columns if wanted(column)), None)


def _counts(column: _Column, side: tuple[str, ...]) -> bool:
    """Tell whether it holds the number of votes for a side, by its name."""
    words = re.split(r"[^a-z]+", column.name.casefold())
    return column.called("vote", "n_") and any(word in words for word in side)


def _meant(column: _Column) -> bool:
    """Tell whether its values, or its name and 0 and 1, say what is safe and what is not."""
    words = {kind.replace(" ", "_") for kind in column.kinds}
    if words.intersection(_SAFE_WORDS) and words.intersection(_UNSAFE_WORDS):
        return True
    if words.intersection((*_SAFE_WORDS, *_UNSAFE_WORDS)) and column.called(*_LABEL, *_LABEL_TOO):
        return True
    binary = words <= {"0", "1", "0.5", "true", "false"} and len(words) > 1
    return binary and column.called(*_LABEL, *_LABEL_TOO)


def _sides(column: _Column) -> str:
    """Values that are safe, unsafe and neither."""
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
