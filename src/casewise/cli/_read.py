"""Reading judgements for a command."""

from collections.abc import Sequence
from pathlib import Path

from casewise.analysis import Judgements, read_paths
from casewise.cli._console import note, working


def read_judgements(paths: Sequence[Path], *, texts: bool = False) -> Judgements:
    """Read judgements, and say what a person should know of it.

    Raises:
        InputError: A path is missing or can't be read, or nothing was recognised.
    """
    with working("reading the judgements"):
        judgements = read_paths(paths, texts=texts)
    for line in judgements.notes:
        note(f"note: {line}")
    return judgements
