"""Open the models that a run asks: their clients, their patience, and their prices.

The room holds all that stands between casewise and a model: the embedded model (``_smollm2``, by
``_in_process``), bots behind addresses (``_target``), faults of requests and their counts
(``_faults``, ``_reachability``, ``_provider_calls``), and Inspect's private parts (``_seam``).
"""

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

import yaml
from inspect_ai.model import (
    GenerateConfig,
    GenerateConfigArgs,
    Model,
    ModelCost,
    ModelInfo,
    ModelOutput,
    get_model,
    get_model_info,
    set_model_cost,
    set_model_info,
)

from casewise.choices import RULES, Client
from casewise.errors import ModelError, UsageError, install_hint
from casewise.evaluation.models._batches import PRICE
from casewise.evaluation.models._fault_table import FaultKind
from casewise.evaluation.models._faults import (
    FailedRequestError,
    asked,
    counted,
    redacted,
    refuse_password,
)
from casewise.evaluation.models._in_process import is_in_process
from casewise.evaluation.models._provider_calls import watch
from casewise.evaluation.models._reachability import (
    address_at,
    address_of_model,
    base_of,
    check_address,
    check_proxy,
    reached_anew,
    setting_of,
)
from casewise.evaluation.models._seam import PrerequisiteError, in_own_loop
from casewise.evaluation.models._smollm2 import SMOLLM2, prepare
from casewise.evaluation.models._target import Target, load_target
from casewise.evaluation.models._target_http import TargetExchange


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars for a million tokens; None where unknown."""

    input: float | None = None
    output: float | None = None

    def cost(self, asked: int, answered: int) -> float | None:
        """Dollars for tokens in and out; None where a price is unknown."""
        if self.input is None or self.output is None:
            return None
        return (asked * self.input + answered * self.output) / 1e6


def model_info(model: str) -> ModelInfo | None:
    """Facts of a model that Inspect knows: prices, window.

    Inspect reads them from YAML, which takes .25 s in Python and a tenth of that in libyaml.
    """
    in_python = yaml.SafeLoader
    yaml.SafeLoader = getattr(yaml, "CSafeLoader", in_python)  # type: ignore[misc]
    try:
        return get_model_info(model)
    finally:
        yaml.SafeLoader = in_python  # type: ignore[misc]


def known_prices(model: str, given: Prices, *, batch: bool = False) -> Prices:
    """Prices given by a person, else those that Inspect knows; models of this process are free.

    In a batch, both are halved.
    """
    if is_in_process(model):
        return Prices(0.0, 0.0)
    info = model_info(model)
    share = PRICE if batch else 1.0

    def price(name: str) -> float | None:
        found = getattr(given, name)
        if found is None and info and info.cost:
            found = getattr(info.cost, name)
        return None if found is None else share * found

    return Prices(price("input"), price("output"))


ATTEMPT_TIMEOUT_S = 300
"""Seconds after which one request is given up and sent again: a hung socket must not stop a run."""

ATTEMPT_TIMEOUT = "CASEWISE_ATTEMPT_TIMEOUT"
"""Environment variable of other seconds."""

OPENAI_API = "openai-api/"
"""Prefix of models of any OpenAI-compatible server."""

HF = "casewise-hf/"
"""Prefix of models of the distribution casewise-hf."""

_LOADED = ("hf/", "transformer_lens/", "nnterp/")
"""Prefixes of Inspect's providers that load models into the process that asks them."""

_SERVED = ("vllm/", "sglang/")
"""Prefixes of providers that load models, too, unless a server's address is given."""


def attempt_timeout(given: int | None = None) -> int:
    """Seconds after which one request is given up and sent again.

    Raises:
        UsageError: The given seconds, or those of the environment, are no whole number above 0.
    """
    text = os.environ.get(ATTEMPT_TIMEOUT, "") if given is None else str(given)
    if not text:
        return ATTEMPT_TIMEOUT_S
    if not text.isdecimal() or int(text) < 1:
        name = ATTEMPT_TIMEOUT if given is None else "--attempt-timeout"
        raise UsageError(f"{name} {text}: give seconds, 1 or more")
    return int(text)


