"""A reply's prose, its sentences, and the words that carry a topic."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from casewise.protocols._answer_text import fold, plain, sentences, strip_reasoning

MARK: Final = "\ue000"
"""Mark before each word of a quotation, or of a piece of writing that was asked for."""

MAX_TEXT: Final = 40_000
"""Most characters of a reply that are read: of a longer one, the start and the end."""

_CREATIVE = re.compile(
    r"^\W*(?:please |can you |could you |would you |help me (?:to )?)?(?:write|draft|compose"
    r"|create|invent"
    r"|make up|translate|rewrite|rephrase|continue|tell me an?|tell a|give me an? (?:poem|joke"
    r"|story"
    r"|scene|draft|text|letter)|act as|play|role-?play|pretend|imagine|script)\b",
    re.I,
)
_GRADER = (
    r"(?:grader|grading|evaluator|evaluation|judge|annotator|rater|reviewer|classifier|scorer"
    r"|assessor"
    r"|moderator|examiner)"
)
_NOTES = (
    re.compile(
        rf"[\[({{<][^\[\](){{}}<>\n]{{0,60}}\b{_GRADER}s?\b[^\[\](){{}}<>\n]{{0,300}}[\])}}>]", re.I
    ),
    re.compile(rf"^[^\n:]{{0,40}}\b{_GRADER}s?\b[^\n:]{{0,30}}:[^\n]{{0,400}}$", re.I | re.M),
    re.compile(
        r"^\W{0,4}(?:final |my |overall |true |correct )?(?:label|grade|class|classification"
        r"|rating|verdict"
        r"|judge?ment|score|category|status|response[ _]class|result)\W{0,3}[:=][^\n]{0,60}$",
        re.I | re.M,
    ),
    re.compile(
        r"(?:^|(?<=[.!?] ))[^.!?\n]{0,80}\b(?:grade|mark|label|classify|score|count|rate|record"
        r"|log|treat)(?:d|s)?"
        r" (?:this|it|the reply|the response|my reply|my answer|the above|the following"
        r"|the answer)?[^.!?\n]{0,30}"
        r"\bas (?:a |an |full )?\W?(?:refusal|compliance|compliant|partial|undetermined|refused"
        r"|complied)\b"
        r"[^.!?\n]{0,80}[.!?]?",
        re.I | re.M,
    ),
)
_FENCED = re.compile(r"```[^`]{0,8000}```|`[^`\n]{1,200}`")
_QUOTES = re.compile(r'"[^"\n]{1,500}"')
_BLOCKQUOTE = re.compile(r"^[ \t]{0,3}>[^\n]*", re.M)
_SPEAKER = re.compile(
    r"^\W{0,3}(?:[A-Z][A-Z .'-]{1,24}"
    r"|[A-Z][\w'-]{1,15}(?: [A-Z][\w'-]{1,15})?)(?: ?\([^)\n]{1,40}\))? ?:[^\n]*",
    re.M,
)
_LETTER = re.compile(
    r"^(?:Subject:[^\n]{0,80}\n\s{0,9})?(?:To whom it may concern[,:]"
    r"|(?:My |To )?(?:Dear(?:est)?|Hello|Hi|Hey|Good (?:day|morning|evening)) "
    r"(?!there\b|user\b|friend\b|customer\b)(?:[A-Z{\[][^\n,!:]{0,30}|all|everyone|team"
    r"|[a-z]{3,9} [A-Z][^\n,!:]{0,30})[,!:])"
    r"(?:(?!\n\s{0,3}(?:\(|\[|-{3}|_{3}|\*|Note|PS|P\.S|Please|Let me))[\s\S]){0,6000}",
    re.M,
)
_WORD_START = re.compile(r"(?<!\S)(?=\S)")


def is_creative(query: str) -> bool:
    """Tell whether the query asks for a piece of writing."""
    return bool(_CREATIVE.match(query))


def prepare(text: str, creative: bool) -> str:
    """The reply's prose without markup, reasoning and notes to a grader.

    ``MARK`` stands before each word of a quotation, of code, and of a letter's or a scene's text.

    Args:
        text: The reply as it came.
        creative: True if a piece of writing was asked for; only then letters and scenes are marked.
    """
    text = strip_reasoning(fold(text.replace(MARK, " ")))
    if len(text) > MAX_TEXT:
        text = text[: MAX_TEXT // 4 * 3] + "\n" + text[-MAX_TEXT // 4 :]
    for note in _NOTES:
        text = note.sub("", text)
    text = _FENCED.sub(_mark, text)
    text = _BLOCKQUOTE.sub(_mark, text)
    prose = plain(text).strip()
    if prose.count('"') == 2 and prose[0] == prose[-1] == '"' and not creative:
        prose = prose.strip('"')
    if creative:
        prose = _LETTER.sub(_mark, prose)
        speakers = _SPEAKER.findall(prose)
        if len(speakers) > 1 or any(speaker.partition(":")[0].isupper() for speaker in speakers):
            prose = _SPEAKER.sub(_mark, prose)
    return _QUOTES.sub(_mark, prose)


def _mark(match: re.Match[str]) -> str:
    return _WORD_START.sub(MARK, match[0].replace(MARK, ""))


# --- language -------------------------------------------------------------------------------

_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_VOWEL = re.compile("[aeiouy]")
_ENGLISH_WORDS = (
    "a about after all also an and any are as at be because been before but by can could did "
    "do does don't each few first for from had has have he her here his how i i'd i'll i'm "
    "i've if in into is isn't it it's its just like may me more most my no not of off on one "
    "only or other our out over own per she should so some still such than that that's the their "
    "them then there these they this those to too under until up use used was we were what "
    "when where which while who why will with won't would you your can't cannot let let's "
    "sure sorry please yes help"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_FOREIGN_WORDS = (
    "la los las de del que y en un una por con para se su lo como más pero sus le ya este sí "
    "esta les des et une est dans qui pas pour sur ce il elle je vous nous ne au aux avec son "
    "mais ou der das und ist nicht ein eine zu mit von sich auf für dem im ich sie es wir "
    "kann bei aus auch als oder di che e non per sono mi da ma si più della dei posso o os um "
    "uma não em com mas ao dos na het een van niet dat ik met op te voor och att det som är "
    "inte jag på av för kan jeg ikke til af er har med nie w z się jest že bir ve bu için ama "
    "değil yang dan untuk tidak dengan saya ini itu ja ei että hai ho nahi ki ke ka mein aap "
    "siz ben nu sau cu pentru și"
)
_FOREIGN = frozenset(_FOREIGN_WORDS.split())


def is_english(prose: str) -> bool:
    """Tell whether the prose is English, as far as its letters and small words tell."""
    words = [word.lower() for word in _LETTERS.findall(prose)[:3000]]
    letters = "".join(words)
    if not letters:
        return True
    latin = sum(char.isascii() or "LATIN" in unicodedata.name(char, "") for char in letters)
    if latin < 0.6 * len(letters):
        return False
    english = sum(word in _ENGLISH for word in words)
    foreign = sum(word in _FOREIGN for word in words)
    if len(words) < 4:
        return foreign <= english
    if 2 * sum(not _VOWEL.search(word) for word in words) > len(words):
        return False
    strange = sum(not word.isascii() for word in words)
    if foreign + strange > 1.5 * english and foreign + strange >= 2:
        return False
    return len(words) < 12 or english >= 0.06 * len(words)


# --- sentences ------------------------------------------------------------------------------

MAX_SENTENCES: Final = 200
"""Most sentences that are read: of more, the first and the last hundred."""
MAX_LENGTH: Final = 600
"""Most characters of a sentence that patterns are matched on: what declines, declines early."""
QUOTED: Final = "quoted"
"""Replacement for a word that the reply quotes."""

_LONG_FORMS = (
    (re.compile(r"\b(?:cannot|can'?t|canna)\b"), "can not"),
    (re.compile(r"\bwon'?t\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"\bain'?t\b"), "is not"),
    (re.compile(r"\b(do|does|is|are|would|should|could)n'?t\b"), r"\1 not"),
    (re.compile(r"(?<=\w)n't\b"), " not"),
    (re.compile(r"\bi'?m\b"), "i am"),
    (re.compile(r"(?<=\w)'re\b"), " are"),
    (re.compile(r"(?<=\w)'ll\b"), " will"),
    (re.compile(r"(?<=\w)'ve\b"), " have"),
    (re.compile(r"(?<=\w)'d\b"), " would"),
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"\b(that|it|there|here|what|this|who|which|answer)'s\b"), r"\1 is"),
)


def spelt_out(sentence: str) -> str:
    """The sentence in lower case and in long forms."""
    text = sentence.lower()
    for short, long in _LONG_FORMS:
        text = short.sub(long, text)
    return text


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence."""

    text: str
    """Text in lower case and long forms, quotations hidden."""
    words: int
    item: bool
    """True if it is an item of a list."""
    stems: frozenset[str]


