"""Clients of providers that are in no lock, since they don't go with newer packages in it."""

import importlib.util

import pytest

PACKAGES = {
    "anthropic": "anthropic",
}
"""Package by provider; those of other providers are locked."""


def of_sdk(provider: str, value: object) -> object:
    """A parameter whose tests are skipped where the package of its provider is missing."""
    marks = [pytest.mark.sdk(PACKAGES[provider])] if provider in PACKAGES else []
    return pytest.param(value, marks=marks, id=provider)


def skip_without(package: str) -> None:
    """Skip the test that runs where a package is missing."""
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"{package} is not installed")
