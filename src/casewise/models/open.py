"""Open the models that a run asks: their clients, and their prices."""

import asyncio
import os
import re
import time
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

from inspect_ai.model import (
    GenerateConfig,
    Model,
    ModelOutput,
    get_model,
    get_model_info,
)

from casewise.choices import HF, OPENAI_API, SMOLLM2, check_name, is_in_process
from casewise.errors import ModelError, install_hint
from casewise.models.chat import certificates
from casewise.models.embedded import WINDOW, prepare
from casewise.models.faults import FaultKind, classify
from casewise.models.keys import MissingError, redacted, refuse_password
from casewise.models.patience import (
    BATCH_PRICE,
    CONNECTIONS,
    PatientModel,
    Prices,
    Watch,
    base_of,
    check_address,
    plain_url,
    setting_of,
    url_of,
    why_unconnected,
)
from casewise.models.target import Target, load_target
from casewise.models.target_file import TargetFile, in_braces
from casewise.models.target_http import TargetExchange

Result = TypeVar("Result")

OURS = "casewise-openai"
"""Name in Inspect of our client of ``openai-api/...``."""


def known_prices(model: str, prices: Prices, *, batch: bool = False) -> Prices:
    """Prices given by a person, else those that Inspect knows; models of this process are free.

    In a batch, both are halved.
    """
    if is_in_process(model):
        return Prices(0.0, 0.0)
    # Inspect opens a model that its list lacks: weights would be loaded, or a server started.
    info = None if loads_weights(model, None) else get_model_info(model)
    share = BATCH_PRICE if batch else 1.0

    def price(name: str) -> float | None:
        dollars = getattr(prices, name)
        if dollars is None and info and info.cost:
            dollars = getattr(info.cost, name)
        return None if dollars is None else share * dollars

    return Prices(price("input"), price("output"))


ATTEMPT_TIMEOUT_S = 300
"""Seconds after which one request is given up and sent again: a hung socket must not stop a run."""

_LOADED = ("hf/", "transformer_lens/", "nnterp/")
"""Prefixes of Inspect's providers that load models into the process that asks them."""

_SERVED = ("vllm/", "sglang/")
"""Prefixes of providers that load models, too, unless a server's address is given."""


def _without_hf(model: str) -> str | None:
    """Message on a model of casewise-hf where that is not installed; None for any other."""
    if not model.startswith(f"{HF}/") or find_spec("casewise_hf") is not None:
        return None
    return f"{model} needs casewise-hf: {install_hint(distribution='casewise-hf')}"


def loads_weights(model: str, base_url: str | None) -> bool:
    """Tell whether the process that asks a model has to load it first."""
    served = base_url is None and model.startswith(_SERVED)
    return served or is_in_process(model) or model.startswith(_LOADED)


def server_address(name: str, base_url: str | None, model_args: Mapping[str, Any]) -> str:
    """Address of a model's server, in one spelling; empty of a model that is loaded here."""
    if name.startswith(_SERVED):
        # Their clients have it with the first request alone.
        variable = f"{name.split('/')[0].upper()}_BASE_URL"
        return plain_url(base_url or os.environ.get(variable, ""))
    if loads_weights(name, base_url):
        return ""
    # Of a model that can't be opened the run says so.
    with suppress(ModelError):
        return url_of(open_model(name, base_url=base_url, model_args=model_args))
    return ""


def check_all(models: Iterable[tuple[str, str | None, Mapping[str, Any]]]) -> tuple[str, ...]:
    """Check models without a request, and without loading weights.

    Args:
        models: Name, address and arguments of the client of each.

    Returns:
        Messages on what their providers lack (a key, a package), which a plan does not need.

    Raises:
        ModelError: No provider, no model of that form, or no address of a web server.
    """
    models = list(models)
    lacking = dict[str, None]()
    for place, (name, base_url, model_args) in enumerate(models):
        if (name, base_url, model_args) in models[:place]:
            continue
        try:
            if not loads_weights(name, base_url):
                open_model(name, base_url=base_url, model_args=model_args)
            elif message := _without_hf(name):
                lacking[message] = None
        except MissingError as error:
            lacking[str(error)] = None
    return tuple(lacking)


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    connections: int | None = None,
    prices: Prices | None = None,
    usual: GenerateConfig | None = None,
) -> PatientModel:
    """Open a client of a provider; no request is sent.

    It has the address and the key that the environment has now, and is its caller's to close.

    Args:
        name: The model, as people write it.
        base_url: Address of its API; None is the provider's own.
        model_args: Other arguments of its client.
        watch: What the models of one start share; None is nothing.
        connections: Requests at once; None is the usual number.
        prices: Prices of its tokens that a person gave.
        usual: Settings of its requests, unless its own say otherwise.

    Raises:
        ModelError: An unknown provider, a missing key or package.
    """
    check_name(name)
    if (lacking := _without_hf(name)) is not None:
        raise MissingError(lacking)
    if name == SMOLLM2:
        prepare()
    try:
        model = _open(name, base_url, dict(model_args or {}))
    except (ValueError, ImportError, TypeError) as error:
        raise ModelError(redacted(f"{name}: {error}")) from None
    except Exception as error:
        # Inspect's own error for what is missing, which is no public name.
        if type(error).__name__ != "PrerequisiteError":
            raise
        raise MissingError(f"{name}: {plain(str(getattr(error, 'message', error)))}") from None
    if usual is not None:
        model.config = usual.merge(model.config)
    at_once = connections or (WINDOW if is_in_process(name) else CONNECTIONS)
    return PatientModel(model, name, watch or Watch(), at_once, prices)


