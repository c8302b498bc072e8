"""What a provider returned: the answers, its own refusals, the first token's candidates."""

import math
from typing import TYPE_CHECKING

from inspect_ai.model import ModelOutput

from casewise.errors import ModelError

if TYPE_CHECKING:
    from casewise.evaluation._solver import CaseState

_OUTPUTS = "outputs"

WITHOUT_LOGPROBS = (
    "gives no log-probabilities, which the protocol 'probability' reads; "
    "the protocols that work are binary and score (--protocol binary)"
)


def keep_outputs(state: "CaseState", outputs: list[ModelOutput]) -> None:
    """Leave every answer to a sample where the scorer finds it, the last as its output."""
    state.output = outputs[-1]
    state.messages.append(outputs[-1].message)
    if len(outputs) > 1:
        state.store.set(_OUTPUTS, [output.model_dump(mode="json") for output in outputs])


def all_outputs(state: "CaseState") -> list[ModelOutput]:
    """Every answer to a sample, in the order asked."""
    kept = state.store.get(_OUTPUTS)
    return [ModelOutput.model_validate(one) for one in kept] if kept else [state.output]


def provider_refused(output: ModelOutput) -> bool:
    """Whether the provider itself says that the model, or its filter, declined."""
    if output.stop_reason == "content_filter":
        return True
    content = output.message.content if output.choices else ""
    return not isinstance(content, str) and any(getattr(part, "refusal", None) for part in content)


def first_token(output: ModelOutput) -> dict[str, float]:
    """The candidates of the first token and their natural-log probabilities.

    Raises:
        ModelError: The provider returned none.
    """
    choice = output.choices[0] if output.choices else None
    if choice is None or choice.logprobs is None or not choice.logprobs.content:
        raise ModelError(WITHOUT_LOGPROBS)
    first = choice.logprobs.content[0]
    found = {first.token: first.logprob}
    seen: dict[str, float] = {}
    for top in first.top_logprobs or []:
        # Two tokens may have one text; their probabilities add up.
        before = seen.get(top.token)
        seen[top.token] = top.logprob if before is None else _log_add(before, top.logprob)
    return found | seen


def _log_add(left: float, right: float) -> float:
    high, low = max(left, right), min(left, right)
    return high if high == -math.inf else high + math.log1p(math.exp(low - high))
