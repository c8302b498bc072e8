"""What tests of studies share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with Postgres() as one:
        yield one


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    found: str = request.getfixturevalue("postgres").database()
    return found
