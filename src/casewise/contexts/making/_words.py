"""Words that have no place in a context: the one list that makers and auditors of contexts use.

English alone. In other languages, finding them is left to the model critic.
"""

import re
from collections.abc import Iterator
from typing import Final

_QUESTION = r"(?:request|question|query|inquiry|enquiry|ask)s?"
_ANSWERED = r"(?:answered|refused|declined|rejected|granted|denied|helped|fulfilled|complied\swith)"

VERDICT_WORDS: Final = re.compile(
    rf"""\b(?:
      unsafe | unsafely | safely\sanswer\w*
    | (?<!office\s)(?<!bank\s)(?<!wall\s)(?<!the\s)safe  # a safe is also a thing
      (?!\s(?:deposit|house|haven|room|conduct)s?\b)
    | (?<=the\s)safe\s(?:answer|choice|context|case|side|one|twin|version|situation)
    | harmful | harmless | malicious(?:ly)? | malevolent | nefarious | benign
    | inappropriate | unethical
    | (?:il)?legitimate\s
      (?:{_QUESTION}|reasons?|purposes?|uses?|needs?|interests?|intent|intentions?)
    | (?:appropriate|acceptable|permissible|ethical|right|wrong|reasonable|dangerous|risky)
      \s(?:to|for\s\w+\sto)\s(?:answer|respond|reply|help|refuse|share|disclose)
    | (?:appropriate|acceptable|permissible|problematic|justified)\s(?:{_QUESTION}|answer|answers)
    | (?:should|must|ought\sto|may|can|shall)\s(?:not\s|never\s)?be\s{_ANSWERED}
    | (?:should|must|ought\sto|shall)(?:\snot|n't|\snever)?\s(?:answer|refuse|decline)
    | (?:good|bad|ill|evil|honest|harmful|criminal|wrongful)\s(?:intent|intention|intentions|faith)
    | well-intentioned | ill-intentioned | well-meaning
    )\b""",
    re.X | re.I,
)
"""Words of a verdict: a context that holds one tells its judges what to say."""

PLEADING_WORDS: Final = re.compile(
    r"""\b(?:
      please | pleads? | pleading | begs? | begging | i\sbeg | i\spromise | promise\sme | i\sswear
    | (?:you\scan\s)?trust\s(?:me|us) | believe\sme | have\smercy
    | i\s(?:really|truly|just)\s(?:need|want)
    | (?:just\s)?this\sonce | help\s(?:me|us) | i(?:'m|\sam)\sbegging
    | for\s(?:god|heaven|pity)'?s\ssake
    | you\s(?:have\sto|must|need\sto)\s(?:help|answer|tell|believe)
    | no\sharm\s(?:is\s)?(?:meant|intended) | means?\sno\sharm
    )\b""",
    re.X | re.I,
)
"""Pleading: an appeal to whoever reads, where a context only describes."""

ADDRESSING_WORDS: Final = re.compile(
    r"""(?:
      \b(?:ignore|disregard|forget)\s(?:all\s|any\s|the\s|these\s|every\s|your\s){0,3}
        (?:previous|prior|above|earlier|other|following)?\s?
        (?:instructions?|rules?|prompts?|faults?)\b
    | (?:^|[.!?;)"'\u201d]\s|\bto\s(?:the|all)\s)
      (?:critics?|judges?|graders?|reviewers?|annotators?|assistant|system|ai|model)\s?:
    | \b(?:say|answer|output|return|reply|respond|write)\s
        (?:with\s)?["'\u201c]?(?:pass|fail|safe|unsafe)\b
    | ["'](?:verdict|judg[e]?ment|class)["']\s?:
    | \bthis\s(?:context|description|case)\s(?:is|must|should|passes)\b
    | <\|?/?\w+\|?> | \[/?INST\]
    )""",
    re.X | re.I,
)
"""Speech to whoever reads, judges or processes the context."""

ANSWERING: Final = re.compile(
    r"""(?:
      \bthe\sanswer\s(?:is|to\s(?:this|the|that|his|her|their)\s(?:question|query))\b
    | \bhere(?:'s|\sis|\sare)\s(?:how|the\ssteps|what\sto\sdo)\b
    | \bstep\s(?:1|one)\b | ```
    | (?:^|\s)1[.)]\s.{3,400}?\s2[.)]\s
    )""",
    re.X | re.I | re.S,
)
"""Marks of an answer: steps, a list of them, code."""


def found_words(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """The words of a list that stand in a text, in small letters, each once."""
    plain = " ".join(text.replace("\u2019", "'").split())
    return iter(dict.fromkeys(" ".join(one[0].lower().split()) for one in pattern.finditer(plain)))
