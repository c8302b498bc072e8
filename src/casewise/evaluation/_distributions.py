"""Look up once which distributions there are, and not again for every task of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from inspect_ai._util import package


@contextmanager
def looked_up_once() -> Iterator[None]:
    """Remember the installed distributions while the block runs.

    Inspect asks for each task where it comes from. Of an editable install it learns that from the
    files of every distribution, which takes longer than a short task's answers.
    """
    names = vars(package)
    look_up = names["packages_distributions"]
    names["packages_distributions"] = cache(look_up)
    try:
        yield
    finally:
        names["packages_distributions"] = look_up
