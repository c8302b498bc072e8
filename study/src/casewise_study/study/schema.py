"""A study: its questions, people, block design and screening rules.

Everything that may sway a result is fixed here before the first person comes: the blocks, the
checks, and the rules by which people are screened.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PrivateAttr,
    StringConstraints,
    model_validator,
)

from casewise.cases import Case, Context, Side
from casewise.files.yaml import fault
from casewise_study.study.study_rules import Collection, Screening, StudyPart


class Arm(StrEnum):
    """Context that a person is shown: none, the one meant safe, the one meant unsafe."""

    NONE = "none"
    SAFE = "safe"
    UNSAFE = "unsafe"


class Platform(StrEnum):
    """Platform that recruits people."""

    NONE = "none"
    PROLIFIC = "prolific"


class StudyCell(NamedTuple):
    """A case under one arm: what ``Study.votes`` people are to judge."""

    arm: Arm
    case_id: str


Block = tuple[int, ...]
"""Cases of one person: places in ``Design.cells``, in the order of showing."""


def _to_cell(value: Any) -> StudyCell:
    if isinstance(value, StudyCell):
        return value
    arm, _, case_id = value.partition(" ") if isinstance(value, str) else ("", "", "")
    if arm not in list(Arm) or not case_id:
        expected = f"an arm ({', '.join(Arm)}), a space and the id of a case"
        raise fault("not a cell", found=value, expected=expected)
    return StudyCell(Arm(arm), case_id)


def _to_block(value: Any) -> Block:
    if isinstance(value, tuple) and all(type(place) is int for place in value):
        return value
    # YAML reads a single place as a number.
    words = str(value).split() if isinstance(value, str | int) else []
    if not words or not all(word.isascii() and word.isdecimal() for word in words):
        expected = "places in design.cells, from 0, with spaces between them"
        raise fault("not a block", found=value, expected=expected)
    return tuple(map(int, words))


def _once(
    values: Iterable[Hashable],
    problem: str,
    *path: str | int,
    field: str | None = None,
) -> None:
    """Refuse a value that stood before; its place goes into the path."""
    seen = set()
    for place, value in enumerate(values):
        if value in seen:
            where = (*path, place, *([field] if field else []))
            raise fault(problem, *where, found=value)
        seen.add(value)


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://\S+$", max_length=2000)]
WrittenCell = Annotated[
    StudyCell, BeforeValidator(_to_cell), PlainSerializer(lambda cell: f"{cell.arm} {cell.case_id}")
]
WrittenBlock = Annotated[
    Block, BeforeValidator(_to_block), PlainSerializer(lambda block: " ".join(map(str, block)))
]


class Consent(StudyPart):
    """Text that people read before they agree."""

    text: Text
    """Researchers, purpose, and use of the answers."""
    warning: Text
    """Warning of what may distress."""
    contact: Text
    """Whom to write to."""
    ethics: Text | None = None
    """The board that approved the study, and its number; or null."""
    least_age: int = Field(default=18, ge=0, le=99)


OpenPoint = Literal[
    "ethics",
    "helplines",
    "data_controller",
    "legal_basis",
    "storage_place",
    "access",
    "partial_pay",
]
"""Point that a board or the law asks for, and only those who do the study can say."""


class Safeguards(StudyPart):
    """Answers that a board or the law asks for; shown with the consent where they are given.

    ``consent.ethics`` is one of them. What is neither given nor waived is named as still open.
    """

    helplines: Text | None = None
    """Where people whom a text troubles find help."""
    data_controller: Text | None = None
    """Who answers for the data by law."""
    legal_basis: Text | None = None
    """Why the data may be kept, such as consent (GDPR, Art. 6(1)(a))."""
    storage_place: Text | None = None
    """Whose machine the data are on, in which country."""
    access: Text | None = None
    """Who can read the data."""
    partial_pay: Text | None = None
    """What is paid to those who stop early or are screened out."""
    waived: dict[OpenPoint, Text] = Field(default={})
    """Points that this study does without: who waives it, and why."""


class TutorialExample(StudyPart):
    """A worked example of the tutorial."""

    query: Text
    context: Context | None = None
    verdict: Side
    why: Text


class ComprehensionQuestion(StudyPart):
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
            expected = f"a place in options, 0 to {len(self.options) - 1}"
            raise fault("no such option", "answer", found=self.answer, expected=expected)
        return self


class Comprehension(StudyPart):
    """Questions after the tutorial; who fails every attempt is screened out before any vote."""

    questions: tuple[ComprehensionQuestion, ...] = ()
    attempts: int = Field(default=2, ge=1, le=10)
    """At all questions together."""


class AttentionCheck(StudyPart):
    """A page that looks like a case, and says which answer to give."""

    id: Name
    query: Text
    context: Context | None = None
    expected: Side


class AboutQuestion(StudyPart):
    """One question about the person, asked after the last case; *prefer not to say* is added."""

    name: Name
    text: Text
    options: tuple[Text, ...] = Field(min_length=1, max_length=30)


class Attention(StudyPart):
    """Checks among the cases of each person, at places drawn by ``seed``."""

    checks: tuple[AttentionCheck, ...] = ()
    per_person: int = Field(default=0, ge=0)
    """Drawn from the checks."""

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.per_person > len(self.checks):
            expected = f"at most {len(self.checks)}, the number of checks"
            raise fault("too many", "per_person", found=self.per_person, expected=expected)
        _once((check.id for check in self.checks), "the id stands twice", "checks", field="id")
        return self


class Ask(StudyPart):
    """Questions beside safe or unsafe; both may be left open by a person."""

    confidence: bool = False
    """1 (guessing) to 5 (certain)."""
    reason: bool = False


class Timing(StudyPart):
    """Limits of the time of a page, and of a place."""

    least_seconds: float | None = Field(default=None, ge=0, le=60)
    """A sooner answer is not taken; null: by the words of each page, at a speed at which nobody can
    read."""
    most_seconds: float = Field(default=600, gt=0)
    """A page counts no more: the rest is a break."""
    lease_minutes: float = Field(default=30, gt=0)
    """After its last answer another person may get the block."""


class Pay(StudyPart):
    """The pay, and the times that it is planned by."""

    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "GBP"
    per_hour: float = Field(default=0, ge=0)
    seconds_per_task: float | None = Field(default=None, gt=0)
    """A case or an attention check takes; null: by their words."""
    minutes_besides: float | None = Field(default=None, ge=0)
    """Consent, tutorial and questions take; null: by their words."""
    fee: float = Field(default=0, ge=0)
    """The platform's, as a share of the pay."""


