"""The design of a study: quotas, sizes, no query twice, arms and categories spread, meetings."""

import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest
from conftest import cli_in
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.studies import (
    ARMS,
    Record,
    a_case,
    change,
    plan,
    read_csv,
    read_yaml,
    some_cases,
    write_cases,
)

SIDES = ["", "s", "u", "su", "ssu", "suuu"]
"""Contexts of a query: more of one side than of the other, too."""

Pages = list[list[Record]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("design")


def a_set(sides: Sequence[str], categories: int = 1) -> list[Record]:
    """A query for each entry, with a context for each letter of it: s(afe), u(nsafe)."""
    return [
        a_case(f"Ladder {number}?", {"s": "safe", "u": "unsafe"}[letter], id=f"{number}-{place}")
        | {"category": f"kind {number % categories}"}
        for number, letters in enumerate(sides)
        for place, letter in enumerate(letters)
    ]


def laid_out(
    folder: Path,
    cases: Sequence[Record],
    votes: int,
    tasks: int,
    seed: int = 0,
    arms: Sequence[str] = ARMS,
    attention: int = 0,
) -> tuple[str, Pages]:
    """Plan a study; what was refused, or the pages of each block."""
    write_cases(folder, cases)
    options = {"--votes": votes, "--tasks": tasks, "--seed": seed, "--attention": attention}
    call = ["annotate", "plan", "cases.jsonl", "--out", "study.yaml", "--force"]
    call += ["--arms", ",".join(arms), *(str(one) for pair in options.items() for one in pair)]
    done = cli_in(folder)(*call, "--by", "A lab", "--contact", "lab@example.org")
    if done.returncode:
        return " ".join(done.stderr.split()), []
    (folder / "blocks.csv").unlink(missing_ok=True)
    done = cli_in(folder)("annotate", "blocks", "study.yaml", "--out", "blocks.csv")
    assert done.returncode == 0, done.stderr
    pages: Pages = []
    for row in read_csv(folder / "blocks.csv"):
        if row["position"] == "0":
            pages.append([])
        pages[-1].append(row)
    return "", pages


def holds(folder: Path, pages: Pages, votes: int, tasks: int) -> None:
    """What is true of every design, however uneven its cases."""
    times = Counter(page["case_id"] for block in pages for page in block)
    cells = [cell.split(" ", 1)[1] for cell in read_yaml(folder / "study.yaml")["design"]["cells"]]
    assert times == dict.fromkeys(cells, votes)
    sizes = [len(block) for block in pages]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= tasks
    assert all(len({page["query"] for page in block}) == len(block) for block in pages)


@settings(max_examples=6, deadline=None)
@given(
    sides=st.lists(st.sampled_from(SIDES), min_size=1, max_size=14),
    categories=st.integers(1, 5),
    votes=st.integers(1, 6),
    tasks=st.integers(1, 14),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_cases_have_exact_quotas_in_even_blocks(
    folder: Path, sides: list[str], categories: int, votes: int, tasks: int, seed: int
) -> None:
    sides = ["su", *sides]
    refused, pages = laid_out(folder, a_set(sides, categories), votes, tasks, seed)
    if refused:
        of_query = [1 + len(side) for side in sides if side]
        blocks = -(-sum(of_query) * votes // tasks)
        # Refused only where a query would have to stand twice in a block, or more tasks than asked.
        assert tasks > len(of_query) or blocks < max(of_query) * votes, refused
        return
    holds(folder, pages, votes, tasks)


@settings(max_examples=6, deadline=None)
@given(
    queries=st.integers(1, 15),
    categories=st.integers(1, 6),
    votes=st.integers(1, 5),
    tasks=st.integers(1, 15),
    arms=st.sets(st.sampled_from(ARMS), min_size=1),
    seed=st.integers(0, 2**32 - 1),
)
def test_pairs_have_arms_and_categories_within_one(
    folder: Path,
    queries: int,
    categories: int,
    votes: int,
    tasks: int,
    arms: set[str],
    seed: int,
) -> None:
    assume(tasks <= queries)
    chosen = [arm for arm in ARMS if arm in arms]
    cases = some_cases(queries, kinds=categories)
    refused, pages = laid_out(folder, cases, votes, tasks, seed, chosen)
    assert not refused
    holds(folder, pages, votes, tasks)
    kinds = {case["query"]: case["category"] for case in cases}
    per_category = Counter(kinds[query] for query in kinds)
    for block in pages:
        shown = Counter(page["arm"] for page in block)
        counts = [shown[arm] for arm in chosen]
        assert max(counts) - min(counts) <= 1
        found = Counter(kinds[page["query"]] for page in block)
        for kind, of_all in per_category.items():
            # Even in the long run: what B blocks have of it, a B-th, rounded down or up.
            even = Fraction(of_all * len(chosen) * votes, len(pages))
            assert int(even) <= found[kind] <= -(-even.numerator // even.denominator)


def test_the_order_within_blocks_is_random(folder: Path) -> None:
    _, pages = laid_out(folder, some_cases(30, kinds=5), 7, 10)
    first = Counter(block[0]["arm"] for block in pages)
    # 63 blocks, each arm first in 21 of them, give or take sqrt(63 * 2/9) = 3.7.
    assert all(10 <= first[arm] <= 32 for arm in ARMS)


def test_too_many_tasks_are_refused_with_the_most_there_can_be(folder: Path) -> None:
    # The first query has 5 of 9 cells, so it needs 5 blocks: 2, 2, 2, 2 and 1.
    refused, _ = laid_out(folder, a_set(["suuu", "s", "s"]), 1, 3)
    assert "at most 2" in refused


def test_one_question_under_two_ids_is_never_shown_twice(folder: Path) -> None:
    twice = [
        a_case("May I?", "safe", query_id="a", id="1"),
        a_case("may  I?", "safe", query_id="b", id="2"),
    ]
    _, pages = laid_out(folder, [*twice, *some_cases(3)], 2, 3, arms=("safe", "unsafe"))
    for block in pages:
        assert sum(page["case_id"] in ("1", "2") for page in block) <= 1


@pytest.mark.parametrize(("queries", "checks"), [(1, 2), (5, 4), (8, 1)])
def test_pages_show_every_case_once_and_never_begin_with_a_check(
    folder: Path, queries: int, checks: int
) -> None:
    _, pages = laid_out(folder, some_cases(queries), 3, queries, attention=checks)
    blocks = read_yaml(folder / "study.yaml")["design"]["blocks"]
    cells = read_yaml(folder / "study.yaml")["design"]["cells"]
    for block, shown in zip(blocks, pages, strict=True):
        asked = [f"{page['arm']} {page['case_id']}" for page in shown if not page["check"]]
        assert asked == [cells[int(place)] for place in str(block).split()]
        names = [page["check"] for page in shown if page["check"]]
        assert len(set(names)) == len(names) == checks
        assert not shown[0]["check"]


def test_pages_stay_where_they_are_for_ever(folder: Path) -> None:
    """A running study must not change with a library: these places are part of the format."""
    laid_out(folder, some_cases(6), 1, 6, seed=7, attention=2)
    checks = read_yaml(folder / "study.yaml")["attention"]["checks"][:4]
    change(folder / "study.yaml", attention={"checks": checks})
    (folder / "blocks.csv").unlink()
    done = cli_in(folder)("annotate", "blocks", "study.yaml", "--out", "blocks.csv")
    assert done.returncode == 0, done.stderr
    rows = read_csv(folder / "blocks.csv")
    shown = [[row["check"] for row in rows if row["block"] == block] for block in "012"]
    assert shown == [
        ["", "alarm", "", "", "parcel", "", "", ""],
        ["", "", "neighbour", "", "alarm", "", "", ""],
        ["", "", "", "parcel", "", "", "alarm", ""],
    ]


def test_a_seed_draws_the_design_that_it_always_drew(tmp_path: Path) -> None:
    """Who deposits a plan before the study must be able to draw its design again."""
    plan(cli_in(tmp_path), "--arms", "safe,unsafe", "--votes", "3", "--seed", "7", cases="starter")
    design = read_yaml(tmp_path / "study.yaml")["design"]
    drawn = sha256(json.dumps(design).encode()).hexdigest()
    assert drawn[:16] == "b88e8a93aaecc02c"
