"""The builds that a gate has judged, and the error of false fails that each may spend.

A rule at 95 % fails an unchanged model in up to 5 of 100 builds, so over many builds some most
often do. With a history, false fails have one error for ``BUILDS`` builds together, spent in equal
parts: the linear spending function of Lan & DeMets (1983), doi:10.1093/biomet/70.3.659, with the
builds as the information. Within a build, its rules share that part. By Bonferroni's inequality
the sum holds however the builds depend on each other, as those do that share a baseline. Equal
parts are the same whatever came before: a history that is lost, or that two branches write, lets
no build fail more easily.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from casewise.errors import InputError
from casewise.files import read_text, write_atomically
from casewise.gate._gate_rules import GateConfig

BUILDS = 100
"""Any so many builds in a row, all of unchanged models, ..."""

FALSE_FAILS = 0.05
"""... fail at all with at most this chance."""


class PastBuild(BaseModel):
    """A line of a history."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    build: Annotated[int, Field(strict=True, ge=1)]
    """Its number, from 1."""
    key: str
    """What was asked: a hash of the judgements, of those of the baseline, and of the rules."""
    at: datetime
    models: list[str]
    verdict: str
    failed: list[str]
    """The rules that failed, and of which condition."""


@dataclass(frozen=True, slots=True)
class Build:
    """A build among those of its history."""

    number: int
    """From 1."""
    rules: int
    """Verdicts that share its part of the error: those that rest on bounds."""

    @property
    def confidence(self) -> float:
        """How sure each fail must be."""
        return 1 - FALSE_FAILS / BUILDS / max(1, self.rules)

    @property
    def spent(self) -> float:
        """The error that its hundred has spent, this build's included; at most ``FALSE_FAILS``."""
        return ((self.number - 1) % BUILDS + 1) * FALSE_FAILS / BUILDS


def read_history(path: Path) -> list[PastBuild]:
    """Read the builds of a history; a file that isn't there has none.

    Raises:
        InputError: A line is no build, or its number isn't its place.
    """
    if not path.exists():
        return []
    found = []
    for place, line in enumerate(read_text(path).splitlines(), start=1):
        try:
            one = PastBuild.model_validate_json(line)
        except ValidationError as error:
            fault = error.errors()[0]
            raise InputError(
                f"no build of a gate's history: {fault['msg']}",
                file=path,
                record=f"line {place}",
                field=".".join(map(str, fault["loc"])) or None,
                expected="what casewise gate --history writes; or another file",
            ) from None
        if one.build != place:
            raise InputError(
                "builds are numbered from 1, a line each",
                file=path,
                record=f"line {place}",
                field="build",
                found=one.build,
                expected=str(place),
            )
        found.append(one)
    return found


_ASKED = ("run_id", "case_id", "epoch", "status", "verdict", "p_safe", "mass", "response_class")


def build_key(config: GateConfig, run: pl.DataFrame, baseline: pl.DataFrame | None) -> str:
    """A hash of what a gate is asked; the same question, asked again, is the same build."""
    rules = [
        (
            *(rule.number, rule.measure.name, rule.demand, rule.limit, rule.confidence),
            *(rule.where, rule.labels, rule.when),
        )
        for rule in config.rules
    ]
    labels = [(one.id, one.label) for file in config.checks for one in file.replies]
    digest = sha256(json.dumps([rules, labels] if labels else rules).encode())
    for table in (run, baseline):
        digest.update(b"" if table is None else json.dumps(table.select(_ASKED).rows()).encode())
    return digest.hexdigest()[:16]


def add_build(path: Path, builds: Sequence[PastBuild], build: PastBuild) -> None:
    """Write a history with a build more, whole or not at all."""
    lines = (f"{one.model_dump_json()}\n" for one in (*builds, build))
    write_atomically(path, "".join(lines).encode())
