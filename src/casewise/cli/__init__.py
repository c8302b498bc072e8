"""The command line: one module a command; parse, call one library function, print."""

from casewise.cli._main import app, main

__all__ = [
    "app",
    "main",
]