class Recruitment(StudyPart):
    """The platform, and what people bring back to it."""

    platform: Platform = Platform.NONE
    return_url: Url | None = None
    """Where people go at the end, with {code}; null shows the code."""
    signed: bool = False
    """true: only signed links are taken, by Prolific (Secured external URL) or, without a platform,
    by casewise annotate links. A signature that a link has is checked in any case."""
    completed: Name = "COMPLETED"
    screened_out: Name = "SCREENED-OUT"
    withdrawn: Name = "WITHDRAWN"

    def code_of(self, status: str | None) -> str:
        """The code of an end; that of people who withdrew for all who left before the end."""
        codes = {"completed": self.completed, "screened_out": self.screened_out}
        return codes.get(status or "", self.withdrawn)

    @model_validator(mode="after")
    def _check_distinct_codes(self) -> Self:
        names = ("completed", "screened_out", "withdrawn")
        codes: dict[str, str] = {}
        for name in names:
            code = getattr(self, name)
            if codes.setdefault(code, name) != name:
                expected = "a code of its own for each way to end"
                raise fault("the code stands twice", name, found=code, expected=expected)
        if self.return_url is not None and "{code}" not in self.return_url:
            expected = "an address with {code} where the code goes"
            raise fault(
                "no place for the code", "return_url", found=self.return_url, expected=expected
            )
        return self


class Counting(StrEnum):
    """Counting of a second account's votes; the person is paid all the same."""

    COUNT = "count"
    LEAVE_OUT = "leave_out"
    """Another person gets the block."""


class Design(StudyPart):
    """The block design: each block is judged by one person."""

    cells: tuple[WrittenCell, ...] = Field(min_length=1)
    blocks: tuple[WrittenBlock, ...] = Field(min_length=1)

    @property
    def longest(self) -> int:
        """Cases of the longest block."""
        return max(map(len, self.blocks))

    @model_validator(mode="after")
    def _places_exist(self) -> Self:
        _once((cell.case_id for cell in self.cells), "the case stands twice", "cells")
        for number, block in enumerate(self.blocks):
            beyond = [place for place in block if place >= len(self.cells)]
            if beyond:
                expected = f"0 to {len(self.cells) - 1}"
                raise fault("no such cell", "blocks", number, found=beyond[0], expected=expected)
            if len(set(block)) < len(block):
                twice = next(place for place in block if block.count(place) > 1)
                raise fault("a cell stands twice", "blocks", number, found=twice)
        return self


