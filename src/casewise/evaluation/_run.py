"""Run models over conditions: on Inspect's ``eval_set``, lean, and hard to stop for good."""

import logging
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

from inspect_ai import Task, eval_set
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import Model

from casewise.cases import CARDS, CASEBENCH, STARTER
from casewise.errors import ModelError, UsageError
from casewise.evaluation._answers import WITHOUT_LOGPROBS
from casewise.evaluation._condition import Condition, choose, deliveries_of, make_condition
from casewise.evaluation._judge import judge
from casewise.evaluation._models import ATTEMPT_TIMEOUT_S, MAX_RETRIES, open_models, plain
from casewise.evaluation._plan import Estimate, Prices, check_window, estimate
from casewise.evaluation._progress import Observer, observed_by
from casewise.evaluation._respond import respond
from casewise.evaluation._sampling import NO_LOGPROBS, Sampling, make_draw, resolve_sampling
from casewise.evaluation._smollm2 import SMOLLM2
from casewise.protocols import UPSTREAM, Delivery, Protocol, is_ours

LOG_BUFFER = 100
"""Judgements held before a log is written: what a crash can lose."""

RETRY_ON_ERROR = 3
FAIL_ON_ERROR = 0.05
"""Share of cases in error at which a run stops."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a person asks of ``casewise run``: every product of its lists is run."""

    models: tuple[str, ...] = (SMOLLM2,)
    cases: str = STARTER
    protocols: tuple[str, ...] = (Protocol.PROBABILITY,)
    deliveries: tuple[str, ...] = ()
    """Empty is each protocol's default."""
    ablations: tuple[str | None, ...] = (None,)
    swaps: tuple[str | None, ...] = (None,)
    """What every case takes from its twin; None leaves the contexts as they are."""
    prompt: str | None = None
    verdict_words: str | None = None
    """A table of words by which judges' answers are read, beside ours."""
    sampling: str = Sampling.GREEDY
    samples: int | None = None
    deployment: str | None = None
    """A card's name or file; its cases take the place of ``cases``."""
    variations: tuple[str | None, ...] = (None,)
    """How the conversations of ``respond`` are changed; None leaves them as they are."""
    seed: int = 0
    """Of the variations."""
    grader: str | None = None
    """A model that grades replies; None is the offline reader."""
    limit: int | None = None
    max_tokens: int | None = None
    max_connections: int | None = None
    model_base_url: str | None = None
    model_args: dict[str, Any] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True)
class Planned:
    """One condition of a run, with the arguments of its task."""

    condition: Condition
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked run."""

    request: RunRequest
    conditions: tuple[Planned, ...]
    estimates: tuple[Estimate, ...]
    """One entry a model and condition."""

    @property
    def judgements(self) -> int:
        """Cases over all models and conditions."""
        return len(self.request.models) * sum(one.condition.size for one in self.conditions)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run left behind."""

    logs: tuple[Path, ...]
    """The logs of this run, one a model and condition."""
    complete: bool
    """Whether every task ended well (single cases may still be in error)."""
    failures: tuple[str, ...]
    """For each task that did not, its model and the reason."""


def make_plan(request: RunRequest) -> Plan:
    """Check everything that can be checked without a model, and count what will be asked.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
        ModelError: A provider that gives no log-probabilities under ``probability``.
    """
    if request.swaps != (None,) and request.ablations != (None,):
        raise UsageError("--ablate and --swap both change the contexts: give one of them")
    sampling = choose(Sampling, request.sampling, "sampling")
    _check_numbers(request)
    conditions = tuple(
        Planned(
            make_condition(
                request.cases,
                protocol=protocol,
                delivery=delivery,
                ablate=ablation,
                prompt=request.prompt,
                limit=request.limit,
                deployment=request.deployment if protocol == Protocol.RESPOND else None,
                variation=variation,
                seed=request.seed,
                swap=swap,
                verdict_words=request.verdict_words,
            ),
            _arguments(request, protocol, delivery, ablation, variation, swap),
        )
        for protocol in request.protocols
        for delivery in _deliveries(request, protocol)
        for ablation in _ablations(request, delivery)
        for variation in (request.variations if protocol == Protocol.RESPOND else (None,))
        for swap in _swaps(request, delivery, ablation, variation)
    )
    estimates = []
    for model in request.models:
        for planned in conditions:
            protocol = planned.condition.protocol
            if protocol is Protocol.PROBABILITY and model.split("/")[0] in NO_LOGPROBS:
                raise ModelError(f"{model}: {WITHOUT_LOGPROBS}")
            draw = make_draw(
                protocol,
                resolve_sampling(sampling, model),
                model=model,
                samples=request.samples,
                max_tokens=request.max_tokens,
            )
            if protocol is Protocol.RESPOND:
                check_window(planned.condition, draw, model)
            estimates.append(estimate(planned.condition, draw, model, request.prices))
    return Plan(request, conditions, tuple(estimates))


def _check_numbers(request: RunRequest) -> None:
    for name in ("limit", "samples", "max_tokens", "max_connections"):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} {value}: give at least 1")
    for name, price in (("in", request.prices.input), ("out", request.prices.output)):
        if price is not None and not (math.isfinite(price) and price >= 0):
            raise UsageError(f"--price-{name} {price}: give dollars, 0 or more")