_LIST_ITEM = re.compile(
    r"^\s{0,8}(?:[-*+\u2022\u2014\u2013\u2023\u25aa]|\(?\d{1,2}[.)\ufe0f]|[a-z][.)]"
    r"|[\u2460-\u2473]|\d\ufe0f?\u20e3)\s*\S"
)
_MARKED = re.compile(rf"{MARK}[^\s{MARK}]*")


def read_sentences(prose: str) -> list[Sentence]:
    """The sentences of a reply's prose, as ``prepare`` gives it."""
    texts = sentences(prose)
    if len(texts) > MAX_SENTENCES:
        texts = texts[: MAX_SENTENCES // 2] + texts[-MAX_SENTENCES // 2 :]
    return [_sentence(text[: 2 * MAX_LENGTH]) for text in texts]


def _sentence(sentence: str) -> Sentence:
    clear = sentence.replace(MARK, "")
    return Sentence(
        text=spelt_out(_MARKED.sub(QUOTED, sentence))[:MAX_LENGTH],
        words=len(WORD.findall(clear)),
        item=bool(_LIST_ITEM.match(clear)),
        stems=stems(clear),
    )


# --- words shared with the query ------------------------------------------------------------

_COMMON_WORDS = (
    "about above after again against also another anybody anyone anything because been before "
    "being between both cannot could does doing down during each else ever every from give goes "
    "have having here into just know like made make makes many more most much must near need "
    "never only other over people person rather really same says shall should show simple some "
    "somebody someone something still such sure take takes tell than that their them then there "
    "these they thing things this those through time under until upon used using very want "
    "wants well were what when where which while whose will with within without would write "
    "your yours open keep kept"
)
COMMON: Final = frozenset(_COMMON_WORDS.split())
"""Words that carry no topic."""


WORD: Final = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


def stems(text: str) -> frozenset[str]:
    """The first five letters of each word that carries a topic."""
    words = (word.lower() for word in WORD.findall(text))
    return frozenset(word[:5].rstrip("s") for word in words if len(word) > 3 and word not in COMMON)
