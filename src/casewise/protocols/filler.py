"""Neutral talk on everyday topics, of any length; its words stand in ``data/filler.yaml``."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

from casewise.files.yaml import read_plain_yaml

_WORD = re.compile(r"\{(\w+)(\^?)\}")
_SENTENCES = (3, 4)
"""Fewest and most sentences of a scripted reply."""
_TRIES = 5
"""Tries at a sentence that was not drawn before."""


def exchanges(random: Random, size: int) -> list[str]:
    """Questions and their replies in turn, about ``size`` bytes: none for 0, else one or more."""
    lines: list[str] = []
    remaining = size
    for question, sentence in _talk(random):
        length = len(f"{question}{sentence}".encode())
        if remaining <= 0 or (remaining < size and remaining < length / 2):
            break
        remaining -= length
        if question:
            lines += [question, sentence]
        else:
            lines[-1] += f" {sentence}"
    return lines


def _talk(random: Random) -> Iterator[tuple[str, str]]:
    """Sentences of replies without end, the first of each with the question that it answers."""
    words, topics = filler_words().values()
    drawn_before: set[str] = set()

    def draw() -> dict[str, list[str]]:
        # Two values of each word, for the first and the second place that a sentence has for it.
        return {name: random.sample(values, 2) for name, values in words.items()}

    while True:
        for topic in random.sample(topics, len(topics)):
            drawn = draw()
            question = _fill(random.choice(topic["questions"]), drawn)
            for template in random.sample(topic["sentences"], random.randint(*_SENTENCES)):
                sentence, tries = _fill(template, drawn), 0
                while sentence in drawn_before and tries < _TRIES:
                    sentence, tries = _fill(template, draw()), tries + 1
                drawn_before.add(sentence)
                yield question, sentence
                question = ""


def _fill(template: str, drawn: dict[str, list[str]]) -> str:
    values = {name: iter(pair) for name, pair in drawn.items()}

    def value(match: re.Match[str]) -> str:
        text = next(values[match[1]])
        return text[:1].upper() + text[1:] if match[2] else text

    return _WORD.sub(value, template)


@cache
def filler_words() -> dict[str, Any]:
    """Words and topics of the talk."""
    return read_plain_yaml(Path(str(files("casewise.data"))) / "filler.yaml", "talk")  # type: ignore[no-any-return]
