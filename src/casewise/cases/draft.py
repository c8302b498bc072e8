"""Draft a mapping from a table: a line for each column that is known, a question for each doubt.

A column is known by its English name and by all its values. Where a table can be read in two ways,
nobody guesses: the draft asks, and an answer settles it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import yaml

from casewise.cases.cells import as_key, as_number, inner_paths, items, opened, plain, value_at
from casewise.cases.importing import NO_QUERY, REPEATED, ContradictionError, import_cases, unpivot
from casewise.cases.mapping import Unpivot, load_mapping
from casewise.cases.model import GROUPS, SPEAKERS, message_fields
from casewise.errors import InputError, UsageError, some
from casewise.files import Table, TableForm, open_tables, quoted


def _named(words: str) -> re.Pattern[str]:
    """Pattern of names that contain one of the words."""
    return re.compile("|".join(words.split()), re.I)


_QUERY = _named("query prompt question instruction request goal behavior message")
_LABEL = _named(
    "label intended intent verdict is_ safe tox harm norm gold appropriate judg class answer "
    "annotation decision permitted allowed policy"
)
_CATEGORY = re.compile(
    r"(?i)^(?!.*(sender|recipient|principle|user|asker|platform|relationship))"
    r".*(category|topic|domain|theme|subject_area|type)"
)
"""Names of categories, and not of a parameter's: ``recipient_type``."""
_RATING = _named("rating score mean agreement likert severity appropriateness")
_SHARE = _named("rate share proportion percent % fraction human.response agree")
_LABEL_KINDS = (_LABEL, _RATING, _SHARE)
_CONTEXT = _named(
    "sender recipient transmission_principle subject who.asks context parent history background "
    "profile persona user role policy platform relationship purpose system situation asker "
    "deployment before where channel story vignette place scenario setting"
)
_COMMENT = _named("reason rationale explanation justification comment remark feedback notes")
"""Names of what people wrote about a case."""
_REPLY = _named("response reply completion output")
_RATER = re.compile(
    r"(.*[_ .])?(rater|annotator|worker|coder|judge|participant|respondent|labell?er|who)"
    r"([_ .]?(id|name|no|nr|number))?",
    re.I,
)
_ID = re.compile(
    r"(.*[_ .])?(u|hit)?id|key|ref|nr|no|number|.*[_ ]no|item|index|column 1|unnamed.*", re.I
)
_GOOD = re.compile(
    r"(?i)(?<!un)(?<!in)(?<!not.)(safe|appropri|permi|allow|accept|benign|harmless|comply)"
    r"|^(ok|okay|fine|good)$"
)
_BAD = _named(
    "unsafe harm(?!less) tox danger refus prohibit forbid inappr unaccept malic risk sever"
)
"""Names of columns that say which side yes, true, 1 or a high number is."""
_YES = re.compile(r"(?i)(?<![a-z])yes(?![a-z])")
_NO = re.compile(r"(?i)(?<![a-z])no(?=[^a-z]+[a-z])|[a-z][^a-z]+no$")
"""Names of columns of those who say no; ``No`` alone is the number of a row."""
_SAFE = (
    "safe permit permitted allow allowed ok okay benign fine appropriate acceptable harmless good "
    "comply answer"
)
_UNSAFE = (
    "unsafe prohibit prohibited disallow disallowed harmful malicious inappropriate unacceptable "
    "toxic bad refuse forbidden offensive decline deny denied"
)
_NEITHER = (
    "none unsure unclear unknown neutral neither n/a na ambiguous both mixed undecided 0.5 "
    "not_applicable not_sure"
)
_NEUTRAL = re.compile(rf"(?i)(?<![a-z])({'|'.join(_NEITHER.split())})(?![a-z])")
_SIDES = ((_BAD, "unsafe"), (_GOOD, "safe"), (_YES, "safe"), (_NO, "unsafe"), (_NEUTRAL, "none"))
"""Sides by the names of columns."""
_MEANING_OF = {
    word: meaning
    for meaning, words in (
        ("yes", "yes true 1"),
        ("no", "no false 0"),
        ("none", f"{_NEITHER} ? -"),
        ("unsafe", f"{_UNSAFE} not_{_SAFE.replace(' ', ' not_')}"),
        ("safe", _SAFE),
    )
    for word in words.split()
}
"""Meanings of the values of a label; yes and no are a side each, by the name of their column."""
_CODE = re.compile(
    r"(?:(?=\D*\d)[A-Za-z0-9]+(?:[-_./#: ]?[A-Za-z0-9]*\d[A-Za-z0-9]*)*|[0-9a-f-]{16,})\Z"
)
"""Name of a row: L1, Q-12, case 7."""
_SENTENCE = re.compile(
    r"\S+\s+\S+\s+\S|.*[.?!。\uff1f\uff01…][\"'”)]*\s*\Z|[^\x00-\u2fff]{6}", re.S
)
"""Three words and more, the punctuation that ends a sentence, or letters that need no spaces."""
_VERDICT_SIDES = ("safe", "unsafe", "none")
_NUMBERED = re.compile(r"(?P<before>.*[A-Za-z])([ _-]?\d+|[ _-][A-Za-z])")
_LANGUAGE = re.compile(r".+[_ .-]\(?(en|de|fr|es|zh|it|pt|nl|ja|ru|ar|hi)\)?", re.I)
_SIDED = re.compile(r"(?i)(?<![a-z])(un)?safe(?![a-z])")
"""Names that tell the label to who reads the context."""
_REPEATS = "nothing"
"""Answer that rows repeat each other, and count once."""
_VERDICTS = "verdicts"
"""Answer that rows of one case are verdicts of several people."""
_SPEAKERS = {"role", "from", "speaker"}
"""Names of the column of who speaks, where a row is one message."""
_GROUPS = (*GROUPS, "subject")
_MOST_VALUES = 12
"""Different values that a label may have at most."""
_RARE = 0.2
"""Share of a column's cells up to which those that don't fit are bad rows, not another reading."""
_SAMPLE_SIZE = 1000
"""Cells, spread over the rows, by which the kind of a column's texts is told."""


