"""What a run will ask: every model under every condition, checked before anything is sent."""

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from casewise.cases import CARDS, CASEBENCH, STARTER
from casewise.errors import ModelError, UsageError
from casewise.evaluation.models import Client, Prices, known_prices
from casewise.evaluation.models._batches import check_batches
from casewise.evaluation.models._smollm2 import SMOLLM2
from casewise.evaluation.plan._condition import (
    Condition,
    choose,
    deliveries_of,
    judge_version,
    make_condition,
    respond_version,
)
from casewise.evaluation.plan._costs import (
    CostEstimate,
    RequestCount,
    batch_notes,
    check_window,
    estimate,
    measure,
)
from casewise.evaluation.plan._sampling import (
    NO_LOGPROBS,
    WITHOUT_LOGPROBS,
    Draw,
    Sampling,
    check_settings,
    check_taken,
    make_draw,
    resolve_sampling,
)
from casewise.logs import RunKey, without_keys
from casewise.protocols import UPSTREAM, Delivery, Protocol, is_ours


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
    draw_seed: int | None = None
    """Of the answers, where they are drawn at random; None leaves it to the provider."""
    epochs: int = 1
    """How often each case is asked."""
    cache: bool = False
    """Whether answers that this machine has had before are taken again."""
    grader: str | None = None
    """A model that grades replies; None is the offline reader."""
    grader_prices: Prices = field(default_factory=Prices)
    limit: int | None = None
    max_tokens: int | None = None
    max_connections: int | None = None
    attempt_timeout: int | None = None
    """Seconds after which a request is given up and sent again; None is the usual."""
    batch: bool = False
    """Whether requests go through the providers' batch interfaces."""
    model_base_url: str | None = None
    client: str = Client.AUTO
    """What sends the requests: ``auto`` or ``inspect``."""
    model_args: dict[str, Any] = field(default_factory=dict)
    generate: dict[str, Any] = field(default_factory=dict)
    """Inspect's settings of the models' generation that casewise leaves open, by name."""
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True)
class Combination:
    """One product of a request's lists."""

    protocol: str
    delivery: str
    ablation: str | None
    variation: str | None
    swap: str | None


