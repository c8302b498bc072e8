"""A reply's shape as numbers: how it is laid out, who speaks in it, how far it covers the query."""

import math
import re
from collections.abc import Iterable
from typing import Final

from casewise.protocols.replies._sentences import Kind, Sentence, stems

# What one number counts, by its name.
_MARKS: Final = {
    "!": "!",
    "?": "?",
    "colons": ":",
    "brackets": "(",
    "quotation marks": '"\u201c\u201d\u201e',
    "stars": "*",
}
_VOICES: Final = {
    "says I": frozenset(("i", "i'm", "i'll", "i'd", "i've", "me", "my")),
    "says you": frozenset(("you", "your", "you're")),
    "says we": frozenset(("we", "us", "our")),
    "says no": frozenset(("not", "no", "never", "won't", "can't", "don't", "nothing")),
    "says but": frozenset(("but", "though", "however")),
}
_WORD = re.compile(r"[a-z']+")
_CLAUSE = re.compile(r",| and | or |\?|\. ")
_FIRST_PICTOGRAM: Final = "\u2600"
_PER: Final = 10
"""A voice is counted in this many words."""


def shape_of(clear: str, query: str) -> dict[str, float]:
    """How the reply is laid out, and who speaks in it.

    Args:
        clear: Its prose.
        query: What was asked; its length counts.
    """
    lines = [line for line in clear.split("\n") if line.strip()]
    words = _WORD.findall(clear.lower())
    total = max(1, len(words))
    found: dict[str, float] = {
        f"has {name}": math.log1p(sum(map(clear.count, marks))) for name, marks in _MARKS.items()
    }
    for name, voice in _VOICES.items():
        found[name] = _PER * sum(word in voice for word in words) / total
    return found | {
        "lines": math.log1p(len(lines)),
        "length of lines": math.log1p(len(clear) / max(1, len(lines))) / 5,
        "paragraphs": math.log1p(clear.count("\n\n")),
        "digits": math.log1p(sum(map(str.isdigit, clear))),
        "pictograms": any(char > _FIRST_PICTOGRAM for char in clear),
        "length of words": sum(map(len, words)) / total / 5,
        "different words": len(set(words)) / total,
        "ends a sentence": clear.rstrip()[-1:] in tuple(".!?"),
        "words of the query": math.log1p(len(query.split())) / 3,
    }


def coverage(said: list[Sentence], query: str) -> dict[str, float]:
    """How much of the query's topic stands where: shares from 0 to 1.

    Args:
        said: The reply's sentences, at least one.
        query: What was asked.
    """
    asked = stems(query)
    if not asked:
        return {}
    shares = [len(asked & one.stems) / len(asked) for one in said]
    answering = [share for share, one in zip(shares, said, strict=True) if one.kind is Kind.CONTENT]
    declining = [
        share for share, one in zip(shares, said, strict=True) if one.kind is Kind.DECLINES
    ]
    spoken = frozenset[str]().union(*(one.stems for one in said))
    clauses = [topic for topic in map(stems, _CLAUSE.split(query)) if topic]
    covered = [len(topic & spoken) / len(topic) for topic in clauses]
    return {
        "covers in the first": shares[0],
        "covers in the last": shares[-1],
        "covers at most": max(shares),
        "covers in an answer": max(answering, default=0),
        "covers in answers": _mean(answering),
        "covers in declining": max(declining, default=0),
        "covers now and then": _mean(share > 0 for share in shares),
        "two clauses": len(clauses) > 1,
        "clause covered least": min(covered, default=0),
        "first clause covered": covered[0] if covered else 0,
        "last clause covered": covered[-1] if covered else 0,
    }


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