def _deliveries(request: RunRequest, protocol: str) -> tuple[str, ...]:
    """The deliveries asked for that a protocol knows; those of no protocol are refused."""
    known = deliveries_of(choose(Protocol, protocol, "protocol"))
    for one in request.deliveries:
        choose(Delivery, one, "delivery")
    if not request.deliveries:
        return (known[0],)
    fitting = tuple(one for one in request.deliveries if one in known)
    every = {one for name in request.protocols for one in deliveries_of(Protocol(name))}
    stray = [one for one in request.deliveries if one not in every]
    if stray or not fitting:
        raise UsageError(
            f"protocol {protocol} has no delivery {(stray or request.deliveries)[0]!r}: "
            f"choose from {', '.join(known)}"
        )
    return fitting


def _ablations(request: RunRequest, delivery: str) -> tuple[str | None, ...]:
    """Without a context there is nothing to remove: that delivery is run once, if others are."""
    if delivery == Delivery.NONE and len(request.deliveries) > 1:
        return (None,)
    return request.ablations


def _swaps(
    request: RunRequest, delivery: str, ablation: str | None, variation: str | None
) -> tuple[str | None, ...]:
    """One thing is changed at a time: whole contexts are swapped, in plain conversations."""
    changed = ablation is not None or variation is not None or delivery == Delivery.NONE
    return (None,) if changed else request.swaps


def _arguments(
    request: RunRequest,
    protocol: str,
    delivery: str,
    ablation: str | None,
    variation: str | None,
    swap: str | None,
) -> dict[str, Any]:
    """The task's arguments, without those at their defaults: they are its identity in the log."""
    acts = protocol == Protocol.RESPOND
    given = {
        "protocol": None if acts else str(protocol),
        "deployment": _card_argument(request.deployment) if acts else None,
        "variation": variation,
        "seed": request.seed if variation else None,
        "grader": request.grader if acts else None,
        "cases": _case_argument(request.cases),
        "delivery": str(delivery),
        "ablate": ablation,
        "swap": swap,
        "prompt": _prompt_argument(request.prompt),
        "verdict_words": _path_argument(request.verdict_words),
        "samples": None if acts else request.samples,
        "limit": request.limit,
        "max_tokens": request.max_tokens,
    }
    return {name: value for name, value in given.items() if value is not None}


def _case_argument(cases: str) -> str:
    return cases if cases in (STARTER, CASEBENCH) else str(Path(cases).resolve())


def _card_argument(card: str | None) -> str | None:
    return card if card is None or card in CARDS else str(Path(card).resolve())


def _prompt_argument(prompt: str | None) -> str | None:
    is_name = prompt is None or prompt == UPSTREAM or is_ours(prompt)
    return prompt if is_name else _path_argument(prompt)


def _path_argument(path: str | None) -> str | None:
    return None if path is None else str(Path(path).resolve())


def run(plan: Plan, log_dir: Path, observer: Observer | None = None) -> RunResult:
    """Run a plan; a second run on the same folder asks only what is still open.

    Raises:
        ModelError: A model can't be used, or can't do what the protocol needs.
        KeyboardInterrupt: The run was stopped; what was judged is in the folder.
    """
    request = plan.request
    models = open_models(
        request.models,
        base_url=request.model_base_url,
        model_args=request.model_args,
        prices=request.prices,
    )
    log_dir.mkdir(parents=True, exist_ok=True)
    tasks = [_task(planned, model, request) for model in models for planned in plan.conditions]
    with observed_by(observer or (lambda _: None)) as given_up:
        try:
            complete, logs = _eval_set(tasks, log_dir, request)
        except PrerequisiteError as error:
            raise UsageError(plain(str(error.message))) from None
    if not logs or any(log.status == "cancelled" for log in logs):
        # Inspect takes Ctrl-C for itself, writes its logs and returns.
        raise KeyboardInterrupt
    if given_up and not any(log.status == "success" for log in logs):
        raise ModelError("\n".join(given_up))
    failures = given_up or [
        f"{log.eval.model}: {log.error.message if log.error else log.status}"
        for log in logs
        if log.status != "success"
    ]
    paths = tuple(Path(url2pathname(urlparse(log.location).path)) for log in logs)
    return RunResult(paths, complete, tuple(failures))


def _task(planned: Planned, model: Model, request: RunRequest) -> Task:
    sampling = resolve_sampling(Sampling(request.sampling), str(model))
    acts = planned.condition.protocol is Protocol.RESPOND
    embedded = acts and str(model) == SMOLLM2
    name = None if sampling is Sampling.GREEDY and not embedded else str(model)
    make = respond if acts else judge
    task = make(**planned.arguments, sampling=str(sampling), model_name=name)
    task.model = model
    return task


def _eval_set(
    tasks: Sequence[Task], log_dir: Path, request: RunRequest
) -> tuple[bool, list[EvalLog]]:
    # Inspect reads this for its own console messages; ours say what matters.
    os.environ.setdefault("INSPECT_LOG_LEVEL", "error")
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    return eval_set(
        list(tasks),
        log_dir=str(log_dir),
        log_dir_allow_dirty=True,
        retry_attempts=1,
        retry_immediate=False,
        display="none",
        log_level="error",
        log_realtime=False,
        log_buffer=LOG_BUFFER,
        score_display=False,
        ctl_server=False,
        fail_on_error=FAIL_ON_ERROR,
        retry_on_error=RETRY_ON_ERROR,
        attempt_timeout=ATTEMPT_TIMEOUT_S,
        max_retries=MAX_RETRIES,
        max_connections=request.max_connections,
        max_samples=request.max_connections,
    )
