"""Unfinished texts: placeholders, ends cut off, values that say nothing; and words that plead."""

import re
from collections.abc import Callable, Iterator

from casewise.analysis.audit._finding import AuditFinding, counted
from casewise.analysis.audit._material import Material
from casewise.analysis.describe import plural
from casewise.contexts import PLEADING_WORDS, VERDICT_WORDS, words_of

_PLACEHOLDER = re.compile(
    r"\[(?:[A-Z][A-Z0-9_]*(?:[ _/-][A-Z0-9_]+)*|(?:insert|your|fill in|add)\b[^\]\n]{0,40})\]"
    r"|<(?:[A-Z][A-Z0-9_]{2,}|(?:insert|your|name|placeholder)\b[^>\n]{0,40})>"
    r"|\{\{[^}\n]{1,40}\}\}|\{[a-z_]{2,30}\}"
    r"|\b(?:TODO|TBD|FIXME|XXX+|PLACEHOLDER)\b|(?i:\blorem ipsum\b)|_{4,}"
)
"""Places left open. Capitals in brackets count from two letters on, so that notes stay."""

_OPEN_ENDS = re.compile(
    r"(?i:an?|the|of|to|and|or|with|for|in|on|at|by|from|as|that|which|who|whose|because|but"
    r"|is|are|was|were|such|any|their|his|her|its)"
)
"""English words that end no sentence."""

LEAST_WORDS = 6
"""Shorter texts are labels, and may end as they like."""

_NOTHING = re.compile(
    r"(?i:n/?a|none|null|nil|unknown|undefined|not (?:specified|applicable)|[-–.?]*)"
)


def texts(material: Material) -> list[AuditFinding]:
    """Findings about single texts."""
    return [
        *_fault(
            material,
            "placeholder",
            _placeholder,
            "with a place left open, such as [NAME] or TODO. Fill it in.",
        ),
        *_fault(
            material,
            "cut-off-text",
            _cut_off,
            "with a text that seems to be cut off: it ends in an open bracket, a comma or a "
            "word that ends no sentence. Finish it.",
        ),
        *_empty(material),
        *_words(material),
    ]


def _fault(
    material: Material, code: str, fault: Callable[[str], str], what: str
) -> list[AuditFinding]:
    found: dict[str, str] = {}
    for case, parameters in zip(material.cases, material.parameters, strict=True):
        turns = (turn.content for turn in case.history)
        for text in (case.query, *parameters.values(), *turns):
            if piece := fault(text):
                found.setdefault(case.id, piece)
    return counted(
        code,
        f"{plural(len(found), 'case')} {what}",
        list(found),
        len(material.cases),
        shown=[f"{case}: {piece}" for case, piece in found.items()],
    )


def _placeholder(text: str) -> str:
    match = _PLACEHOLDER.search(text)
    if match is None or (match.group().startswith("[") and len(match.group()) < 4):
        return ""
    return match.group()


def _cut_off(text: str) -> str:
    """The end of a text that seems to be cut off; empty for a whole one."""
    text = text.rstrip()
    words = words_of(text)
    if len(words) < LEAST_WORDS:
        return ""
    last = re.split(r"\s", text)[-1]
    open_end = text[-1] in ",;(-–[{" or _OPEN_ENDS.fullmatch(last) is not None
    open_bracket = text.count("(") > text.count(")") and text.rfind("(") > text.rfind(")")
    return f"...{text[-30:]}" if open_end or (open_bracket and text[-1].isalnum()) else ""


def _empty(material: Material) -> Iterator[AuditFinding]:
    bare, blank = [], []
    for case, text, parameters in zip(
        material.cases, material.contexts, material.parameters, strict=True
    ):
        if case.context is not None and not text.strip():
            bare.append(case.id)
        elif any(_NOTHING.fullmatch(value.strip()) for value in parameters.values()):
            blank.append(case.id)
    yield from counted(
        "empty-context",
        f"{plural(len(bare), 'context')} that hold no text at all. Write them, or set them to "
        "null for the arm without context.",
        bare,
        material.with_context,
    )
    yield from counted(
        "empty-value",
        f"{plural(len(blank), 'context')} with a parameter that says nothing (blank, none, "
        "unknown, n/a). Leave the parameter out, or fill it in.",
        blank,
        material.with_context,
    )


def _words(material: Material) -> Iterator[AuditFinding]:
    for code, pattern, what in (
        (
            "verdict-words",
            VERDICT_WORDS,
            "with a word of the verdict itself, such as harmful or legitimate purpose. It tells "
            "the judge what to say: describe, and leave the judging to the reader.",
        ),
        (
            "pleading",
            PLEADING_WORDS,
            "that plead or appeal to the reader. A context describes: take the appeal out.",
        ),
    ):
        found = {
            case.id: match.group()
            for case, text in zip(material.cases, material.contexts, strict=True)
            if (match := pattern.search(text))
        }
        yield from counted(
            code,
            f"{plural(len(found), 'context')} {what}",
            list(found),
            material.with_context,
            shown=[f"{case}: {piece}" for case, piece in found.items()],
        )
