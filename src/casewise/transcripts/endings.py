"""Endings of a file's replies: as their authors ended them, or cut short."""

import re
from collections import Counter
from dataclasses import dataclass, field
from statistics import median_low
from typing import Final

from casewise.protocols import name_non_reply
from casewise.sheets import count

LEAST: Final = 3
"""Fewest replies of one length, or with open ends, that count as a sign of cutting."""

SHARE: Final = 0.05
"""Share of all replies. Of 2,050 whole replies in published files .6 to 1.5 % end in mid-sentence
by the rule here, of files that were cut 13 % and more."""

_SHORT: Final = 100
_ENDS_OPEN = re.compile(r"[A-Za-z0-9,;(]\Z")
_ENDS_WHOLE = re.compile(r"(?<!\.)[.!?\u3002][\"'\u201d\u2019)*\]\s]*\Z")
_LIST_ITEM = re.compile(r"[-*\u2022#|]|\d+[.)]")


def ends_open(reply: str) -> bool:
    """Tell whether a reply ends in mid-sentence: in prose, without a mark that closes it."""
    text = reply.rstrip()
    if len(text) < _SHORT or not _ENDS_OPEN.search(text) or "```" in text:
        return False
    last = text.rsplit("\n", 1)[-1].strip()
    return not _LIST_ITEM.match(last) and len(last.split()) >= 5


@dataclass(slots=True)
class Endings:
    """Counts of a file's replies by how they end."""

    replies: int = 0
    lacking: Counter[str] = field(default_factory=Counter)
    """Texts in a reply's place, by their kind: missing values, error messages."""
    told: int = 0
    """Replies of which the file itself says that a token limit ended them."""
    lengths: Counter[int] = field(default_factory=Counter)
    """Replies by their number of characters."""
    whole: Counter[int] = field(default_factory=Counter)
    """Those of them that end as a sentence does."""
    open: Counter[int] = field(default_factory=Counter)
    """Those that end in mid-sentence."""

    def add(self, reply: str, *, cut: bool = False) -> None:
        """Count a reply."""
        self.replies += 1
        if (kind := name_non_reply(reply)) is not None:
            self.lacking.update([kind] * (kind != "filter message"))
            return
        self.told += cut
        length = len(reply)
        self.lengths[length] += 1
        self.whole[length] += bool(_ENDS_WHOLE.search(reply))
        self.open.update([length] * ends_open(reply))

    @property
    def cut_at(self) -> int | None:
        """The length in characters at which the file's replies seem cut; None without one."""
        longest = max(self.lengths, default=0)
        found = self.lengths[longest]
        # Where most end their sentence, they are one canned reply, or several as long.
        if 2 * self.whole[longest] > found:
            return None
        return longest if found >= LEAST and found >= SHARE * self.replies else None

    @property
    def notes(self) -> list[str]:
        """Cautions to print before anybody trusts their grades; none where all are whole."""
        notes = []
        if self.lacking:
            kinds = (f"{count(n)} {kind}{'s' * (n > 1)}" for kind, n in self.lacking.items())
            notes.append(
                f"{count(self.lacking.total())} of {count(self.replies)} replies are none "
                f"({', '.join(kinds)}): undetermined"
            )
        found = []
        if self.told:
            found.append(f"{count(self.told)} ended at a token limit, as the file says")
        if (at := self.cut_at) is not None:
            found.append(
                f"{count(self.lengths[at])} have {count(at)} characters, and none has more"
            )
        open_ends = self.open.total()
        if open_ends >= max(LEAST, SHARE * self.replies):
            usual = median_low(self.open.elements())
            found.append(
                f"{count(open_ends)} end in mid-sentence, at about {count(usual)} characters"
            )
        if found:
            notes.append(
                f"of {count(self.replies)} replies {'; '.join(found)}: they were probably cut, and "
                "are graded by what is left. Export whole replies, or ask for them again with a "
                "higher token limit"
            )
        return notes
