"""The rules of screening, as they stand in a study file."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Rule(StrEnum):
    """The rules of screening."""

    ATTENTION = "attention"
    FAST = "fast"
    ONE_ANSWER = "one_answer"
    AGREEMENT = "agreement"
    HONEYPOT = "honeypot"
    LEFT = "left"
    COPIED = "copied"
    TIMES = "times"
    TOOL = "tool"


SIGNALS = (Rule.HONEYPOT, Rule.LEFT, Rule.COPIED, Rule.TIMES, Rule.TOOL)
"""The rules that rest on signals of answers that no person gave."""


class Screening(BaseModel):
    """Rules that flag people, fixed before the study starts. Flags never delete.

    Null switches a rule off. Those that rest on signals are null unless they are set: a study file
    that was written before there were any records none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    attention_failed: int | None = Field(default=1, ge=0)
    """Flagged are those who fail more attention checks: one is a slip that careful people make."""
    fast_share: float | None = Field(default=0.2, ge=0, le=1)
    """Flagged are those with a greater share of votes faster than ``fast_seconds``."""
    fast_seconds: float | None = Field(default=None, ge=0)
    """None: what the words of each case take at the greatest speed at which people understand."""
    one_answer_share: float | None = Field(default=0.95, ge=0.5, le=1)
    """Flagged are those who give one answer to a greater share of at least 20 cases, where the
    others' answers make that unlikely."""
    agreement_p: float | None = Field(default=0.05, gt=0, lt=1)
    """Flagged are those who agree with the others less than these agree among themselves, with a
    one-sided p below this after Benjamini & Hochberg's adjustment for the number of people: of
    those whom the rule flags, no greater share is flagged by chance."""
    agreement_most: float | None = Field(default=0.2, ge=0, le=1)
    """If agreement would flag a greater share of the people who voted, it flags nobody: then votes
    may fall in two groups, and which of them is right isn't in the votes."""
    honeypot_pages: int | None = Field(default=None, ge=0)
    """Flagged are those who follow the hidden text of more pages."""
    left_share: float | None = Field(default=None, ge=0, le=1)
    """Flagged are those who leave a greater share of the pages for another window or tab."""
    copied_share: float | None = Field(default=None, ge=0, le=1)
    """Flagged are those who copy the case, or paste, on a greater share of the pages."""
    even_times: float | None = Field(default=None, gt=0)
    """Flagged are those the logarithms of whose times vary less: the standard deviation of the
    middle four fifths, over at least 12 cases."""
    words_p: float | None = Field(default=None, gt=0, lt=1)
    """Flagged are those whose times rise less with the words of the cases than other people's:
    adjusted p below this."""
    tool_told: bool | None = None
    """True: flagged are those who say at the end that a tool gave some or all of the answers."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules to report on: those without signals, and those of signals that are on."""
        on = {
            Rule.HONEYPOT: self.honeypot_pages is not None,
            Rule.LEFT: self.left_share is not None,
            Rule.COPIED: self.copied_share is not None,
            Rule.TIMES: self.even_times is not None or self.words_p is not None,
            Rule.TOOL: bool(self.tool_told),
        }
        return tuple(rule for rule in Rule if on.get(rule, True))

    @property
    def watches(self) -> bool:
        """Whether pages hold hidden text, and note when they are left and copied from."""
        return bool({Rule.HONEYPOT, Rule.LEFT, Rule.COPIED} & set(self.rules))


PLANNED = Screening(
    honeypot_pages=1, left_share=0.5, copied_share=0.2, even_times=0.1, words_p=0.05, tool_told=True
)
"""The rules of a new study."""
