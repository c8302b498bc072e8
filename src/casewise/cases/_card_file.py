"""Load a deployment card: check the file, name what is wrong with it."""

from importlib.resources import files
from pathlib import Path

from casewise.cases._card import Card
from casewise.cases._written_model import read_model
from casewise.errors import InputError

CARDS = ("creative-writing", "customer-support", "security-training", "therapy-support")
"""The cards that ship with casewise."""


def load_card(source: Path | str) -> Card:
    """Load a card by the name of a shipped one (see ``CARDS``), or from a YAML file.

    Raises:
        InputError: There is no such card, or its file can't be used.
    """
    if isinstance(source, str) and source in CARDS:
        path = Path(str(files("casewise.data"))) / "cards" / f"{source}.yaml"
    else:
        path = Path(source)
    card = read_model(path, Card, "card", CARDS)
    card._folder = path.parent
    script = card.script_path
    if script is not None and not _is_file(script):
        expected = f"a file, its name as seen from {path.parent}"
        raise InputError(
            "no such file", file=path, field="script", found=card.script, expected=expected
        )
    return card


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for the file system
        return False
