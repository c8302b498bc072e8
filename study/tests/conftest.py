"""Fixtures of the study's tests: those of casewise's (../../tests), and a database."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import chromium, open_page
from conftest import (
    casebench,
    cli,
    cli_inside,
    cli_process,
    collected,
    collected_of_module,
    no_key_is_left,
    published_table,
    pytest_collection_finish,
    pytest_runtest_makereport,
    soon_again,
)
from support.postgres import Postgres
from support.studies import KEYS

__all__ = [
    "collected_of_module",
    "collected",
    "casebench",
    "chromium",
    "cli",
    "cli_inside",
    "cli_process",
    "no_key_is_left",
    "open_page",
    "published_table",
    "pytest_collection_finish",
    "pytest_runtest_makereport",
    "soon_again",
]


@pytest.fixture(scope="session", autouse=True)
def keys_given() -> Iterator[None]:
    """Commands have the keys of the servers."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with Postgres() as one:
        yield one


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    found: str = request.getfixturevalue("postgres").database()
    return found
