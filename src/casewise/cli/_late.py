"""Rooms that a command opens when it does something; its help and completion open none.

``scores.report_scores(...)`` imports ``casewise.scores`` where it stands. Types are strings there
(``from __future__ import annotations``), but for those of a command's own options, which stand in
``casewise.choices``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

    import casewise.cases as case_files
    import casewise.gate as gates
    from casewise import (
        contexts,
        dataset,
        exports,
        measures,
        protocols,
        reporting,
        results,
        scores,
        statistics,
        transcripts,
    )
else:

    class _Late:
        def __init__(self, name: str) -> None:
            self.name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self.name), name)

    def __getattr__(name: str) -> _Late:
        # The front door has functions called cases and gate.
        others = {"case_files": "casewise.cases", "gates": "casewise.gate", "polars": "polars"}
        if name not in __all__:
            raise AttributeError(name)
        return _Late(others.get(name, f"casewise.{name}"))


__all__ = [
    "case_files",
    "contexts",
    "dataset",
    "exports",
    "gates",
    "measures",
    "polars",
    "protocols",
    "reporting",
    "results",
    "scores",
    "statistics",
    "transcripts",
]
