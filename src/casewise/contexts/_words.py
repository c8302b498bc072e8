"""Words of a text, in any script."""

import unicodedata

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
"""Scripts written without spaces between words."""


class _Letters(dict[int, str]):
    """A table for ``str.translate``: letters, marks and digits stay, unspaced scripts get spaces.

    Marks belong to their letter: without them, words of many scripts would fall apart.
    """

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if unicodedata.category(letter)[0] not in "LMN":
            letter = " "
        elif is_unspaced(code):
            letter = f" {letter} "
        self[code] = letter
        return letter


_LETTERS = _Letters()


def is_unspaced(code: int) -> bool:
    """Whether a character is of a script that has no spaces between words."""
    return any(first <= code <= last for first, last in _UNSPACED)


def words_of(text: str) -> list[str]:
    """The words of a text in small letters; characters of scripts without spaces one by one.

    Texts that differ in case, spaces or punctuation alone have the same words.
    """
    return unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS).split()
