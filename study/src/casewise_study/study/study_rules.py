"""The rules that a study file fixes: when a case has votes enough, and whom screening flags."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from casewise_study.statistics.stopping import LEAST_VOTES, POSTERIOR, Boundary


class Rule(StrEnum):
    """The rules of screening."""

    ATTENTION = "attention"
    FAST = "fast"
    HONEYPOT = "honeypot"
    LEFT = "left"
    COPIED = "copied"
    TIMES = "times"
    TOOL = "tool"
    UNREAD = "unread"
    MODEL = "model"


LIMITS = {
    Rule.ATTENTION: "attention_failed",
    Rule.FAST: "fast_share",
    Rule.HONEYPOT: "honeypot_pages",
    Rule.LEFT: "left_share",
    Rule.COPIED: "copied_share",
    Rule.TIMES: "even_times",
    Rule.TOOL: "tool_told",
    Rule.UNREAD: "unread_share",
    Rule.MODEL: "models",
}
"""The field of ``Screening`` that sets each rule."""


class StudyPart(BaseModel):
    """A part of a study file: strict, finite and fixed. Docstrings of fields are its comments."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Screening(StudyPart):
    """Rules that flag people, fixed before the study starts. Flags never delete.

    Null switches a rule off. Votes, times and checks are weighed together (``unread_share``); rules
    on single ones flag extremes.
    """

    attention_failed: int | None = Field(default=2, ge=0)
    """Flagged: who fails more attention checks, as careful people do by slips."""
    fast_share: float | None = Field(default=0.5, ge=0, le=1)
    """Flagged: a greater share of votes faster than fast_seconds, or where that is null, than the
    words of the case take at 600 a minute, at least 3 s."""
    fast_seconds: float | None = Field(default=None, ge=0)
    """null: what the words of each case take."""
    honeypot_pages: int | None = Field(default=1, ge=0)
    """Flagged: follows the text of more pages that stands in their source alone, unseen and unheard
    by people."""
    left_share: float | None = Field(default=0.5, ge=0, le=1)
    """Flagged: leaves a greater share of the pages for another window or tab."""
    copied_share: float | None = Field(default=0.2, ge=0, le=1)
    """Flagged: copies the case, or pastes, on a greater share of the pages."""
    even_times: float | None = Field(default=0.1, gt=0)
    """Flagged: logarithms of times vary less, by the standard deviation of the middle four fifths
    of at least 12 cases."""
    tool_told: bool | None = True
    """Flagged: says at the end that a tool gave some or all of the answers."""
    unread_share: float | None = Field(default=0.05, gt=0, lt=1)
    """Flagged: probably did not read at least 12 cases, by the votes against the others' on the
    same cases and against patterns, by times and checks; so many that at most this share of them
    is expected to have read."""
    models: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Flagged: gives the verdicts of models, as in these runs on the study's cases: [logs/gpt-4o];
    so many that at most unread_share of them is expected to have judged themselves."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are on."""
        limits = ((rule, getattr(self, name)) for rule, name in LIMITS.items())
        return tuple(rule for rule, limit in limits if not (limit is None or limit is False))

    @property
    def watches(self) -> bool:
        """True if pages hold hidden text, and note when they are left and copied from."""
        return bool({Rule.HONEYPOT, Rule.LEFT, Rule.COPIED} & set(self.rules))


class StoppingRule(StrEnum):
    """Rule that ends the votes on a case: at their number, or once the majority is decided."""

    FIXED = "fixed"
    SEQUENTIAL = "sequential"


class Collection(StudyPart):
    """Votes that a case gets: ``Study.votes``, or at most so many under a stopping rule."""

    rule: StoppingRule = StoppingRule.FIXED
    """fixed or sequential."""
    posterior: float = Field(default=POSTERIOR, gt=0.5, lt=1)
    """Sequential: decided when the majority is all people's with at least this probability."""
    least: int = Field(default=LEAST_VOTES, ge=1)
    """Sequential: votes on every case, however clear."""

    @property
    def is_sequential(self) -> bool:
        """True if cases stop by the rule."""
        return self.rule is StoppingRule.SEQUENTIAL

    @property
    def boundary(self) -> Boundary:
        """Numbers of votes at which cases stop by the rule."""
        return Boundary(self.posterior, self.least)
