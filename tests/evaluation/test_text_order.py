"""The line in which requests wait for a model of this process: no model is needed to test it."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.evaluation.models._in_process import Line, common_prefix

Tokens = tuple[int, ...]

prompts = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple), max_size=24)
"""Few letters: many prompts share beginnings, and some are beginnings of others."""


def tree_size(texts: Sequence[Tokens]) -> int:
    """The tokens of the texts' trie: each beginning counts once."""
    return len({text[:end] for text in texts for end in range(1, len(text) + 1)})


def computed(order: Sequence[Tokens]) -> int:
    """What an engine computes that keeps one path; a prompt's last token must go through it."""
    total = 0
    last: Tokens = ()
    for tokens in order:
        if tokens != last:
            total += len(tokens) - min(common_prefix(tokens, last), len(tokens) - 1)
        last = tokens
    return total


@settings(deadline=None)
@given(prompts)
def test_where_all_wait_each_beginning_is_computed_once(texts: list[Tokens]) -> None:
    line: Line[Tokens] = Line()
    for one in texts:
        line.add(one, one)
    taken: list[Tokens] = []
    while len(line):
        taken += line.take(taken[-1] if taken else None)
    assert taken == sorted(texts)
    assert computed(taken) == tree_size(texts)
