"""Words of help that several commands share: panels of options, and the names that one takes."""

from collections.abc import Iterable

from casewise.options import CASES as CASES
from casewise.options import CONVERSATIONS as CONVERSATIONS
from casewise.options import COST as COST
from casewise.options import MODEL as MODEL
from casewise.options import PLACE as PLACE
from casewise.options import SAMPLING as SAMPLING

OUTPUT = "Output"

GRADER = "Grader of replies"
TRUTH = "Labels"
UNCERTAINTY = "Uncertainty"


def one_of(names: Iterable[str]) -> str:
    """Names that an option takes, as help shows them."""
    return f"<{'|'.join(names)}>"
