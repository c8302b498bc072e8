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
        protocols,
        reporting,
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

    # The front door has functions called cases and gate.
    case_files, gates = _Late("casewise.cases"), _Late("casewise.gate")
    contexts, dataset = _Late("casewise.contexts"), _Late("casewise.dataset")
    exports, protocols = _Late("casewise.exports"), _Late("casewise.protocols")
    reporting, scores = _Late("casewise.reporting"), _Late("casewise.scores")
    statistics, transcripts = _Late("casewise.statistics"), _Late("casewise.transcripts")
    polars = _Late("polars")

__all__ = [
    "case_files",
    "contexts",
    "dataset",
    "exports",
    "gates",
    "polars",
    "protocols",
    "reporting",
    "scores",
    "statistics",
    "transcripts",
]
