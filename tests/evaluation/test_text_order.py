"""The line in which requests wait for a model of this process: no model is needed to test it."""

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casewise.cases import Case
from casewise.evaluation.models._in_process import Batch, Line, TextOrder, Ticket, common_prefix
from casewise.evaluation.plan._condition import BEGINNING, by_text

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


def test_a_tree_by_hand() -> None:
    """1 2 3, 1 2 4, 1 5 and 6: three tokens, then 4, then 5, then 6."""
    line: Line[Tokens] = Line()
    for one in ((6,), (1, 2, 4), (1, 5), (1, 2, 3)):
        line.add(one, one)
    taken: list[Tokens] = []
    while len(line):
        taken += line.take(taken[-1] if taken else None)
    assert taken == [(1, 2, 3), (1, 2, 4), (1, 5), (6,)]
    assert computed(taken) == tree_size(taken) == 6
    # In the order of a file that puts twins apart, 3 + 3 + 1 + 2.
    assert computed([(1, 2, 3), (6,), (1, 2, 4), (1, 5)]) == 8


@settings(deadline=None)
@given(st.lists(st.text("ab", min_size=1, max_size=3), max_size=12), st.text("ab", max_size=3))
def test_cases_are_in_the_order_of_their_whole_texts(queries: list[str], start: str) -> None:
    """Also where they differ only behind the part that is held."""
    cases = [Case(query=text, id=str(number)) for number, text in enumerate(queries)]

    def render(case: Case) -> str:
        return start + case.query[0] * BEGINNING + case.query

    assert list(by_text(cases, render)) == sorted(cases, key=render)


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


@settings(deadline=None)
@given(prompts, st.data())
def test_any_order_of_arrival(texts: list[Tokens], data: st.DataObject) -> None:
    """Late ones are answered, too: each once, and never for less than the tree."""
    line: Line[int] = Line()
    coming = list(enumerate(texts))
    taken: list[int] = []
    while coming or len(line):
        if coming and (not len(line) or data.draw(st.booleans())):
            number, text = coming.pop(data.draw(st.integers(0, len(coming) - 1)))
            line.add(text, number)
        else:
            taken += line.take(texts[taken[-1]] if taken else None)
    assert sorted(taken) == list(range(len(texts)))
    assert computed([texts[one] for one in taken]) >= tree_size(texts)


@settings(deadline=None)
@given(prompts, st.integers(2, 5), st.integers(6, 24))
def test_batches(texts: list[Tokens], most: int, elements: int) -> None:
    line: Line[Tokens] = Line()
    for one in texts:
        line.add(one, one)
    taken: list[Tokens] = []
    while len(line):
        batch = line.take(taken[-1] if taken else None, Batch(most, elements))
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or len(batch) * max(map(len, batch)) <= elements
        taken += batch
    assert sorted(taken) == sorted(texts)


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


def test_tasks_that_come_late_are_waited_for() -> None:
    """Two tasks, each in the order of its texts: together they are answered in one order."""
    engine = Recorder()

    async def main() -> list[str]:
        engine.line.expect({1, 2})
        first = asyncio.gather(*(engine.ask(key, 1) for key in ("a1", "b1", "c1")))
        await asyncio.sleep(0.1)
        assert engine.order == []
        second = asyncio.gather(*(engine.ask(key, 2) for key in ("a2", "b2", "c2")))
        return [*await first, *await second]

    assert asyncio.run(main()) == ["A1", "B1", "C1", "A2", "B2", "C2"]
    assert engine.order == ["a1", "a2", "b1", "b2", "c1", "c2"]
    assert len(engine.threads) == 1


def test_a_task_that_never_asks_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("casewise.evaluation.models._in_process.START_S", 0.05)
    engine = Recorder()

    async def main() -> str:
        engine.line.expect({1, 2})
        return await asyncio.wait_for(engine.ask("a"), 5)

    assert asyncio.run(main()) == "A"


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


def test_a_run_that_ends_in_the_middle_leaves_no_thread_at_work() -> None:
    engine = Recorder(seconds=0.05)

    async def main() -> None:
        async with asyncio.timeout(0.12):
            await asyncio.gather(*(engine.ask(f"{number:02}") for number in range(50)))

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    time.sleep(0.1)
    assert len(engine.order) < 10
    # The next run is answered.
    assert asyncio.run(engine.ask("again")) == "AGAIN"
