"""The pages of a block: its cases, with attention checks among them."""

from dataclasses import dataclass

from casewise.annotation.study._study import Study
from casewise.cases import digest


@dataclass(frozen=True, slots=True)
class Page:
    """One page that a person answers: a case, or an attention check."""

    position: int
    """Among the pages of the block, from 0."""
    place: int | None = None
    """Of the cell in ``Design.cells``; None for a check."""
    check: str | None = None
    """The id of the check; None for a case."""


def pages_of(study: Study, block_number: int) -> tuple[Page, ...]:
    """The pages of a block, in the order of showing.

    The checks are drawn from the study's, and there is one in each of as many even stretches of the
    pages, at a random place; never on the first page. The draw rests on SHA-256 of seed and number
    and not on a library's generator, whose numbers may change from one version to the next while
    a study runs.

    Args:
        study: With its design.
        block_number: From 0, as in ``study.design.blocks``.

    Raises:
        IndexError: There is no such block.
    """
    if not 0 <= block_number < len(study.design.blocks):
        raise IndexError(f"no block {block_number} of {len(study.design.blocks)}")
    block = study.design.blocks[block_number]
    at = _check_positions(study, block_number, len(block))
    cells = iter(block)
    return tuple(
        Page(position, check=at[position]) if position in at else Page(position, next(cells))
        for position in range(len(block) + len(at))
    )


def _check_positions(study: Study, number: int, cases: int) -> dict[int, str]:
    """Which check stands where."""
    wanted = study.attention.per_person
    drawn = sorted(
        (one.id for one in study.attention.checks),
        key=lambda name: digest("check", study.seed, number, name),
    )[:wanted]
    free = cases + wanted - 1
    found = {}
    for stretch, name in enumerate(drawn):
        first, end = stretch * free // wanted, (stretch + 1) * free // wanted
        found[1 + first + int(digest("place", study.seed, number, stretch), 16) % (end - first)] = (
            name
        )
    return found