def patience(timeout: int | None = None, *, max_connections: int | None = None) -> GenerateConfig:
    """Settings of requests: seconds to wait for an answer, and requests at once.

    Args:
        timeout: As for ``attempt_timeout``.
        max_connections: None is Inspect's default.
    """
    return GenerateConfig(
        attempt_timeout=attempt_timeout(timeout),
        max_connections=max_connections,
    )


class _MissingError(ModelError):
    """A missing key, setting or package of a provider's."""


def _without_hf(model: str) -> str | None:
    """Message on a model of casewise-hf where that is not installed; None for any other."""
    if not model.startswith(HF) or find_spec("casewise_hf") is not None:
        return None
    return f"{model} needs casewise-hf: {install_hint(distribution='casewise-hf')}"


def loads_weights(model: str, base_url: str | None) -> bool:
    """Tell whether the process that asks a model has to load it first."""
    served = base_url is None and model.startswith(_SERVED)
    return served or is_in_process(model) or model.startswith(_LOADED)


_MAKERS = {
    "openai": ("gpt-", "chatgpt-", "o1", "o3", "o4"),
    "anthropic": ("claude",),
    "google": ("gemini", "gemma"),
    "mistral": ("mistral", "ministral", "codestral", "magistral"),
    "grok": ("grok",),
}
"""Beginnings of models' names, by Inspect's provider of them."""


def check_name(model: str) -> None:
    """Refuse the name of a model without its provider.

    Raises:
        ModelError: There is no provider in it; the message says how to write it.
    """
    provider, slash, name = model.partition("/")
    if provider and name:
        return
    if slash or not model:
        raise ModelError(
            f"{model!r}: no name of a model: write PROVIDER/NAME, such as openai/gpt-4o"
        )
    for maker, starts in _MAKERS.items():
        if model.startswith(starts):
            raise ModelError(
                f"{model}: which provider? Write {maker}/{model}, or openai-api/SERVICE/{model}"
            )
    raise ModelError(
        f"{model}: which provider? Write PROVIDER/{model}: openai-api/SERVICE/{model} for a "
        f"server that speaks OpenAI's protocol, casewise-hf/./{model} for a folder"
    )


def check_grader(name: str) -> None:
    """Refuse a grader that is no model's name, and a misspelt ``rules``.

    Raises:
        ModelError: There is no provider in it.
        UsageError: It is nearly ``rules``.
    """
    if "/" not in name and get_close_matches(name.lower(), [RULES]):
        raise UsageError(
            f"--grader {name}: did you mean {RULES!r}? Choose {RULES} (offline), or a model as "
            "PROVIDER/NAME, such as openai/gpt-4o"
        )
    check_name(name)


def check_model(name: str, base_url: str | None, model_args: Mapping[str, Any]) -> str | None:
    """Check a model without a request, and without loading weights.

    Returns:
        Message on what its provider lacks (a key, a package), which the plan does not need; None
        if nothing.

    Raises:
        ModelError: No provider, no model of that form, no address of a web server, or a proxy that
            can't be connected to.
    """
    if loads_weights(name, base_url):
        return _without_hf(name)
    try:
        model = open_model(name, base_url=base_url, model_args=model_args)
    except _MissingError as error:
        return str(error)
    check_proxy(model)
    return None


def server_address(name: str, base_url: str | None, model_args: Mapping[str, Any]) -> str:
    """Address of a model's server, in one spelling; empty of a model that is loaded here."""
    if name.startswith(_SERVED):
        # Their clients have it with the first request alone.
        variable = f"{name.split('/')[0].upper()}_BASE_URL"
        return address_at(base_url or os.environ.get(variable, ""), variable).url
    if loads_weights(name, base_url):
        return ""
    # Of a model that can't be opened the run says so.
    with suppress(ModelError):
        return address_of_model(open_model(name, base_url=base_url, model_args=model_args)).url
    return ""


