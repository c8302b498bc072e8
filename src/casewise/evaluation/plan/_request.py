"""Options of ``casewise run``, and every product of its lists."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from casewise.cases import STARTER, CaseSet
from casewise.choices import MAX_SEED, PROTOCOL, RULES, Client, Sampling, same_named
from casewise.errors import UsageError
from casewise.evaluation.models import Prices, check_grader
from casewise.evaluation.models._smollm2 import SMOLLM2
from casewise.evaluation.plan._condition import choose
from casewise.protocols import Delivery, acting, find_protocol, paired

ACTING = " or ".join(f"--protocol {name}" for name in acting())
"""Options under which a model plays the chatbot."""

NONE = "none"
"""Word for nothing removed, swapped or varied."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Options of ``casewise run``: every product of its lists is run."""

    models: tuple[str, ...] = (SMOLLM2,)
    cases: str | CaseSet = STARTER
    """``starter``, ``casebench``, a file of cases, or cases that no file holds."""
    protocols: tuple[str, ...] = (PROTOCOL,)
    deliveries: tuple[str, ...] = ()
    """Empty is each protocol's default."""
    ablations: tuple[str | None, ...] = (None,)
    """Parts to remove from every context; None and ``none`` leave the contexts whole."""
    swaps: tuple[str | None, ...] = (None,)
    """Parts that every case takes from its twin; None leaves the contexts as they are."""
    prompt: str | None = None
    verdict_words: str | None = None
    """A table of words by which judges' answers are read, beside ours."""
    sampling: str = Sampling.GREEDY
    samples: int | None = None
    deployment: str | None = None
    """A card's name or file; its cases take the place of ``cases``."""
    variations: tuple[str | None, ...] = (None,)
    """Changes of the conversations of ``respond``; None leaves them as they are."""
    seed: int = 0
    """Seed of the variations."""
    draw_seed: int | None = None
    """Seed of the answers, where they are drawn at random; None leaves it to the provider."""
    epochs: int = 1
    """Number of times that each case is asked."""
    cache: bool = False
    """True if answers in this machine's cache are reused."""
    grader: str | None = None
    """A model that grades replies; None, or ``rules``, is the offline reader."""
    grader_prices: Prices = field(default_factory=Prices)
    limit: int | None = None
    pairs: int | None = None
    """The most pairs of one query, where a protocol asks of pairs; None is every one."""
    max_tokens: int | None = None
    max_connections: int | None = None
    attempt_timeout: int | None = None
    """Seconds after which a request is given up and sent again; None is the usual."""
    withhold: bool = False
    """True if logs hold no text of cases and answers; a new start asks again what no log holds."""
    batch: bool = False
    """True if requests go through the providers' batch interfaces."""
    model_base_url: str | None = None
    client: str = Client.AUTO
    """Client that sends the requests: ``auto`` or ``inspect``."""
    model_args: dict[str, Any] = field(default_factory=dict)
    generate: dict[str, Any] = field(default_factory=dict)
    """Inspect's settings of the models' generation that casewise leaves open, by name."""
    prices: Prices = field(default_factory=Prices)
    targets: tuple[str, ...] = ()
    """Files of targets, or functions of Python (MODULE:FUNCTION), beside the models."""

    def __post_init__(self) -> None:
        if self.grader == RULES:
            object.__setattr__(self, "grader", None)

    @property
    def acts(self) -> bool:
        """Tell whether the model plays the chatbot under any of the protocols."""
        return any(find_protocol(name).acts for name in self.protocols)

    @classmethod
    def of(cls, options: Mapping[str, Any], **others: Any) -> "RunRequest":
        """Make a request from options by name, paths as text; those of no field are left out.

        Args:
            options: Options of the command or the front door, or keys of a sweep's line.
            others: Fields whose name or form differs from the option's.
        """
        own = same_named(cls, options)
        paths = {name: str(one) for name, one in own.items() if isinstance(one, os.PathLike)}
        return cls(**own | paths | others)


@dataclass(frozen=True, slots=True)
class Combination:
    """One product of a request's lists."""

    protocol: str
    delivery: str
    ablation: str | None
    variation: str | None
    swap: str | None


