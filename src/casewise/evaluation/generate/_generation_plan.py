"""Plan of ``casewise contexts generate``, checked, with its cost."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from casewise.cases import ListedQuery, digest, load_queries
from casewise.choices import Structured
from casewise.contexts import (
    CRITIC_VERSION,
    MAKE_VERSION,
    PARAMETERS,
    parse_matched,
    render_making,
    render_review,
)
from casewise.errors import UsageError
from casewise.evaluation.generate._context_attempts import ContextWork, open_works
from casewise.evaluation.models import Prices, known_prices
from casewise.evaluation.models._smollm2 import SMOLLM2
from casewise.evaluation.plan._condition import choose
from casewise.evaluation.plan._costs import CostEstimate, RequestCount, estimate, prompt_tokens
from casewise.evaluation.plan._sampling import MAX_TOKENS

CONTEXT_TOKENS = 400
"""Length of a usual context as an answer, in tokens: eight texts of about 25 words."""

REVIEW_TOKENS = 80
"""Length of a usual review."""

REVIEW_TRIES = 2
"""Times that the critic is asked about a context, where its answer can't be read."""

NO_CRITIC = "none"

REPAIRS = 2
EMBEDDED_REPAIRS = 0
"""The embedded model mends nothing, and takes its time."""

EMBEDDED_TOKENS = 256
EMBEDDED_REVIEW_TOKENS = 40
"""Longest answers of the embedded model; it says little in more."""

TEMPERATURE = 0.8


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """Options of a person."""

    queries: Path
    """A list of queries."""
    out: Path
    """The cases that are made, as JSON Lines."""
    model: str = SMOLLM2
    critic: str | None = None
    """A model, or ``none``; None is the model that writes."""
    matched: str | None = None
    """Parameters in which alone twins may differ."""
    candidates: int = 1
    repairs: int | None = None
    """None is ``REPAIRS``, or ``EMBEDDED_REPAIRS`` of the embedded model."""
    structured: str = Structured.AUTO
    seed: int = 0
    temperature: float = TEMPERATURE
    max_tokens: int = MAX_TOKENS
    max_connections: int | None = None
    model_base_url: str | None = None
    model_args: dict[str, Any] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)
    defaults: dict[str, str | None] = field(default_factory=dict)
    """Language, source, licence and category of queries that the list gives none."""


@dataclass(frozen=True, slots=True)
class GeneratePlan:
    """A checked request."""

    request: GenerateRequest
    queries: tuple[ListedQuery, ...]
    matched: tuple[str, ...]
    critic: str | None
    """The model; None is no model critic."""
    repairs: int
    structured: Structured
    estimates: tuple[CostEstimate, ...]
    at_most: tuple[CostEstimate, ...]
    """Cost that repairs may add."""

    @property
    def models(self) -> tuple[str, ...]:
        """The writer, and the critic where it is another."""
        return tuple(dict.fromkeys(name for name in (self.request.model, self.critic) if name))

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what is made, but for the models' answers."""
        request = self.request
        return {
            "queries": digest(*(asdict(query) for query in self.queries)),
            "model": request.model,
            "model-base-url": request.model_base_url,
            # Not as they are: one may be a key.
            "model-arg": digest(request.model_args) if request.model_args else None,
            "critic": self.critic or NO_CRITIC,
            "matched": ",".join(self.matched),
            "candidates": request.candidates,
            "repairs": self.repairs,
            "structured": str(self.structured),
            "seed": request.seed,
            "temperature": request.temperature,
            "max-tokens": request.max_tokens,
            "prompts": f"{MAKE_VERSION} {CRITIC_VERSION}",
        }

    @property
    def max_tokens(self) -> int:
        """The longest answer of the writer."""
        most = self.request.max_tokens
        return min(most, EMBEDDED_TOKENS) if self.request.model == SMOLLM2 else most

    @property
    def review_tokens(self) -> int:
        """The longest answer of the critic."""
        most = self.request.max_tokens
        return min(most, EMBEDDED_REVIEW_TOKENS) if self.critic == SMOLLM2 else most

    def cost(self, written: tuple[int, int], reviewed: tuple[int, int]) -> float | None:
        """Dollars for tokens in and out; None where a price is unknown."""
        prices = self.request.prices
        first = known_prices(self.request.model, prices).cost(*written)
        second = known_prices(self.critic, prices).cost(*reviewed) if self.critic else 0.0
        return None if first is None or second is None else first + second