def check_all(models: Iterable[tuple[str, str | None, Mapping[str, Any]]]) -> tuple[str, ...]:
    """Check models by name, address and arguments of their clients; see ``check_model``.

    Returns:
        Messages on what their providers lack.

    Raises:
        ModelError: Any of them is wrong; the message has a line for each.
    """
    models = list(models)
    wrong, lacking = dict[str, None](), dict[str, None]()
    for place, given in enumerate(models):
        if given not in models[:place]:
            try:
                lacking |= dict.fromkeys(filter(None, [check_model(*given)]))
            except ModelError as error:
                wrong[str(error)] = None
    if wrong:
        raise ModelError("\n".join(wrong))
    return tuple(lacking)


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    prices: Prices | None = None,
    client: Client = Client.INSPECT,
    usual: GenerateConfig | None = None,
) -> Model:
    """Open a client of a provider; no request is sent.

    It has the address and the key that the environment has now, and is its caller's to close.

    Args:
        name: The model, as Inspect names it.
        base_url: Address of its API; None is the provider's own.
        model_args: Other arguments of its client.
        prices: Prices of its tokens, where they are known.
        client: Sender of the requests.
        usual: Settings of its requests, unless its own say otherwise.

    Raises:
        ModelError: An unknown provider, a missing key or package.
    """
    check_name(name)
    if (lacking := _without_hf(name)) is not None:
        raise _MissingError(lacking)
    if name == SMOLLM2:
        prepare()
    try:
        model = _open(name, base_url, model_args or {}, client)
    except PrerequisiteError as error:
        raise _MissingError(f"{name}: {plain(str(getattr(error, 'message', error)))}") from None
    except (ValueError, ImportError, TypeError) as error:
        raise ModelError(redacted(f"{name}: {error}")) from None
    if prices is not None:
        _set_prices(name, prices)
    config = model.config if usual is None else usual.merge(model.config)
    model.config = _Settings.model_construct(**dict(config))
    return model


_PLAIN = (str, int, float)


class _Settings(GenerateConfig):
    """A model's settings, which Inspect merges with others twice for each request.

    ``GenerateConfig.merge`` copies some sixty settings, most of which are None, one by one.
    """

    def merge(self, other: GenerateConfig | GenerateConfigArgs) -> GenerateConfig:
        """These settings, with the others' values where they have any."""
        others = other if isinstance(other, GenerateConfig) else GenerateConfig(**other)
        given = [pair for one in (self, others) for pair in vars(one).items()]
        said = {
            name: value if isinstance(value, _PLAIN) else deepcopy(value)
            for name, value in given
            if value is not None
        }
        return self.model_copy(update=said)


def _open(name: str, base_url: str | None, model_args: Mapping[str, Any], client: Client) -> Model:
    if base_url is not None and name.startswith((OPENAI_API, *_SERVED)):
        # Their clients ask for a key first, or are made with the first request.
        check_address(name, base_url)
    # Inspect would give the client of an earlier run, with that run's address and key.
    model = get_model(name, base_url=base_url, memoize=False, **model_args)
    refuse_password(f"{name}: {setting_of(name)}", base_of(model))
    if model.api.base_url and hasattr(getattr(model.api, "client", None), "base_url"):
        check_address(name, str(model.api.base_url))
    if name.startswith(OPENAI_API):
        # Only here: it imports what no other provider needs.
        from casewise.evaluation.models._lean_client import send_as_provided, send_leanly

        (send_leanly if client is Client.AUTO else send_as_provided)(model)
    return watch(model)


def _set_prices(model: str, prices: Prices) -> None:
    if prices.input is None or prices.output is None:
        return
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


def check_target(given: str, message: str) -> TargetCheck:
    """Send one message to a target, once, and read its answer.

    Raises:
        InputError: The target's file can't be used.
        ModelError: A variable of the environment is missing or wrong.
        UsageError: There is no such function.
    """
    target = load_target(given)
    model = open_model(target.model, model_args=target.arguments)
    config = GenerateConfig(max_retries=0, attempt_timeout=attempt_timeout(target.timeout))
    said: list[str] = []
    answer, problem, began = None, None, time.monotonic()
    with reached_anew(), counted(lambda _, what: said.append(what)):
        try:
            answer = in_own_loop(asked(model.generate(message, config=config)))
        except ModelError as error:
            problem = redacted(str(error))
        except FailedRequestError as error:
            unconnected = error.kind is FaultKind.CONNECTION and said
            reason = said[-1] if unconnected else str(error).removeprefix(f"{error.kind.words}: ")
            problem = error.plain if error.status_code else reason
    seconds = time.monotonic() - began
    exchange: TargetExchange | None = getattr(getattr(model.api, "client", None), "last", None)
    if exchange is not None:
        exchange.answer = redacted(exchange.answer)
    return TargetCheck(target, message, exchange, answer, problem, seconds)
