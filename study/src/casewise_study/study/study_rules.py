"""The rules that a study file fixes: when a case has votes enough, and whom screening flags."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from casewise.statistics import LEAST_VOTES, POSTERIOR, Boundary


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
    CHANGED = "changed"
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
    Rule.CHANGED: "changed_p",
    Rule.MODEL: "models",
}
"""The field of ``Screening`` that sets each rule."""


class StudyPart(BaseModel):
    """A part of a study file: strict, finite and fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Screening(StudyPart):
    """Rules that flag people, fixed before the study starts. Flags never delete.

    Null switches a rule off. Votes, times and checks are weighed together (``unread_share``); rules
    on single ones flag extremes.
    """

    attention_failed: int | None = Field(default=2, ge=0)
    """Flagged are those who fail more attention checks: slips that careful people make."""
    fast_share: float | None = Field(default=0.5, ge=0, le=1)
    """Flagged are those with a greater share of votes faster than ``fast_seconds``."""
    fast_seconds: float | None = Field(default=None, ge=0)
    """None: what the words of each case take at the greatest speed at which people understand."""
    honeypot_pages: int | None = Field(default=1, ge=0)
    """Flagged are those who follow the hidden text of more pages."""
    left_share: float | None = Field(default=0.5, ge=0, le=1)
    """Flagged are those who leave a greater share of the pages for another window or tab."""
    copied_share: float | None = Field(default=0.2, ge=0, le=1)
    """Flagged are those who copy the case, or paste, on a greater share of the pages."""
    even_times: float | None = Field(default=0.1, gt=0)
    """Flagged are those the logarithms of whose times vary less: the standard deviation of the
    middle four fifths, over at least 12 cases."""
    tool_told: bool | None = True
    """True: flagged are those who say at the end that a tool gave some or all of the answers."""
    unread_share: float | None = Field(default=0.05, gt=0, lt=1)
    """Flagged are the most who probably answer without reading, of whom no greater share is
    expected to have read: by votes, times and checks together."""
    changed_p: float | None = Field(default=0.05, gt=0, lt=1)
    """Flagged are those whose pace and leniency change at one place, as if another person went on:
    adjusted p below this."""
    models: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Runs of models on the study's cases, by path from the study file: flagged are the most who
    give a model's verdicts, of whom no greater share than ``unread_share`` is expected to have
    judged themselves."""

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
    posterior: float = Field(default=POSTERIOR, gt=0.5, lt=1)
    """A case stops when its majority is that of all people with at least this probability."""
    least: int = Field(default=LEAST_VOTES, ge=1)
    """Votes on every case, however clear."""

    @property
    def is_sequential(self) -> bool:
        """True if cases stop by the rule."""
        return self.rule is StoppingRule.SEQUENTIAL

    @property
    def boundary(self) -> Boundary:
        """Numbers of votes at which cases stop by the rule."""
        return Boundary(self.posterior, self.least)
