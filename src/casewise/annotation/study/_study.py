"""A study: what is asked, of whom, in which order, and what decides afterwards.

Everything that may sway a result is fixed here before the first person comes: the blocks, the
checks, and the rules by which people are screened.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    StringConstraints,
    model_validator,
)

from casewise.cases import Context, Side


class Arm(StrEnum):
    """What of the context a person is shown: none, the one meant safe, the one meant unsafe."""

    NONE = "none"
    SAFE = "safe"
    UNSAFE = "unsafe"


class Platform(StrEnum):
    """Where people are recruited."""

    NONE = "none"
    PROLIFIC = "prolific"
    MTURK = "mturk"


class Cell(NamedTuple):
    """A case under one arm: what ``Study.votes`` people are to judge."""

    arm: Arm
    case_id: str


Block = tuple[int, ...]
"""What one person judges: places in ``Design.cells``, in the order of showing."""


def _to_cell(value: Any) -> Any:
    if isinstance(value, str) and len(parts := value.split(" ", 1)) == 2:
        return Cell(Arm(parts[0]), parts[1]) if parts[0] in list(Arm) else value
    return value


def _to_block(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if isinstance(value, str) and all(one.isdecimal() for one in value.split()):
        return tuple(map(int, value.split()))
    return value


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://\S+$", max_length=2000)]
WrittenCell = Annotated[
    Cell, BeforeValidator(_to_cell), PlainSerializer(lambda one: f"{one.arm} {one.case_id}")
]
WrittenBlock = Annotated[
    Block, BeforeValidator(_to_block), PlainSerializer(lambda one: " ".join(map(str, one)))
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Consent(_Part):
    """What people are told before they agree."""

    text: Text
    """Who asks, what for, what happens to the answers. Blank lines part paragraphs."""
    warning: Text
    """What may distress."""
    contact: Text
    """Whom to write to."""
    ethics: Text | None = None
    """The board that approved it, and its number."""
    least_age: int = Field(default=18, ge=0, le=99)


class Example(_Part):
    """A worked example of the tutorial."""

    query: Text
    context: Context | None = None
    verdict: Side
    why: Text


class Question(_Part):
    """One question of the comprehension check."""

    text: Text
    options: tuple[Text, ...] = Field(min_length=2, max_length=6)
    answer: int = Field(ge=0)
    """The place of the right one in ``options``."""
    hint: Text | None = None
    """Shown when it was missed."""

    @model_validator(mode="after")
    def _answer_is_an_option(self) -> Self:
        if self.answer >= len(self.options):
            raise ValueError(f"answer: no option {self.answer}")
        return self


class Comprehension(_Part):
    """Asked after the tutorial; who fails every attempt is screened out before any vote."""

    questions: tuple[Question, ...] = ()
    attempts: int = Field(default=2, ge=1, le=10)


class AttentionCheck(_Part):
    """A page that looks like a case, and says which answer to give."""

    id: Name
    query: Text
    context: Context | None = None
    expected: Side


class Attention(_Part):
    """Checks among the cases of each person, at places drawn by ``seed``."""

    checks: tuple[AttentionCheck, ...] = ()
    per_person: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.per_person > len(self.checks):
            raise ValueError(f"per_person: only {len(self.checks)} checks to draw from")
        if len({one.id for one in self.checks}) < len(self.checks):
            raise ValueError("checks: two have the same id")
        return self


class Ask(_Part):
    """What is asked beside safe or unsafe; both may be left open by a person."""

    confidence: bool = False
    """1 (guessing) to 5 (certain)."""
    reason: bool = False


class Timing(_Part):
    """How long a page may take, and how long a place is kept."""

    least_seconds: float = Field(default=2, ge=0, le=60)
    """An answer that comes sooner is not taken: the page asks to read first."""
    most_seconds: float = Field(default=600, gt=0)
    """A vote that took longer is marked."""
    lease_minutes: float = Field(default=30, gt=0)
    """A block is kept so long after its last answer; then another person may have it."""


class Pay(_Part):
    """What people get, as far as it can be planned."""

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "GBP"
    per_hour: float = Field(default=0, ge=0)
    seconds_per_task: float = Field(default=25, gt=0)
    minutes_besides: float = Field(default=6, ge=0)
    """For consent, tutorial and checks."""
    fee: float = Field(default=0, ge=0)
    """The platform's, as a share of the pay."""


class Recruitment(_Part):
    """The platform, and what people bring back to it."""

    platform: Platform = Platform.NONE
    return_url: Url | None = None
    """Where a person goes at the end; ``{code}`` stands for the code. None shows the code alone."""
    completed: Name = "COMPLETED"
    screened_out: Name = "SCREENED-OUT"
    withdrawn: Name = "WITHDRAWN"


class Screening(_Part):
    """Rules that flag people, fixed before the study starts. Flags never delete.

    Null switches a rule off.
    """

    attention_failed: int | None = Field(default=0, ge=0)
    """Flagged are those who fail more attention checks."""
    fast_share: float | None = Field(default=0.2, ge=0, le=1)
    """Flagged are those with a greater share of votes faster than ``fast_seconds``."""
    fast_seconds: float = Field(default=3, ge=0)
    one_answer_share: float | None = Field(default=0.95, ge=0.5, le=1)
    """Flagged are those who give one answer to a greater share of at least 20 cases."""
    agreement_p: float | None = Field(default=0.01, gt=0, lt=1)
    """Flagged are those who agree with the others less than these agree among themselves, with a
    one-sided p below this."""


class Design(_Part):
    """Who judges what: one block is one person's."""

    cells: tuple[WrittenCell, ...] = Field(min_length=1)
    blocks: tuple[WrittenBlock, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _places_exist(self) -> Self:
        for number, block in enumerate(self.blocks, 1):
            if not block or max(block) >= len(self.cells):
                raise ValueError(f"blocks, record {number}: a place beyond the cells")
        return self


class Study(_Part):
    """A whole study, as its YAML file holds it."""

    casewise_study: Literal[1] = 1
    """The version of this format."""
    id: Name
    title: Text
    cases: Text
    """The file of cases, as seen from the study file's folder."""
    cases_hash: str
    """Of the cases as they were planned: a study over changed cases doesn't start."""
    arms: tuple[Arm, ...] = Field(min_length=1)
    votes: int = Field(ge=1)
    """On each cell."""
    seed: int = 0
    language: str = "en"
    ask: Ask = Ask()
    timing: Timing = Timing()
    pay: Pay = Pay()
    recruitment: Recruitment = Recruitment()
    consent: Consent
    instructions: Text
    tutorial: tuple[Example, ...] = ()
    comprehension: Comprehension = Comprehension()
    attention: Attention = Attention()
    screening: Screening = Screening()
    design: Design

    _path: Path | None = PrivateAttr(default=None)

    @property
    def path(self) -> Path | None:
        """The file that it was loaded from."""
        return self._path

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place in ``design.cells`` of a case's id."""
        return {cell.case_id: place for place, cell in enumerate(self.design.cells)}
