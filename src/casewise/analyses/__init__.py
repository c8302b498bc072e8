"""Analyses beside a score, each a question and the figures that answer it.

A file of this room holds functions marked ``@analysis``; every view shows what they make.
"""

from importlib import import_module
from pkgutil import iter_modules

from casewise.analyses.shape import (
    ANALYSES,
    Analysis,
    Figure,
    Line,
    analysis,
    as_records,
    line_records,
)
from casewise.results import Scores

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")


def analyse(scores: Scores, *names: str) -> list[Analysis]:
    """Make analyses by name, or all; those that the runs have no data for are without lines."""
    return [ANALYSES[name](scores) for name in names or ANALYSES]
