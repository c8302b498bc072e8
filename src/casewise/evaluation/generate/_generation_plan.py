"""Plan of ``casewise contexts generate``, checked, with its cost."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casewise.cases import Case, digest, load_cases, to_fields
from casewise.choices import Structured
from casewise.contexts import (
    CRITIC_VERSION,
    MAKE_VERSION,
    PARAMETERS,
    parse_matched,
    render_review,
)
from casewise.errors import InputError, UsageError
from casewise.evaluation.generate._context_attempts import ContextWork, open_works
from casewise.evaluation.models import Prices, known_prices
from casewise.evaluation.models._smollm2 import SMOLLM2
from casewise.evaluation.plan._condition import choose
from casewise.evaluation.plan._costs import CostEstimate, RequestCount, estimate, prompt_tokens
from casewise.protocols import MAX_TOKENS

CONTEXT_TOKENS = 400
"""Usual length of a context as an answer, in tokens: eight texts of about 25 words."""

REVIEW_TOKENS = 80
"""Usual length of a review, in tokens."""

REVIEW_TRIES = 2
"""Most requests to the critic about one context, where its answers can't be read."""

NO_CRITIC = "none"

REPAIRS = 2
EMBEDDED_REPAIRS = 0
"""Repairs by the embedded model, which is slow and mends nothing."""

EMBEDDED_TOKENS = 256
EMBEDDED_REVIEW_TOKENS = 40
"""Longest answers of the embedded model, which says little in more."""

TEMPERATURE = 0.8


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """Options of the command."""

    queries: Path
    """File of cases without contexts."""
    out: Path
    """File of the cases that are made, as JSON Lines."""
    model: str = SMOLLM2
    critic: str | None = None
    """A model, or ``none``; None is the model that writes."""
    matched: str | None = None
    """Parameters in which alone twins may differ."""
    candidates: int = 1
    repairs: int | None = None
    """None is ``REPAIRS``, or ``EMBEDDED_REPAIRS`` for the embedded model."""
    structured: str = Structured.AUTO
    seed: int = 0
    temperature: float = TEMPERATURE
    max_tokens: int = MAX_TOKENS
    max_connections: int | None = None
    model_base_url: str | None = None
    model_args: dict[str, Any] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)
    defaults: dict[str, str | None] = field(default_factory=dict)
    """Language, source and licence of queries that the file gives none."""


@dataclass(frozen=True, slots=True)
class GeneratePlan:
    """A checked request."""

    request: GenerateRequest
    queries: tuple[Case, ...]
    """Cases without a context, one a query."""
    matched: tuple[str, ...]
    critic: str | None
    """Model of the critic; None where rules alone review."""
    repairs: int
    structured: Structured
    estimates: tuple[CostEstimate, ...]
    at_most: tuple[CostEstimate, ...]
    """Cost that repairs may add."""

    @property
    def models(self) -> tuple[str, ...]:
        """The writer, and the critic where it is another."""
        return tuple(dict.fromkeys(filter(None, (self.request.model, self.critic))))

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the results: with the models' answers, they decide what is made."""
        request = self.request
        return {
            "queries": digest(*map(to_fields, self.queries)),
            "model": request.model,
            "model-base-url": request.model_base_url,
            # A hash, since one may be a key.
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
        """Longest answer of the writer."""
        return self._most(self.request.model, EMBEDDED_TOKENS)

    @property
    def review_tokens(self) -> int:
        """Longest answer of the critic."""
        return self._most(self.critic, EMBEDDED_REVIEW_TOKENS)

    def _most(self, model: str | None, embedded: int) -> int:
        most = self.request.max_tokens
        return min(most, embedded) if model == SMOLLM2 else most

    def cost(self, written: tuple[int, int], reviewed: tuple[int, int]) -> float | None:
        """Dollars for tokens in and out; None where a price is unknown."""
        prices = self.request.prices
        first = known_prices(self.request.model, prices).cost(*written)
        second = known_prices(self.critic, prices).cost(*reviewed) if self.critic else 0.0
        return None if first is None or second is None else first + second


def plan_generation(request: GenerateRequest) -> GeneratePlan:
    """Check everything that can be checked without a model, and count what will be asked.

    Raises:
        InputError: A file of cases that can't be used, or one of cases with contexts.
        UsageError: An option that doesn't exist or doesn't fit.
    """
    _check(request)
    structured = choose(Structured, request.structured, "structured")
    matched = parse_matched(request.matched) if request.matched is not None else ()
    critic = request.model if request.critic is None else request.critic
    reviewer = None if critic == NO_CRITIC else critic
    usual = EMBEDDED_REPAIRS if request.model == SMOLLM2 else REPAIRS
    repairs = usual if request.repairs is None else request.repairs
    queries = tuple(_queries(request))
    works = open_works(queries, matched)
    first, more = _estimates(request, works, reviewer, repairs)
    return GeneratePlan(request, queries, matched, reviewer, repairs, structured, first, more)


def _queries(request: GenerateRequest) -> Iterator[Case]:
    """The cases of the file, with the request's defaults.

    Raises:
        InputError: A case has a context or earlier turns, or the query of another.
    """
    seen: set[str] = set()
    for number, case in enumerate(load_cases(request.queries), start=1):
        problem = ""
        if case.context is not None or case.history:
            problem = "has a context or earlier turns"
        elif case.query_id in seen:
            problem = "has the query of another"
        if problem:
            expected = "cases without a context, one a query"
            raise InputError(f"case {number} {problem}", request.queries, expected=expected)
        seen.add(case.query_id)
        given = {name: getattr(case, name) or text for name, text in request.defaults.items()}
        yield case.model_copy(update=given)


def _check(request: GenerateRequest) -> None:
    for name, least in {
        "candidates": 1,
        "repairs": 0,
        "max_tokens": 1,
        "max_connections": 1,
    }.items():
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
    """Costs of the first round, and of repairs with their reviews at most."""
    making = _count([work.prompt for work in works])
    repairing = RequestCount(len(works), making.input_tokens + CONTEXT_TOKENS * len(works))
    usual = dict.fromkeys(PARAMETERS, "x" * 6 * 25)
    reviewing = _count(
        [
            render_review(work.query.query, side, usual, work.query.language)
            for work in works
            for side in work.sides
        ]
    )
    # Repairs of its own faults and of those beside the set are counted apart.
    most = 2 * repairs
    again = (request.candidates + most) * REVIEW_TRIES - 1

    def estimates(
        what: str, made: RequestCount, what_reviewed: str, reviewed: RequestCount
    ) -> tuple[CostEstimate, ...]:
        asked = (
            (request.model, what, made, CONTEXT_TOKENS),
            (critic, what_reviewed, reviewed, REVIEW_TOKENS),
        )
        return tuple(
            estimate(model, name, count, answer, known_prices(model, request.prices))
            for model, name, count, answer in asked
            if model and count.requests
        )

    return (
        estimates("contexts", making.times(request.candidates), "reviews", reviewing),
        estimates("repairs", repairing.times(most), "reviews again", reviewing.times(again)),
    )


def _count(prompts: Sequence[str]) -> RequestCount:
    return RequestCount(len(prompts), sum(map(prompt_tokens, prompts)))
