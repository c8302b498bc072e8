"""The line in which requests wait for a model of this process: no model is needed to test it."""

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.evaluation.models._in_process import Line, TextOrder, Ticket, common_prefix

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


class Recorder:
    """An engine that answers with the key, and keeps what it was asked."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.order: list[str] = []
        self.threads: set[int] = set()
        self._seconds = seconds
        self.line: TextOrder[str, str] = TextOrder(ThreadPoolExecutor(1), self.answer)

    def answer(self, tickets: Sequence[Ticket[str, str]]) -> list[str]:
        time.sleep(self._seconds)
        self.threads.add(threading.get_ident())
        if tickets[0].request == "fails":
            raise ValueError("the engine fails")
        self.order += [one.request for one in tickets]
        return [str(one.key).upper() for one in tickets]

    async def ask(self, key: str, asker: int = 1) -> str:
        return await self.line.ask(key, key, asker)


def test_an_engine_that_fails_answers_the_next() -> None:
    engine = Recorder()

    async def main() -> list[str | BaseException]:
        asked = [engine.ask(key) for key in ("a", "fails", "z")]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, failed, last = asyncio.run(main())
    assert (first, last) == ("A", "Z")
    assert isinstance(failed, ValueError)


def test_who_gives_up_leaves_the_line() -> None:
    """As on Ctrl-C: what waits goes, what is being answered learns of it, and others stay."""
    engine = Recorder(seconds=0.2)

    async def main() -> str:
        asked = [asyncio.create_task(engine.ask(key)) for key in ("a", "b", "c")]
        await asyncio.sleep(0.1)
        for task in asked[:2]:
            task.cancel()
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert [isinstance(one, asyncio.CancelledError) for one in results] == [True, True, False]
        return str(results[2])

    assert asyncio.run(main()) == "C"
    assert engine.order == ["a", "c"]
