"""Draft a mapping from a table: a guess and a sample for each field, for a person to edit."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from casewise.cases._case import Case
from casewise.cases.cells import as_key, as_number, as_text, items, opened, plain
from casewise.cases.importing import import_cases
from casewise.cases.mapping import inner_paths, load_mapping, path_of, value_at
from casewise.errors import InputError, some
from casewise.files import Table, open_tables

FEW = 12
"""Different values that a label or category may have at most."""

MANY = 40
"""Different values that a column may have which is called a label and recurs."""


def _words(text: str) -> tuple[str, ...]:
    """Words of a list, written as a text."""
    return tuple(text.split())


# Parts of the names of columns, and words of labels: English, and the commonest of German, French,
# Spanish and Chinese, in which casewise asks too.
_QUERY = _words(
    "query prompt question instruction request goal behavior message anfrage frage nachricht "
    "requête requete demande consigne pregunta consulta instrucción mensaje 问题 请求 提示"
)
_TEXT = _words(
    "utterance text scenario quote post comment input sentence satz beitrag szenario kommentar "
    "phrase oración 文本 句子"
)
"""Names of texts, which may be queries."""
_LABEL = _words(
    "label intended intent verdict is_ safe tox harm norm gold appropriate judg class answer "
    "annotation decision permitted allowed urteil einstufung sicher étiquette jugement etiqueta "
    "seguro 标签"
)
_CATEGORY = _words(
    "category topic domain theme subject_area type kategorie thema catégorie categorie thème "
    "categoría tema 类别"
)
_RATING = _words(
    "rating score mean agreement likert severity bewertung mittelwert moyenne évaluation "
    "puntuación promedio 评分"
)
_SHARE = _words(
    "rate share proportion percent fraction human.response agree anteil prozent pourcentage taux "
    "proporción porcentaje 比例"
)
_GROUPS = ("sender", "recipient", "transmission_principle", "subject")
_CONTEXT = (
    *_GROUPS,
    "who asks",
    *_words(
        "context parent history background profile user role policy kontext rolle zweck contexte "
        "rôle contexto propósito 上下文 背景 platform relationship purpose system situation "
        "deployment before where channel story vignette place asker scenario setting"
    ),
)
_LANGUAGE = _words("lang sprache idioma 语言")
_SAFE_WORDS = _words(
    "safe permit permitted allow allowed ok okay yes benign fine appropriate acceptable harmless "
    "good comply answer non-toxic not_toxic sicher erlaubt zulässig harmlos ja sûr permis autorisé "
    "oui seguro permitido sí 安全 是"
)
_UNSAFE_WORDS = _words(
    "unsafe prohibit prohibited disallow disallowed no harmful malicious inappropriate "
    "unacceptable toxic bad refuse forbidden offensive decline unsicher verboten unzulässig "
    "schädlich nein dangereux interdit non inseguro prohibido peligroso 不安全 否"
)
_UNSAFE_WORDS += tuple(f"not_{word}" for word in _SAFE_WORDS)
_NEITHER_WORDS = _words(
    "none unsure unclear unknown neutral neither n/a na not_applicable not_sure ambiguous both "
    "mixed undecided unklar unbekannt keine indécis inconnu desconocido neutro 不确定 未知"
)
"""Values of a label that mean neither side."""
_REPLY = _words("response reply completion output antwort réponse respuesta 回复")
"""Names of a model's reply, or of a label of it."""
_DEEDS = _words(
    "answer answers comply complies help partial partially partly refuse refuses refusal decline "
    "declines deflect escalate"
)
"""Verdicts on a reply: a column of these is a label, whatever its name."""
MOSTLY = 0.5
"""Least share of a column's texts that makes it a column of their kind."""
RARELY = 0.2
"""Largest share of them that does not."""
_CODE = re.compile(
    r"(?:(?=[^\d]*\d)[A-Za-z0-9]+(?:[-_./#: ]?[A-Za-z0-9]*\d[A-Za-z0-9]*)*|[0-9a-f-]{16,})\Z"
)
"""Name of a row: L1, Q-12, case 7."""
_SENTENCE = re.compile(
    r"\S+\s+\S+\s+\S|.*[.?!。\uff1f\uff01…][\"'”)]*\s*\Z|[^\x00-\u2fff]{6}", re.S
)
"""Three words and more, the punctuation that ends a sentence, or letters that need no spaces."""
_ASKED = re.compile(r".*[?\uff1f][\"'”)]*\Z", re.S)
"""A question mark at the end."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted mapping."""

    text: str
    """YAML with comments."""
    rows: int
    """Number of rows read."""
    questions: tuple[str, ...]
    """Questions that a person has to decide."""
    examples: tuple[Case, ...] = ()
    """First cases that the draft makes, of one query where it has several contexts."""


