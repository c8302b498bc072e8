"""Draft a mapping from a table: a line for each column that is known, a question for each doubt.

Where a table can be read in two ways, nobody guesses: the draft asks, and an answer settles it.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from casewise.cases.cells import as_key, as_number, as_text, items, opened, plain
from casewise.cases.importing import import_cases, unfold
from casewise.cases.mapping import Each, inner_paths, load_mapping, path_of, value_at
from casewise.cases.model import Case
from casewise.errors import InputError, some
from casewise.files import Table, open_tables


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
    *(*_GROUPS, "who asks"),
    *_words(
        "context parent history background profile user role policy kontext rolle zweck contexte "
        "rôle contexto propósito 上下文 背景 platform relationship purpose system situation asker "
        "deployment before where channel story vignette place scenario setting 场景 contesto"
    ),
)
_LANGUAGE = _words("lang sprache idioma 语言")
_SAFE = _words(
    "safe permit permitted allow allowed ok okay benign fine appropriate acceptable harmless good "
    "comply answer non-toxic not_toxic sicher erlaubt zulässig harmlos sûr permis autorisé seguro "
    "permitido 安全"
)
_UNSAFE = _words(
    "unsafe prohibit prohibited disallow disallowed harmful malicious inappropriate unacceptable "
    "toxic bad refuse forbidden offensive decline unsicher verboten unzulässig schädlich dangereux "
    "interdit inseguro prohibido peligroso 不安全"
) + tuple(f"not_{word}" for word in _SAFE)
_YES, _NO = _words("yes true 1 ja oui sí 是"), _words("no false 0 nein non 否")
_NEITHER = _words(
    "none unsure unclear unknown neutral neither n/a na not_applicable not_sure ambiguous both "
    "mixed undecided unklar unbekannt keine indécis inconnu desconocido neutro 不确定 未知 0.5"
)
"""Values of a label that mean neither side."""
_GOOD = re.compile(
    r"(?i)(?<!un)(?<!in)(?<!not.)(safe|appropri|permi|allow|accept|benign|harmless|comply|sicher|"
    r"erlaub|zuläss|autoris|segur)|^(ok|okay|fine|good)$|安全"
)
_BAD = re.compile(
    r"(?i)unsafe|harm(?!less)|tox|danger|refus|prohibit|forbid|inappr|unaccept|malic|risk|sever|"
    r"not.safe|unsicher|verbot|schäd|interdit|insegur|peligr|不安全"
)
"""Names of columns that say which side yes, true, 1 or a high number is."""
_REPLY = _words("response reply completion output antwort réponse respuesta 回复")
"""Names of a model's reply, or of a label of it."""
_WORD_OF_PEOPLE = _words(
    "reason rationale explanation justification comment remark feedback notes begründung raison"
)
"""Names of what people wrote about a case."""
_DEED = re.compile(r"\b(answers?|compl(y|ies)|help|part(ial|ially|ly)|refus(e|es|al)|declines?)\b")
"""Verdicts on a reply: a column of these is a label, whatever its name."""
_RATER = re.compile(
    r"(?i)(.*[_ .])?(rater|annotator|worker|coder|judge|participant|respondent|labell?er)"
    r"([_ .]?(id|name|no|nr|number))?"
)
_ID = re.compile(r"(?i)(.*[_ .])?(u|hit)?id|key|ref|nr|no|number|.*[_ ]no")
_CODE = re.compile(
    r"(?:(?=[^\d]*\d)[A-Za-z0-9]+(?:[-_./#: ]?[A-Za-z0-9]*\d[A-Za-z0-9]*)*|[0-9a-f-]{16,})\Z"
)
"""Name of a row: L1, Q-12, case 7."""
_SENTENCE = re.compile(
    r"\S+\s+\S+\s+\S|.*[.?!。\uff1f\uff01…][\"'”)]*\s*\Z|[^\x00-\u2fff]{6}", re.S
)
"""Three words and more, the punctuation that ends a sentence, or letters that need no spaces."""
_ASKED = re.compile(r".*[?\uff1f][\"'”)]*\Z", re.S)
_NUMBERED = re.compile(r"(?P<before>.*[A-Za-z])([ _-]?\d+|[ _-][A-Za-z])")
_IN_LANGUAGE = re.compile(r"(?i)(.+)[_ .-]\(?(en|de|fr|es|zh|it|pt|nl|ja|ru|ar|hi)\)?")
_FEW = 12
"""Different values that a label or category may have at most."""
_MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class Question:
    """A doubt that a person settles."""

    text: str
    answers: tuple[str, ...] = ()
    """Answers that can be given; none where the mapping has to be edited."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted mapping."""

    text: str
    """YAML with comments."""
    rows: int
    """Number of rows read."""
    questions: tuple[Question, ...]
    """Questions that are open."""
    examples: tuple[Case, ...] = ()
    """First cases that the draft makes, of one query where it has several contexts."""


