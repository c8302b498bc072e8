"""The design of a study: quotas, sizes, no query twice, arms and categories spread, meetings."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.pairs import a_case
from support.planned import a_plan, a_set, a_study, pairs

from casewise.errors import UsageError
from casewise_study.study.block_balance import balance
from casewise_study.study.block_design import make_design
from casewise_study.study.reading_times import pages_of
from casewise_study.study.schema import Arm, Design, StudyCell
from casewise_study.study.study_file import by_arm

SIDES = ["", "s", "u", "su", "ssu", "suuu"]
"""Contexts of a query: more of one side than of the other, too."""


Known = dict[tuple[Arm, str], Any]


def laid_out(
    cases: Sequence[Any], votes: int, tasks: int, seed: int, arms: Sequence[Arm] = tuple(Arm)
) -> tuple[Known, list[StudyCell], Design]:
    known = {key: case for key, case in by_arm(cases).items() if key[0] in arms}
    cells = [StudyCell(*key) for key in known]
    design = make_design(list(known.values()), cells, votes=votes, tasks=tasks, seed=seed)
    return known, cells, design


def holds(known: Known, cells: Sequence[StudyCell], design: Design, votes: int, tasks: int) -> None:
    """What is true of every design, however uneven its cases."""
    times = Counter(place for block in design.blocks for place in block)
    assert times == dict.fromkeys(range(len(cells)), votes)
    sizes = [len(block) for block in design.blocks]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= tasks
    query = [known[cell].query_id for cell in cells]
    assert all(len({query[place] for place in block}) == len(block) for block in design.blocks)


@settings(max_examples=30, deadline=None)
@given(
    sides=st.lists(st.sampled_from(SIDES), min_size=1, max_size=14),
    categories=st.integers(1, 5),
    votes=st.integers(1, 6),
    tasks=st.integers(1, 14),
    seed=st.integers(0, 2**32),
)
def test_any_cases_have_exact_quotas_in_even_blocks(
    sides: list[str], categories: int, votes: int, tasks: int, seed: int
) -> None:
    cases = a_set(["s", *sides], categories)
    try:
        known, cells, design = laid_out(cases, votes, tasks, seed)
    except UsageError:
        of_query = Counter(case.query_id for case in by_arm(cases).values())
        blocks = -(-sum(of_query.values()) * votes // tasks)
        # Refused only where a query would have to stand twice in a block, or more tasks than asked.
        assert tasks > len(of_query) or blocks < max(of_query.values()) * votes
        return
    holds(known, cells, design, votes, tasks)


@settings(max_examples=30, deadline=None)
@given(
    queries=st.integers(1, 30),
    categories=st.integers(1, 6),
    votes=st.integers(1, 7),
    tasks=st.integers(1, 30),
    arms=st.sets(st.sampled_from(list(Arm)), min_size=1),
    seed=st.integers(0, 2**32),
)
def test_pairs_have_arms_and_categories_within_one(
    queries: int, categories: int, votes: int, tasks: int, arms: set[Arm], seed: int
) -> None:
    assume(tasks <= queries)
    chosen = tuple(one for one in Arm if one in arms)
    known, cells, design = laid_out(pairs(queries, categories), votes, tasks, seed, chosen)
    holds(known, cells, design, votes, tasks)
    per_category = Counter(known[cell].category for cell in cells)
    for block in design.blocks:
        shown = Counter(cells[place].arm for place in block)
        counts = [shown[arm] for arm in chosen]
        assert max(counts) - min(counts) <= 1
        kinds = Counter(known[cells[place]].category for place in block)
        for kind, of_all in per_category.items():
            # Even in the long run: what B blocks have of it, a B-th, rounded down or up.
            even = Fraction(of_all * votes, len(design.blocks))
            assert int(even) <= kinds[kind] <= -(-even.numerator // even.denominator)


def test_the_order_within_blocks_is_random() -> None:
    _, cells, design = laid_out(pairs(30, 5), 7, 10, 0)
    first = Counter(cells[block[0]].arm for block in design.blocks)
    # 63 blocks, each arm first in 21 of them, give or take sqrt(63 * 2/9) = 3.7.
    assert all(10 <= first[arm] <= 32 for arm in Arm)


def test_too_many_tasks_are_refused_with_the_most_there_can_be() -> None:
    # The first query has 5 of 9 cells, so it needs 5 blocks: 2, 2, 2, 2 and 1.
    with pytest.raises(UsageError, match="at most 2"):
        laid_out(a_set(["suuu", "s", "s"]), 1, 3, 0)


def test_one_question_under_two_ids_is_never_shown_twice() -> None:
    twice = [
        a_case("May I?", "safe", query_id="a", id="1"),
        a_case("may  I?", "safe", query_id="b", id="2"),
        *pairs(3),
    ]
    _, cells, design = laid_out(twice, 2, 3, 0, (Arm.SAFE, Arm.UNSAFE))
    both = {place for place, cell in enumerate(cells) if cell.case_id in ("1", "2")}
    assert all(len(both & set(block)) <= 1 for block in design.blocks)


def test_balance_by_hand() -> None:
    # Four queries without contexts, every pair of them one block: a balanced design with
    # v = 4, k = 2, r = 3, lambda = 1, whose efficiency is lambda v / (r k) = 4/6.
    study = a_study(pairs(4), a_plan(votes=3, tasks=2, arms=(Arm.NONE,)))
    blocks = ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))
    study = study.model_copy(update={"design": study.design.model_copy(update={"blocks": blocks})})
    cases = [by_arm(pairs(4))[cell] for cell in study.design.cells]
    found = balance(study, cases)
    assert found.efficiency == pytest.approx(2 / 3)
    assert found.efficiency_bound == pytest.approx((1 - 1 / 2) / (1 - 1 / 4))
    assert (found.met.least, found.met.mean, found.met.most) == (1, 1, 1)
    assert (found.never_met, found.repeated, found.arms_apart) == (0, 0, 0)
    assert found.category_share.most == 1
    # Two parts without a common case: nothing can be said of their difference.
    apart = study.design.model_copy(update={"blocks": ((0, 1), (2, 3)) * 3})
    lone = balance(study.model_copy(update={"design": apart}), cases)
    assert lone.efficiency == 0
    assert lone.never_met == pytest.approx(4 / 6)


@settings(max_examples=40, deadline=None)
@given(
    queries=st.integers(1, 8),
    per_person=st.integers(0, 4),
    seed=st.integers(0, 2**32),
)
def test_pages_show_every_case_once_and_never_begin_with_a_check(
    queries: int, per_person: int, seed: int
) -> None:
    study = a_study(pairs(queries), a_plan(attention=per_person, seed=seed))
    for number, block in enumerate(study.design.blocks):
        pages = pages_of(study, number)
        assert [page.position for page in pages] == list(range(len(block) + per_person))
        assert tuple(page.place for page in pages if page.check is None) == block
        checks = [page.check for page in pages if page.place is None]
        assert len(set(checks)) == len(checks) == per_person
        assert pages[0].check is None
        assert pages == pages_of(study, number)


def test_pages_stay_where_they_are_for_ever() -> None:
    """A running study must not change with a library: these places are part of the format."""
    study = a_study(pairs(6), a_plan(votes=1, tasks=6, seed=7))
    four = study.attention.model_copy(update={"checks": study.attention.checks[:4]})
    study = study.model_copy(update={"attention": four})
    shown = [[page.check for page in pages_of(study, number)] for number in range(3)]
    assert shown == [
        [None, "alarm", None, None, "parcel", None, None, None],
        [None, None, "neighbour", None, "alarm", None, None, None],
        [None, None, None, "parcel", None, None, "alarm", None],
    ]
