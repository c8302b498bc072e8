"""Modules that their first use imports: help, completion and ``import casewise`` need none."""

from importlib import import_module
from typing import Any


class LazyModule:
    """A module that the first use of it imports.

    ``scores = LazyModule("casewise.scores")`` stands for the room where types are strings
    (``from __future__ import annotations``); for type checkers, import the module itself.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
