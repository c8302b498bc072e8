"""Clients of models, and how patient they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import (
    Model,
    ModelCost,
    ModelInfo,
    get_model,
    get_model_info,
    set_model_cost,
    set_model_info,
)

from casewise.errors import ModelError
from casewise.evaluation._plan import Prices
from casewise.evaluation._smollm2 import SMOLLM2, prepare

ATTEMPT_TIMEOUT_S = 300
"""After this long, one request is given up and tried again: a hung socket must not stop a run."""

MAX_RETRIES = 8

SHOWN = 200
"""Characters of a failed request's reason."""


def open_models(
    names: Sequence[str],
    *,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    memoize: bool = True,
) -> list[Model]:
    """Connect to the providers' clients; no request is sent.

    Args:
        names: The models, as Inspect names them.
        base_url: Address of their API; None is the provider's own.
        model_args: What their clients take besides.
        prices: What their tokens cost, where it is known.
        memoize: Whether a client is shared with others who ask for the same; then nobody may
            close it.

    Raises:
        ModelError: An unknown provider, a missing key or package.
    """
    models = []
    for name in names:
        if name == SMOLLM2:
            prepare()
        try:
            models.append(get_model(name, base_url=base_url, memoize=memoize, **(model_args or {})))
        except PrerequisiteError as error:
            raise ModelError(f"{name}: {plain(str(error.message))}") from None
        except (ValueError, ImportError, TypeError) as error:
            raise ModelError(f"{name}: {error}") from None
        if prices is not None:
            _set_prices(name, prices)
    return models


def _set_prices(model: str, prices: Prices) -> None:
    if prices.input is not None and prices.output is not None:
        cost = ModelCost(
            input=prices.input,
            output=prices.output,
            input_cache_write=prices.input,
            input_cache_read=prices.input,
        )
        if get_model_info(model) is None:
            set_model_info(model, ModelInfo(cost=cost))
        else:
            set_model_cost(model, cost)


def plain(text: str) -> str:
    """A message of Inspect's without its markup, on one line."""
    from rich.text import Text

    return " ".join(Text.from_markup(text).plain.removeprefix("ERROR:").split())


def failure_reason(error: BaseException) -> str:
    """Why a request failed, on one line, without what was asked.

    Inspect's own message holds the whole request, and so the query; its cause's does not.
    """
    text = str(error.__cause__ or error).split("\nRequest:")[0]
    return " ".join(text.split())[:SHOWN] or type(error).__name__