@dataclass(frozen=True)
class _Column:
    """Contents of one column."""

    name: str
    values: tuple[Any, ...]
    """A value a row; None where it is empty."""

    def is_called(self, *words: str) -> bool:
        """Tell whether its name contains one of the words."""
        return any(word in self.name.casefold() for word in words)

    @cached_property
    def cells(self) -> tuple[Any, ...]:
        """Its filled cells."""
        return tuple(value for value in self.values if value is not None)

    @cached_property
    def lists(self) -> bool:
        """Whether its cells are lists, also printed ones."""
        return all(isinstance(opened(cell), list) for cell in self.cells)

    @cached_property
    def texts(self) -> bool:
        """Whether its cells are texts, no numbers and no names of rows."""
        is_text = (isinstance(cell, str) and _number(cell) is None for cell in self.cells)
        return all(is_text) and not self.lists and self.share(_CODE) <= _MOSTLY

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Its cells as numbers; none unless all are."""
        numbers = tuple(number for cell in self.cells if (number := _number(cell)) is not None)
        return numbers if len(numbers) == len(self.cells) else ()

    @cached_property
    def kinds(self) -> Mapping[str, int]:
        """Number of cells, or of items of their lists, by value."""
        texts = (as_text(item) for cell in self.cells for item in items(cell, None))
        return Counter(as_key(text) for text in texts if text is not None)

    @property
    def few(self) -> bool:
        """Whether it has no more different values than a label."""
        most = max(_FEW, min(40, len(self.values) // 10)) if self.is_called(*_LABEL) else _FEW
        return 0 < len(self.kinds) <= most

    def share(self, pattern: re.Pattern[str]) -> float:
        """Share of its texts that begin as a pattern has it."""
        matches = sum(pattern.match(str(cell).strip()) is not None for cell in self.cells)
        return matches / max(len(self.cells), 1)

    @cached_property
    def sides(self) -> dict[str, list[str]]:
        """Its values by what they mean: ``safe``, ``unsafe``, ``none``, ``yes``, ``no``, ``?``."""
        meanings = {"yes": _YES, "no": _NO, "none": _NEITHER, "unsafe": _UNSAFE, "safe": _SAFE}
        by_word = {word: side for side, words in meanings.items() for word in words}
        sides: dict[str, list[str]] = defaultdict(list)
        for kind in self.kinds:
            sides[by_word.get(kind.replace(" ", "_"), "?")].append(kind)
        return sides

    @property
    def is_label(self) -> bool:
        """Whether its values are sides, or one is under the name of a label."""
        sides, named = {*self.sides}, self.is_called(*_LABEL)
        words = bool(sides & {"safe", "unsafe"}) or "?" not in sides
        both = bool(sides & {"safe", "yes"}) and bool(sides & {"unsafe", "no"}) and words
        is_id = _ID.fullmatch(self.name) is not None
        return self.few and not is_id and (both or (named and words and sides != {"none"}))

    @property
    def is_kind(self) -> bool:
        """Whether its values are kinds of something, and no sides."""
        return self.few and not (self.numbers or self.lists or self.is_label)

    @property
    def is_verdict(self) -> bool:
        """Whether it holds numbers, sides, deeds of a reply, or what people wrote."""
        sides = {*self.sides}
        says_sides = self.few and "?" not in sides and sides != {"none"}
        deeds = self.few and sum(bool(_DEED.search(kind)) for kind in self.kinds)
        is_said = self.is_called(*_WORD_OF_PEOPLE) or _RATER.fullmatch(self.name) is not None
        is_deed = bool(deeds) and deeds > _MOSTLY * len(self.kinds)
        return bool(self.numbers) or self.is_label or says_sides or is_deed or is_said

    @property
    def note(self) -> str:
        """Comment on the column: the number of filled cells, and the first of them."""
        sample = json.dumps(self.cells[0], ensure_ascii=False, default=str) if self.cells else ""
        shown = _printable(sample)
        shown = f"{shown[:37]}..." if len(shown) > 40 else shown
        return f"# {len(self.cells)} of {len(self.values)}{': ' + shown if shown else ''}"


def draft_mapping(
    path: Path | str, *, split: str | None = None, answers: Sequence[str] = ()
) -> Draft:
    """Draft a mapping for a table from its headers and the values of all rows.

    Args:
        path: The table, or a folder of them.
        split: The split that is looked at; None takes all.
        answers: Answers to its questions.

    Raises:
        InputError: The table can't be read.
    """
    path = Path(path)
    tables = [table.whole() for table in open_tables(path, split)]
    read = [row for table in tables for _, row in table.rows]
    rows = [row for row in read if isinstance(row, dict)]
    if not rows:
        bad = next((row for row in read if isinstance(row, InputError)), None)
        raise bad or InputError("no row below the names of the columns", path)
    each, flat = _unfolded(rows)
    guesses = _Guesses(list(_columns(flat)), answers)
    guesses.each += [_quoted(one) for one in each]
    guesses.guess()
    lines = guesses.mapping()
    lines += [
        f"source: {{constant: {_quoted(path.stem)}}}  # say whose data they are",
        "licence: {constant: unknown}  # say under which licence",
    ]
    examples = guesses.check("\n".join(lines), rows)
    head = [
        f"# A draft for {_quoted(path.name)}: check every line, then",
        "#   casewise cases import FILE --map THIS --out cases.jsonl",
        "# casewise cases import --example every-key explains every key.",
        f"# Guessed from all {len(rows)} row{'s' * (len(rows) != 1)}.",
        *(f"# {_printable(note)}" for table in tables for note in table.notes),
        *(f"# OPEN: {_printable(question.text)}" for question in guesses.questions),
    ]
    left = [f"# not taken: {_name(one.name)}  {one.note}" for one in guesses.left]
    text = "\n".join([*head, *lines, *left]) + "\n"
    return Draft(text, len(rows), tuple(guesses.questions), examples)


def _unfolded(rows: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """Columns of lists of records, each within the one before, and a row for each record."""
    each: list[str] = []
    while len(each) < 3:
        name = next((one.name for one in _columns(rows) if _is_of_records(one, each)), None)
        if name is None:
            break
        each.append(name)
        table = Table(Path("rows"), (), [(str(n), row) for n, row in enumerate(rows)])
        rows = [row for _, row in unfold(table, Each(column=name)) if isinstance(row, dict)]
    return each, rows


def _is_of_records(column: _Column, each: Sequence[str]) -> bool:
    """Tell whether its cells are lists of records that are no messages of a conversation."""
    inside = [f"{one.rsplit('.', 1)[-1]}." for one in each]
    if any(not column.name.startswith(one) for one in inside[-1:]):
        return False
    for cell in map(opened, column.cells):
        records = list(cell.values()) if isinstance(cell, dict) else cell
        if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
            return False
    return bool(column.cells) and not _is_talk(column)


def _is_talk(column: _Column) -> bool:
    """Tell whether its cells are conversations."""
    talks = [turns for cell in column.cells if isinstance(turns := opened(cell), list)]
    turns = [turn for talk in talks for turn in talk]
    return len(talks) == len(column.cells) > 0 and all(
        isinstance(turn, dict)
        and {"content", "value", "text"} & {*turn}
        and {"role", "from", "speaker"} & {*turn}
        for turn in turns
    )


def _columns(rows: Sequence[Mapping[str, Any]]) -> Iterator[_Column]:
    """Columns that hold something; of mappings, a column for each path to a value."""
    for name in dict.fromkeys(name for row in rows for name in row if name[:1] != "@"):
        values = tuple(_filled(row.get(name)) for row in rows)
        held = [opened(value) for value in values if value is not None]
        if not held:
            continue
        if all(isinstance(one, dict) for one in held) and not _is_by_key(held):
            paths = dict.fromkeys(path for one in held for path in inner_paths(one, path_of(name)))
            for path in [one for one in paths if "[]" not in one][:60]:
                yield _Column(path, tuple(_filled(_inside(row, path)) for row in rows))
            lists = dict.fromkeys(path.split("[]")[0] for path in paths if "[]" in path)
            for path in lists:
                yield _Column(path, tuple(_filled(_inside(row, path)) for row in rows))
        elif name.strip():
            yield _Column(name, values)


def _is_by_key(held: Sequence[Any]) -> bool:
    """Tell whether mappings hold records alike under keys of their own."""
    if any(not one or not all(isinstance(v, dict) for v in one.values()) for one in held):
        return False
    keys = {key for one in held for key in one}
    return len({frozenset(v) for one in held for v in one.values()}) == 1 and not keys & {*_GROUPS}


def _filled(value: Any) -> Any:
    value = plain(value)
    return None if value in ([], {}) else value


def _inside(row: Mapping[str, Any], path: str) -> Any:
    try:
        return value_at(row, path)
    except ValueError:
        return None


_Rule = tuple[str, Callable[[_Column], bool]]
RULES: tuple[_Rule, ...] = (
    ("rater: {}", lambda c: _RATER.fullmatch(c.name) is not None and len(c.kinds) > 1),
    (
        "rater: {}",
        lambda c: re.fullmatch(r"\w+\.(who|by|name|id)", c.name) is not None and not c.few,
    ),
    ("language: {}", lambda c: c.is_called(*_LANGUAGE) and c.texts and c.few),
    ("category: {}", lambda c: c.is_called(*_CATEGORY) and c.is_kind),
)
"""Line of a mapping, and which column it takes where a single look tells; the first that is."""


@dataclass
class _Guesses:
    """Lines of a mapping so far, and open questions."""

    left: list[_Column]
    """Columns of which nothing is known yet."""
    answers: Sequence[str]
    lines: dict[str, str] = field(default_factory=dict)
    """Lines by the name of their column."""
    each: list[str] = field(default_factory=list)
    """Columns of lists of records, and columns that are contexts or sides."""
    questions: list[Question] = field(default_factory=list)

    def ask(self, text: str, *answers: str) -> str | None:
        """The answer that was given to a question; else it is open."""
        given = next((answer for answer in self.answers if answer in answers), None)
        if given is None:
            self.questions.append(Question(text, answers))
        return given

    def take(self, column: _Column, line: str) -> None:
        """Take a column for a line, in place of {}."""
        self.left.remove(column)
        self.lines[column.name] = f"{line.replace('{}', _name(column.name), 1)}  {column.note}"

    def take_several(self, columns: Sequence[_Column], line: str) -> None:
        """Take columns that one line names."""
        for column in columns:
            self.left.remove(column)
        self.lines[columns[0].name] = line

    def has(self, *keys: str) -> bool:
        """Tell whether a line begins with one of the keys."""
        lines = (line for own in self.lines.values() for line in own.split("\n"))
        return any(line.partition(":")[0] in keys for line in lines)

    def mapping(self) -> list[str]:
        """Lines of the mapping."""
        each = [f"each: [{', '.join(self.each)}]"] if self.each else []
        lines = [*each, *filter(None, self.lines.values())]
        if not self.has("vote", "ratings"):
            lines = [line for line in lines if not line.startswith("rater:")]
        if not self.has("query", "turns", "cases"):
            lines.append("query: NAME  # OPEN: the column of what the user asks")
        labels = ("intended", "reply_label", "vote", "votes", "votes_safe")
        if not self.has(*labels, "published_safe_rate", "ratings"):
            lines.append(
                "# No label was found. For one side in every row: intended: {constant: unsafe}"
            )
        return lines

    def guess(self) -> None:
        """Look at every column, the surest first."""
        self._take_query()
        replies = [one for one in self.left if one.is_called(*_REPLY) and _is_prose(one)]
        self.left = [one for one in self.left if one not in replies]
        for line, is_it in RULES:
            column = next((one for one in self.left if is_it(one)), None)
            if column is not None and not self.has(line.partition(":")[0]):
                self.take(column, line)
        self._take_labels(replies)
        if not self.has("intended", "vote", "votes", "votes_safe"):
            self._take_measures()
        self._take_contexts()
        self._take_ids()
        self.left += replies

    # --- what is asked ------------------------------------------------------------------------

    def _take_query(self) -> None:
        """Take the column of the query, or of whole conversations.

        A name counts only with texts that somebody could ask; codes (L1, Q-12) never are.
        """
        if talks := [one for one in self.left if _is_talk(one)]:
            self.take(talks[0], "turns: {}")
            return
        texts = [one for one in self.left if one.texts and one.share(_SENTENCE) >= _MOSTLY]
        known = [one for one in self.left if one.texts and one.name.casefold() in _QUERY]
        if not known:
            known = [one for one in texts if one.is_called(*_QUERY) and not one.is_called(*_REPLY)]
        likely = known[:1] if not self._languages(known) else known
        if not likely:
            unnamed = [
                one
                for one in texts
                if one.share(_ASKED) >= _MOSTLY
                or not one.is_called(*_LABEL, *_CONTEXT, *_REPLY, *_WORD_OF_PEOPLE, "agent", "bot")
            ]
            named = [one for one in unnamed if one.is_called(*_TEXT, "user", "customer", "human")]
            asked = [one for one in unnamed if one.share(_ASKED) >= _MOSTLY]
            likely = asked or named or unnamed
        if len(likely) > 1 and (codes := self._languages(likely)):
            self._take_languages(likely, codes)
            return
        names = [one.name for one in likely]
        chosen: str | None = names[0] if len(names) == 1 else None
        if len(names) > 1:
            chosen = self.ask("Which column is what the user asks?", *names)
        elif not names:
            every = [one.name for one in self.left if one.texts and not one.is_label]
            chosen = self.ask(
                "Which column is what the user asks? None is sure to hold it.", *every
            )
        for column in [one for one in self.left if one.name == chosen]:
            self.take(column, "query: {}")

    def _languages(self, columns: Sequence[_Column]) -> dict[str, str]:
        """Names of columns by language, where they differ in it alone."""
        found = [_IN_LANGUAGE.fullmatch(one.name) for one in columns]
        bases = {match[1] for match in found if match}
        if len(columns) < 2 or len(bases) != 1 or not all(found):
            return {}
        return {match[2].lower(): match[0] for match in found if match}

    def _take_languages(self, columns: Sequence[_Column], codes: Mapping[str, str]) -> None:
        """Take one of several languages, or a case for each."""
        text = f"The table has {' and '.join(codes)}: which language is asked, or each?"
        chosen = self.ask(text, *codes, "each")
        others = [one for one in self.left if one not in columns and one.texts]
        parts = {}
        for code, name in codes.items():
            match = _IN_LANGUAGE.fullmatch
            own = [one for one in others if (m := match(one.name)) and m[2].lower() == code]
            keys = [f"query: {_name(name)}", f"language: {{constant: {code}}}"]
            for one in own if not any(one.is_verdict for one in own) else ():
                base = match(one.name)
                keys.append(f"{_parameter(base[1] if base else one.name)}: {_name(one.name)}")
            parts[code] = (keys, own)
        if chosen == "each":
            entries = (f"- {{{', '.join(keys)}}}" for keys, _ in parts.values())
            self.lines["cases"] = "\n".join(["cases:", *entries])
        elif chosen is not None:
            self.lines["cases"] = "\n".join(parts[chosen][0])
        taken = {*codes.values(), *(one.name for _, own in parts.values() for one in own)}
        if chosen is not None:
            kept = (
                taken if chosen == "each" else {codes[chosen], *(c.name for c in parts[chosen][1])}
            )
            self.left = [one for one in self.left if one.name not in kept]

    # --- labels -------------------------------------------------------------------------------

    def _take_labels(self, replies: Sequence[_Column]) -> None:
        """Take counts of votes, one-hot sides, people's verdicts, or the one label."""
        by_side = {one.name.casefold().replace(" ", "_"): one for one in self.left}
        counted = {
            side: [one for one in self.left if _counts(one, words)]
            for side, words in (("safe", (*_SAFE, *_YES)), ("unsafe", (*_UNSAFE, *_NO)))
        }
        if counted["safe"] and counted["unsafe"]:
            for side, columns in counted.items():
                self.take(columns[0], f"votes_{side}: {{}}")
            return
        hot = [one for name, one in by_side.items() if name in (*_SAFE, *_UNSAFE, *_NEITHER)]
        if len(hot) > 1 and _is_one_hot(hot):
            names = ", ".join(_quoted(one.name) for one in hot)
            yes = [kind for kind in _YES if any(kind in one.kinds for one in hot)]
            sides = _sides(_Column("is", tuple(one.name for one in hot)), {})
            self.each.append(f"{{columns: [{names}], name: side, value: is}}")
            where = f"where: {{is: [{', '.join(map(_quoted, yes))}]}}"
            self.take_several(hot, f"{where}\nintended: {{column: side, {sides}}}")
            return
        labels = [one for one in self.left if one.is_label and not one.lists]
        kinds = {*_NEITHER, *(kind for one in labels for kind in one.kinds)}
        alike = [one for one in self.left if one.kinds and {*one.kinds} <= kinds]
        labels = self._of_people() or (alike if labels else [])
        if lists := [one for one in self.left if one.is_label and one.lists]:
            self.take(lists[0], f"votes: {{column: {{}}, {self._sided(lists[0])}}}")
            return
        of_reply = [one for one in labels if one.is_called(*_REPLY) and not one.is_called("human")]
        if of_reply and (replies or len(labels) == len(of_reply)):
            if len(of_reply) == 1:
                line = f"reply_label: {{column: {{}}, {self._sided(of_reply[0])}}}"
                self.take(of_reply[0], f"join: true  # a query may have several replies\n{line}")
            labels = [one for one in labels if one not in of_reply]
        if len(labels) > 1:
            self._take_one_of(labels, replies)
        elif labels and self.has("rater"):
            self.take(labels[0], f"vote: {{column: {{}}, {self._sided(labels[0])}}}")
        elif labels:
            self._take_label(labels[0], replies)

    def _of_people(self) -> list[_Column]:
        """Columns of the verdicts of people who are told apart by a number or a letter."""
        groups: dict[str, list[_Column]] = defaultdict(list)
        for one in self.left:
            if (match := _NUMBERED.fullmatch(one.name)) and one.few:
                groups[match["before"]].append(one)
        labels = (group for group in groups.values() if len(group) > 1 and _joined(group).is_label)
        return next(labels, [])

    def _take_label(self, label: _Column, replies: Sequence[_Column]) -> None:
        """Take the authors' label, unless it is one of the reply beside it."""
        key = "intended"
        if replies and not label.is_called(*_QUERY, "intend", "context"):
            text = f"Does {label.name!r} label what is asked, or the reply in {replies[0].name!r}?"
            key = {"case": "intended", "reply": "reply_label"}.get(
                self.ask(text, "case", "reply") or "", ""
            )
        if key:
            join = "join: true  # a query may have several replies\n" * (key == "reply_label")
            self.take(label, f"{join}{key}: {{column: {{}}, {self._sided(label)}}}")

    def _take_one_of(self, labels: Sequence[_Column], replies: Sequence[_Column]) -> None:
        """Take several columns of sides: people by their names, else contexts, or one of them."""
        joined, names = _joined(labels), [one.name for one in labels]
        chosen: str | None = "people"
        if not all(
            re.match(r"(?i)(.*[ _])?(rater|annot|worker|coder|judge|vote)", one) for one in names
        ):
            listed = some(list(map(repr, names)), 4)
            text = f"Is each of {listed} a context, a person, or one the label?"
            chosen = self.ask(text, "contexts", "people", *names, "no label")
        listed = ", ".join(map(_quoted, names))
        if chosen == "people":
            self.take_several(labels, f"votes: {{columns: [{listed}], {self._sided(joined)}}}")
        elif chosen == "contexts":
            self.each.append(f"{{columns: [{listed}], name: where, value: said}}")
            label = f"intended: {{column: said, {self._sided(joined)}}}"
            self.take_several(labels, f"{label}\ncontext.where: where")
        elif chosen in names:
            self._take_label(next(one for one in labels if one.name == chosen), replies)

    def _sided(self, column: _Column) -> str:
        """Sides of a column's values; a question where a reading is open."""
        sides, means = column.sides, {"yes": "safe", "no": "unsafe"}
        if sides["yes"] or sides["no"]:
            good, bad = _GOOD.search(column.name), _BAD.search(column.name)
            side: str | None = "safe" if good and not bad else "unsafe" if bad else None
            if side is None and not (sides["safe"] or sides["unsafe"]):
                yes = (sides["yes"] or ["yes"])[0]
                text = f"In {column.name!r}, does {yes!r} mean safe or unsafe?"
                answer = self.ask(text, f"{yes}=safe", f"{yes}=unsafe")
                side = (answer or "").rpartition("=")[2] or None
            if side == "unsafe":
                means = {"yes": "unsafe", "no": "safe"}
        if sum(column.kinds[one] for one in sides["?"]) > 0.2 * len(column.cells):
            unknown = some(list(map(repr, sides["?"])), 4)
            text = f"In {column.name!r}, which side are {unknown}? (none: no label)"
            self.ask(
                text, "none", *(f"{one}={to}" for one in sides["?"] for to in ("safe", "unsafe"))
            )
        told = (answer.rpartition("=") for answer in self.answers)
        return _sides(column, means | {value: side for value, _, side in told if value})

    def _take_measures(self) -> None:
        """Take a rating a person, or one column of shares of people or of ratings."""
        rated = [one for one in self.left if len({*one.numbers}) > 1]
        groups: dict[str, list[_Column]] = defaultdict(list)
        for one in rated:
            if match := _NUMBERED.fullmatch(one.name):
                groups[match["before"]].append(one)
        several = next((group for group in groups.values() if len(group) > 1), None)
        share = next(
            (one for one in rated if one.is_called(*_SHARE) and min(one.numbers) >= 0), None
        )
        if several is not None:
            joined = _joined(several)
            names = ", ".join(_quoted(one.name) for one in several)
            if ends := self._ends(joined):
                self.take_several(several, f"ratings: {{columns: [{names}], {ends}, rule: sides}}")
        elif share is not None and max(share.numbers) <= 100:
            if ends := self._ends(share, 1 if max(share.numbers) <= 1 else 100):
                self.take(share, f"published_safe_rate: {{column: {{}}, {ends}}}")
        elif rating := [one for one in rated if one.is_called(*_RATING)]:
            rule = "sides" if self.has("rater") else "position"
            if ends := self._ends(rating[0]):
                self.take(rating[0], f"ratings: {{column: {{}}, {ends}, rule: {rule}}}")

    def _ends(self, column: _Column, high: float | None = None) -> str | None:
        """Scale of a column from its unsafe end to its safe end, as its name or an answer says."""
        low, top = min(column.numbers), max(column.numbers)
        high = high or next((end for end in (1, 5, 7, 10, 100) if top <= end), top)
        low = 0 if low >= 0 and (high in (10, 100) or low < 1) else 1 if low >= 0 else -high
        safe = "high" if _GOOD.search(column.name) else "low" if _BAD.search(column.name) else None
        if safe is None:
            text = f"In {column.name!r} ({low:g} to {high:g}), which end means safe?"
            ends = {f"{column.name}: {end}": end for end in ("high", "low", "no rating")}
            safe = ends.get(self.ask(text, *ends) or "")
        unsafe_to_safe = {"high": (low, high), "low": (high, low)}.get(safe or "")
        return f"scale: [{unsafe_to_safe[0]:g}, {unsafe_to_safe[1]:g}]" if unsafe_to_safe else None

    # --- contexts and ids ---------------------------------------------------------------------

    def _take_contexts(self) -> None:
        """Take what is said of the situation; a verdict in it would tell the model what to say."""
        used = {
            line.partition(":")[0] for lines in self.lines.values() for line in lines.split("\n")
        }
        inside = tuple(f"{one.strip(chr(34)).rsplit('.', 1)[-1]}." for one in self.each[:1])
        for column in list(self.left):
            is_told = column.is_called(*_CONTEXT) or (inside and column.name.startswith(inside))
            is_id = _ID.fullmatch(column.name) or column.share(_CODE) > _MOSTLY
            if is_told and not column.is_verdict and not is_id and not _is_of_records(column, ()):
                key = _parameter(column.name, sorted(used))
                used.add(key)
                is_list = column.lists and any(isinstance(cell, str) for cell in column.cells)
                self.take(column, f"{key}: " + ("{column: {}, list: true}" if is_list else "{}"))

    def _take_ids(self) -> None:
        """Take ids of cases or of queries: of what each value stands for one alone."""
        query = next((name for name, line in self.lines.items() if line.startswith("query:")), None)
        for column in list(self.left):
            if not (_ID.fullmatch(column.name) or column.share(_CODE) > _MOSTLY):
                continue
            asked = self._values(["query"]) if query else [(n,) for n in range(len(column.values))]
            cases = self._values(["query", "context"]) if query else asked
            pairs = [
                one for one in zip(column.values, asked, cases, strict=True) if one[0] is not None
            ]
            ids = {as_key(value) for value, _, _ in pairs}
            of_case = {(as_key(value), case) for value, _, case in pairs}
            of_query = {(as_key(value), one) for value, one, _ in pairs}
            if len(of_case) == len(ids) == len({*cases}) > 1 and not self.has("id"):
                self.take(column, "id: {}")
            elif not _ID.fullmatch(column.name) or self.has("query_id"):
                continue
            elif len(of_query) == len(ids) == len({*asked}):
                self.take(column, "query_id: {}")

    def _values(self, keys: Sequence[str]) -> list[tuple[str, ...]]:
        """Texts of the columns under some keys, a tuple a row."""
        names = [name for name, line in self.lines.items() if line.startswith(tuple(keys))]
        columns = [one.values for one in self.every if one.name in names]
        return [tuple(map(str, row)) for row in zip(*columns, strict=True)]

    def __post_init__(self) -> None:
        self.every = list(self.left)

    def check(self, text: str, rows: Sequence[Mapping[str, Any]]) -> tuple[Case, ...]:
        """First cases that the draft makes; a question where rows don't fit it."""
        try:
            found = import_cases(rows[:200], load_mapping(yaml.safe_load(text)))
        except InputError:
            return ()
        if found.problems:
            problem = f"{len(found.problems)} of the first {found.rows} rows don't fit: "
            self.questions.append(Question(f"{problem}{found.problems[0]}"))
        elif found.repeated > 0.2 * found.rows and not self.has("vote"):
            self.questions.append(
                Question(
                    f"{found.repeated} of the first {found.rows} rows repeat the query and context "
                    "of another: is a row one person's verdict (vote, rater), or another context?"
                )
            )
        queries = Counter(case.query_id for case in found.cases)
        shown = next((one.query_id for one in found.cases if queries[one.query_id] > 1), None)
        return tuple(case for case in found.cases if shown in (None, case.query_id))[:3]


