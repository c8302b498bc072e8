"""What a run will ask, before it asks: requests, tokens, cost."""

from dataclasses import dataclass

from inspect_ai.model import ModelCost, get_model_info

from casewise.evaluation._condition import Condition
from casewise.evaluation._sampling import Draw
from casewise.protocols import Protocol

BYTES_PER_TOKEN = 4.0
"""Bytes of a prompt a token, on the cautious side: SmolLM2's tokenizer takes 4.1 to 5.6 (mean 5.0)
on our prompts of CASE-Bench."""

ANSWER_TOKENS = {Protocol.BINARY: 80, Protocol.SCORE: 80, Protocol.PROBABILITY: 1}
"""Length of a usual answer to our prompts, in tokens; reasoning models write many more."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars for a million tokens; None where unknown."""

    input: float | None = None
    output: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one model will be asked under one condition."""

    model: str
    condition: str
    """The condition in few words."""
    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """None where a price is unknown."""


def estimate(condition: Condition, draw: Draw, model: str, prices: Prices) -> Estimate:
    """Count the requests and estimate tokens and cost of a condition for a model."""
    prompts = [condition.prompts.render(case) for case in condition.cases]
    size = sum(len(prompt.encode(errors="replace")) for prompt in prompts)
    requests = len(prompts) * draw.samples
    asked = round(size / BYTES_PER_TOKEN) * draw.samples
    answered = requests * ANSWER_TOKENS[condition.protocol]
    known = known_prices(model, prices)
    cost = None
    if known.input is not None and known.output is not None:
        cost = (asked * known.input + answered * known.output) / 1e6
    return Estimate(model, condition.title, requests, asked, answered, cost)


def known_prices(model: str, given: Prices) -> Prices:
    """Prices given by a person, else those that Inspect knows; the embedded model is free."""
    if model.startswith("casewise/"):
        return Prices(0.0, 0.0)
    info = get_model_info(model)
    cost: ModelCost | None = info.cost if info else None
    return Prices(
        given.input if given.input is not None else (cost.input if cost else None),
        given.output if given.output is not None else (cost.output if cost else None),
    )