class Study(StudyPart):
    """A whole study, as its YAML file holds it."""

    casewise_study: Literal[1] = 1
    id: Name
    title: Text
    """Shown to people at the top of every page."""
    cases: Text
    """As seen from this file's folder. The hash stops the study should the cases change."""
    cases_hash: str
    arms: tuple[Arm, ...] = Field(min_length=1)
    """The contexts that people see: none (the query alone), safe and unsafe (as intended)."""
    votes: int = Field(ge=1)
    """How many different people judge each cell; under sequential collection at most."""
    collection: Collection = Collection()
    """fixed: so many; sequential: a case stops once its majority is decided, and votes is the most.
    Then fewer votes give the same labels, and shares are less exact."""
    seed: int = Field(default=0, ge=0)
    """Of the design below, as it was planned, and of where attention checks stand."""
    language: str = "en"
    """Of the pages, and that people read in: en, de, or CODE.po beside this file."""
    ask: Ask = Ask()
    """Asked beside safe or unsafe; people may leave these open."""
    timing: Timing = Timing()
    pay: Pay = Pay()
    """For the forecast of costs. What people are told of pay stands in consent.text."""
    recruitment: Recruitment = Recruitment()
    """The platform, and the codes that tell it how a person's session ended. Without a
    platform, unpaid people see none, unless a code is set here."""
    consent: Consent
    """Read and agreed to first. Blank lines part paragraphs."""
    safeguards: Safeguards = Safeguards()
    """What a board or the law asks; shown with the consent. Say each, or waive it with who and why,
    as in waived: {ethics: Ada Example, our board reviews no surveys}."""
    instructions: Text
    """Read after consent."""
    tutorial: tuple[TutorialExample, ...] = ()
    """Worked examples, with the answer and why."""
    comprehension: Comprehension = Comprehension()
    """Questions after the tutorial; who fails every attempt is not asked further."""
    attention: Attention = Attention()
    """Pages that look like a case and say which answer to give."""
    screening: Screening = Screening()
    """Rules that flag people, fixed before the start. Flags never delete a vote; null switches a
    rule off."""
    second_accounts: Counting = Counting.COUNT
    """Votes of who begins in the browser of another, which is always recorded and shown: count or
    leave_out. Then another person gets the block."""
    demographics: tuple[AboutQuestion, ...] = ()
    """Asked after the last case, kept apart from the votes; prefer not to say is added. Edit at
    will; [] asks none."""
    exit_question: Text | None = None
    """Asked there too, answered in one's own words; null asks none."""
    tool_question: Text | None = None
    """Asked there too: whether a language model or another tool gave none, some, or most or all of
    the answers; null asks none."""
    debriefing: Text | None = None
    """Shown on the last page: what people were not told before."""
    design: Design
    """Who judges what. Each cell is an arm and a case; each block is what one person judges, in its
    order: places in cells, counted from 0. Written by a program; leave as is."""

    _path: Path | None = PrivateAttr(default=None)
    _cases: tuple[str, Design, tuple[Case, ...]] | None = PrivateAttr(default=None)
    """The file of cases, the design, and the cases of its cells, once they were read."""

    @model_validator(mode="after")
    def _check_numbers(self) -> Self:
        _once((arm.value for arm in self.arms), "the arm stands twice", "arms")
        if (least := self.collection.least) > self.votes and self.collection.is_sequential:
            expected = f"at most votes, {self.votes}"
            raise fault("too many", "collection", "least", found=least, expected=expected)
        for number, cell in enumerate(self.design.cells):
            if cell.arm not in self.arms:
                expected = f"one of arms: {', '.join(self.arms)}"
                raise fault(
                    "not an arm of the study",
                    *("design", "cells", number),
                    found=cell.arm.value,
                    expected=expected,
                )
        for place, arm in enumerate(self.arms):
            if all(cell.arm is not arm for cell in self.design.cells):
                raise fault("no cell of the design has this arm", "arms", place, found=arm.value)
        names = (question.name for question in self.demographics)
        _once(names, "the name stands twice", "demographics", field="name")
        times = Counter(place for block in self.design.blocks for place in block)
        for number, cell in enumerate(self.design.cells):
            if times[number] != self.votes:
                raise fault(
                    f"the cell {cell.arm} {cell.case_id} is in {times[number]} blocks",
                    *("design", "cells", number),
                    expected=f"{self.votes}, one for each of its votes",
                )
        return self

    def check(self, name: str | None) -> AttentionCheck:
        """The attention check of this id."""
        return next(check for check in self.attention.checks if check.id == name)

    @property
    def needs_code(self) -> bool:
        """True if people need a code at the end: for pay, a platform, or one of the study's own."""
        usual = Recruitment(signed=self.recruitment.signed)
        return self.pay.per_hour > 0 or self.recruitment != usual

    @property
    def asks_about(self) -> bool:
        """True if questions follow the last case."""
        return bool(self.demographics or self.exit_question or self.tool_question)

    @property
    def path(self) -> Path | None:
        """The file that it was loaded from."""
        return self._path

    @property
    def folder(self) -> Path:
        """The folder that paths of the file start from."""
        return self._path.parent if self._path else Path()

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place in ``design.cells`` of a case's id."""
        return {cell.case_id: place for place, cell in enumerate(self.design.cells)}