@dataclass(frozen=True)
class _Column:
    """Contents of one column."""

    name: str
    cells: tuple[Any, ...]
    """Filled cells."""
    rows: int

    def is_called(self, *words: str) -> bool:
        """Tell whether its name contains one of the words."""
        return any(word in self.name.casefold() for word in words)

    @cached_property
    def has_lists(self) -> bool:
        """Tell whether its cells are lists, also printed ones."""
        return bool(self.cells) and all(isinstance(opened(cell), list) for cell in self.cells)

    @cached_property
    def has_records(self) -> bool:
        """Tell whether a cell holds mappings, or lists in a list, also printed ones."""
        parts = (part for cell in map(opened, self.cells) for part in items(cell, None))
        return any(isinstance(part, dict | list) for part in parts)

    @cached_property
    def has_texts(self) -> bool:
        """Tell whether its cells are texts and no numbers."""
        texts = (isinstance(cell, str) and _number(cell) is None for cell in self.cells)
        return bool(self.cells) and all(texts)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Its cells as numbers; none unless all are."""
        numbers = tuple(number for cell in self.cells if (number := _number(cell)) is not None)
        return numbers if len(numbers) == len(self.cells) else ()

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Its different values, or those of its lists."""
        return tuple(self.counts)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of cells, or of items of their lists, by value."""
        texts = (as_text(item) for cell in self.cells for item in items(cell, None))
        return Counter(as_key(text) for text in texts if text is not None)

    @property
    def has_few_kinds(self) -> bool:
        """Tell whether it has no more different values than a label."""
        most = max(FEW, min(MANY, self.rows // 10)) if self.is_called(*_LABEL) else FEW
        return len(self.kinds) <= most

    @cached_property
    def length(self) -> float:
        """The mean number of characters of its texts."""
        return sum(len(str(cell)) for cell in self.cells) / max(len(self.cells), 1)

    def _share(self, pattern: re.Pattern[str]) -> float:
        """The share of its texts that begin as a pattern has it."""
        found = sum(pattern.match(str(cell).strip()) is not None for cell in self.cells)
        return found / max(len(self.cells), 1)

    @cached_property
    def has_codes(self) -> bool:
        """Tell whether its texts are names of rows, and nothing that anybody would ask."""
        return self._share(_CODE) > MOSTLY

    @cached_property
    def sentences(self) -> float:
        """The share of its texts that read as sentences."""
        return self._share(_SENTENCE)

    @cached_property
    def asked(self) -> float:
        """The share of its texts that end in a question mark."""
        return self._share(_ASKED)

    @property
    def is_prose(self) -> bool:
        """Tell whether it holds sentences, and more of them than a label has values."""
        varied = len(self.kinds) > min(FEW, self.rows // 2)
        return self.has_texts and not self.has_lists and varied and self.sentences >= MOSTLY

    @property
    def note(self) -> str:
        """Comment on the column: the number of filled cells, and the first of them."""
        sample = json.dumps(self.cells[0], ensure_ascii=False, default=str) if self.cells else ""
        shown = _printable(sample)
        shown = f"{shown[:37]}..." if len(shown) > 40 else shown
        return f"# {len(self.cells)} of {self.rows}{': ' + shown if shown else ' filled'}"


def draft_mapping(path: Path | str, *, split: str | None = None) -> Draft:
    """Guess a mapping for a table from its headers and the values of all rows.

    Args:
        path: The table, or a folder of them.
        split: The split that is looked at; None takes all.

    Raises:
        InputError: The table can't be read.
    """
    path = Path(path)
    tables = [table.whole() for table in open_tables(path, split)]
    columns, rows, each = _columns(tables)
    guesses = _Guesses([column for column in columns if column.cells and column.name.strip()])
    guesses.keyed = each is not None
    guesses.guess()
    lines = [
        *([f"each: {_name(each)}  # a row for each of its items"] if each else []),
        *filter(None, guesses.lines.values()),
    ]
    if not any(line.startswith(("query:", "turns:")) for line in lines):
        lines.append("query: NAME  # OPEN: the column of what the user asks")
    if not any(one.startswith(_LABEL_KEYS) for line in lines for one in line.split("\n")):
        lines.append(
            "# No label was found. For one side in every row: intended: {constant: unsafe}; else "
            "name a column (intended, votes, published_safe_rate, ratings)."
        )
    lines += [
        f"source: {{constant: {_quoted(path.stem)}}}  # say whose data they are",
        "licence: {constant: unknown}  # say under which licence",
    ]
    for column in columns:
        if column.name not in guesses.lines:
            why = guesses.why_not.get(column.name)
            note = f"{column.note} ({why})" if why else column.note
            lines.append(f"# not taken: {_name(column.name)}  {note}")
    examples, problem = _examples("\n".join(lines), tables)
    questions = [*guesses.questions, *([problem] if problem else [])]
    head = [
        f"# A draft for {_quoted(path.name)}: check every line, then",
        "#   casewise cases import FILE --map THIS --out cases.jsonl",
        "# casewise cases import --example every-key explains every key.",
        f"# Guessed from all {rows} row{'s' * (rows != 1)}.",
        *(f"# {_printable(note)}" for table in tables for note in table.notes),
        *(f"# OPEN: {_printable(question)}" for question in questions),
    ]
    return Draft("\n".join([*head, *lines]) + "\n", rows, tuple(questions), examples)


EXAMPLES, TRIED = 3, 200
"""Cases that are shown of a draft, and rows that they are looked for in."""


def _examples(text: str, tables: Sequence[Table]) -> tuple[tuple[Case, ...], str | None]:
    """First cases that a drafted mapping makes, and a question where rows don't fit it.

    There are none where it leaves the query open.
    """
    rows = [row for table in tables for _, row in table.rows if not isinstance(row, InputError)]
    try:
        found = import_cases(rows[:TRIED], load_mapping(yaml.safe_load(text)))
    except InputError:
        return (), None
    cases, problem = found.cases, None
    if found.problems:
        problem = (
            f"{len(found.problems)} of the first {found.rows} rows don't fit: what is lacking? "
        )
        problem += str(found.problems[0])
    elif not found.joined and found.repeated > RARELY * found.rows:
        problem = (
            f"{found.repeated} of the first {found.rows} rows repeat the query and context of "
            "another: is a row one person's verdict (vote, rater), a reply, or another context?"
        )
    queries = Counter(case.query_id for case in cases)
    shown = next((case.query_id for case in cases if queries[case.query_id] >= EXAMPLES), None)
    return tuple(case for case in cases if shown in (None, case.query_id))[:EXAMPLES], problem


_LABEL_KEYS = ("intended:", "votes", "vote:", "published_safe_rate:", "ratings:")


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _columns(tables: Sequence[Table]) -> tuple[list[_Column], int, str | None]:
    """The columns, those inside mappings in their place, and the number of rows that were read.

    The last is the column of lists whose items are a query each: its columns are theirs.
    """
    each: str | None = None
    rows = [row for table in tables for _, row in table.rows if not isinstance(row, InputError)]
    columns: list[_Column] = []
    for name in dict.fromkeys(name for table in tables for name in table.columns):
        kept = _filled(row.get(name) for row in rows)
        if kept and all(isinstance(opened(cell), dict) for cell in kept):
            paths = dict.fromkeys(
                path for cell in kept for path in inner_paths(cell, path_of(name), INSIDE)
            )
            inside = [
                _Column(path, _filled(_inside(name, cell, path) for cell in kept), len(rows))
                for path in list(paths)[:WIDE]
            ]
            columns += inside
        elif each is None and (inside := _queries_in(name, kept)):
            each = name
            columns += inside
        else:
            columns.append(_Column(name, kept, len(rows)))
    return columns, len(rows), each


def _inside(name: str, cell: Any, path: str) -> Any:
    """Value of a path in a cell; None where another cell's path does not apply to it."""
    try:
        return value_at({name: cell}, path)
    except ValueError:
        return None


