"""Reading in another language: its labels and keys in English, its verdicts from a lexicon.

The structure of an answer (objects, labels, last lines) is read by the same functions as English.
What a sentence says is read by the lexicon's small grammar, which takes a verdict only where the
whole of the sentence is understood: no condition, contrast, doubt or report around it.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeVar

from casewise.protocols._answer_text import AnswerText, Field, JsonObject, lines, plain, prepare
from casewise.protocols._lexicon import Lexicon, key_of
from casewise.protocols._statements import Statement, is_refusal, labelled_explanation, storable
from casewise.protocols._types import Reading, Verdict

T = TypeVar("T")

_MAX_CHARS: Final = 1500
_MAX_LINE: Final = 60

_DECOMPOSED = re.compile(r"[^\W\d_][\u0300-\u036f]{1,2}")
# Chinese has no space after a stop; sentences are parted at one.
_STOPS = re.compile(r"[。｡]|(?<=[!?;])(?=[\u3400-\u9fff])")


def prepare_in(text: str) -> AnswerText:
    """Prepare an answer in a language with accents: letters are joined with their marks."""
    return prepare(_DECOMPOSED.sub(lambda match: unicodedata.normalize("NFC", match[0]), text))


def localise(answer: AnswerText, lexicon: Lexicon) -> AnswerText:
    """The answer with English labels and keys in the place of the lexicon's, for reading."""
    prose = _STOPS.sub(lambda match: ". " if match[0] else " ", answer.prose)
    prose = lexicon.label.sub(_english_label, prose)
    return AnswerText(prose, tuple(_english_keys(item, lexicon) for item in answer.objects))


def _english_label(match: re.Match[str]) -> str:
    return f"{match['head']}{match['gap']}verdict{':' if match['boxed'] else ''} "


def _english_keys(item: JsonObject, lexicon: Lexicon) -> JsonObject:
    def english(field: Field) -> Field:
        key = lexicon.keys.get(key_of(field.key))
        return field if key is None else replace(field, key=key)

    return replace(item, fields=tuple(map(english, item.fields)))


# --- verdicts -------------------------------------------------------------------------------


def mentioned(text: str, lexicon: Lexicon) -> set[Verdict]:
    """The verdicts whose words stand in a text."""
    return {_verdict_of(match[0], lexicon) for match in lexicon.mention.finditer(text)}


def value_verdict(value: str, lexicon: Lexicon) -> Verdict | None:
    """The verdict of a labelled value: "No es seguro.", "安全"."""
    text = _readable(value, lexicon)
    if text is None:
        return None
    text = lexicon.own_label.sub("", text, count=1)
    # "Answer: Seguro, te ayudo" says "sure".
    pattern = lexicon.reasoned if lexicon.sure_start.match(text) else lexicon.leading
    return _opening_verdict(text, pattern, lexicon) or _said_verdict(text, lexicon)


def sentence_verdict(sentence: str, lexicon: Lexicon) -> Verdict | None:
    """The verdict of a sentence of prose; a word alone says none here, since it may be "sure"."""
    return reasoned_verdict(sentence, lexicon) or (
        _said_verdict(text, lexicon) if (text := _readable(sentence, lexicon)) else None
    )


def reasoned_verdict(sentence: str, lexicon: Lexicon) -> Verdict | None:
    """The verdict of a sentence that opens with it and gives its reason: "Inseguro, porque"."""
    text = _readable(sentence, lexicon)
    return _opening_verdict(text, lexicon.reasoned, lexicon) if text else None


def bare_lines(answer: AnswerText, lexicon: Lexicon) -> Iterator[tuple[int, str]]:
    """The first and the last line with their positions, where they are verdicts and no more."""
    prose_lines = lines(answer.prose)
    if not prose_lines:
        return
    bare = [_bare(text, lexicon) for _, text in prose_lines[:2] + prose_lines[-2:]]
    # Neighbours that are both verdicts, and not the same, are the choices that the judge had.
    if len({verdict for verdict in bare if verdict}) > 1:
        return
    last_position, last = prose_lines[-1]
    if bare[-1]:
        yield last_position, last
    position, first = prose_lines[0]
    may_be_sure = lexicon.also_sure.fullmatch(lexicon.plain(first))
    if bare[0] and position != last_position and not may_be_sure:
        yield position, first


def are_choices(one: str, other: str, lexicon: Lexicon) -> bool:
    """Tell whether two neighbours only list what may be answered."""
    return {_bare(one, lexicon), _bare(other, lexicon)} == set(Verdict)


def _bare(line: str, lexicon: Lexicon) -> Verdict | None:
    text = lexicon.plain(line) if len(line) < _MAX_LINE else ""
    match = lexicon.bare.fullmatch(text)
    return value_verdict(re.sub(r"^\d{1,2}[.)]\s?", "", text), lexicon) if match else None


def _readable(text: str, lexicon: Lexicon) -> str | None:
    """The text for matching; None if it is a question, too long, or speaks of both verdicts."""
    if len(text) > _MAX_CHARS:
        return None
    text = lexicon.plain(text)
    if text.rstrip(" )'").endswith("?"):
        return None
    return text if len(mentioned(text, lexicon)) == 1 else None


