"""Cost of a run: an estimate before it asks, and a cap while it does.

A judgement is asked for only while what is spent, with what those in flight will probably cost, is
below the cap; those in flight are finished and kept. So a run ends above its cap by less than what
was in flight.
"""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from casewise.cases import Case
from casewise.logs import TokenUsage, input_tokens
from casewise.models.patience import Prices
from casewise.protocols import Opening, render_grading

if TYPE_CHECKING:
    from casewise.runs.condition import Condition

BYTES_PER_TOKEN = 4.0
"""Bytes of a prompt per token, on the cautious side: SmolLM2's tokenizer takes 4.1 to 5.6 (mean
5.0) on our prompts of CASE-Bench."""

GRADE_TOKENS = 80
"""Length of a usual grade by a model, in tokens: a reason in two sentences, and its last line."""

DOUBTED = 0.19
"""Share of replies that the rules doubt, for estimates: the mean over five sources that were left
out of the fit (docs/method/replies.md)."""

Tokens = Mapping[str, tuple[int, int]]
"""Tokens in and out, by the model that used them."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Cost of one model under one condition: itself, or as a grader of replies."""

    model: str
    condition: str
    """The condition in few words."""
    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where a price is unknown."""
    grades: str | None = None
    """The model whose replies it grades; None where it is no grader."""

    @property
    def title(self) -> str:
        """The condition; a grader's also names the model whose replies it grades."""
        return self.condition if self.grades is None else f"grades {self.grades}: {self.condition}"


@dataclass(frozen=True, slots=True)
class RequestCount:
    """Number and tokens of a condition's requests to any model, each case asked once."""

    requests: int
    input_tokens: int

    def times(self, number: float) -> "RequestCount":
        """The counts multiplied by a number, rounded up."""
        return RequestCount(
            math.ceil(self.requests * number), math.ceil(self.input_tokens * number)
        )


def measure(condition: "Condition") -> RequestCount:
    """Count the requests of a condition and estimate their tokens."""
    usual = condition.protocol.answer_tokens
    requests = tokens = 0
    tools = sum(len(tool.model_dump_json()) for tool in condition.tools)
    for opening in condition.openings:
        requests += len(opening.turns)
        tokens += _conversation_tokens(opening, usual, tools)
    return RequestCount(requests, tokens)


def prompt_tokens(prompt: str) -> int:
    """The estimated length of a prompt, in tokens."""
    return round(len(prompt.encode(errors="replace")) / BYTES_PER_TOKEN)


def measure_grading(condition: "Condition") -> RequestCount:
    """Count the requests to a grader of a condition's replies, and estimate their tokens.

    Each graded reply takes a request: the last of a conversation, or every one where the
    conversation escalates, or is a script, whose turns are graded one by one. Empty replies, and
    those that the provider itself refused, take none; so this is the most.
    """
    usual, requests, tokens = condition.protocol.answer_tokens, 0, 0
    cases: list[Case | None] = [unit[0] for unit in condition.units]
    cases += [None] if condition.script else []
    for case, opening in zip(cases, condition.openings, strict=True):
        context = case.context.root if case is not None and case.context is not None else None
        shown = json.dumps(context, ensure_ascii=False) if context else None
        conversation = [(str(message.role), message.text) for message in opening.first_messages]
        for place, turn in enumerate(opening.turns, start=1):
            conversation += [("user", turn)] if place > 1 else []
            if condition.escalates or case is None or place == len(opening.turns):
                prompt = render_grading(
                    conversation, "", shown, turn if case is None else case.query
                )
                requests += 1
                tokens += prompt_tokens(prompt) + place * usual
            conversation.append(("assistant", ""))
    return RequestCount(requests, tokens)


