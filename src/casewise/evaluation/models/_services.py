"""Services of models that the environment has a key or an address for: does one answer?

One request each, for the list of models. A key goes to its own service alone: over TLS, or to this
machine without a proxy on the way, and nowhere that an answer redirects to.
"""

import ipaddress
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from casewise.evaluation.models._faults import status_words
from casewise.evaluation.models._model_address import (
    Address,
    address_at,
    is_web_address,
    why_unconnected,
)

REACH_S = 5.0
"""Seconds that all services together may take to answer."""

MOST_BYTES = 2_000_000
"""Read of a list of models."""

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
"""Path of the list of models; elsewhere it is as in OpenAI's interface."""

_HEADERS = {"ANTHROPIC": ("x-api-key", "{}"), "GOOGLE": ("x-goog-api-key", "{}")}
"""Header of the key; elsewhere as in OpenAI's interface."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service of models, as the environment knows it."""

    name: str
    """As its variables begin."""
    address: Address
    has_key: bool

    @property
    def is_here(self) -> bool:
        """Tell whether it is on this machine."""
        host = self.address.host.rsplit(":", 1)[0].strip("[]")
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def may_have_key(self) -> bool:
        """Tell whether nobody but the service would see its key."""
        is_private = self.address.url.startswith("https:") or (
            self.is_here and not self.address.proxy
        )
        return self.has_key and is_private


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """Answer of a service."""

    reached: bool
    said: str
    """Answer, in words of ours."""
    key_refused: bool = False


def services() -> list[Service]:
    """The services that the environment has a key or an address for, by name.

    One whose address nobody knows has an empty one.
    """
    names = {
        name.removesuffix(end)
        for name, value in os.environ.items()
        for end in (KEY, BASE_URL)
        if value.strip() and name.endswith(end) and name != end
    }
    return [_service(name) for name in sorted(names)]


def _service(name: str) -> Service:
    setting = f"{name}{BASE_URL}"
    base = os.environ.get(setting, "").strip()
    given = base or _BASES.get(name, "")
    has_key = bool(os.environ.get(f"{name}{KEY}", "").strip())
    usable = given if is_web_address(given) else ""
    return Service(name, address_at(usable, setting if base else ""), has_key)


def ask_services(asked: Sequence[Service], *, with_keys: bool) -> list[ServiceAnswer]:
    """Ask each service once for its models, all at the same time, for ``REACH_S`` at most.

    Args:
        asked: Services with an address.
        with_keys: Whether those that may have their key get it.
    """
    answers: dict[int, ServiceAnswer] = {}

    def ask(number: int, service: Service) -> None:
        answers[number] = _ask(service, with_key=with_keys and service.may_have_key)

    # Nobody waits for these at the end: looking a name up can't be told to stop.
    threads = [
        threading.Thread(target=ask, args=one, daemon=True, name="casewise-service")
        for one in enumerate(asked)
    ]
    for thread in threads:
        thread.start()
    latest = time.monotonic() + REACH_S
    for thread in threads:
        thread.join(max(0.0, latest - time.monotonic()))
    late = ServiceAnswer(False, f"no answer within {REACH_S:.0f} s")
    return [answers.get(number, late) for number in range(len(asked))]


def _ask(service: Service, *, with_key: bool) -> ServiceAnswer:
    url = service.address.url
    path = _PATHS.get(service.name, "/models")
    version = path.rsplit("/", 1)[0]
    headers = {"User-Agent": "casewise", "Accept": "application/json"}
    headers |= {"anthropic-version": "2023-06-01"} if service.name == "ANTHROPIC" else {}
    if with_key:
        header, form = _HEADERS.get(service.name, ("Authorization", "Bearer {}"))
        headers[header] = form.format(os.environ[f"{service.name}{KEY}"].strip())
    place = url.removesuffix(version) + path
    try:
        request = urllib.request.Request(place, headers=headers)
        began = time.monotonic()
        # Made now: it reads the variables of proxies.
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
    """Message for an answer that is no success: the service is there."""
    if status in (401, 403):
        what = "refuses the key" if with_key else "answers, and asks for a key"
        return ServiceAnswer(True, f"{what} (HTTP {status})", key_refused=with_key)
    if status < 400:
        return ServiceAnswer(
            True, f"answers HTTP {status}: it is elsewhere, which was not followed"
        )
    if status in (404, 405):
        return ServiceAnswer(True, f"answers, without a list of models (HTTP {status})")
    return ServiceAnswer(True, f"answers {status_words(status)}")


def _models(body: bytes) -> str:
    """Number of models that a list holds; None where it is none."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return ""
    listed = found.get("data", found.get("models")) if isinstance(found, dict) else found
    return f", {len(listed):,} models" if isinstance(listed, list) else ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Redirects are not followed: the key would go there."""

    def redirect_request(self, *_: Any) -> None:
        return None
