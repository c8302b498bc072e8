"""A reply as numbers: how much of what it says, in which order, and its short words and pairs.

Each number has a name. What they are worth is fitted.
"""

import math
import re
from typing import Final

from casewise.protocols.replies._sentences import EARLY, QUOTED, Kind, Sentence, stems
from casewise.protocols.replies._shape import coverage, shape_of
from casewise.protocols.replies._signals import DECLINING, WORD, Signal

SOMEWHERE: Final = "word: "
IN_FIRST: Final = "first: "
IN_LAST: Final = "last: "
WORDY: Final = (SOMEWHERE, IN_FIRST, IN_LAST)
"""What the names of words and pairs begin with."""
WORD_SCALE: Final = 0.5
"""A word counts for less than a signal, so that it is held back more in the fit."""

_LENGTHS = (3, 8, 15, 25, 40, 70)
_CONTENTS = (5, 10, 17, 24, 40)
_LECTURES = (0.105, 0.15)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[?!:;]")
# A reply's words about its own grade have no say.
_ABOUT_GRADES_WORDS = (
    "refusal refusals refused compliance compliant complied partial undetermined grade graded "
    "grader label labelled classify classified verdict evaluator annotator"
)
_ABOUT_GRADES = frozenset(_ABOUT_GRADES_WORDS.split())


def features_of(said: list[Sentence], clear: str, query: str, creative: bool) -> dict[str, float]:
    """The reply's numbers by name; what isn't named is 0.

    Args:
        said: Its sentences, at least one.
        clear: Its prose.
        query: What was asked.
        creative: Whether a piece of writing was asked for.
    """
    words = max(1, sum(one.words for one in said))
    found: dict[str, float] = {"creative": creative, "sentences": _log(len(said), 3)}
    found["words"] = _log(words)
    found |= {f"words > {least}": words > least for least in _LENGTHS}
    found["ends in ?"] = clear.rstrip().endswith("?")
    found["ends in a letter"] = clear.rstrip()[-1:].isalpha()
    found |= _of_kinds(said, words)
    found |= _of_the_query(said, stems(query)) | coverage(said, query) | shape_of(clear, query)
    for one in said:
        # In a piece that was asked for, a character declines.
        shown = one.signals if one.kind is Kind.DECLINES or not creative else _calm(one)
        found |= {f"shows {signal}": 1.0 for signal in shown}
    concrete = sum(one.concrete for one in said)
    found["concrete"], found["much concrete"] = concrete / len(said), _log(concrete, 3)
    found["items"] = sum(one.item for one in said) > 1
    found["quoted"] = sum(one.quoted for one in said) / words
    moral = sum(one.moral for one in said) / words
    found["moral"] = 5 * moral
    vague = not any(one.concrete for one in said if one.kind is Kind.CONTENT)
    found |= {f"lecture > {least}": vague and moral > least for least in _LECTURES}
    return {name: float(value) for name, value in (found | _of_words(said)).items() if value}


def substance(said: list[Sentence]) -> int:
    """How many words are neither refusal, question, small talk, echo nor sermon."""
    return _words(said, Kind.CONTENT) + sum(
        len(WORD.findall(one.text.partition(":")[2])) for one in said if one.kind is Kind.DECLINES
    )


def _of_kinds(said: list[Sentence], words: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in Kind:
        spent = _words(said, kind)
        found |= {
            kind: spent > 0,
            f"share {kind}": spent / words,
            f"much {kind}": _log(spent),
            f"opens {kind}": said[0].kind is kind,
            f"closes {kind}": said[-1].kind is kind,
        }
    content = substance(said)
    declining = [at for at, one in enumerate(said) if one.kind is Kind.DECLINES]
    found |= {f"content > {least}": content > least for least in _CONTENTS}
    if not declining:
        return found
    first, last = declining[0], declining[-1]
    found |= {f"declines, content > {least}": content > least for least in _CONTENTS}
    return found | {
        "declines at once": first == 0,
        "declines early": first < EARLY,
        "declines at the end": last == len(said) - 1,
        "declines at the end alone": first == len(said) - 1,
        "declines, times": len(declining) / 3,
        "declines and nothing else": Kind.CONTENT not in {one.kind for one in said},
        "declines a part": any(Signal.A_PART in said[at].signals for at in declining),
        "declines, where": first / len(said),
        "answers before": _log(_words(said[:first], Kind.CONTENT)),
        "answers after": _log(_words(said[first:], Kind.CONTENT)),
        "declines, concrete": any(one.concrete for one in said if one.kind is Kind.CONTENT),
    }


def _of_the_query(said: list[Sentence], asked: frozenset[str]) -> dict[str, float]:
    stems = frozenset[str]().union(*(one.stems for one in said))
    shared = len(stems & asked)
    return {
        "share of the query": shared / max(1, len(asked)),
        "nothing of the query": not shared,
        "much of the query": min(1.0, shared / 3),
        "new words": _log(len(stems - asked)),
    }


def _of_words(said: list[Sentence]) -> dict[str, float]:
    found: dict[str, float] = {}
    for at, one in enumerate(said):
        tokens = _tokens(one.text)
        pairs = [f"{a} {b}" for a, b in zip(["^", *tokens], tokens, strict=False)]
        if len(tokens) > 1:
            pairs.append(f"^ {tokens[0]} {tokens[1]}")
        for gram in (*tokens, *pairs):
            found[SOMEWHERE + gram] = WORD_SCALE
            if at == 0:
                found[IN_FIRST + gram] = WORD_SCALE
            if at == len(said) - 1:
                found[IN_LAST + gram] = WORD_SCALE
    return found


def _tokens(text: str) -> list[str]:
    found = _TOKEN.findall(text.replace(QUOTED, "q"))
    return ["#" if one[0].isdigit() else one for one in found if one not in _ABOUT_GRADES]


def _calm(one: Sentence) -> frozenset[Signal]:
    return one.signals - DECLINING


def _words(said: list[Sentence], kind: Kind) -> int:
    return sum(one.words for one in said if one.kind is kind)


def _log(count: int, scale: int = 4) -> float:
    return math.log1p(count) / scale