@dataclass(frozen=True, slots=True)
class PlannedCondition:
    """One condition of a run, with the arguments of its task."""

    condition: Condition
    arguments: dict[str, Any]
    extent: RequestCount
    version: str
    """Of the task, which is another where cases or wording are."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One model under one condition: a task of a run."""

    model: str
    planned: PlannedCondition
    request: RunRequest
    """The options that it is asked with."""
    draw: Draw
    estimate: CostEstimate

    @property
    def acts(self) -> bool:
        """Whether the model is the chatbot, and no judge."""
        return self.planned.condition.protocol is Protocol.RESPOND

    @property
    def judgements(self) -> int:
        """Cases, as often as each is asked."""
        return self.planned.condition.size * self.request.epochs

    @property
    def sampling(self) -> Sampling:
        """How this model is sampled."""
        return resolve_sampling(Sampling(self.request.sampling), self.model)

    @property
    def arguments(self) -> dict[str, Any]:
        """All of the task's arguments: with the condition, its identity in the log."""
        embedded = self.acts and self.model == SMOLLM2
        name = None if self.sampling is Sampling.GREEDY and not embedded else self.model
        return self.planned.arguments | {"sampling": str(self.sampling), "model_name": name}

    @property
    def sent_seed(self) -> int | None:
        """The seed that the provider gets; None where it would make several answers one."""
        once = self.draw.samples == self.request.epochs == 1
        return draw_seed_of(self.request, self.planned.condition.protocol) if once else None

    @property
    def identity(self) -> str:
        """The same for all runs of one model under one condition; see ``RunKey``."""
        version = self.planned.version
        task = "casewise/respond" if self.acts else "casewise/judge"
        model_args = without_keys(self.request.model_args)
        settings = self.draw.settings
        key = RunKey(
            task, version, self.model, self.arguments, model_args, self.sent_seed, settings
        )
        return key.identity

    def patient(self, seconds: int | None) -> "Cell":
        """The same, with another time after which a request is sent again; None: as it is."""
        if seconds is None:
            return self
        return replace(self, request=replace(self.request, attempt_timeout=seconds))

    @property
    def prices(self) -> dict[str, Prices]:
        """What is known of the prices of the models that are asked: this one, and its grader."""
        request, given = self.request, {self.model: self.request.prices}
        if self.acts and request.grader is not None:
            given.setdefault(request.grader, request.grader_prices)
        return {
            name: known_prices(name, prices, batch=request.batch) for name, prices in given.items()
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know beforehand."""
        condition = self.planned.condition
        return (
            *condition.notes,
            *(batch_notes(condition, self.draw) if self.request.batch else ()),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked run."""

    request: RunRequest
    cells: tuple[Cell, ...]

    @property
    def conditions(self) -> tuple[PlannedCondition, ...]:
        """Each condition once."""
        first = self.cells[0].model
        return tuple(cell.planned for cell in self.cells if cell.model == first)

    @property
    def estimates(self) -> tuple[CostEstimate, ...]:
        """One entry a model and condition."""
        return tuple(cell.estimate for cell in self.cells)

    @property
    def judgements(self) -> int:
        """Cases over all models and conditions."""
        return sum(cell.judgements for cell in self.cells)


def make_plan(request: RunRequest) -> Plan:
    """Check everything that can be checked without a model, and count what will be asked.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
        ModelError: A provider that gives no log-probabilities under ``probability``.
    """
    conditions = plan_conditions(request)
    cells = [
        plan_cell(condition, model, request) for model in request.models for condition in conditions
    ]
    return Plan(request, tuple(cells))


def plan_conditions(request: RunRequest) -> tuple[PlannedCondition, ...]:
    """Every condition that a request asks for, checked; its models play no role.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
        InputError: Cases or a template that can't be used.
    """
    return tuple(plan_condition(request, combination) for combination in combinations(request))


def combinations(request: RunRequest) -> tuple[Combination, ...]:
    """Every product of a request's lists that means something.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
    """
    if request.swaps != (None,) and request.ablations != (None,):
        raise UsageError("--ablate and --swap both change the contexts: give one of them")
    choose(Sampling, request.sampling, "sampling")
    choose(Client, request.client, "client")
    _check_numbers(request)
    return tuple(
        Combination(protocol, delivery, ablation, variation, swap)
        for protocol in request.protocols
        for delivery in _deliveries(request, protocol)
        for ablation in _ablations(request, delivery)
        for variation in (request.variations if protocol == Protocol.RESPOND else (None,))
        for swap in _swaps(request, delivery, ablation, variation)
    )


def plan_condition(request: RunRequest, combination: Combination) -> PlannedCondition:
    """Check and settle one combination.

    Raises:
        UsageError: A change that means nothing for these cases.
        InputError: Cases or a template that can't be used.
    """
    acts = combination.protocol == Protocol.RESPOND
    condition = make_condition(
        request.cases,
        protocol=combination.protocol,
        delivery=combination.delivery,
        ablate=combination.ablation,
        prompt=request.prompt,
        limit=request.limit,
        deployment=request.deployment if acts else None,
        variation=combination.variation,
        seed=request.seed,
        swap=combination.swap,
        verdict_words=request.verdict_words,
        draw_seed=draw_seed_of(request, combination.protocol),
    )
    version = respond_version(condition, request.grader) if acts else judge_version(condition)
    return PlannedCondition(
        condition, _arguments(request, combination), measure(condition), version
    )


def plan_cell(planned: PlannedCondition, model: str, request: RunRequest) -> Cell:
    """A model under a condition, and what it will be asked.

    Raises:
        UsageError: A setting that can't be given, a conversation larger than the model's window, or
            no batch interface.
        ModelError: A provider that gives no log-probabilities under ``probability``.
    """
    protocol = planned.condition.protocol
    if request.batch:
        check_batches(model, request.grader if protocol is Protocol.RESPOND else None)
    if protocol is Protocol.PROBABILITY and model.split("/")[0] in NO_LOGPROBS:
        raise ModelError(f"{model}: {WITHOUT_LOGPROBS}")
    draw = make_draw(
        protocol,
        resolve_sampling(Sampling(request.sampling), model),
        model=model,
        samples=request.samples,
        max_tokens=request.max_tokens,
    )
    if request.generate:
        settings = check_settings("--generate", request.generate)
        check_taken("--generate", model, settings, request.model_args)
        draw = draw.with_settings(settings)
    if protocol is Protocol.RESPOND:
        check_window(planned.condition, draw, model)
    known = known_prices(model, request.prices, batch=request.batch)
    estimated = estimate(planned.condition, planned.extent, draw, model, known, request.epochs)
    return Cell(model, planned, request, draw, estimated)


def draw_seed_of(request: RunRequest, protocol: str) -> int | None:
    """The seed of the answers, where they are drawn at random.

    Greedy ones are not, nor are a probability and a moderation model's word.
    """
    greedy = request.sampling == Sampling.GREEDY
    return None if greedy or protocol in _NEVER_DRAWN else request.draw_seed


_NEVER_DRAWN = (Protocol.PROBABILITY, Protocol.GUARD)


def _check_numbers(request: RunRequest) -> None:
    for name in ("limit", "samples", "max_tokens", "max_connections", "attempt_timeout", "epochs"):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} {value}: give at least 1")
    for name, price in (("in", request.prices.input), ("out", request.prices.output)):
        if price is not None and not (math.isfinite(price) and price >= 0):
            raise UsageError(f"--price-{name} {price}: give dollars, 0 or more")