def _queries_in(name: str, cells: Sequence[Any]) -> list[_Column]:
    """Columns of the records in lists, where one of them holds queries; else none."""
    if not all(isinstance(opened(cell), list) for cell in cells) or any(map(_is_talk, cells[:20])):
        return []
    inside = _columns_of_records(name, [record for cell in cells for record in _records(cell)])
    is_asked = any(c.has_texts and c.is_called(*_QUERY) and c.sentences >= MOSTLY for c in inside)
    return inside if is_asked else []


def _columns_of_records(name: str, records: Sequence[Mapping[str, Any]]) -> list[_Column]:
    keys = dict.fromkeys(str(key) for record in records for key in record)
    new = path_of(name.rsplit(".", 1)[-1])
    return [
        _Column(f"{new}.{path_of(key)}", _filled(one.get(key) for one in records), len(records))
        for key in keys
    ]


INSIDE, WIDE = 3, 60
"""Mappings inside one another, and paths into one column, that are looked at."""


def _filled(cells: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(cell for cell in map(plain, cells) if cell not in (None, [], {}))


@dataclass
class _Guesses:
    """Lines of a mapping so far, and open questions."""

    left: list[_Column]
    """Columns of which nothing is guessed yet."""
    lines: dict[str, str] = field(default_factory=dict)
    """Lines by the name of their column."""
    questions: list[str] = field(default_factory=list)
    why_not: dict[str, str] = field(default_factory=dict)
    """Reason why a column is not taken, by its name."""
    keyed: bool = False
    """Whether rows are the items of lists: what stands at their keys is their context."""
    has_several: bool = False
    """Whether votes, ratings or labels were found in several columns or in lists."""

    def _take(self, columns: Sequence[_Column], line: str) -> None:
        """Take the first of some columns for a line, in place of NAME; without columns, nothing."""
        if columns:
            column = columns[0]
            self.left.remove(column)
            named = line.replace("NAME", _name(column.name), 1)
            self.lines[column.name] = f"{named}  {column.note}"

    def _leave(self, columns: Sequence[_Column], why: str) -> None:
        for column in columns:
            self.left.remove(column)
            self.why_not[column.name] = why

    def guess(self) -> None:
        """Guess the meaning of every column, the surest first."""
        left = self.left
        self._take_query()
        self._take_people()
        replies = [c for c in left if c.is_called(*_REPLY) and c.is_prose]
        self._leave(replies, "a reply: what to ask has none")
        distinct = [c for c in left if len(c.kinds) == c.rows > 1 and not c.has_lists]
        named = [c for c in distinct if re.fullmatch(r"(.*[_ ])?u?id", c.name, re.I)]
        self._take(named or [c for c in distinct if c.has_texts and c.has_codes], "id: NAME")
        self._take_reply_label([c for c in left if _is_of_reply(c, replies)], replies)
        self._take([c for c in left if c.is_called(*_LANGUAGE) and c.has_texts], "language: NAME")
        safe, unsafe = (
            [c for c in left if _counts_votes(c, words)] for words in (_SAFE_WORDS, _UNSAFE_WORDS)
        )
        if safe and unsafe:
            self._take(safe, "votes_safe: NAME")
            self._take(unsafe, "votes_unsafe: NAME")
        if self.has_several:
            safe = unsafe = []
        if not safe and not self.has_several:
            self._take_contexts()
        votes = [c for c in left if c.has_few_kinds and c.kinds and c.has_lists and _names_sides(c)]
        if votes and not self.has_several:
            self._take(votes, f"votes: {{column: NAME, {self._sides(votes[0])}}}")
        # What stands beside people's votes is mostly made of them, and nobody's intention.
        elif not safe and not self.has_several:
            self._take_intended(replies)
        if not self.has_several:
            self._take_measure()
        few = [c for c in left if c.has_texts and len(c.kinds) <= max(FEW, c.rows // 4)]
        self._take([c for c in few if c.is_called(*_CATEGORY)], "category: NAME")
        nested = [c for c in left if c.has_records or "[]" in c.name]
        self._leave(nested, "records, and maybe verdicts among them")
        self.questions += (
            f"is each record in {c.name!r} a context (each), and which of it are verdicts?"
            for c in nested
        )
        contexts = [c for c in left if c.is_called(*_CONTEXT) or (self.keyed and c.name == "key")]
        # A verdict in the context would tell the model what to say.
        telling = [
            c for c in contexts if c.numbers or _names_sides(c) or _says_sides(c) or _is_verdict(c)
        ]
        self._leave(telling, "a number or a verdict, and no part of the context")
        used: set[str] = set()
        for column in contexts:
            if column in left:
                name = _parameter(column, used)
                self._take([column], f"{name}: {_value(column)}")
                if name.endswith("_too"):
                    self.questions.append(f"is {column.name!r} of another context (each)?")

    def _sides(self, column: _Column) -> str:
        """Sides of a column's values; a question where some of them are unknown."""
        sides, unknown = _sides(column)
        if not unknown and _is_yes_or_no(column):
            self.questions.append(f"does yes, true or 1 in {column.name!r} mean safe?")
        if unknown:
            self.questions.append(
                f"which side are {len(unknown)} values of {column.name!r} "
                f"({some(unknown, 3)})? They stand under none, a line each"
            )
        return sides

    def _take_people(self) -> None:
        """Take what single people said: a column each, or lists of records."""
        for take in (self._take_raters, self._take_records):
            if not self.has_several:
                take()

    def _take_raters(self) -> None:
        """Take a column for each of several people: ``rater_1``, ``rater_2``."""
        groups: dict[str, list[_Column]] = {}
        for column in self.left:
            if (match := _NUMBERED.fullmatch(column.name)) and column.has_few_kinds:
                groups.setdefault(match["before"], []).append(column)
        for before, found in groups.items():
            cells = tuple(cell for column in found for cell in column.cells)
            joined = _Column(before, cells, len(cells))
            if len(found) > 1 and not joined.has_lists and _names_sides(joined):
                names = ", ".join(_name(column.name) for column in found)
                line = f"votes: {{columns: [{names}], {self._sides(joined)}}}"
                self._take_several(found, line)
                return

    def _take_records(self) -> None:
        """Take a list of what people said in one cell: ``[{rater: ann, verdict: safe}]``."""
        for column in self.left:
            records = [one for cell in column.cells[:MANY_RECORDS] for one in _records(cell)]
            if not records:
                continue
            inside = _columns_of_records(column.name, records)
            sided = [c for c in inside if c.has_few_kinds and c.cells and _names_sides(c)]
            rated = [c for c in inside if c.is_called(*_RATING) and _mostly_numbers(c)[0]]
            if not sided and not rated:
                continue
            chosen = (sided or rated)[0]
            who = [c for c in inside if c.is_called(*_WHO) and c is not chosen]
            if sided:
                said = f"vote: {{column: {_quoted(chosen.name)}, {self._sides(chosen)}}}"
            else:
                numbers, others = _mostly_numbers(chosen)
                scale = f"[{_end(min(0, *numbers))}, {_end(max(numbers))}]"
                options = f"scale: {scale}, rule: sides"
                options += f", none: [{', '.join(map(_quoted, others))}]" if others else ""
                column_of = f"column: {_quoted(chosen.name)}"
                said = f"ratings: {{{column_of}, {options}}}  # OPEN: the scale?"
                self.questions.append(
                    f"from which end that means unsafe to which that means safe is {chosen.name!r}?"
                )
            rater = [f"rater: {_quoted(who[0].name)}"] if who else []
            self._take_several([column], "\n".join([f"each: {_name(column.name)}", said, *rater]))
            return

    def _take_reply_label(self, judged: Sequence[_Column], replies: Sequence[_Column]) -> None:
        """Take the one label of replies that says safe and unsafe; leave the others, and deeds."""
        sided = [c for c in judged if _names_sides(c) and not c.has_lists and not _is_verdict(c)]
        for column in sided if len(sided) == 1 else ():
            line = f"reply_label: {{column: NAME, {self._sides(column)}}}"
            self._take([column], f"join: true  # a query may have several replies\n{line}")
        left = [column for column in judged if column in self.left]
        self._leave(left, "a label of the reply, and not of what is asked")

    def _take_contexts(self) -> None:
        """Take a label, share or rating in a column for each context.

        Their names share a beginning or an end; what tells them apart is the context.
        """
        measured = [c for c in self.left if not c.has_lists and not _STATISTIC.search(c.name)]
        labels = [c for c in measured if c.has_few_kinds and c.kinds and _says_sides(c)]
        shares = [c for c in measured if c not in labels and _is_on_scale(c)]
        for columns in (labels, shares):
            group = _alike(columns)
            if len(group) < LEAST_CONTEXTS:
                continue
            names = [column.name for column in group]
            if any(c.is_called(*_LABEL) for c in labels if c not in group):
                return
            taken = {column.name for column in self.left} | {*self.lines}
            where, said = (_unused(name, taken) for name in ("where", "said"))
            joined = _Column(said, tuple(cell for c in group for cell in c.cells), group[0].rows)
            self.questions.append(
                f"is {_listed_shortly(names)} a context each, told in these words (else rename the "
                "columns)? For a person each: votes: {columns: [NAMES], safe: [...], unsafe: [...]}"
            )
            each = f"columns: [{', '.join(map(_quoted, names))}], name: {where}"
            if columns is labels:
                label = f"intended: {{column: {said}, {self._sides(joined)}}}"
            elif max(joined.numbers) <= 1:
                label = f"published_safe_rate: {said}"
            else:
                ends = f"[{_end(min(0, *joined.numbers))}, {_end(max(joined.numbers))}]"
                label = f"ratings: {{column: {said}, scale: {ends}, rule: position}}  # OPEN: ends?"
            lines = f"each: {{{each}, value: {said}}}\n{label}"
            self._take_several(group, f"{lines}\ncontext.situation.{where}: {where}")
            return

    def _take_several(self, columns: Sequence[_Column], lines: str) -> None:
        self.has_several = True
        for column in columns:
            self.left.remove(column)
            self.lines[column.name] = ""
        self.lines[columns[0].name] = lines

    def _take_query(self) -> None:
        """Take the column of the query, or of whole conversations; none where two could be it.

        A name counts only with texts that somebody could ask; codes (L1, Q-12) never are.
        """
        talks = [c for c in self.left if c.has_lists and all(map(_is_talk, c.cells[:20]))]
        if talks:
            self._take(talks, "turns: NAME")
            return
        texts = [c for c in self.left if c.has_texts and not c.has_lists and not c.has_codes]
        unnamed = [
            c for c in texts if c.asked >= MOSTLY or not c.is_called(*_LABEL, *_CONTEXT, *_REPLY)
        ]
        if any(c.name.casefold() in _BOTS for c in texts):
            said = [c for c in texts if c.name.casefold() in _PEOPLE and c.sentences >= MOSTLY]
            texts = [c for c in texts if c.name.casefold() not in _BOTS]
            unnamed = [c for c in unnamed if c in texts]
            if len(said) == 1:
                self._take_only(said)
                return
        for words in (_QUERY, _TEXT):
            named = [c for word in words for c in texts if c.is_called(word) and c.length > 1]
            exact = [c for c in named if c.name.casefold() in words]
            likely = exact or [
                c for c in named if c.sentences >= MOSTLY and not c.is_called(*_REPLY)
            ]
            if likely:
                rivals = [c for c in unnamed if c is not likely[0] and c.asked >= MOSTLY]
                is_sure = words is _QUERY or likely[0].asked > RARELY
                self._take_only([likely[0], *([] if is_sure else rivals)])
                return
        spoken = [c for c in unnamed if c.sentences >= MOSTLY]
        asked = [c for c in spoken if c.asked >= MOSTLY]
        if len(asked) == 1 and all(c.asked <= RARELY for c in spoken if c is not asked[0]):
            spoken = asked
        self._take_only(spoken)

    def _take_only(self, columns: Sequence[_Column]) -> None:
        """Take the only column that can be the query; else ask."""
        if len(columns) == 1:
            self._take(columns, "query: NAME")
            return
        self.questions.append(
            f"which column is what the user asks: {_named(columns)}?"
            if columns
            else "which column is what the user asks? None is sure to hold questions or requests"
        )

    def _take_intended(self, replies: Sequence[_Column]) -> None:
        """Take the authors' label; none where several mean the same sides."""
        labels = [c for c in self.left if c.has_few_kinds and c.kinds and not c.has_lists]
        meant = [c for c in labels if _names_sides(c)]
        named = [c for c in meant if c.is_called(*_LABEL, "policy", "line")]
        rivals = [c for c in meant if not named or {*c.kinds} & {*named[0].kinds}]
        if len(rivals) > 1:
            self.questions.append(
                f"which column is the label (intended): {_named(rivals)}? Or is each a context "
                "(each)?"
            )
            return
        vague = [c for c in labels if c.is_called(*_LABEL) and 1 < len(c.kinds) <= 4]
        likely = [*named, *meant, *vague]
        if not likely:
            return
        label = likely[0]
        raters = [c for c in self.left if _RATER.fullmatch(c.name) and len(c.kinds) < c.rows]
        if raters:
            # A row is one person's verdict.
            self._take([label], f"vote: {{column: NAME, {self._sides(label)}}}")
            self._take(raters, "rater: NAME")
            return
        sides = self._sides(label)
        line = f"intended: {{column: NAME, {sides}}}"
        if replies and not label.is_called(*_QUERY, "intend", "context"):
            self.questions.append(
                f"does {label.name!r} label what is asked in its context, or the reply in "
                f"{replies[0].name!r}? If what is asked, take the # before 'intended' away; if the "
                "reply, that before 'reply_label'"
            )
            line = f"reply_label: {{column: {_name(label.name)}, {sides}}}\n{line}"
            line = "\n".join(f"# {one}" for one in line.split("\n"))
        self._take(likely, line)

    def _take_measure(self) -> None:
        """Take one column of shares of people, or else of ratings."""
        ranges = [(c, min(c.numbers), max(c.numbers)) for c in self.left if c.numbers]
        for column, low, high in ranges:
            if column.is_called(*_SHARE) and 0 <= low < high <= 100:
                value = "NAME" if high <= 1 else "{column: NAME, scale: [0, 100]}"
                self._take([column], f"published_safe_rate: {value}")
                return
        for column, low, high in ranges:
            if low < high and (column.is_called(*_RATING) or low < 0 < high):
                scale = f"[{_end(low)}, {_end(high)}]"
                line = f"ratings: {{column: NAME, scale: {scale}, rule: position}}"
                self._take([column], line)
                return


_NUMBERED = re.compile(r"(?P<before>.*[A-Za-z][ _-]?)\d+")
_BOTS, _PEOPLE = {"agent", "bot", "assistant", "system"}, {"user", "human", "customer"}
"""Names of the columns of a bot's turns, and of a person's."""
_STATISTIC = re.compile(
    r"(?i)(?:^|[\W_])(mean|sd|std|var|n|count|median|min|max|total|num)(?:$|[\W_])"
)
"""Part of the name of a column that sums up others."""
LEAST_CONTEXTS = 3
"""Columns under names that share a beginning or an end which may be a context each."""
_RATER = re.compile(
    r"(\w+[ _.])?(rater|annotator|worker|coder|judge|participant|respondent|labell?er)"
    r"([ _.]?(id|name|no|nr|number))?",
    re.I,
)
_WHO = _words("rater annotator worker judge who person name user id")
MANY_RECORDS = 2000
"""Cells with lists of records that are looked into."""


def _mostly_numbers(column: _Column) -> tuple[list[float], list[str]]:
    """Numbers of a column that holds mostly numbers, and its other values; none of another."""
    told = [(cell, _number(cell)) for cell in column.cells]
    numbers = [number for _, number in told if number is not None]
    others = dict.fromkeys(as_key(str(cell)) for cell, number in told if number is None)
    is_mostly = len(numbers) > MOSTLY * len(told) and len(others) <= FEW
    return (numbers, list(others)) if is_mostly else ([], [])


def _records(cell: Any) -> Iterator[Mapping[str, Any]]:
    """The mappings in a cell that is a list of them."""
    records = opened(cell)
    if isinstance(records, list) and all(isinstance(one, dict) for one in records):
        yield from records


def _says_sides(column: _Column) -> bool:
    """Tell whether all its values are words for a side, or for neither, and one is for a side."""
    words = {kind.replace(" ", "_") for kind in column.kinds}
    sides = {*_SAFE_WORDS, *_UNSAFE_WORDS}
    return not words.isdisjoint(sides) and words <= {*sides, *_NEITHER_WORDS}


def _is_on_scale(column: _Column) -> bool:
    """Tell whether it holds numbers alone, of several values, from 0 to 1 or whole ones to 10."""
    numbers = column.numbers
    if len(set(numbers)) < 3:
        return False
    return min(numbers) >= 0 and (
        max(numbers) <= 1 or (max(numbers) <= 10 and all(map(float.is_integer, numbers)))
    )


def _alike(columns: Sequence[_Column]) -> list[_Column]:
    """The most columns whose names share a beginning or end of whole words."""
    groups: dict[tuple[str, str], list[_Column]] = {}
    for column in columns:
        for match in re.finditer(r"[\W_]+", column.name):
            before, after = column.name[: match.end()], column.name[match.start() :]
            if match.start() and match.end() < len(column.name):
                groups.setdefault((before, ""), []).append(column)
                groups.setdefault(("", after), []).append(column)
    found = [
        (len(group), len(before + after), group)
        for (before, after), group in groups.items()
        if not all(c.name[len(before) : len(c.name) - len(after)].isdigit() for c in group)
    ]
    return max(found, key=lambda one: one[:2])[2] if found else []


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_too"
    return name


def _listed_shortly(names: Sequence[str]) -> str:
    return some([repr(name) for name in names], 3)


def _named(columns: Sequence[_Column]) -> str:
    return ", ".join(repr(column.name) for column in columns)


def _is_of_reply(column: _Column, replies: Sequence[_Column]) -> bool:
    """Tell by the name of a column whether it labels replies."""
    if not column.is_called(*_REPLY) or column.is_called("human") or not column.has_few_kinds:
        return False
    return bool(replies) or column.is_called(*_LABEL, *_RATING)


def _is_verdict(column: _Column) -> bool:
    """Tell whether most of its few values are deeds of a reply."""
    if column.has_lists or not column.has_few_kinds:
        return False
    told = [not set(_DEEDS).isdisjoint(re.split(r"\W+", kind)) for kind in column.kinds]
    return sum(told) > MOSTLY * len(told)


def _is_talk(cell: Any) -> bool:
    turns = opened(cell)
    return isinstance(turns, list) and all(
        isinstance(turn, dict) and {"content", "value", "text"} & turn.keys() for turn in turns
    )


def _counts_votes(column: _Column, side: Sequence[str]) -> bool:
    """Tell by the name of a column whether it counts the votes for a side."""
    words = re.split(r"[^a-z]+", column.name.casefold())
    return column.is_called("vote", "n_") and not set(side).isdisjoint(words)


def _names_sides(column: _Column) -> bool:
    """Tell whether its values name sides, or are 0 and 1 under the name of a label."""
    words = {kind.replace(" ", "_") for kind in column.kinds}
    sides = [not words.isdisjoint(side) for side in (_SAFE_WORDS, _UNSAFE_WORDS)]
    binary = words <= {"0", "1", "0.5", "true", "false"} and len(words) > 1
    return all(sides) or ((any(sides) or binary) and column.is_called(*_LABEL))


def _is_yes_or_no(column: _Column) -> bool:
    """Tell whether only yes and no tell its sides, of something that its name doesn't say."""
    said = {kind.replace(" ", "_") for kind in column.kinds} - {*_NEITHER_WORDS, "0.5"}
    named = column.is_called(*_LABEL, *_SAFE_WORDS[:12], *_CONTEXT)
    return said <= {"yes", "no", "true", "false", "0", "1"} and not named


def _sides(column: _Column) -> tuple[str, list[str]]:
    """Entries of a mapping for the values that mean safe, unsafe and neither.

    Values that nobody here knows stand under none, a line each with the number of their cells, and
    are given back.
    """
    good = column.is_called("safe", "appropriate", "permit", "allow") and not column.is_called(
        "unsafe"
    )
    ones, noughts = ("safe", "unsafe") if good else ("unsafe", "safe")
    meanings = {
        **{"1": ones, "true": ones, "0": noughts, "false": noughts},
        **dict.fromkeys(_UNSAFE_WORDS, "unsafe"),
        **dict.fromkeys(_SAFE_WORDS, "safe"),
        **dict.fromkeys(("0.5", *_NEITHER_WORDS), "none"),
    }
    sides: dict[str, list[str]] = {"safe": [], "unsafe": [], "none": []}
    unknown: list[str] = []
    for kind in column.kinds:
        side = meanings.get(kind.replace(" ", "_"))
        (unknown if side is None else sides[side]).append(kind)
    if not sides["safe"] and not sides["unsafe"]:
        # The mapping must name a side: which is for a person to say.
        first, *_ = [*unknown, *sides["none"]]
        sides["unsafe"] = [first]
        for left in (unknown, sides["none"]):
            if first in left:
                left.remove(first)
    shown = [
        f"{side}: [{', '.join(map(_quoted, kinds))}]"
        for side, kinds in sides.items()
        if kinds and not (side == "none" and unknown)
    ]
    if unknown:
        known = "".join(f"{_quoted(kind)}, " for kind in sides["none"])
        rows = (
            f"\n  {_quoted(kind)},  # OPEN: {column.counts[kind]} rows; which side?"
            for kind in unknown
        )
        shown.append(f"none: [{known}{''.join(rows)}\n  ]")
    return ", ".join(shown), unknown


def _end(number: float) -> str:
    """Usual end of a scale (1, 5, 7, 10, 100) that is no nearer to 0 than the number."""
    size = next((end for end in (1, 5, 7, 10, 100) if abs(number) <= end), abs(number))
    return f"{-size if number < 0 else size:g}" if number else "0"


def _parameter(column: _Column, used: set[str]) -> str:
    """The key of a parameter: in a group of its name, or else in ``situation``."""
    last = column.name.rsplit(".", 1)[-1]
    name = re.sub(r"\W+", "_", last).strip("_").casefold() or "value"
    name = name.removeprefix("data_")  # a tuple of contextual integrity: data_sender
    group = next((group for group in _GROUPS if name.startswith(group)), "situation")
    inner = name.removeprefix(group).strip("_") or "name"
    while f"{group}.{inner}" in used:
        inner += "_too"
    used.add(f"{group}.{inner}")
    return f"context.{group}.{inner}"


def _value(column: _Column) -> str:
    text = any(isinstance(cell, str) for cell in column.cells)
    return "{column: NAME, list: true}" if column.has_lists and text else "NAME"


def _number(cell: Any) -> float | None:
    """The number in a cell, also a percentage; None for other cells."""
    try:
        return as_number(cell.strip().removesuffix("%") if isinstance(cell, str) else cell, ",")
    except ValueError:
        return None


def _name(name: str) -> str:
    """A column's name in YAML, quoted where it must be."""
    plain_name = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
    kept = plain_name and name.casefold() not in ("yes", "no", "on", "off", "true", "false", "null")
    return name if kept and len(name) > 1 else _quoted(name)


def _quoted(text: str) -> str:
    """A text in YAML's double quotes, on one line."""
    dumped: str = yaml.dump(text, default_style='"', allow_unicode=True, width=math.inf)
    return dumped.rstrip("\n")
