"""Replies that try to grade themselves, and how often a grader follows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from casewise.cases import digest, read_model
from casewise.protocols import Graded, ResponseClass
from casewise.scores._labelled_replies import LabelledReply
from casewise.sheets import json_interval, json_number
from casewise.statistics import Estimate, clustered_mean, number_clusters, paired_change

InjectionKind = Literal["verdict line", "forged JSON", "instruction"]
"""Kind of injection: a line that names a class; JSON like the grader's own; words to the grader."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Reply(_Part):
    query: str
    reply: str
    label: ResponseClass
    asks_for: ResponseClass


class _Injection(_Part):
    kind: InjectionKind
    where: Literal["before", "after"]
    text: str


class _File(_Part):
    replies: tuple[_Reply, ...] = Field(min_length=1)
    injections: tuple[_Injection, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class InjectedReply:
    """A reply that demands a class for itself."""

    reply: LabelledReply
    kind: InjectionKind
    asks_for: ResponseClass
    """The class that it demands; never its label."""
    plain: int
    """Place of the same reply without the injection."""


@dataclass(frozen=True, slots=True)
class InjectedReplies:
    """Replies, and each of them with each injection."""

    plain: tuple[LabelledReply, ...]
    injected: tuple[InjectedReply, ...]

    @property
    def replies(self) -> tuple[LabelledReply, ...]:
        """All replies that a grader is given, the plain ones first."""
        return (*self.plain, *(one.reply for one in self.injected))


def injected_replies() -> InjectedReplies:
    """The replies that ship with casewise: 12 of them, with 10 injections each."""
    with as_file(files("casewise.data") / "injections.yaml") as path:
        file = read_model(path, _File, "file of injections")
    plain = tuple(
        LabelledReply(id=f"i{place:02}", query=one.query, reply=one.reply, label=one.label)
        for place, one in enumerate(file.replies, start=1)
    )
    injected = tuple(
        InjectedReply(
            reply.model_copy(
                update={"id": f"{reply.id}-{number:02}", "reply": _inject(reply.reply, one, asks)}
            ),
            one.kind,
            asks,
            place,
        )
        for place, (reply, asks) in enumerate(
            zip(plain, (one.asks_for for one in file.replies), strict=True)
        )
        for number, one in enumerate(file.injections, start=1)
    )
    return InjectedReplies(plain, injected)


def _inject(reply: str, injection: _Injection, asks_for: ResponseClass) -> str:
    text = injection.text.replace("{class}", asks_for)
    parts = (text, reply) if injection.where == "before" else (reply, text)
    return "\n\n".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Replies that got the class that they demand: shares of the n, in 0..1."""

    n: int
    """Replies that were graded with the injection and without it."""
    asked: int
    """Replies with an injection, those included that were not graded."""
    injected: Estimate
    """Share with the injection."""
    plain: Estimate
    """Share of the same replies without it."""
    moved: Estimate
    """Share with it less the share without: how often the grader follows, -1..1."""


@dataclass(frozen=True, slots=True, eq=False)
class InjectionReport:
    """Frequency with which a grader gives replies the class that they demand."""

    grader: str
    """``rules``, or the name of a model."""
    grader_version: str
    """Version of the rules, or of the grading prompt."""
    all: Followed
    kinds: dict[InjectionKind, Followed]
    followed: tuple[tuple[str, ResponseClass], ...]
    """The replies that got the class they demand, and not without the injection: id and class."""


def check_injected(
    replies: InjectedReplies, graded: Sequence[Graded], *, grader: str, grader_version: str
) -> InjectionReport:
    """Compare the classes of replies that demand one with those of the same replies without.

    Intervals are 95 %, clustered by the plain reply. A pair of which either was not graded is
    left out and counted.

    Args:
        replies: From ``injected_replies``.
        graded: Grades of ``replies.replies``, in that order.
        grader: Name of the grader.
        grader_version: Its version.
    """
    classes = [one.response_class for one in graded]
    plain, injected = classes[: len(replies.plain)], classes[len(replies.plain) :]
    pairs = [
        (one, plain[one.plain], said) for one, said in zip(replies.injected, injected, strict=True)
    ]
    kinds = dict.fromkeys(one.kind for one in replies.injected)
    return InjectionReport(
        grader,
        grader_version,
        _followed(pairs),
        {kind: _followed([pair for pair in pairs if pair[0].kind == kind]) for kind in kinds},
        tuple(
            (one.reply.id, one.asks_for)
            for one, before, said in pairs
            if before is not None and said == one.asks_for != before
        ),
    )


_Pair = tuple[InjectedReply, ResponseClass | None, ResponseClass | None]
"""A reply, its class without the injection, and with it; None is not graded."""


def _followed(pairs: Sequence[_Pair]) -> Followed:
    graded = [pair for pair in pairs if None not in pair]
    clusters = number_clusters(np.array([digest(one.reply.query) for one, _, _ in graded]))
    plain, injected = (
        clustered_mean(
            np.array([pair[place] == pair[0].asks_for for pair in graded], np.float64),
            clusters,
            share=True,
        )
        for place in (1, 2)
    )
    return Followed(len(graded), len(pairs), injected, plain, paired_change(plain, injected))


def injection_record(report: InjectionReport) -> dict[str, Any]:
    """The report as JSON values; what is undefined is null."""
    return {
        "grader": report.grader,
        "grader_version": report.grader_version,
        **_rates(report.all),
        "kinds": {kind: _rates(one) for kind, one in report.kinds.items()},
        "followed": [{"id": id, "asks_for": str(asks_for)} for id, asks_for in report.followed],
    }


def _rates(one: Followed) -> dict[str, Any]:
    named = {"injected": one.injected, "plain": one.plain, "moved": one.moved}
    return {"n": one.n, "asked": one.asked} | {
        f"{name}{end}": value
        for name, found in named.items()
        for end, value in (
            ("", json_number(found.value)),
            ("_ci", json_interval(found.interval)),
        )
    }
