"""Many simulated people at once, until the study is complete."""

import asyncio
import itertools
from collections.abc import Callable

from casewise.annotation.rehearsal._log import Outcome, VisitLog
from casewise.annotation.rehearsal._people import Manner, Mixture, make_person
from casewise.annotation.rehearsal._visit import Scene, Visit

PANELS = 3
"""Waves of recruitment; those of a biased panel come in one of their own."""


async def send_people(
    scene: Scene,
    mixture: Mixture,
    *,
    seed: int,
    at_once: int,
    most: int,
    progress: Callable[[VisitLog], None],
) -> list[VisitLog]:
    """Have simulated people visit a study until it is complete.

    Args:
        scene: Where, and how fast.
        mixture: Who comes.
        seed: Draws the people and what they do.
        at_once: People at the same time.
        most: People in all; a study that nobody completes ends too.
        progress: Called at the end of each visit.

    Returns:
        A log of each visit, in the order of their ends.
    """
    numbers = itertools.count()
    logs: list[VisitLog] = []
    complete = False

    async def come_one_after_another() -> None:
        nonlocal complete
        while not complete and (number := next(numbers)) < most:
            person = make_person(number, mixture, seed)
            biased = person.manner is Manner.BIASED
            panel = "biased" if biased else f"wave-{1 + number % PANELS}"
            log = await Visit(scene, person, panel).run()
            complete = complete or log.outcome is Outcome.FULL
            logs.append(log)
            progress(log)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(come_one_after_another())
    return logs