def estimate(
    model: str,
    condition: str,
    count: RequestCount,
    answer_tokens: int,
    prices: Prices,
    *,
    grades: str | None = None,
) -> CostEstimate:
    """Estimate the tokens and the cost of requests to a model.

    Args:
        model: Name of the model.
        condition: The condition in few words.
        count: Requests and their input tokens.
        answer_tokens: Tokens of a usual answer.
        prices: The prices, as ``known_prices`` finds them.
        grades: The model whose replies it grades, if it is a grader.
    """
    tokens_in, tokens_out = count.input_tokens, count.requests * answer_tokens
    cost = prices.cost(tokens_in, tokens_out)
    return CostEstimate(model, condition, count.requests, tokens_in, tokens_out, cost, grades)


def total(estimates: Sequence[CostEstimate]) -> tuple[int, int, int, float | None]:
    """Requests, tokens in and out, and dollars; None where one of the prices is unknown."""
    costs = [row.cost_usd for row in estimates if row.cost_usd is not None]
    return (
        sum(row.requests for row in estimates),
        sum(row.input_tokens for row in estimates),
        sum(row.output_tokens for row in estimates),
        sum(costs) if len(costs) == len(estimates) else None,
    )


def _conversation_tokens(opening: Opening, answer_tokens: int, tools: int) -> int:
    """Tokens sent over a conversation: each request holds the tools and all that was said."""
    before = (message.text for message in (*opening.messages, *opening.tool_turns))
    size = tools + sum(len(text.encode(errors="replace")) for text in before)
    tokens = 0
    for place, turn in enumerate(opening.turns):
        size += len(turn.encode(errors="replace"))
        tokens += round(size / BYTES_PER_TOKEN) + place * answer_tokens
    return tokens


class SpentError(Exception):
    """The cap is reached, and nothing is in flight any more."""


class Budget:
    """Cap on the cost of a run: it counts what answers cost, and admits no more at the cap.

    Args:
        cap: Dollars, over all starts; infinite without a cap.
        before: Dollars that earlier starts spent.
        prices: Prices of every model that answers; all are known.
        expected: Dollars that a judgement will probably cost, until answers tell.
    """

    def __init__(
        self,
        cap: float = math.inf,
        before: float = 0.0,
        prices: Mapping[str, Prices] = MappingProxyType({}),
        expected: float = 0.0,
    ) -> None:
        self.cap = cap
        self.spent = before
        """Dollars spent, those of earlier starts included."""
        self.stopped = False
        """True if judgements were left unasked."""
        self._before, self._prices, self._expected = before, prices, expected
        self._judged = self._in_flight = 0
        self._room = asyncio.Event()

    @property
    def reason(self) -> str:
        """Reason why the run stopped."""
        return f"the cap of ${self.cap:.2f} is reached: ${self.spent:.2f} were spent"

    @property
    def _usual(self) -> float:
        """Dollars of a judgement, by those so far."""
        return (self.spent - self._before) / self._judged if self._judged else self._expected

    async def admit(self) -> None:
        """Let a sample ask, or hold it until there is room.

        Raises:
            SpentError: The cap is reached, and nothing in flight can make room.
        """
        while self.spent + self._in_flight * self._usual >= self.cap:
            if self.stopped or not self._in_flight:
                self.stopped = True
                self._wake()
                raise SpentError
            await self._room.wait()
        self._in_flight += 1

    def end(self, tokens: Tokens, *, judged: bool) -> None:
        """End a sample's attempt, and count its cost: without a count of tokens, the usual one.

        Args:
            tokens: Tokens that it took.
            judged: True if it ended in a judgement; the mean cost of those predicts the next ones.
        """
        usual = self._usual if judged else 0.0
        self.spent += cost_of(tokens, self._prices) or usual
        self._judged += judged
        self._in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        """Have the samples that wait check again for room."""
        self._room.set()
        self._room = asyncio.Event()


def cost_of(usage: Tokens, prices: Mapping[str, Prices]) -> float:
    """Dollars for tokens; an unknown price counts as nothing."""
    costs = (prices.get(model, Prices()).cost(*tokens) for model, tokens in usage.items())
    return sum(filter(None, costs))


def tokens_of(usage: Mapping[str, TokenUsage]) -> Tokens:
    """Tokens that models used."""
    return {model: (input_tokens(used), used.output_tokens) for model, used in usage.items()}
