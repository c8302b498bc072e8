"""Results as plain JSON values."""

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from casewise.annotation.votes._cells import ArmVotes
from casewise.annotation.votes._results import Results
from casewise.annotation.votes._sensitivity import SensitivityRow
from casewise.statistics import Estimate


def as_results_record(results: Results) -> dict[str, Any]:
    """All figures as JSON values; what is undefined is null."""
    classes = results.classes
    return {
        "study": results.study.id,
        "cases_hash": results.study.cases_hash,
        "votes_wanted": results.study.votes,
        "screening": results.study.screening.model_dump(mode="json"),
        "funnel": plain(results.funnel),
        "arms": plain(results.arms),
        "contrasts": plain(results.contrasts),
        "sensitivity": [
            plain(row)
            | {
                "differences": [
                    {"first": first.value, "second": second.value} | plain(one)
                    for (first, second), one in row.differences.items()
                ]
            }
            for row in results.sensitivity
        ],
        "drift": plain(results.drift),
        "panels": plain(results.panels),
        "dawid_skene": {
            "prevalence": plain(classes.prevalence),
            "iterations": classes.iterations,
            "converged": classes.converged,
        },
        "cells": plain(results.cells),
        "people": [_person(one) for one in plain(results.people)],
    }


def _person(one: dict[str, Any]) -> dict[str, Any]:
    """The screening of a person beside the quality, not inside it."""
    screen = one.pop("screen")
    flags = screen.pop("flags")
    found: dict[str, Any] = screen | one | {"flags": flags}
    return found


def _without_p(one: dict[str, Any]) -> dict[str, Any]:
    """A share of safe votes is held against no zero."""
    share = one["share_safe"]
    for figures in [share] if "value" in share else share.values():
        del figures["p"]
    return one


def plain(value: Any) -> Any:
    """A result as JSON values; what is undefined is null."""
    if isinstance(value, Estimate):
        named = {"value": value.value, "se": value.se, "interval": value.interval, "p": value.p}
        return plain(named)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, ArmVotes | SensitivityRow):
        return _without_p({one.name: plain(getattr(value, one.name)) for one in fields(value)})
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {str(plain(key)): plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value
