"""Fixtures of casewise-hf's tests: those of casewise's (../../tests)."""

from conftest import (
    cli,
    cli_inside,
    cli_process,
    collected,
    collected_of_module,
    no_key_is_left,
    pytest_collection_finish,
    pytest_runtest_makereport,
)

__all__ = [
    "cli",
    "cli_inside",
    "cli_process",
    "collected",
    "collected_of_module",
    "no_key_is_left",
    "pytest_collection_finish",
    "pytest_runtest_makereport",
]
