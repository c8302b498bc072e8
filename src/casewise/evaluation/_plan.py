"""What a run will ask, before it asks: requests, tokens, cost."""

from dataclasses import dataclass

import yaml
from inspect_ai.model import ModelCost, ModelInfo, get_model_info

from casewise.errors import UsageError
from casewise.evaluation._batches import PRICE
from casewise.evaluation._condition import Condition
from casewise.evaluation._sampling import Draw
from casewise.evaluation._settings import setting_parts
from casewise.evaluation._smollm2 import CONTEXT_TOKENS, SMOLLM2
from casewise.evaluation.local import is_in_process
from casewise.protocols import Opening, Protocol

BYTES_PER_TOKEN = 4.0
"""Bytes of a prompt a token, on the cautious side: SmolLM2's tokenizer takes 4.1 to 5.6 (mean 5.0)
on our prompts of CASE-Bench."""

ANSWER_TOKENS = {
    Protocol.BINARY: 80,
    Protocol.SCORE: 80,
    Protocol.PROBABILITY: 1,
    Protocol.GUARD: 5,
    Protocol.RESPOND: 300,
}
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


@dataclass(frozen=True, slots=True)
class Extent:
    """How much a condition says to any model, each case asked once."""

    requests: int
    input_tokens: int


def measure(condition: Condition) -> Extent:
    """Count the requests of a condition and estimate their tokens."""
    openings = condition.openings
    usual = ANSWER_TOKENS[condition.protocol]
    return Extent(
        sum(len(opening.turns) for opening in openings),
        sum(_asked(opening, usual) for opening in openings),
    )


def estimate(
    condition: Condition, extent: Extent, draw: Draw, model: str, known: Prices, epochs: int = 1
) -> Estimate:
    """Count the requests and estimate tokens and cost of a condition for a model.

    The prices are those that ``known_prices`` finds.
    """
    times = draw.samples * epochs
    requests, asked = extent.requests * times, extent.input_tokens * times
    answered = requests * ANSWER_TOKENS[condition.protocol]
    cost = None
    if known.input is not None and known.output is not None:
        cost = (asked * known.input + answered * known.output) / 1e6
    title = ", ".join([condition.title, *setting_parts(draw.settings)])
    return Estimate(model, title, requests, asked, answered, cost)


def check_window(condition: Condition, draw: Draw, model: str) -> None:
    """Refuse a conversation that can't fit into a model's window, where that is known.

    Raises:
        UsageError: The longest conversation is larger, by a cautious estimate.
    """
    info = model_info(model)
    window = CONTEXT_TOKENS if model == SMOLLM2 else info and (info.context_length or None)
    if not window:
        return
    answer = draw.config.max_tokens or ANSWER_TOKENS[condition.protocol]
    for opening in condition.openings:
        said = [*(one.content for one in opening.messages), *opening.turns]
        size = sum(len(text.encode(errors="replace")) for text in said)
        # Half of the usual size of a token in bytes: nothing that might fit is refused.
        least = round(size / (2 * BYTES_PER_TOKEN)) + min(answer, 16)
        if least > window:
            raise UsageError(
                f"{model}: a conversation of at least {least:,} tokens does not fit into its "
                f"window of {window:,} (it begins: {said[-1][:40]!r})"
            )


def _asked(opening: Opening, answer_tokens: int) -> int:
    """Tokens sent over a conversation: each request holds all that was said before."""
    said = sum(len(one.content.encode(errors="replace")) for one in opening.messages)
    tokens = 0
    for place, turn in enumerate(opening.turns):
        said += len(turn.encode(errors="replace"))
        tokens += round(said / BYTES_PER_TOKEN) + place * answer_tokens
    return tokens


def model_info(model: str) -> ModelInfo | None:
    """What Inspect knows of a model: prices, window.

    Inspect reads it from YAML, which takes .25 s in Python and a tenth of that in libyaml.
    """
    in_python = yaml.SafeLoader
    yaml.SafeLoader = getattr(yaml, "CSafeLoader", in_python)  # type: ignore[misc]
    try:
        return get_model_info(model)
    finally:
        yaml.SafeLoader = in_python  # type: ignore[misc]


def batch_notes(condition: Condition, draw: Draw) -> tuple[str, ...]:
    """That a case takes several batches, where it does."""
    rounds = draw.samples * max((len(one.turns) for one in condition.openings), default=1)
    if rounds == 1:
        return ()
    case = f"{condition.protocol}: a case takes up to {rounds} batches"
    return (f"{case}, each sent when the one before is back",)


def known_prices(model: str, given: Prices, *, batch: bool = False) -> Prices:
    """Prices given by a person, else those that Inspect knows; models of this process are free.

    In a batch, both are halved.
    """
    if is_in_process(model):
        return Prices(0.0, 0.0)
    info = model_info(model)
    cost: ModelCost | None = info.cost if info else None
    part = PRICE if batch else 1.0
    asked = given.input if given.input is not None else (cost.input if cost else None)
    answered = given.output if given.output is not None else (cost.output if cost else None)
    return Prices(
        None if asked is None else part * asked, None if answered is None else part * answered
    )
