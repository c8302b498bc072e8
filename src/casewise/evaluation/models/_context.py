"""Values that hold for the tasks of one block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Value = TypeVar("Value")


@contextmanager
def holding(variable: ContextVar[Value], value: Value) -> Iterator[Value]:
    """Set a context variable while the block runs."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
