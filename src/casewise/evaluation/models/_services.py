"""Services of models that the environment has a key or an address for, and whether they answer.

Each gets one request, for the list of models. A key goes to its own service alone: over TLS, or to
this machine without a proxy on the way, and nowhere that an answer redirects to.
"""

import ipaddress
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from casewise.evaluation.models._fault_table import status_words
from casewise.evaluation.models._reachability import (
    Address,
    address_at,
    is_web_address,
    why_unconnected,
)

REACH_S = 5.0
"""Seconds that all services together may take to answer."""

MOST_BYTES = 2_000_000
"""Most bytes that are read of a list of models."""

KEY, BASE_URL = "_API_KEY", "_BASE_URL"
"""Endings of the variables of a service's key and address."""

_BASES = {
    "ANTHROPIC": "https://api.anthropic.com",
    "GOOGLE": "https://generativelanguage.googleapis.com",
    "GROQ": "https://api.groq.com/openai/v1",
    "MISTRAL": "https://api.mistral.ai",
    "OPENAI": "https://api.openai.com/v1",
    "OPENROUTER": "https://openrouter.ai/api/v1",
    "TOGETHER": "https://api.together.xyz/v1",
}
"""Addresses of services for which the environment gives none."""

_PATHS = {"ANTHROPIC": "/v1/models", "GOOGLE": "/v1beta/models", "MISTRAL": "/v1/models"}
"""Paths of lists of models that are not as in OpenAI's interface."""

_HEADERS = {"ANTHROPIC": "x-api-key", "GOOGLE": "x-goog-api-key"}
"""Headers of keys that are not as in OpenAI's interface."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service of models that the environment names."""

    name: str
    """Beginning of its variables."""
    address: Address
    has_key: bool

    @property
    def is_here(self) -> bool:
        """Tell whether it is on this machine."""
        host = self.address.host.rsplit(":", 1)[0].strip("[]")
        with suppress(ValueError):
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        return False

    @property
    def may_have_key(self) -> bool:
        """Tell whether it has a key that nobody else would see."""
        is_direct = self.is_here and not self.address.proxy
        return self.has_key and (is_direct or self.address.url.startswith("https:"))


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """Answer of a service."""

    reached: bool
    said: str
    """The answer in casewise's words."""
    key_refused: bool = False


def services() -> list[Service]:
    """Services that the environment has a key or an address for, by name.

    The address is empty where none is known.
    """
    keys, bases = (
        {
            name.removesuffix(end): value.strip()
            for name, value in os.environ.items()
            if value.strip() and name.endswith(end) and name != end
        }
        for end in (KEY, BASE_URL)
    )
    found = []
    for name in sorted(keys.keys() | bases):
        base = bases.get(name, _BASES.get(name, ""))
        setting = f"{name}{BASE_URL}" if name in bases else ""
        address = address_at(base if is_web_address(base) else "", setting)
        found.append(Service(name, address, name in keys))
    return found


def ask_services(asked: Sequence[Service], *, with_keys: bool) -> list[ServiceAnswer]:
    """Ask each service once for its models, all at the same time, for ``REACH_S`` at most.

    Args:
        asked: Services with an address.
        with_keys: Whether those that may have their key get it.
    """
    answers: dict[Service, ServiceAnswer] = {}

    def ask(service: Service) -> None:
        answers[service] = _ask(service, with_key=with_keys and service.may_have_key)

    # Daemons, as the look-up of a name can't be stopped.
    threads = [
        threading.Thread(target=ask, args=(one,), daemon=True, name="casewise-service")
        for one in asked
    ]
    for thread in threads:
        thread.start()
    latest = time.monotonic() + REACH_S
    for thread in threads:
        thread.join(max(0.0, latest - time.monotonic()))
    late = ServiceAnswer(False, f"no answer within {REACH_S:.0f} s")
    return [answers.get(one, late) for one in asked]


def _ask(service: Service, *, with_key: bool) -> ServiceAnswer:
    path = _PATHS.get(service.name, "/models")
    place = service.address.url.removesuffix(path.removesuffix("/models")) + path
    headers = {"User-Agent": "casewise", "Accept": "application/json"}
    if service.name == "ANTHROPIC":
        headers["anthropic-version"] = "2023-06-01"
    if with_key:
        key, header = os.environ[f"{service.name}{KEY}"].strip(), _HEADERS.get(service.name)
        headers |= {header: key} if header else {"Authorization": f"Bearer {key}"}
    try:
        request = urllib.request.Request(place, headers=headers)
        began = time.monotonic()
        # Made now, as it reads the variables of proxies.
        opener = urllib.request.build_opener(_NoRedirects)
        with opener.open(request, timeout=REACH_S) as response:
            body = response.read(MOST_BYTES)
        said = f"answers in {time.monotonic() - began:.1f} s{_models(body)}"
    except urllib.error.HTTPError as error:
        error.close()
        return _refusal(error.code, with_key=with_key)
    except (OSError, HTTPException, ValueError) as error:
        cause = getattr(error, "reason", None)
        told = cause if isinstance(cause, BaseException) else error
        return ServiceAnswer(False, why_unconnected(told, service.address))
    return ServiceAnswer(True, said)


def _refusal(status: int, *, with_key: bool) -> ServiceAnswer:
    """Answer under a status that is no success, of a service that is there."""
    key_refused = False
    if status in (401, 403):
        key_refused = with_key
        what = "refuses the key" if with_key else "answers, and asks for a key"
        said = f"{what} (HTTP {status})"
    elif status < 400:
        said = f"answers HTTP {status}: it is elsewhere, which was not followed"
    elif status in (404, 405):
        said = f"answers, without a list of models (HTTP {status})"
    else:
        said = f"answers {status_words(status)}"
    return ServiceAnswer(True, said, key_refused)


def _models(body: bytes) -> str:
    """Words for the number of models in a list; empty where the body is none."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return ""
    listed = found.get("data", found.get("models")) if isinstance(found, dict) else found
    return f", {len(listed):,} models" if isinstance(listed, list) else ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Handler that follows no redirects, as the key would go there."""

    def redirect_request(self, *_: Any) -> None:
        return None
