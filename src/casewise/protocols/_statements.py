"""Explicit parts of an answer: its labelled statements, its explanation, a refusal.

``last_statement`` asks a reader's own value function about each explicit statement of a prepared
answer, from the last to the first. All of it is linear in the answer's length.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from casewise.protocols._answer_text import HOLE, AnswerText, Field, JsonObject, plain

T = TypeVar("T")

MAX_STATEMENTS: Final = 1000
"""Most statements that are looked at, from the last on: more of them is a loop, not a judgement."""

PRIMARY_KEYS: Final = frozenset({"judgement", "judgment"})
"""Keys that our prompts ask for. Where one of these can be read, the other keys are not looked
at."""

OTHER_KEYS: Final = frozenset(
    {"verdict", "answer", "label", "classification", "rating", "score", "decision", "result"}
)
"""Keys that models write instead."""

EXPLANATION_KEYS: Final = frozenset(
    {"explanation", "reason", "reasoning", "rationale", "justification"}
)

# --- statements -----------------------------------------------------------------------------

# The lookbehinds: another quantity, whose scale may even be the reverse.
_LABEL = (
    r"(?<![\w-])(?<!risk\s)(?<!harm\s)(?<!danger\s)(?<!severity\s)(?<!toxicity\s)"
    r"(?<!confidence\s)(?<!certainty\s)(?<!previous\s)"
    r"(?:judge?ment|verdict|answer|label|classification|rating|score|decision|result|conclusion"
    r"|assessment|determination)s?(?![\w-])"
)
_LABELLED = re.compile(
    rf"""
    (?: {_LABEL} ["')\]]{{0,3}} (?:[ \t]?\([^()\n]{{0,40}}\))?
        (?:[ \t](?:on|from)\b[^:\n.]{{0,40}})? (?:[ \t]is(?=[ \t]?[:=]))?
        [ \t]{{0,3}} (?: [=-]+> | [:=|>\u2192] | [-\u2013\u2014]+(?=\s) ) [\s"':]{{0,9}}
      | ^[ \t]*(?:(?:final|my|overall|safety|the)[ \t]){{0,3}} {_LABEL} [ \t]*\n\s{{0,9}}
      | \\boxed\s?\{{ (?:\\text\w{{0,4}}\{{)?
    )
    (?P<value>[^\n<>{{}}|{HOLE}]{{0,300}})
    """,
    re.X | re.I | re.M,
)
_OWN_LABEL = re.compile(rf"^(?:(?:final|my|overall|safety)\s)?{_LABEL}\s?[:=]\s?", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_UNDECIDED = re.compile(
    r"\W*(?:n/?a|none|null|nan|unclear|uncertain|undecided|undetermined|unknown|unsure|ambiguous"
    r"|inconclusive|borderline|neither|both|mixed|(?:it )?depends|not (?:sure|certain|applicable)"
    r"|(?:cannot|can't|unable to) (?:determine|decide|say|tell|judge))\W*",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Statement(Generic[T]):
    """One explicit statement of a verdict or a score."""

    value: T | None
    """None: the judge said in so many words that it has none ("unclear")."""
    explanation: str | None = None


def is_undecided(value: str) -> bool:
    """Tell whether a labelled value says that there is no verdict: "unclear"."""
    return _UNDECIDED.fullmatch(value[:80]) is not None


def last_statement(
    answer: AnswerText,
    read: Callable[[str], T | None],
    lines: Iterable[tuple[int, str]],
    undecided: Callable[[str], bool] = is_undecided,
) -> Statement[T] | None:
    """The last explicit statement that ``read`` understands.

    Explicit are JSON objects, labelled values ("Verdict: ...") and the given lines.

    Args:
        answer: The prepared answer.
        read: Finds the value that a piece of text states, or None.
        lines: Lines that count as statements, each with its position in the prose.
        undecided: Tells whether a piece of text that ``read`` doesn't understand says that
            there is no verdict.

    Returns:
        The statement; None if there is none.
    """
    sources: list[tuple[int, JsonObject | str]] = [
        *answer.sources(),
        *_labelled_values(answer.prose),
        *lines,
    ]
    sources.sort(key=lambda source: source[0])

    def state(raw: str) -> Statement[T] | None:
        value = read(raw)
        return Statement(value) if value is not None or undecided(raw) else None

    for _, source in reversed(sources[-MAX_STATEMENTS:]):
        statement = _read_object(source, state) if isinstance(source, JsonObject) else state(source)
        if statement is not None:
            return statement
    return None


def _labelled_values(prose: str) -> Iterator[tuple[int, str]]:
    """Text after each label ("Verdict: ..."), up to the sentence's end, and its position."""
    for match in _LABELLED.finditer(prose):
        yield match.start("value"), _SENTENCE_END.split(match["value"], maxsplit=1)[0]


def _read_object(
    item: JsonObject, state: Callable[[str], Statement[T] | None]
) -> Statement[T] | None:
    statement = _read_keys(item, PRIMARY_KEYS, state) or _read_keys(item, OTHER_KEYS, state)
    return Statement(statement.value, _explanation_of(item)) if statement else None


def _read_keys(
    item: JsonObject, keys: frozenset[str], state: Callable[[str], Statement[T] | None]
) -> Statement[T] | None:
    """The statement of the shallowest fields under the given keys."""
    by_depth = [
        (field.depth, statement)
        for field in item.fields
        if field.key in keys and (statement := state(_value_of(field))) is not None
    ]
    if not by_depth:
        return None
    top = min(depth for depth, _ in by_depth)
    shallow = [statement for depth, statement in by_depth if depth == top]
    # A judgement given twice is a correction, as in JSON itself. Two other keys that disagree are
    # two quantities, and which of them is the verdict can't be known.
    if keys is OTHER_KEYS and len({statement.value for statement in shallow}) > 1:
        return None
    return shallow[-1]


def _value_of(field: Field) -> str:
    """The field's value without a label of its own ("Score: 8").

    It is "" where the cut may have changed the value: "1" may be the start of "10".
    """
    value = _OWN_LABEL.sub("", plain(field.value).strip(), count=1)
    return "" if field.is_cut and value == "1" else value


# --- explanations ---------------------------------------------------------------------------

_EXPLAINED = re.compile(
    rf"""
    ^\W{{0,9}}(?:explanation|reasons?|reasoning|rationale|justification)\W{{0,3}}:\s{{0,9}}
    (   [^\s{HOLE}][^\n{HOLE}]*
        (?: \n(?![ \t]*(?:(?:final|my)\s)?{_LABEL}) [ \t]*[^\s{HOLE}][^\n{HOLE}]* )* )
    """,
    re.X | re.I | re.M,
)


def _explanation_of(item: JsonObject) -> str | None:
    texts = [field.value for field in item.fields if field.key in EXPLANATION_KEYS]
    return storable(texts[0]) if texts else None


def labelled_explanation(prose: str) -> str | None:
    """The paragraph that "Explanation:" or the like opens."""
    match = _EXPLAINED.search(prose)
    return storable(match[1]) if match else None


def storable(text: str) -> str | None:
    """The text as it can be stored: stripped, without lone surrogates; None if nothing is left."""
    return text.strip().encode("utf-8", "replace").decode("utf-8") or None


# --- refusals -------------------------------------------------------------------------------

_QUOTED = re.compile(r'"[^"\n]{0,300}"')
_REFUSAL = re.compile(
    r"""
      \b(?:i|we)(?:\s|(?='))
        (?: (?: can(?:no|')t | can\snot | won't | will\snot
              | (?:'m|'re|am|are)(?:\s\w+)?\s(?:unable|not\s(?:able|allowed|permitted|comfortable
                  |willing|going)) )
            (?:\s[\w']+){0,3}?\s
            (?: help|assist|judg|evaluat|provid|giv|answer|respond|rat[ei]|assess|engag|comply
              | fulfil|classif|continu|offer|discuss|process|complet|participat|scor|support|mak
              | label|analy[sz]|do\s(?:that|this|so)\b )
          | (?:(?:must|have\sto|will|would)\s)?(?:\w+ly\s)?(?:decline|refuse)\b )
    | \bas\san\sai\b[^.\n]{0,120}\b(?:cannot|can't|can\snot|unable|not\sable|won't)\b
    | \b(?:sorry|apologi[sz]e|apologies)\b[^.\n]{0,60}
        \b(?:cannot|can't|can\snot|unable|not\sable|won't|not\ssomething)\b
    """,
    re.X | re.I,
)


def is_refusal(answer: AnswerText) -> bool:
    """Tell whether the judge says that it will not judge. Ask only where no verdict was found."""
    judged = [
        plain(field.value)
        for item in answer.objects
        for field in item.fields
        if field.key in PRIMARY_KEYS
    ]
    # What stands in quotes is what somebody else may say.
    return any(_REFUSAL.search(text) for text in (_QUOTED.sub("", answer.prose), *judged))