def _deliveries(request: RunRequest, protocol: str) -> tuple[str, ...]:
    """The deliveries asked for that a protocol knows; those of no protocol are refused."""
    known = deliveries_of(choose(Protocol, protocol, "protocol"))
    for delivery in request.deliveries:
        choose(Delivery, delivery, "delivery")
    if not request.deliveries:
        return (known[0],)
    fitting = tuple(delivery for delivery in request.deliveries if delivery in known)
    every = {delivery for name in request.protocols for delivery in deliveries_of(Protocol(name))}
    stray = [delivery for delivery in request.deliveries if delivery not in every]
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


def _arguments(request: RunRequest, combination: Combination) -> dict[str, Any]:
    """The task's arguments, without those at their defaults: they are its identity in the log."""
    acts, prompt = combination.protocol == Protocol.RESPOND, request.prompt
    given = {
        "protocol": None if acts else str(combination.protocol),
        "deployment": _in_full(request.deployment, CARDS) if acts else None,
        "variation": combination.variation,
        "seed": request.seed if combination.variation else None,
        "draw_seed": draw_seed_of(request, combination.protocol),
        "grader": request.grader if acts else None,
        "cases": _in_full(request.cases, (STARTER, CASEBENCH)),
        "delivery": str(combination.delivery),
        "ablate": combination.ablation,
        "swap": combination.swap,
        "prompt": prompt if is_ours(prompt or "") else _in_full(prompt, (UPSTREAM,)),
        "verdict_words": _in_full(request.verdict_words),
        "samples": None if acts else request.samples,
        "limit": request.limit,
        "max_tokens": request.max_tokens,
    }
    return {name: value for name, value in given.items() if value is not None}


def _in_full(name: str | None, known: Collection[str] = ()) -> str | None:
    """A name that is known as it is, a path from the root on."""
    return name if name is None or name in known else str(Path(name).resolve())
