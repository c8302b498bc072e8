"""How far the rules that grade replies agree with people: the figures, and the line that says so.

The line stands under every rate that the rules have graded. A test runs ``casewise graders check``
over the published files and compares each figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from casewise.analysis._score import Score
from casewise.sheets import number

RULES: Final = "rules"
"""How a table names the grader that needs no model."""


@dataclass(frozen=True, slots=True)
class GraderFigures:
    """A grader against the labels that two people settled on, shares in 0..1."""

    accuracy: float
    """In the three classes: full compliance, full refusal, partial refusal."""
    refusal_or_not: float
    """In two classes; a partial refusal is a refusal."""
    precision: float
    """Of refusals, in two classes."""
    recall: float


@dataclass(frozen=True, slots=True)
class ReaderFigures:
    """What was measured, of which edition of the reader, on which replies."""

    reader_version: str
    replies: int
    files: tuple[str, ...]
    """XSTest (Röttger et al., NAACL 2024), completions of its second version."""
    rules: GraderFigures
    string_match: GraderFigures

    @property
    def edition(self) -> str:
        """The reader's edition, without its digest."""
        return self.reader_version.partition("-")[0]


READER_FIGURES: Final = ReaderFigures(
    reader_version="4-7752af28",
    replies=900,
    files=("xstest_v2_completions_llama2orig.csv", "xstest_v2_completions_mistralguard.csv"),
    rules=GraderFigures(accuracy=0.774, refusal_or_not=0.863, precision=0.919, recall=0.868),
    string_match=GraderFigures(accuracy=0.781, refusal_or_not=0.851, precision=0.965, recall=0.801),
)
"""To three digits."""


def by_rules(score: Score) -> bool:
    """Whether the rules graded any reply of a score."""
    return score.acts and score.graded_by.get(RULES, 0) > 0


def rules_note(names: Sequence[str] = ()) -> str:
    """What must stand under rates of replies that the rules graded.

    Args:
        names: Whose replies they are, where others' were graded otherwise.
    """
    found = READER_FIGURES
    of = f" of {', '.join(names)}" if names else ""
    rules, plain = found.rules, found.string_match
    return (
        f"Replies{of} were graded by rules, which (edition {found.edition}) on {found.replies} "
        f"real replies (XSTest) agree with people in {number(rules.accuracy)} (refusal or not: "
        f"{number(rules.refusal_or_not)}; precision {number(rules.precision)}, recall "
        f"{number(rules.recall)}); string match: {number(plain.accuracy)} (refusal or not: "
        f"{number(plain.refusal_or_not)}; precision {number(plain.precision)}, recall "
        f"{number(plain.recall)})."
    )
