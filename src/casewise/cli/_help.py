"""Words of help that several commands share: panels of options, and the names that one takes."""

from collections.abc import Iterable

MODEL = "Model"
CASES = "Cases"
PROTOCOL = "Protocol"
CONVERSATIONS = "Conversations"
SAMPLING = "Sampling"
COST = "Cost"
PLACE = "Where it runs"
GRADER = "Grader of replies"
TRUTH = "Truth and unread answers"
UNCERTAINTY = "Uncertainty"
OUTPUT = "Output"


def one_of(names: Iterable[str]) -> str:
    """Names that an option takes, as help shows them."""
    return f"<{'|'.join(names)}>"


def several_of(names: Iterable[str]) -> str:
    """Names that an option takes joined by commas, as help shows them."""
    return f"{one_of(names)},..."
