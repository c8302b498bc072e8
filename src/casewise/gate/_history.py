"""History of the builds that a gate judged, and the error that their fails share.

A rule at 95 % fails an unchanged model in up to 5 of 100 builds, so over many builds some most
often do. With a history, false fails have one error for ``BUILDS`` builds together, spent in equal
parts: the linear spending function of Lan & DeMets (1983), doi:10.1093/biomet/70.3.659, with the
builds as the information. Within a build, its rules share that part, and the looks at a rule share
the rule's. By Bonferroni's inequality the sum holds however the builds depend on each other, as
those do that share a baseline. Equal parts are the same whatever came before: a history that is
lost, or that two branches write, lets no build fail more easily.

A rule about the change of a share has three looks: its bound against the baseline, and the exact
test of the newest build, and of the newest three, against the baseline and the builds before. The
earlier builds tell which queries are answered by chance and which never moved; so a loss is seen
that one pair of runs can't show.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from casewise.choices import WeighBy
from casewise.errors import InputError
from casewise.files import read_text, write_atomically
from casewise.gate._gate_rules import GateConfig, GateRule
from casewise.statistics import FloatArray, IntArray, chance_of_fall

BUILDS = 100
"""Builds in a row that share one error."""

FALSE_FAILS = 0.05
"""Chance, at most, that any of ``BUILDS`` builds fails, if all are of unchanged models."""

WINDOWS = (1, 3)
"""Newest builds that are held against those before."""

LOOKS = 1 + len(WINDOWS)
"""Tests of a rule about the change of a share: each window, and the bound of the change."""

EARLIER = 10
"""Most builds before a window that it is held against, so that slow changes don't add up."""

MOST_AHEAD = 10
"""Most further builds that are said to decide a rule."""

_FINEST = 120
"""Most parts of a case that queries move by: half a case is a partial reply, a third an epoch."""


class PastBuild(BaseModel):
    """A line of a history."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    build: Annotated[int, Field(strict=True, ge=1)]
    """Its number, from 1."""
    key: str
    """Hash of the judgements, of the baseline's, and of the rules."""
    at: datetime
    models: list[str]
    verdict: str
    failed: list[str]
    """Rules that failed: condition and measure."""
    baseline: str | None = None
    """Hash of the baseline's judgements."""
    moves: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    """Change against the baseline of each query that moved, by rule (``rule_key``)."""
    uneven: list[str] = Field(default_factory=list)
    """Rules, by key, of queries with unequal numbers of pairs. Before weights had names there was
    none, and each pair weighed alike."""


@dataclass(frozen=True, slots=True)
class Build:
    """A build among those of its history."""

    number: int
    """From 1."""
    rules: int
    """Verdicts that rest on bounds, which share the build's part of the error."""

    before: tuple[PastBuild, ...] = ()
    """Earlier builds against the same baseline, oldest first."""

    @property
    def error(self) -> float:
        """Error that each rule may spend."""
        return FALSE_FAILS / BUILDS / max(1, self.rules)

    @property
    def confidence(self) -> float:
        """Confidence that each fail needs."""
        return 1 - self.error

    @property
    def spent(self) -> float:
        """Error spent by the ``BUILDS`` builds that it is one of, up to itself."""
        return ((self.number - 1) % BUILDS + 1) * FALSE_FAILS / BUILDS


@dataclass(frozen=True, slots=True)
class Fall:
    """Change of a share in a build, beside those of the builds before."""

    p: float
    """Least chance of so low a share in the newest builds, were their order by chance; 0..1."""
    window: int
    """Newest builds that ``p`` is of."""
    shown: bool
    """True if the chance is below the part of the error that a look may spend."""
    ahead: int | None
    """Further builds, each like this one, that would show it; None if ``MOST_AHEAD`` would not."""
    apart: int = 0
    """Earlier builds under another weight of pairs, beside which it isn't held."""


def find_fall(build: Build, key: str, moves: Mapping[str, float], good: int) -> Fall:
    """Hold the change of a share against the changes of earlier builds.

    Args:
        build: The build, and those before it.
        key: The rule (``rule_key``).
        moves: Change of each query that moved.
        good: 1 where higher is better, -1 where lower is.
    """
    before = [one for one in build.before if key in one.moves]
    series = [*(one.moves[key] for one in before), moves]
    sound = [not one.failed for one in before]
    p, window = _least_chance(series, sound, good)
    limit = build.error / LOOKS
    if p <= limit:
        return Fall(p, window, True, None)
    ahead = None
    if good * sum(moves.values()) < 0:
        repeated = ((count, [*series, *[moves] * count]) for count in range(1, MOST_AHEAD + 1))
        ahead = next(
            (
                count
                for count, longer in repeated
                if _least_chance(longer, [*sound, *[True] * count], good)[0] <= limit
            ),
            None,
        )
    return Fall(p, window, False, ahead)