def plan_generation(request: GenerateRequest) -> GeneratePlan:
    """Check everything that can be checked without a model, and count what will be asked.

    Raises:
        InputError: A list of queries that can't be used.
        UsageError: An option that doesn't exist or doesn't fit.
    """
    _check(request)
    structured = choose(Structured, request.structured, "structured")
    matched = parse_matched(request.matched) if request.matched is not None else ()
    critic = request.model if request.critic is None else request.critic
    reviewer = None if critic == NO_CRITIC else critic
    usual = EMBEDDED_REPAIRS if request.model == SMOLLM2 else REPAIRS
    repairs = usual if request.repairs is None else request.repairs
    queries = load_queries(request.queries, **request.defaults)
    works = open_works(queries, matched)
    first, more = _estimates(request, works, reviewer, repairs)
    return GeneratePlan(request, queries, matched, reviewer, repairs, structured, first, more)


def _check(request: GenerateRequest) -> None:
    for name, least in (
        ("candidates", 1),
        ("repairs", 0),
        ("max_tokens", 1),
        ("max_connections", 1),
    ):
        value = getattr(request, name)
        if value is not None and value < least:
            raise UsageError(f"--{name.replace('_', '-')} {value}: give at least {least}")
    if not (math.isfinite(request.temperature) and request.temperature >= 0):
        raise UsageError(f"--temperature {request.temperature}: give 0 or more")
    for name, price in (("in", request.prices.input), ("out", request.prices.output)):
        if price is not None and not (math.isfinite(price) and price >= 0):
            raise UsageError(f"--price-{name} {price}: give dollars, 0 or more")
    if request.out.suffix.lower() != ".jsonl":
        raise UsageError(
            f"--out {request.out}: end the name in .jsonl (casewise cases convert turns it into "
            "YAML or CSV)"
        )


def _estimates(
    request: GenerateRequest, works: list[ContextWork], critic: str | None, repairs: int
) -> tuple[tuple[CostEstimate, ...], tuple[CostEstimate, ...]]:
    making = RequestCount(
        len(works),
        _tokens(
            render_making(work.query.query, work.piece, work.query.language, work.matched)
            for work in works
        ),
    )
    repairing = RequestCount(len(works), making.input_tokens + CONTEXT_TOKENS * len(works))
    sides = [(work.query, side) for work in works for side in work.sides]
    usual = dict.fromkeys(PARAMETERS, "x" * 6 * 25)
    reviewing = RequestCount(
        len(sides),
        _tokens(render_review(one.query, side, usual, one.language) for one, side in sides),
    )
    # Repairs of its own faults and of those beside the set are counted apart.
    most = 2 * repairs
    again = (request.candidates + most) * REVIEW_TRIES - 1

    def estimates(*asked: tuple[str | None, str, RequestCount, int]) -> tuple[CostEstimate, ...]:
        return tuple(
            estimate(model, what, count, answer, known_prices(model, request.prices))
            for model, what, count, answer in asked
            if model and count.requests
        )

    return (
        estimates(
            (request.model, "contexts", making.times(request.candidates), CONTEXT_TOKENS),
            (critic, "reviews", reviewing, REVIEW_TOKENS),
        ),
        estimates(
            (request.model, "repairs", repairing.times(most), CONTEXT_TOKENS),
            (critic, "reviews again", reviewing.times(again), REVIEW_TOKENS),
        ),
    )


def _tokens(prompts: Iterable[str]) -> int:
    return sum(map(prompt_tokens, prompts))
