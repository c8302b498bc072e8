"""casewise measures whether a language model's safety judgement follows the context.

It implements CASE-Bench (Sun et al., ICML 2025, arXiv 2501.14940). This is its front door for
Python: the functions that the commands call, under the commands' names.

>>> import casewise as cw
>>> cases = cw.load_cases("starter")
>>> cw.plan(cases, model="casewise/smollm2").judgements == len(cases)
True

Nothing is imported before it is used. The rooms behind it: ``cases`` (what is asked, where, and how
people voted), ``contexts`` (rendering and ablating), ``protocols`` (prompts and readers),
``statistics`` (pure measures), ``logs`` and ``runs`` (running models, on Inspect), ``results`` (of
judgements), ``dataset`` (what cases and votes are worth), ``gate``, ``exports``, ``reporting``, and
``cli``. People's votes are collected by the distribution casewise-study.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from casewise.api import (
        Audit,
        Description,
        Plan,
        Power,
        Run,
        audit,
        compare,
        describe,
        gate,
        judgements,
        load_cases,
        plan,
        power,
        report,
        run,
        run_async,
        score,
    )
    from casewise.gate import Gate
    from casewise.results import Comparisons, Scores

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "Comparisons",
    "Description",
    "Gate",
    "Plan",
    "Power",
    "Run",
    "Scores",
    "__version__",
    "audit",
    "compare",
    "describe",
    "gate",
    "judgements",
    "load_cases",
    "plan",
    "power",
    "report",
    "run",
    "run_async",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'casewise' has no attribute {name!r}")
    place = {"Comparisons": "results", "Gate": "gate", "Scores": "results"}.get(name, "api")
    globals()[name] = getattr(import_module(f"casewise.{place}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _FrontDoor(ModuleType):
    """A module in which a room of a function's name, such as ``gate``, does not hide the function.

    Python puts a package's submodule, once it is imported, in the package under its name.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor


class LazyModule:
    """A module that the first use of it imports.

    ``results = LazyModule("casewise.results")`` stands for the room where types are strings
    (``from __future__ import annotations``); for type checkers, import the module itself.
    Others are imported before it.
    """

    def __init__(self, name: str, *others: str) -> None:
        self._names = (*others, name)

    def __getattr__(self, name: str) -> Any:
        *_, module = map(import_module, self._names)
        return getattr(module, name)