def same_weight(build: Build, rule: GateRule, against: str, *, uneven: bool) -> tuple[Build, int]:
    """The build among earlier ones of the rule's weight, and how many had another one.

    Args:
        build: The build, and those before it.
        rule: The rule.
        against: Name of the baseline's condition.
        uneven: True if queries have unequal numbers of pairs; else any weight is the same.
    """
    if not uneven:
        return build, 0
    key = rule_key(rule, against)
    keys = {rule_key(replace(rule, weigh_by=unit), against) for unit in WeighBy}
    apart = [one for one in build.before if keys & one.moves.keys() and key not in one.uneven]
    before = tuple(one for one in build.before if one not in apart)
    return replace(build, before=before), len(apart)


def _least_chance(
    series: Sequence[Mapping[str, float]], sound: Sequence[bool], good: int
) -> tuple[float, int]:
    """Least chance of a fall over the windows, and its window.

    Args:
        series: Moves of each build, oldest first.
        sound: Whether each build but the newest passed no fail: those that failed are no measure.
        good: 1 where higher is better.
    """
    queries = sorted({query for moves in series for query in moves})
    found = [(1.0, WINDOWS[0])]
    for window in WINDOWS:
        if window > len(series):
            continue
        older = [one for one, kept in zip(series[:-window], sound, strict=False) if kept]
        rows = [{}, *older[-EARLIER:], *series[-window:]]
        values = np.array([[moves.get(query, 0.0) for query in queries] for moves in rows])
        whole = _whole_numbers(good * values)
        if whole is not None and whole[-window:].sum() < 0:
            found.append((chance_of_fall(whole, window), window))
    return min(found)


def _whole_numbers(values: FloatArray) -> IntArray | None:
    """Values in the unit of which all are multiples; None where that is too fine."""
    parts = {Fraction(value).limit_denominator(_FINEST) for value in np.unique(values).tolist()}
    unit = math.lcm(*(part.denominator for part in parts))
    return np.rint(values * unit).astype(np.int64) if unit <= _FINEST else None


def visible_loss(queries: int, discordance: float, error: float) -> float:
    """Least loss of a share that one build shows in half of tries, in hundredths; 0..1.

    Args:
        queries: Queries with a case of the kind.
        discordance: Share of them whose verdict differs by chance, half of them each way; 0..1.
        error: Largest p-value that shows a loss.
    """
    chance = round(queries * discordance / 2)
    for hundredths in range(1, 100):
        lost = chance + round(queries * hundredths / 100)
        moved = np.repeat([-1, 1], [lost, chance])
        if chance_of_fall(np.array([np.zeros_like(moved), moved]), 1) <= error:
            return hundredths / 100
    return 1.0


def rule_key(rule: GateRule, against: str) -> str:
    """Name of a rule in a history: its measure, its cases and labels, the baseline's condition."""
    return json.dumps([rule.measure.name, against, rule.where, rule.labels, *_weights(rule)])


def _weights(rule: GateRule) -> Iterator[str]:
    """The weights of pairs, where they aren't the default's: histories without them go on."""
    if rule.weigh_by is not WeighBy.QUERY:
        yield str(rule.weigh_by)


def read_history(path: Path) -> list[PastBuild]:
    """Read the builds of a history; a file that isn't there has none.

    Raises:
        InputError: A line is no build, or its number isn't its place.
    """
    if not path.exists():
        return []
    found = []
    for place, line in enumerate(read_text(path).splitlines(), start=1):
        fault = partial(InputError, file=path, record=f"line {place}")
        try:
            one = PastBuild.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            raise fault(
                f"no build of a gate's history: {first['msg']}",
                field=".".join(map(str, first["loc"])) or None,
                expected="what casewise gate --history writes; or another file",
            ) from None
        if one.build != place:
            problem = "builds are numbered from 1, a line each"
            raise fault(problem, field="build", found=one.build, expected=str(place))
        found.append(one)
    return found


_ASKED = ("run_id", "case_id", "epoch", "status", "verdict", "p_safe", "mass", "response_class")


def build_key(config: GateConfig, run: pl.DataFrame, baseline: pl.DataFrame | None) -> str:
    """A hash of what a gate is asked; the same question, asked again, is the same build."""
    rules = [
        (
            *(rule.number, rule.measure.name, rule.demand, rule.limit, rule.confidence),
            *(rule.where, rule.labels, rule.when, *_weights(rule)),
        )
        for rule in config.rules
    ]
    labels = [(one.id, one.label) for file in config.checks for one in file.replies]
    digest = sha256(json.dumps([rules, labels] if labels else rules).encode())
    for table in (run, baseline):
        digest.update(b"" if table is None else _answers(table))
    return digest.hexdigest()[:16]


def baseline_key(baseline: pl.DataFrame | None) -> str | None:
    """A hash of a baseline's judgements; None without one."""
    return None if baseline is None else sha256(_answers(baseline)).hexdigest()[:16]


def _answers(table: pl.DataFrame) -> bytes:
    return json.dumps(table.select(_ASKED).rows()).encode()


def add_build(path: Path, builds: Sequence[PastBuild], build: PastBuild) -> None:
    """Write a history with one more build, atomically."""
    lines = (f"{one.model_dump_json(exclude_defaults=True)}\n" for one in (*builds, build))
    write_atomically(path, "".join(lines).encode())
