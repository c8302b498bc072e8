"""Clients of models, and how patient they are."""

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from inspect_ai.model import (
    Model,
    ModelCost,
    ModelInfo,
    get_model,
    set_model_cost,
    set_model_info,
)

from casewise.errors import ModelError, UsageError
from casewise.evaluation._plan import Prices, model_info
from casewise.evaluation._reach import check_address
from casewise.evaluation._secrets import redacted
from casewise.evaluation._smollm2 import SMOLLM2, prepare
from casewise.evaluation._watch import watch
from casewise.evaluation.seam import PrerequisiteError

ATTEMPT_TIMEOUT_S = 300
"""After this long, one request is given up and tried again: a hung socket must not stop a run."""

ATTEMPT_TIMEOUT = "CASEWISE_ATTEMPT_TIMEOUT"
"""The environment variable that says otherwise, in seconds."""

MAX_RETRIES = 8

OPENAI_API = "openai-api/"
"""How models of any OpenAI-compatible server begin."""


class Client(StrEnum):
    """What sends the requests."""

    AUTO = "auto"
    """A lean client where a model's provider allows it, else the provider's own."""
    INSPECT = "inspect"
    """The provider's own."""


def attempt_timeout(given: int | None = None) -> int:
    """Seconds after which one request is given up and tried again.

    Raises:
        UsageError: What was given, or the environment says, is no whole number above 0.
    """
    text = os.environ.get(ATTEMPT_TIMEOUT, "") if given is None else str(given)
    if not text:
        return ATTEMPT_TIMEOUT_S
    if not text.isdecimal() or int(text) < 1:
        name = ATTEMPT_TIMEOUT if given is None else "--attempt-timeout"
        raise UsageError(f"{name} {text}: give seconds, 1 or more")
    return int(text)


def open_models(
    names: Sequence[str],
    *,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    memoize: bool = True,
    client: Client = Client.INSPECT,
) -> list[Model]:
    """Connect to the providers' clients; no request is sent.

    Args:
        names: The models, as Inspect names them.
        base_url: Address of their API; None is the provider's own.
        model_args: What their clients take besides.
        prices: What their tokens cost, where it is known.
        memoize: Whether a client is shared with others who ask for the same; then nobody may
            close it.
        client: What sends the requests; of a shared client, as it was last asked for.

    Raises:
        ModelError: An unknown provider, a missing key or package.
    """
    models = []
    for name in names:
        if name == SMOLLM2:
            prepare()
        try:
            models.append(_open(name, base_url, model_args or {}, memoize, client))
        except PrerequisiteError as error:
            raise ModelError(f"{name}: {plain(str(error.message))}") from None
        except (ValueError, ImportError, TypeError) as error:
            raise ModelError(redacted(f"{name}: {error}")) from None
        if prices is not None:
            _set_prices(name, prices)
    return models


def _open(
    name: str, base_url: str | None, model_args: Mapping[str, Any], memoize: bool, client: Client
) -> Model:
    model = get_model(name, base_url=base_url, memoize=memoize, **model_args)
    check_address(name, model)
    if name.startswith(OPENAI_API):
        # Only here: it imports what no other provider needs.
        from casewise.evaluation._lean import send_as_provided, send_leanly

        (send_leanly if client is Client.AUTO else send_as_provided)(model)
    return watch(model)


def _set_prices(model: str, prices: Prices) -> None:
    if prices.input is not None and prices.output is not None:
        cost = ModelCost(
            input=prices.input,
            output=prices.output,
            input_cache_write=prices.input,
            input_cache_read=prices.input,
        )
        if model_info(model) is None:
            set_model_info(model, ModelInfo(cost=cost))
        else:
            set_model_cost(model, cost)


def plain(text: str) -> str:
    """A message of Inspect's without its markup, on one line."""
    from rich.text import Text

    return " ".join(Text.from_markup(text).plain.removeprefix("ERROR:").split())
