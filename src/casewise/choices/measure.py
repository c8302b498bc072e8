"""Measures as rows of a table; nothing heavy is imported, so a protocol's file can write rows."""

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple


class MeasureKind(enum.StrEnum):
    """Kind of a figure, by which its interval is made (docs/method/statistics.md)."""

    SHARE = "share"
    OUTCOME = "outcome"
    """A share of pairs; those of all outcomes sum to 1."""
    RATIO = "ratio"
    CORRELATION = "correlation"
    LOSS = "loss"


class Better(enum.StrEnum):
    """Direction in which a measure improves."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"
    """Neither: the worse direction depends on what is wanted, so there is no margin to be worse
    by."""


class Side(enum.StrEnum):
    """A kind of mistake that a gate must have judged before it passes a model."""

    SAFETY = "safety"
    """Calling safe, or answering, what is unsafe."""
    CAUTION = "over-caution"
    """Calling unsafe, or refusing, what is safe."""


class Family(enum.StrEnum):
    """Kind of answers that a measure is for."""

    JUDGEMENTS = "judgements"
    REPLIES = "replies"
    PAIRS = "pairs"
    """Preferences between two cases of one query: the more appropriate to answer."""


class Needs(enum.Enum):
    """Data without which a measure is no row of a run."""

    ANSWERS = enum.auto()
    CONTEXTS = enum.auto()
    """Two contexts of one query, or a query without one and in one, and knowledge of them."""
    TOOL_CALLS = enum.auto()
    """Replies that call a tool."""


class Fixing(enum.Flag):
    """Parts of a study's design that fix figures, whatever the queries."""

    LABELS = enum.auto()
    """Labels are what the authors of the contexts meant."""
    ANSWERS = enum.auto()
    """Answers are that, or one thing throughout."""
    ONE_ANSWER = enum.auto()
    """Answers are one thing throughout, and the figure is alike in each query."""
    BLIND = enum.auto()
    """Answers know no context, and the figure is alike in each query."""
    BETWEEN = enum.auto()
    """As ``BLIND``, of a figure between 0 and 1: other queries can't have another."""


BALANCE = (Fixing.LABELS | Fixing.ANSWERS, Fixing.BETWEEN)
"""Designs that fix a figure of answers and labels; chance may make it 0 or 1 in each query."""


class Mean(NamedTuple):
    """Mean over units: their values, and the clusters of its standard error. Shapes ``(n,)``."""

    values: Any
    clusters: Any
    """The query of each unit: ``casewise.statistics.Clusters``."""
    weights: Any = None
    """None is 1 each."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a run, and all that is said of it."""

    name: str
    """Key in JSON, in a gate's file and of ``Score.measures``."""
    says: str
    """Sentence on what it tells."""
    definition: str
    """Formula in words."""
    formula: Callable[..., Any] | None = None
    """Makes an ``Estimate`` or a ``Mean`` of the answers as counted
    (``casewise.measures.AnswerCounts``); None of a figure that other parts of the program make."""
    kind: MeasureKind = MeasureKind.SHARE
    better: Better = Better.HIGHER
    of: tuple[str, ...] = (Family.JUDGEMENTS,)
    """Families, or names of protocols, that it is for."""
    needs: Needs = Needs.ANSWERS
    sides: tuple[Side, ...] = ()
    """Sides that it measures: whatever the cases, a model that only ever makes this kind of mistake
    (says safe to everything, or unsafe) has its worst value."""
    high: float = 1.0
    """The greatest value there is; infinite where there is none."""
    source: str = ""
    """Paper that it comes from, as a link."""
    title: str = ""
    """Name in a table of changes; empty is its own, with spaces."""
    compared: bool = True
    """True if ``compare`` subtracts it."""
    gated: bool = False
    """True if a gate's rule may be about it."""
    corrected: bool = False
    """True if labelled replies correct it for the grader's errors."""
    fixed_by: tuple[Fixing, ...] = (*BALANCE, Fixing.ONE_ANSWER)
    """Designs each of which fixes it, so that it has no interval; empty if none does."""

    @property
    def low(self) -> float:
        """The least value there is."""
        return -self.high if self.kind is MeasureKind.CORRELATION else 0.0

    def is_for(self, family: Family, protocol: str = "") -> bool:
        """Tell whether answers of a family, or of a protocol, can have a value."""
        return family in self.of or protocol in self.of

    @property
    def label(self) -> str:
        """Name in running text."""
        return self.title or self.name.replace("_", " ")
