"""Why a revision was not made."""

from dataclasses import dataclass

from casewise.errors import CasewiseError


class RevisionError(CasewiseError):
    """A revision that was not made; nothing was written."""


class UnknownPairError(RevisionError):
    """No pair of the file has, or had, this query id."""


class StaleError(RevisionError):
    """The pair was revised since the copy was read that this revision was made from."""


class VotedError(RevisionError):
    """The case carries votes: a change needs a new version of it."""


class UnfitError(RevisionError):
    """The revision makes no valid cases."""


class OutsideError(RevisionError):
    """The file or its journal was changed by other means while it was being revised."""


class UnwrittenError(RevisionError):
    """The revision could not be written to the disk."""


@dataclass(frozen=True, slots=True)
class OutsideChange:
    """What other means did to the file since its last revision."""

    changed: int
    """Cases that kept their id."""
    added: int
    removed: int
    kept_votes: int
    """Cases whose text changed under votes that were cast before."""

    def __str__(self) -> str:
        """One sentence for a person."""
        text = f"{self.changed} cases changed, {self.added} added, {self.removed} removed"
        if self.changed + self.added + self.removed == 0:
            text = "the order of the cases changed"
        if self.kept_votes:
            text += f"; {self.kept_votes} of them kept votes that were cast on another text"
        return text