def _open(name: str, base_url: str | None, model_args: dict[str, Any]) -> Model:
    if base_url is not None and name.startswith((OPENAI_API, *_SERVED)):
        # Their clients are made with the first request.
        check_address(name, base_url)
    inspect_name = name
    if name.startswith(OPENAI_API) and not model_args:
        inspect_name = f"{OURS}/{name.removeprefix(OPENAI_API)}"
    provider = name.split("/")[0]
    if provider in ("openai", "anthropic") and find_spec(provider) is not None:
        certificates()
        # Their clients would repeat a request, and follow a redirect with what was asked.
        client = import_module(provider).DefaultAsyncHttpxClient(follow_redirects=False)
        model_args = {"max_retries": 0, "http_client": client} | model_args
    # Inspect would give the client of an earlier run, with that run's address and key.
    model = get_model(inspect_name, base_url=base_url, memoize=False, **model_args)
    refuse_password(f"{name}: {setting_of(name)}", base_of(model))
    if model.api.base_url and (
        inspect_name != name or hasattr(getattr(model.api, "client", 0), "base_url")
    ):
        check_address(name, str(model.api.base_url))
    return model


def plain(text: str) -> str:
    """A message of Inspect's without its markup, on one line."""
    return " ".join(re.sub(r"\[/?[a-z ]+\]", "", text).removeprefix("ERROR:").split())


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """One message to a target, and its answer."""

    target: Target
    message: str
    exchange: TargetExchange | None
    """Request and answer over HTTP; None for a function."""
    answer: ModelOutput | None
    problem: str | None
    """Reason why there is no answer."""
    seconds: float

    @property
    def left_out(self) -> str:
        """Placeholders that the request went without, for want of a case."""
        spec = self.target.spec
        if not isinstance(spec, TargetFile) or self.exchange is None or not self.exchange.url:
            return ""
        return in_braces(sorted(spec.context_parts | spec.places & {"category"}))


def check_target(reference: str, message: str) -> TargetCheck:
    """Send one message to a target, once, and read its answer.

    Raises:
        InputError: The target's file can't be used.
        ModelError: A variable of the environment is missing or wrong.
        UsageError: There is no such function.
    """
    target = load_target(reference)
    model = open_model(target.model, model_args=target.arguments)
    timeout = target.timeout or ATTEMPT_TIMEOUT_S

    async def ask() -> ModelOutput:
        # Once: Inspect's own, without the patience.
        try:
            return await Model.generate(
                model, message, config=GenerateConfig(attempt_timeout=timeout)
            )
        finally:
            await model.api.aclose()

    answer, problem, began = None, None, time.monotonic()
    try:
        answer = in_own_loop(ask())
    except ModelError as error:
        problem = redacted(str(error))
    except Exception as error:
        fault = classify(error)
        if fault.status is not None:
            problem = fault.plain
        elif fault.kind is FaultKind.CONNECTION:
            problem = why_unconnected(error, model.server.url)
        elif fault.kind is FaultKind.TIMEOUT:
            problem = f"no whole answer within {timeout} s"
        else:
            problem = fault.reason
    seconds = time.monotonic() - began
    exchange: TargetExchange | None = getattr(getattr(model.api, "client", None), "last", None)
    if exchange is not None:
        exchange.answer = redacted(exchange.answer)
    return TargetCheck(target, message, exchange, answer, problem, seconds)


def in_own_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Do work in an event loop that is closed after it, and its clients with it.

    ``asyncio.run`` does so until ``nest_asyncio`` replaces it, as Inspect does when it is called
    within a running loop: from then on one loop stays open, and so do the connections of each run.
    """
    with asyncio.Runner() as runner:
        return runner.run(work)