def _joined(columns: Sequence[_Column]) -> _Column:
    """The cells of several columns under the name of the first."""
    return _Column(columns[0].name, tuple(cell for one in columns for cell in one.cells))


def _is_prose(column: _Column) -> bool:
    """Tell whether it holds sentences, and more of them than a label has values."""
    varied = len(column.kinds) > min(_FEW, len(column.values) // 2)
    return column.texts and varied and column.share(_SENTENCE) >= _MOSTLY


def _counts(column: _Column, side: Sequence[str]) -> bool:
    """Tell whether a column of whole numbers is called by a side's votes."""
    words = re.split(r"[^a-z]+", column.name.casefold())
    is_whole = bool(column.numbers) and all(map(float.is_integer, column.numbers))
    named = column.is_called("vote", "n_", "count") or max(column.numbers, default=0) > 1
    return is_whole and named and len(words) < 5 and not {*words}.isdisjoint(side)


def _is_one_hot(columns: Sequence[_Column]) -> bool:
    """Tell whether one column of each row says yes, and the others no or nothing."""
    rows = zip(*(one.values for one in columns), strict=True)
    marks = [[as_key(cell) for cell in row if cell is not None] for row in rows]
    said = all(mark in (*_YES, *_NO) for row in marks for mark in row)
    return said and all(sum(mark in _YES for mark in row) == 1 for row in marks)


def _sides(column: _Column, means: Mapping[str, str]) -> str:
    """Entries of a mapping for the values that mean safe, unsafe and neither."""
    entries: dict[str, list[str]] = {"safe": [], "unsafe": [], "none": []}
    for kind, values in column.sides.items():
        for value in values:
            side = means.get(value) or means.get(kind) or (kind if kind != "?" else "none")
            entries[side].append(value)
    if not entries["safe"] and not entries["unsafe"]:
        # The mapping must name a side: which is asked.
        entries["unsafe"], entries["none"] = entries["none"][:1], entries["none"][1:]
    listed = {side: ", ".join(map(_quoted, values)) for side, values in entries.items() if values}
    return ", ".join(f"{side}: [{values}]" for side, values in listed.items())


def _parameter(name: str, used: Sequence[str] = ()) -> str:
    """Key of a parameter: its own name, in the group of Contextual Integrity that it begins with.

    Args:
        name: The name of its column, or a path, whose first step is the column that holds it.
        used: Keys that are taken.
    """
    *_, first = steps = name.split(".")
    steps = steps[1:] or [first]
    plain_steps = [re.sub(r"\W+", "_", step).strip("_").casefold() or "value" for step in steps]
    path = ".".join(plain_steps).removeprefix("data_")
    group = next((one for one in _GROUPS if path.startswith(f"{one}_")), None)
    key = f"context.{group}.{path.removeprefix(f'{group}_')}" if group else f"context.{path}"
    while any(f"{one}.".startswith(f"{key}.") or key.startswith(f"{one}.") for one in used):
        key += "_too"
    return key


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _number(cell: Any) -> float | None:
    """The number in a cell, also a percentage; None for other cells."""
    try:
        return as_number(cell.strip().removesuffix("%") if isinstance(cell, str) else cell, ",")
    except ValueError:
        return None


def _name(name: str) -> str:
    """A column's name in YAML, quoted where it must be."""
    is_plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]+", name)
    kept = is_plain and name.casefold() not in ("yes", "no", "on", "off", "true", "false", "null")
    return name if kept else _quoted(name)


def _quoted(text: str) -> str:
    """A text in YAML's double quotes, on one line."""
    dumped: str = yaml.dump(text, default_style='"', allow_unicode=True, width=math.inf)
    return dumped.rstrip("\n")
