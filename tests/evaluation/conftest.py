"""Warnings that tests of this folder don't fail for."""

import pytest

IGNORED = (
    # Of Inspect: elsewhere it runs in processes of its own.
    "ignore:The 'initial' parameter:DeprecationWarning",
    # What reading notes of runs that were to end early.
    "ignore:.*the run ended early:UserWarning",
)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Called for the tests of this folder alone."""
    for one in IGNORED:
        item.add_marker(pytest.mark.filterwarnings(one))
