"""What stands in for a text that is withheld."""

import hashlib
import re

_STAND_IN = re.compile(r"\[withheld: (\d+) characters(?:, [0-9a-f]{16})?\]")


def stand_in(text: str, mark: str | None = None) -> str:
    """What is shown in a text's place: its length in characters, and no word of it.

    Args:
        text: The text; of one that is a stand-in already, nothing changes.
        mark: 16 hexadecimal characters that tell stand-ins apart where texts must differ.
    """
    if is_withheld(text):
        return text
    return f"[withheld: {len(text)} characters{f', {mark}' if mark else ''}]"


def is_withheld(text: str) -> bool:
    """Whether a text is only a stand-in."""
    return _STAND_IN.fullmatch(text) is not None


def length_of(text: str | None) -> int | None:
    """Characters of a text, or of the one that a stand-in stands for; None of none."""
    if text is None:
        return None
    found = _STAND_IN.fullmatch(text)
    return int(found[1]) if found else len(text)


def hashed(text: str, kind: str, digits: int = 16) -> str:
    """A name in place of one that is not shown: the same for the same text, wherever it stands."""
    if re.fullmatch(rf"{kind}-[0-9a-f]{{{digits}}}", text):
        return text
    found = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{kind}-{found[:digits]}"
