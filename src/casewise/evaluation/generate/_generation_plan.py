"""What a person asks of ``casewise contexts generate``, checked, and what it will take."""

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
from casewise.evaluation.generate._rounds import REVIEW_TRIES
from casewise.evaluation.models import Prices, known_prices
from casewise.evaluation.models._smollm2 import SMOLLM2
from casewise.evaluation.plan._condition import choose
from casewise.evaluation.plan._costs import BYTES_PER_TOKEN, CostEstimate
from casewise.evaluation.plan._sampling import MAX_TOKENS

CONTEXT_TOKENS = 400
"""Length of a usual context as an answer, in tokens: eight texts of about 25 words."""

REVIEW_TOKENS = 80
"""Length of a usual review."""

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
    """What a person asks for."""

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
    """What repairs may add."""

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

    def works(self) -> list[ContextWork]:
        """Every piece that is to be made."""
        return open_works(self.queries, self.matched)

    @property
    def max_tokens(self) -> tuple[int, int]:
        """The longest answers of the writer and of the critic."""
        most = self.request.max_tokens
        return (
            min(most, EMBEDDED_TOKENS) if self.request.model == SMOLLM2 else most,
            min(most, EMBEDDED_REVIEW_TOKENS) if self.critic == SMOLLM2 else most,
        )

    def cost(self, written: tuple[int, int], reviewed: tuple[int, int]) -> float | None:
        """Dollars for tokens in and out; None where a price is unknown."""
        prices = self.request.prices
        first = cost_of(*written, known_prices(self.request.model, prices))
        second = cost_of(*reviewed, known_prices(self.critic, prices)) if self.critic else 0.0
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
    model, prices = request.model, request.prices
    asked = [
        render_making(work.query.query, work.piece, work.query.language, work.matched)
        for work in works
    ]
    writing, drafts = _tokens(asked), CONTEXT_TOKENS * len(works)
    sides = [(work, side) for work in works for side in work.sides]
    usual = dict.fromkeys(PARAMETERS, "x" * 6 * 25)
    reviews = _tokens(
        render_review(work.query.query, side, usual, work.query.language) for work, side in sides
    )
    times = request.candidates
    first = [
        _estimate(model, "contexts", len(works) * times, writing * times, drafts * times, prices)
    ]
    if critic:
        answers = REVIEW_TOKENS * len(sides)
        first.append(_estimate(critic, "reviews", len(sides), reviews, answers, prices))
    # Repairs of its own faults and of those beside the set are counted apart.
    most = 2 * repairs
    more = []
    if most:
        more.append(
            _estimate(
                model,
                "repairs",
                len(works) * most,
                (writing + drafts) * most,
                drafts * most,
                prices,
            )
        )
    again = (times + most) * REVIEW_TRIES - 1
    if critic and again:
        count = len(sides) * again
        more.append(
            _estimate(
                critic, "reviews again", count, reviews * again, REVIEW_TOKENS * count, prices
            )
        )
    return tuple(first), tuple(more)


def _tokens(prompts: Iterable[str]) -> int:
    return sum(round(len(prompt.encode(errors="replace")) / BYTES_PER_TOKEN) for prompt in prompts)


def _estimate(
    model: str, what: str, requests: int, asked: int, answered: int, prices: Prices
) -> CostEstimate:
    known = known_prices(model, prices)
    return CostEstimate(model, what, requests, asked, answered, cost_of(asked, answered, known))


def cost_of(asked: int, answered: int, prices: Prices) -> float | None:
    """Dollars for tokens in and out; None where a price is unknown."""
    if prices.input is None or prices.output is None:
        return None
    return (asked * prices.input + answered * prices.output) / 1e6
