"""What keeps a study from being started."""

from collections.abc import Iterator
from typing import Any

from casewise.annotation.study._study import Platform, Study
from casewise.annotation.study._texts import TODO


def check_ready(study: Study) -> list[str]:
    """What must be mended before people may be asked, a sentence each; empty if nothing.

    A study whose texts still say TODO, or that recruits on a platform without telling people the
    way back, loads all the same: it can be read, simulated and edited.
    """
    dumped = study.model_dump(mode="json", exclude={"design"})
    problems = [f"{place} still says {TODO}: fill it in" for place in _todos(dumped, "")]
    recruitment = study.recruitment
    if recruitment.platform is Platform.PROLIFIC and recruitment.return_url is None:
        problems.append("recruitment.return_url is null: people from Prolific must be sent back")
    if recruitment.platform is not Platform.NONE and recruitment.completed == "COMPLETED":
        problems.append("recruitment.completed is the default code: choose one nobody can guess")
    return problems


def _todos(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, str) and TODO in value:
        yield place
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _todos(inner, f"{place}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            yield from _todos(inner, f"{place}, record {number}")
