"""How the command line refuses what it can't use."""

from typing import Any


def refused(done: Any, *parts: str) -> None:
    """Status 2, one message with these parts on standard error, and nothing on standard output."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    said = " ".join(done.stderr.split())
    assert "Traceback" not in said
    for part in parts:
        assert part in said
    assert done.stdout == ""