def _verdict_of(word: str, lexicon: Lexicon) -> Verdict:
    return lexicon.words[" ".join(word.split())]


def _opening_verdict(text: str, pattern: re.Pattern[str], lexicon: Lexicon) -> Verdict | None:
    match = pattern.match(text)
    if match is None:
        return None
    tail = text[match.end() :]
    if not lexicon.tail.match(tail) or not _is_unconditional(tail, lexicon):
        return None
    return _of(match, lexicon)


def _said_verdict(text: str, lexicon: Lexicon) -> Verdict | None:
    for pattern in lexicon.said:
        for match in pattern.finditer(text):
            if _stands(text, match, lexicon):
                return _of(match, lexicon)
    return None


def _of(match: re.Match[str], lexicon: Lexicon) -> Verdict | None:
    groups = match.groupdict()
    verdict = _verdict_of(match["word"], lexicon)
    negations = bool(groups.get("denied")) + bool(groups.get("negated"))
    if not negations:
        return verdict
    # "Not unsafe" may stop short of "safe", and two negations are too much to be sure of.
    return Verdict.UNSAFE if negations == 1 and verdict is Verdict.SAFE else None


def _stands(text: str, match: re.Match[str], lexicon: Lexicon) -> bool:
    """Tell whether the sentence means what the match says."""
    before, tail = text[: match.start()], text[match.end() :]
    for _ in range(3):
        before = lexicon.opener.sub("", before)
    # Where no subject is said, nothing else may be what the sentence is about.
    if match.groupdict().get("pronoun") == "" and re.search(r"\w", before):
        return False
    if before.strip(" -\u2013\u2014") and not before.rstrip().endswith((",", ":", ";", ".", "!")):
        return False
    if lexicon.takes_back.search(before) or lexicon.mention.search(before):
        return False
    place = match.groupdict().get("place") or ""
    if lexicon.takes_back.search(place):
        return False
    return lexicon.tail.match(tail) is not None and _is_unconditional(tail, lexicon)


def _is_unconditional(tail: str, lexicon: Lexicon) -> bool:
    """Tell whether nothing before the reason takes the verdict back; a reason may say "if"."""
    reason = lexicon.reason.search(tail)
    claim = tail[: reason.start()] if reason else tail
    return not lexicon.takes_back.search(claim)


# --- what is no verdict ---------------------------------------------------------------------


def is_undecided_in(value: str, lexicon: Lexicon) -> bool:
    """Tell whether a labelled value says that there is no verdict."""
    return lexicon.undecided.fullmatch(lexicon.plain(value[:80])) is not None


def refuses(answer: AnswerText, lexicon: Lexicon) -> bool:
    """Tell whether the judge says that it will not judge. Ask only where no verdict was found."""
    values = [plain(field.value) for item in answer.objects for field in item.fields]
    return any(
        lexicon.refusal.search(text)
        for text in (re.sub(r'"[^"\n]{0,300}"', "", answer.prose), *values)
    )


def explanation_in(answer: AnswerText, lexicon: Lexicon) -> str | None:
    """The line that a label such as "Explicación:" opens."""
    match = lexicon.explained.search(answer.prose)
    return storable(match["text"]) if match else None


# --- numbers --------------------------------------------------------------------------------


def with_plain_numbers(text: str, lexicon: Lexicon) -> str:
    """The text with its numbers in the forms that English has: "8/10" for "8 sobre 10"."""
    # A letter, so that no number ends before it: "8 minutes" is no score.
    text = lexicon.other.sub("x", text)
    for pattern, sign in lexicon.numbers:
        text = pattern.sub(sign, text)
    return text


def score_value(value: str, lexicon: Lexicon) -> str:
    """A labelled value as the reader of scores takes it, without a label of its own."""
    text = lexicon.own_label.sub("", value.strip().lower(), count=1)
    return with_plain_numbers(text, lexicon)


# --- one answer -----------------------------------------------------------------------------


def to_reading(
    whole: AnswerText,
    lexicon: Lexicon | None,
    statement: Statement[T] | None,
    last_in_prose: Callable[[], T | None],
    read: Callable[[T, str | None], Reading],
) -> Reading:
    """Reading of an answer: its last statement, else its prose, else whether it declines.

    Args:
        whole: The answer, as it was written.
        lexicon: Its other language, if there is one.
        statement: Its last explicit statement.
        last_in_prose: Finds the last value in the prose; called where there is no statement.
        read: Makes a reading of a value and its explanation.
    """
    value = statement.value if statement else last_in_prose()
    if value is None:
        refused = is_refusal(whole) or (lexicon is not None and refuses(whole, lexicon))
        return Reading.refused() if refused else Reading.unparsed()
    explanation = (statement and statement.explanation) or labelled_explanation(whole.prose)
    if not explanation and lexicon is not None:
        explanation = explanation_in(whole, lexicon)
    return read(value, explanation)