@dataclass(frozen=True, slots=True)
class Question:
    """A doubt that a person settles."""

    text: str
    answers: tuple[str, ...] = ()
    """Answers that can be given; none where the mapping has to be edited."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted mapping."""

    mapping: Mapping[str, Any]
    text: str
    """The mapping as YAML, with comments."""
    questions: tuple[Question, ...]
    """Questions that are open."""
    untaken: tuple[str, ...]
    """Columns that the mapping leaves out, each with the reason."""


@dataclass(frozen=True, eq=False)
class _Column:
    """Contents of one column."""

    name: str
    values: tuple[Any, ...]
    """A value a row; None where it is empty."""

    @cached_property
    def cells(self) -> tuple[Any, ...]:
        """Its filled cells."""
        return tuple(value for value in self.values if value is not None)

    @cached_property
    def records(self) -> list[Any]:
        """Records in its cells: lists of mappings, or mappings that are alike under keys."""
        if not all(isinstance(cell, list | dict) for cell in self.cells):
            return []
        lists = [list(cell.values()) if isinstance(cell, dict) else cell for cell in self.cells]
        records = [record for cells in lists for record in cells]
        if not _are_mappings(records):
            return []
        by_key = [cell for cell in self.cells if isinstance(cell, dict)]
        alike = len(set(map(frozenset, records))) == 1 and not {*_GROUPS} & {*chain(*by_key)}
        return records if alike or not by_key else []

    @property
    def is_conversation(self) -> bool:
        """Whether its cells are conversations."""
        parts = ({"role", "content"} <= {*message_fields(record)} for record in self.records)
        return bool(self.records) and all(parts)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """Its cells as numbers; none unless all are."""
        parsed = takewhile(lambda number: number is not None, map(_number, self.cells))
        numbers = tuple(number for number in parsed if number is not None)
        return numbers if len(numbers) == len(self.cells) else ()

    @cached_property
    def kinds(self) -> Counter[str]:
        """Number of cells, or of items of their lists, by value."""
        listed = (items(cell) if isinstance(cell, list) else [cell] for cell in self.cells)
        kinds = Counter[str]()
        for text, n in Counter(map(str, chain.from_iterable(listed))).items():
            kinds[as_key(text)] += n
        return kinds

    def is_called(self, *names: re.Pattern[str]) -> bool:
        """Tell whether its name is one of a kind."""
        return any(name.search(self.name) for name in names)

    def matches_mostly(self, pattern: re.Pattern[str]) -> bool:
        """Tell whether at least half of its texts, or of a sample, begin as a pattern has it."""
        sample = self.cells[:: 1 + len(self.cells) // _SAMPLE_SIZE]
        count = sum(pattern.match(str(cell).strip()) is not None for cell in sample)
        return 2 * count >= len(sample)

    @cached_property
    def is_text(self) -> bool:
        """Whether its cells are texts, no numbers and no names of rows."""
        texts = all(isinstance(cell, str) for cell in self.cells)
        return texts and not self.numbers and not self.matches_mostly(_CODE)

    @property
    def is_prose(self) -> bool:
        """Whether it holds sentences, and no verdicts."""
        return self.is_text and self.matches_mostly(_SENTENCE) and not self.is_label

    @property
    def is_id(self) -> bool:
        """Whether it names rows."""
        return _ID.fullmatch(self.name) is not None or self.matches_mostly(_CODE)

    @property
    def side(self) -> str:
        """Side that it is called by: ``unsafe votes``, ``n_no``; empty if by none."""
        return next((side for names, side in _SIDES if self.is_called(names)), "")

    @property
    def is_coded(self) -> bool:
        """Whether it has no more different values than a label."""
        return 0 < len(self.kinds) <= _MOST_VALUES

    @property
    def recurs(self) -> bool:
        """Whether its cells are texts, few or each of them twice on average."""
        texts = all(isinstance(cell, str) for cell in self.cells) and not self.numbers
        return texts and len(self.kinds) <= max(_MOST_VALUES, len(self.cells) // 2)

    @cached_property
    def is_label(self) -> bool:
        """Whether half of its cells are sides, or all are yes and no."""
        if not self.is_coded or _ID.fullmatch(self.name):
            return False
        meanings = {_meaning(kind) for kind in self.kinds}
        unknown = sum(n for kind, n in self.kinds.items() if _meaning(kind) == "?")
        are_sides = meanings & {"safe", "unsafe"} or (meanings & {"yes", "no"} and not unknown)
        varied = len(meanings - {"none", "?"}) > 1 or self.is_called(_LABEL)
        return bool(are_sides and varied and 2 * unknown <= self.kinds.total())

    @property
    def is_verdict(self) -> bool:
        """Whether it holds numbers, sides, who gave them, or what people wrote."""
        meanings = set(map(_meaning, self.kinds)) if self.is_coded else set[str]()
        says_sides = meanings & {"safe", "unsafe", "yes", "no"}
        is_rater = _RATER.fullmatch(self.name)
        return bool(self.numbers or says_sides or is_rater) or self.is_called(_COMMENT)


def draft_mapping(path: Path | str, *, answers: Sequence[str] = ()) -> Draft:
    """Draft a mapping for a table from its headers and the values of all rows.

    Args:
        path: The table, or a folder of them.
        answers: Answers to its questions.

    Raises:
        InputError: The table can't be read.
        UsageError: An answer answers none of its questions.
    """
    path = Path(path)
    headers = [answer for answer in answers if re.fullmatch(r"header: \d+", answer)]
    header = int(headers[0][8:]) if headers else None
    tables = open_tables(path, TableForm(header=header))
    entries = [row for table in tables for _, row in table.rows]
    rows = [row for row in entries if isinstance(row, dict)]
    if not rows:
        bad = next((row for row in entries if isinstance(row, InputError)), None)
        raise bad or InputError("no row below the names of the columns", path)
    each, columns = _unpivoted(rows)
    draft = _Drafting(columns, [text for text in answers if text not in headers], list(each))
    draft.take_all()
    mapping = {
        **({"header": header} if header else {}),
        **({"each": draft.each} if draft.each else {}),
        **draft.entries,
        "source": {"constant": path.stem},
        "licence": {"constant": "unknown"},
    }
    draft.check(mapping, rows)
    draft.check_answers(path)
    untaken = tuple(
        f"not taken: {column.name} ({draft.reason(column)})" for column in draft.columns
    )
    notes = [
        f"A draft for {path.name}, from all its {len(rows)} rows: check every line, say whose data",
        "they are (source) and under which licence, then",
        "  casewise cases import FILE --map THIS --out cases.jsonl",
        "casewise cases import --example every-key explains every key.",
        *(note for table in tables for note in table.notes),
        *(f"OPEN: {question.text}" for question in draft.questions),
        *untaken,
    ]
    lines = ("".join(char if char.isprintable() else "?" for char in note) for note in notes)
    head = "".join(f"# {line}\n" for line in lines)
    body = yaml.safe_dump(
        mapping, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100
    )
    return Draft(mapping, head + body, tuple(draft.questions), untaken)


def _unpivoted(rows: list[dict[str, Any]]) -> tuple[list[str], list[_Column]]:
    """Columns of lists of records, each within the one before; columns with a row a record."""
    each: list[str] = []
    columns = list(_columns(rows))
    while True:
        start = f"{each[-1].rsplit('.', 1)[-1]}." if each else ""
        listed = (column for column in columns if column.records and not column.is_conversation)
        name = next((column.name for column in listed if column.name.startswith(start)), None)
        if name is None:
            return each, columns
        each.append(name)
        wide = Table(Path("rows"), (), [(str(n), row) for n, row in enumerate(rows)])
        rows = [row for _, row in unpivot(wide, Unpivot(column=name)).rows if isinstance(row, dict)]
        columns = list(_columns(rows))


def _columns(rows: Sequence[Mapping[str, Any]]) -> Iterator[_Column]:
    """Columns that hold something; of mappings, a column for each path to a value."""
    for name in dict.fromkeys(name for row in rows for name in row if name[:1] != "@"):
        whole = _Column(name, tuple(_filled(row.get(name)) for row in rows))
        if not whole.cells or not name.strip():
            continue
        if whole.records or not _are_mappings(whole.cells):
            yield whole
            continue
        paths = dict.fromkeys(path for cell in whole.cells for path in inner_paths(cell, name))
        for path in paths:
            column = _Column(path, tuple(_filled(value_at(row, path)) for row in rows))
            if column.cells:
                yield column


def _are_mappings(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, dict) for value in values)


def _filled(value: Any) -> Any:
    """The value of a cell, opened; None where it is empty."""
    value = opened(plain(value))
    return None if value in ([], {}) else value


RULES: tuple[tuple[str, Callable[[_Column], bool]], ...] = (
    ("turns", lambda column: column.is_conversation),
    ("rater", lambda column: bool(_RATER.fullmatch(column.name)) and len(column.kinds) > 1),
    ("language", lambda column: "lang" in column.name.casefold() and column.is_text),
    (
        "category",
        lambda column: column.is_called(_CATEGORY) and column.recurs and not column.is_label,
    ),
)
"""Key of a mapping, and which column it takes where a single look tells; the first that is."""


@dataclass
class _Drafting:
    """Entries of a mapping so far, and open questions."""

    columns: list[_Column]
    """Columns of which nothing is known yet."""
    answers: Sequence[str]
    each: list[Any]
    """Columns of lists of records, and columns that are contexts or sides."""
    entries: dict[str, Any] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    answered: list[Question] = field(default_factory=list)
    possible: set[str] = field(default_factory=set)
    """Answers that settle something, whether it was asked or not."""
    replies: Sequence[_Column] = ()
    """Columns of what a model said."""

    def __post_init__(self) -> None:
        self.every = tuple(self.columns)

    def ask(self, text: str, *answers: str) -> str:
        """The answer that was given to a question; empty where it is open."""
        chosen = next((answer for answer in self.answers if answer in answers), "")
        (self.answered if chosen else self.questions).append(Question(text, answers))
        return chosen

    def take(self, key: str, entry: Mapping[str, Any] | None, *columns: _Column) -> None:
        """Take columns for the entry of a key; None is the name of the only one."""
        for column in columns:
            self.columns.remove(column)
        self.entries[key] = columns[0].name if entry is None else dict(entry)

    def reason(self, column: _Column) -> str:
        """Reason why a column is not taken."""
        if column.is_id:
            return "it names rows, not cases"
        if column in self.replies or column.is_verdict:
            return "a verdict, a number, a reply or a remark"
        return f"the context goes without it, unless --answer {quoted(f'context: {column.name}')}"

    def take_all(self) -> None:
        """Look at every column, the surest first."""
        for key, fits in RULES:
            if column := next((column for column in self.columns if fits(column)), None):
                self.take(key, None, column)
        if any(
            column.name.casefold() in _SPEAKERS
            and {*column.kinds} <= {"system", "user", "assistant", *SPEAKERS}
            for column in self.columns
        ):
            text = "A row is one message: write each conversation as a list of {role, content}"
            self.questions.append(Question(text))
        if "turns" not in self.entries:
            self._take_query()
        self.replies = [
            column for column in self.columns if column.is_called(_REPLY) and column.is_prose
        ]
        self._take_labels()
        self._take_contexts()
        self._take_ids()
        if "vote" not in self.entries and "rater" in self.entries:
            rater = self.entries.pop("rater")
            self.columns += [column for column in self.every if column.name == rater]

    def _take_query(self) -> None:
        """Take the column of the query: texts that somebody could ask, never codes (L1, Q-12)."""
        prose = [
            column
            for column in self.columns
            if column.is_prose and not column.is_called(_REPLY, _COMMENT)
        ]
        others = [column for column in prose if not column.is_called(_CONTEXT, _LABEL)]
        texts = [column for column in self.columns if column.is_text and not column.is_label]
        likely = [column for column in prose if column.is_called(_QUERY)] or others
        chosen = likely[0].name if len(likely) == 1 else None
        if chosen is None:
            hint = "" if likely else " None is sure to hold it."
            names = [other.name for other in likely or texts]
            chosen = self.ask(f"Which column is what the user asks?{hint}", *names)
        self.entries["query"] = "NAME"
        for column in [text for text in texts if text.name == chosen]:
            self.take("query", None, column)
            if match := _LANGUAGE.fullmatch(column.name):
                self.entries["language"] = {"constant": match[1].lower()}

    # --- labels -------------------------------------------------------------------------------

    def _take_labels(self) -> None:
        """Take a column for each side, people's verdicts, the one label, or a measure."""
        if self._take_sided():
            return
        kinds = {kind for column in self.columns if column.is_label for kind in column.kinds}
        labels = (
            [column for column in self.columns if column.kinds and _is_of(column, kinds)]
            if kinds
            else []
        )
        lists = [label for label in labels if any(isinstance(cell, list) for cell in label.cells)]
        if people := self._people(lambda joined: joined.is_label):
            if not self._take_pairs(people):
                self._take_read("votes", *people)
        elif lists:
            self._take_read("votes", lists[0])
        elif len(votes := self._without_intended(labels)) > 1:
            self._take_one_of(votes)
        elif votes:
            self._take_label(votes[0])
        else:
            self._take_measure()

    def _without_intended(self, labels: list[_Column]) -> list[_Column]:
        """Labels but for the one that all raters of a case share, which is the authors' side."""
        if "rater" not in self.entries or len(labels) < 2:
            return labels
        texts = [
            column
            for column in self.every
            if column.name in (self.entries.get("query"), self.entries.get("turns"))
            or (column.is_called(_CONTEXT) and not column.is_verdict and not column.is_id)
        ]
        cases = list(map(repr, zip(*(column.values for column in texts), strict=True)))
        shared = [
            label
            for label in labels
            if len({*zip(cases, map(repr, label.values), strict=False)}) == len({*cases})
        ]
        votes = [label for label in labels if label not in shared]
        if not texts or len(shared) != 1 or not votes:
            return labels
        name = shared[0].name
        text = f"Is {name!r}, the same for all who judge a case, what the authors mean?"
        answers = f"{name}: intended", f"{name}: no label"
        is_named = re.search(r"(?i)intend|intent|meant|expected|gold|design", name)
        if is_named or self.ask(text, *answers) == answers[0]:
            self._take_read("intended", shared[0])
        return votes

    def _take_read(self, key: str, *columns: _Column) -> None:
        """Take columns of sides or of ratings, once their reading is known."""
        joined = _joined(columns)
        is_scale = joined.numbers and not joined.is_label
        if reading := self._scale(joined) if is_scale else self._sides(joined):
            names = [column.name for column in columns]
            of = {"column": names[0]} if len(names) == 1 else {"columns": names}
            self.take(key, of | reading, *columns)

    def _take_sided(self) -> bool:
        """Take a column for each side, if there is one: of contexts, counts of votes, or marks."""
        contexts = self._by_side(lambda column: column.is_prose or _are_mappings(column.cells))
        counts = self._by_side(_is_count)
        marks = self._by_side(lambda column: not column.is_prose)
        several = [column.name for column in self.columns if _is_count(column) and column.side]
        if contexts:
            self._unpivot(contexts, "context")
            self.entries["context"] = "context"
        elif counts:
            for side in ("safe", "unsafe"):
                self.take(f"votes_{side}", None, counts[side])
        elif marks and _is_one_hot([*marks.values()]):
            self._unpivot(marks, "is")
            self.entries["where"] = {"is": [1, True, "yes", "x"]}
        elif len(several) > 2:
            text = f"Which are votes_safe and votes_unsafe of {some(list(map(repr, several)), 4)}?"
            self.questions.append(Question(text))
        else:
            return False
        return True

    def _by_side(self, fits: Callable[[_Column], bool]) -> dict[str, _Column]:
        """The one column that is called by each side, or by neither; none unless both are."""
        pairs = [(column.side, column) for column in self.columns if fits(column) and column.side]
        by_side = dict(pairs)
        return by_side if {"safe", "unsafe"} <= {*by_side} and len(by_side) == len(pairs) else {}

    def _unpivot(self, columns: Mapping[str, _Column], value: str) -> None:
        """Take columns as a row each, intended as its column is called."""
        names = [column.name for column in columns.values()]
        self.each.append({"columns": names, "name": "side", "value": value})
        sides = {side: [as_key(column.name)] for side, column in columns.items()}
        self.take("intended", {"column": "side", **sides}, *columns.values())

    def _people(self, fits: Callable[[_Column], bool]) -> list[_Column]:
        """Columns of people, who are told apart by a number or a letter."""
        groups: dict[str, list[_Column]] = defaultdict(list)
        for column in self.columns:
            if match := _NUMBERED.fullmatch(column.name):
                groups[match["before"]].append(column)
        several = (group for group in groups.values() if len(group) > 1 and fits(_joined(group)))
        return next(several, [])

    def _take_pairs(self, labels: Sequence[_Column]) -> bool:
        """Take a context beside each label, if there is one: ``context_a`` and ``label_a``."""
        contexts = {
            _NUMBERED.sub(r"\2", column.name): column for column in self.columns if column.is_prose
        }
        pairs = [(label, contexts.get(_NUMBERED.sub(r"\2", label.name))) for label in labels]
        if any(context is None for _, context in pairs):
            return False
        sides = self._sides(_joined(labels))
        self.entries["cases"] = [
            {
                "intended": {"column": label.name} | {side: [*own] for side, own in sides.items()},
                "context.context": context.name,
            }
            for label, context in pairs
            if context is not None
        ]
        self.columns = [
            column for column in self.columns if all(column not in pair for pair in pairs)
        ]
        return True

    def _take_one_of(self, labels: Sequence[_Column]) -> None:
        names = [column.name for column in labels]
        text = (
            f"Is each of {some(list(map(repr, names)), 4)} a context, a person, or one the label?"
        )
        chosen = self.ask(text, "contexts", "people", *names, "no label")
        if chosen == "people":
            self._take_read("votes", *labels)
        elif chosen == "contexts":
            self.each.append({"columns": names, "name": "where", "value": "said"})
            self.entries["context.where"] = "where"
            self.take("intended", {"column": "said", **self._sides(_joined(labels))}, *labels)
        for label in [column for column in labels if column.name == chosen]:
            self._take_label(label)

    def _take_label(self, label: _Column) -> None:
        """Take a vote where the table has raters, else the authors' label of the query."""
        self.possible.add(_VERDICTS)
        key = "vote" if "rater" in self.entries or _VERDICTS in self.answers else "intended"
        if (
            key == "intended"
            and self.replies
            and not label.is_called(_QUERY, _named("intend context"))
        ):
            reply = self.replies[0].name
            text = f"Does {label.name!r} label what is asked, or the reply in {reply!r}?"
            key = key if self.ask(text, "case", "reply") == "case" else ""
        if key:
            self._take_read(key, label)

    def _sides(self, column: _Column) -> dict[str, Any]:
        """Values of a column by their side; a question where a side is open."""
        choices = {f"{kind}={end}" for kind in column.kinds for end in _VERDICT_SIDES}
        self.possible |= choices
        side_by_kind = dict(answer.rsplit("=", 1) for answer in self.answers if answer in choices)
        meanings = {kind: _meaning(kind) for kind in column.kinds}
        yes = next((kind for kind, meaning in meanings.items() if meaning == "yes"), "yes")
        high = side_by_kind.get(yes) or column.side or "safe" * ("safe" in meanings.values())
        side_of = {"yes": high, "no": {"safe": "unsafe", "unsafe": "safe"}.get(high, ""), "?": ""}
        sides = {
            kind: side_by_kind.get(kind) or side_of.get(meaning, meaning)
            for kind, meaning in meanings.items()
        }
        unknown = [kind for kind, side in sides.items() if not side]
        if unknown:
            text = f"In {column.name!r}, which side is {some(list(map(repr, unknown)), 4)}?"
            answers = tuple(f"{kind}={end}" for kind in unknown for end in _VERDICT_SIDES)
            self.questions.append(Question(text, answers))
        entries = defaultdict[str, list[str]](list)
        for kind, side in sides.items():
            entries[side or "none"].append(kind)
        if not entries.keys() & {"safe", "unsafe"}:
            # A mapping must name a side: which, is asked.
            entries["unsafe"] = entries.pop("none")
        return dict(entries)

    def _take_measure(self) -> None:
        """Take a rating a person, or one column of shares of people or of ratings."""
        rated = [
            column
            for column in self.columns
            if len({*column.numbers}) > 1 and not _ID.fullmatch(column.name)
        ]
        named = [
            column for names in (_SHARE, _RATING) for column in rated if column.is_called(names)
        ][:1]
        if people := self._people(lambda joined: len({*joined.numbers}) > 1):
            self._take_read("votes", *people)
            return
        categorical = [
            column for column in self.columns if column.is_coded and column.is_called(*_LABEL_KINDS)
        ]
        if (rated or categorical) and not named:
            names = [column.name for column in (*rated, *categorical)]
            chosen = self.ask("Which column is the label or rating, if any?", *names, "no label")
            named = [column for column in rated if column.name == chosen]
            for column in categorical:
                if column.name == chosen:
                    self._take_label(column)
        for column in named:
            self._take_read("vote" if "rater" in self.entries else "published_safe_rate", column)

    def _scale(self, column: _Column) -> dict[str, Any]:
        """Unsafe end and safe end of a column's scale, as its name or an answer says."""
        lowest, highest = min(column.numbers), max(column.numbers)
        high = next((end for end in (1, 5, 7, 10, 100) if highest <= end), highest)
        low = 1 if lowest >= 1 and high < 10 else 0 if lowest >= 0 else -high
        safe = {"unsafe": "low", "safe": "high"}.get(column.side)
        if not safe:
            text = f"In {column.name!r} ({low:g} to {high:g}), which end means safe?"
            answers = (f"{column.name}: {end}" for end in ("high", "low", "no rating"))
            safe = self.ask(text, *answers).rpartition(": ")[2]
        ends = {"high": [low, high], "low": [high, low]}.get(safe)
        return {"scale": ends} if ends else {}

    # --- contexts and ids ---------------------------------------------------------------------

    def _take_contexts(self) -> None:
        """Take what is said of the situation; a verdict in it would tell the model what to say."""
        spoken = _LANGUAGE.fullmatch(str(self.entries.get("query")))
        for column in list(self.columns):
            is_context = column.is_called(_CONTEXT) and not column.is_called(_SIDED)
            is_other = column.is_verdict or column.is_id or column.records or column in self.replies
            language = _LANGUAGE.fullmatch(column.name)
            is_foreign = spoken and language and spoken[1] != language[1]
            self.possible.add(f"context: {column.name}")
            is_named = f"context: {column.name}" in self.answers
            if is_named or (is_context and not is_other and not is_foreign):
                self.take(_parameter(column.name, self.entries), None, column)

    def _take_ids(self) -> None:
        """Take ids of rows that are a case each; an id that recurs is none of a case."""
        unique = (
            column
            for column in self.columns
            if column.is_id
            and (
                _ID.fullmatch(column.name)
                or not (column.is_verdict or column.is_called(*_LABEL_KINDS))
            )
            and len(column.kinds) == len(column.values)
        )
        if "vote" not in self.entries and (column := next(unique, None)):
            self.take("id", None, column)

    def check(self, mapping: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
        """Ask where rows don't fit the draft."""
        try:
            # Rows that differ in their ids alone repeat each other.
            bare = {key: entry for key, entry in mapping.items() if key != "id"}
            imported = import_cases(rows[:200], load_mapping(bare))
        except InputError:
            return
        of = f"of the first {imported.rows} rows"
        repeated, empty = imported.other_rows.get(REPEATED, 0), imported.other_rows.get(NO_QUERY, 0)
        apart = [f"context: {column.name}" for column in self.columns if not column.is_verdict]
        apart += [_VERDICTS] if "intended" in mapping else []
        clashes = [
            problem for problem in imported.problems if isinstance(problem, ContradictionError)
        ]
        if clashes:
            text = f"{len(clashes)} {of} don't fit: {clashes[0]}; what tells them apart?"
            self.questions.append(Question(text, tuple(apart)))
        elif empty > 0.2 * imported.rows:
            text = f"{empty} {of} have no query: is it that of a row above? Write it in every row"
            self.questions.append(Question(text))
        elif repeated > 0.2 * imported.rows and "vote" not in mapping:
            text = (
                f"{repeated} {of} repeat the query and context of another: what tells them apart?"
            )
            if not {*apart, _REPEATS} & {*self.answers}:
                self.questions.append(Question(text, (*apart, _REPEATS)))
            self.possible.add(_REPEATS)

    def check_answers(self, file: Path) -> None:
        """Refuse an answer that no question takes.

        Raises:
            UsageError: There is one; the message lists the questions.
        """
        questions = [*self.answered, *self.questions]
        possible = self.possible.union(*(question.answers for question in questions))
        for answer in self.answers:
            if answer not in possible:
                listed = (
                    f"{question.text} [{some(question.answers, 12)}]" for question in questions
                )
                asks = " ".join(listed).replace(" []", "") or "none"
                problem = (
                    f"--answer {answer!r} answers no question of the draft, which asks: {asks}"
                )
                raise UsageError(f"{file}: {problem}")


def _meaning(kind: str) -> str:
    """``safe``, ``unsafe``, ``none``, ``yes`` or ``no``; ``?`` of an unknown value."""
    return _MEANING_OF.get(kind.replace(" ", "_"), "?")


def _is_of(column: _Column, kinds: Collection[str]) -> bool:
    """Tell whether its values are of those, or say neither side."""
    return all(kind in kinds or _meaning(kind) == "none" for kind in column.kinds)


def _joined(columns: Sequence[_Column]) -> _Column:
    """The cells of several columns under the name of the first."""
    return _Column(columns[0].name, tuple(cell for column in columns for cell in column.cells))


def _is_count(column: _Column) -> bool:
    """Tell whether a column counts votes; few bad cells of one so named are bad rows."""
    is_named = re.search(r"(?i)votes?|count|(?<![a-z])n(?![a-z])", column.name)
    numbers: Sequence[float] = column.numbers
    if is_named:
        numbers = [number for number in map(_number, column.cells) if number is not None]
    is_whole = bool(numbers) and all(map(float.is_integer, numbers))
    is_filled = len(numbers) >= (1 - _RARE) * len(column.cells)
    return is_whole and is_filled and (bool(is_named) or max(numbers) > 1)


def _is_one_hot(columns: Sequence[_Column]) -> bool:
    """Tell whether one column of each row says yes, and the others no or nothing."""
    rows = zip(*(column.values for column in columns), strict=True)
    kinds = ([as_key(cell) for cell in row if cell is not None] for row in rows)
    marks = (["yes" if kind == "x" else _meaning(kind) for kind in row] for row in kinds)
    return all({*row} <= {"yes", "no"} and row.count("yes") == 1 for row in marks)


def _parameter(name: str, used: Iterable[str]) -> str:
    """Key of a parameter: its own name, in the group of Contextual Integrity that it begins with.

    Args:
        name: The name of its column, or a path, whose first step is the column that holds it.
        used: Keys that are taken.
    """
    *before, last = name.split(".")
    steps = [re.sub(r"\W+", "_", step).strip("_").casefold() for step in (*before[1:], last)]
    path = ".".join(filter(None, steps)).removeprefix("data_").removeprefix("context.")
    path = re.sub(rf"^({'|'.join(_GROUPS)})_", r"\1.", path)
    key = f"context.{path or 'value'}"
    while any(
        f"{used_key}.".startswith(f"{key}.") or key.startswith(f"{used_key}.") for used_key in used
    ):
        key += "_too"
    return key


def _number(cell: Any) -> float | None:
    """The number in a cell, also a percentage; None for other cells."""
    try:
        return as_number(cell.strip().removesuffix("%") if isinstance(cell, str) else cell, ",")
    except ValueError:
        return None