def combinations(request: RunRequest) -> tuple[Combination, ...]:
    """Every product of a request's lists that means something.

    Raises:
        UsageError: An option that doesn't exist or doesn't fit.
    """
    if request.swaps != (None,) and _unique_ablations(request) != (None,):
        raise UsageError("--ablate and --swap both change the contexts: give one of them")
    choose(Sampling, request.sampling, "sampling")
    choose(Client, request.client, "client")
    _check_numbers(request)
    if request.pairs is not None and not set(request.protocols) & set(paired()):
        raise UsageError(f"--pairs is for protocols that ask of pairs: {', '.join(paired())}")
    _check_grader(request)
    return tuple(
        Combination(protocol, delivery, ablation, variation, swap)
        for protocol in request.protocols
        for delivery in _deliveries(request, protocol)
        for ablation in _ablations(request, delivery)
        for variation in (request.variations if find_protocol(protocol).acts else (None,))
        for swap in _swaps(request, delivery, ablation, variation)
    )


def _check_grader(request: RunRequest) -> None:
    if request.grader is None:
        return
    check_grader(request.grader)
    if not request.acts:
        raise UsageError(
            f"--grader {request.grader}: {', '.join(request.protocols)} asks for verdicts, and has "
            f"no replies to grade: leave --grader out, or add {ACTING}"
        )


def draw_seed_of(request: RunRequest, protocol: str) -> int | None:
    """Seed of the answers; None where they are not drawn at random.

    Greedy answers are not, nor are a probability and a moderation model's word.
    """
    greedy = request.sampling == Sampling.GREEDY
    return None if greedy or not find_protocol(protocol).drawn else request.draw_seed


def _check_numbers(request: RunRequest) -> None:
    for name in (
        "limit",
        "pairs",
        "samples",
        "max_tokens",
        "max_connections",
        "attempt_timeout",
        "epochs",
    ):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} {value}: give at least 1")
    if not 0 <= request.seed <= MAX_SEED:
        raise UsageError(f"--seed {request.seed}: give a whole number from 0 to {MAX_SEED}")
    own, grader = request.prices, request.grader_prices
    for name, price in (
        *(("price-in", own.input), ("price-out", own.output)),
        *(("grader-price-in", grader.input), ("grader-price-out", grader.output)),
    ):
        if price is not None and not (math.isfinite(price) and price >= 0):
            raise UsageError(f"--{name} {price}: give dollars, 0 or more")


def _deliveries(request: RunRequest, protocol: str) -> tuple[str, ...]:
    """Deliveries asked for that a protocol knows, else its default; unknown ones are refused."""
    known = find_protocol(protocol).deliveries
    for delivery in request.deliveries:
        choose(Delivery, delivery, "delivery")
    if not request.deliveries:
        return (known[0],)
    fitting = tuple(delivery for delivery in request.deliveries if delivery in known)
    every = {one for name in request.protocols for one in find_protocol(name).deliveries}
    stray = [delivery for delivery in request.deliveries if delivery not in every]
    if stray or not fitting:
        raise UsageError(
            f"protocol {protocol} has no delivery {(stray or request.deliveries)[0]!r}: "
            f"choose from {', '.join(known)}"
        )
    return fitting


def _ablations(request: RunRequest, delivery: str) -> tuple[str | None, ...]:
    """Ablations under a delivery; none without a context, where other deliveries are asked for."""
    if delivery == Delivery.NONE and len(request.deliveries) > 1:
        return (None,)
    return _unique_ablations(request)


def _unique_ablations(request: RunRequest) -> tuple[str | None, ...]:
    """The ablations, each once; None is the run over whole contexts."""
    return tuple(dict.fromkeys(None if names == NONE else names for names in request.ablations))


def _swaps(
    request: RunRequest, delivery: str, ablation: str | None, variation: str | None
) -> tuple[str | None, ...]:
    """Swaps of a combination; none without a context, or where something else is changed."""
    changed = ablation is not None or variation is not None or delivery == Delivery.NONE
    return (None,) if changed else request.swaps
