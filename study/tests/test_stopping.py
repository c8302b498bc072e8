"""The stopping rule by hand, its properties, and what it does to CASE-Bench's votes."""

import json
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Cli
from numpy.typing import NDArray
from scipy.stats import beta
from support.simulated import START
from support.studies import exported, plan, some_cases, write_arms, write_cases, write_csv

POSTERIOR, LEAST = 0.95, 5


def decides(safe: int, votes: int, posterior: float = POSTERIOR, least: int = LEAST) -> bool:
    """The share of people on the majority's side is Beta(majority + 1, minority + 1)."""
    few, many = sorted((safe, votes - safe))
    return votes >= least and bool(beta.cdf(0.5, many + 1, few + 1) <= 1 - posterior)


def collected(
    folder: Path, cli: Cli, said: list[list[int]], posterior: float, least: int, most: int
) -> dict[str, Any]:
    """The export of votes on cells, 1 safe and 0 unsafe, in their order."""
    rule = {"rule": "sequential", "posterior": posterior, "least": least}
    write_arms(folder, arms=["safe"], queries=len(said), votes=most, size=1, collection=rule)
    ids = [case["id"] for case in some_cases(len(said), ["safe"])]
    rows: list[dict[str, Any]] = []
    for name, votes in zip(ids, said, strict=True):
        for vote in votes:
            time = START + timedelta(minutes=len(rows))
            row = {"rater": f"p{len(rows)}", "case_id": name, "time": time.isoformat()}
            rows.append(row | {"verdict": "safe" if vote else "unsafe"})
    write_csv(folder / "votes.csv", rows)
    return exported(cli, "--votes", "votes.csv")


def test_shares_are_those_of_first_votes_by_hand(tmp_path: Path, cli: Cli) -> None:
    """Cell 0: 4:1 and a late vote; cell 1: 1:1."""
    found = collected(tmp_path, cli, [[1, 0, 1, 1, 1, 0], [0, 1]], 0.89, 3, most=6)
    assert [cell["decided_at"] for cell in found["cells"]] == [5, None]
    # Each of six may have been the first, but for the last vote, which had to be a majority's.
    assert [cell["share_safe"] for cell in found["cells"]] == pytest.approx([2 / 3, 1 / 2])


def test_a_cell_stops_at_its_first_vote_that_decides(tmp_path: Path, cli: Cli) -> None:
    rng = Random(5)
    shares = [rng.choice([0.05, 0.3, 0.5, 0.9]) for _ in range(40)]
    said = [[int(rng.random() < share) for _ in range(rng.randint(1, 25))] for share in shares]
    found = collected(tmp_path, cli, said, 0.9, 4, most=25)
    for votes, cell in zip(said, found["cells"], strict=True):
        numbers = range(1, len(votes) + 1)
        reached = [n for n in numbers if decides(sum(votes[:n]), n, 0.9, 4)]
        # Votes that come later don't reopen it.
        assert cell["decided_at"] == (reached[0] if reached else None)
        assert cell["safe"] + cell["unsafe"] == len(votes)


def replay(full: NDArray[np.int64]) -> tuple[float, int, int, float]:
    """Share of votes saved, labels, labels that change, and mean error of shares."""
    used, changed, errors = 0, 0, []
    numbers = range(1, full.shape[1] + 1)
    table = {(safe, n): decides(safe, n) for n in numbers for safe in range(n + 1)}
    whole = full.sum(1)
    for votes, safe in zip(full.cumsum(1), whole, strict=True):
        stops = (n for n in numbers if table[int(votes[n - 1]), n])
        at = next(stops, len(votes))
        used += at
        label = np.sign(2 * safe - len(votes))
        changed += bool(label) and np.sign(2 * votes[at - 1] - at) != label
        errors.append(abs(votes[at - 1] / at - safe / len(votes)))
    labels = int((2 * whole != full.shape[1]).sum())
    return 1 - used / full.size, labels, changed, float(np.mean(errors))


def test_what_the_page_says_of_case_bench(casebench: Path) -> None:
    """In random orders of each case's 20 votes; 808 of 900 cases have a majority."""
    records = json.loads((casebench / "CASEBench_data.json").read_text("utf-8"))
    votes = np.array([[vote == 1 for vote in record["scores"]] for record in records], np.int64)
    found = [replay(np.random.default_rng(seed).permuted(votes, axis=1)) for seed in range(20)]
    saved, labels, changed, error = zip(*found, strict=True)
    assert set(labels) == {808}
    page = " ".join((ROOT / "study/docs/annotation-study.md").read_text("utf-8").split())
    assert f"this saves {np.mean(saved):.0%} of 18,000 votes".replace("%", " %") in page
    assert f"{min(changed)} to {max(changed)} of 808 labels, {np.mean(changed):g} on" in page
    assert f"off by {np.mean(error):.2f} in the mean".replace("0.", ".") in page


def designs(folder: Path, cli: Cli, queries: int, safe: int, of: int) -> list[dict[str, float]]:
    """The fixed and the sequential design of cases on which so many of 20 people said safe."""
    votes = [{"rater": f"p{n}", "verdict": "safe" if n < safe else "unsafe"} for n in range(of)]
    write_cases(folder, some_cases(queries, ["safe"], votes=votes))
    options = ("--arms", "safe", "--collection", "sequential", "--attention", "0", "--force")
    made = plan(cli, *options, "--votes", "21", "--tasks", "1")["designs"]
    return [made["fixed"], made["sequential"]]


def test_errors_of_designs_by_hand(tmp_path: Path, cli: Cli) -> None:
    fixed, early = designs(tmp_path, cli, 60, 16, 20)
    assert fixed["votes"] == 21
    assert fixed["share"] == pytest.approx((0.8 * 0.2 / 21) ** 0.5, rel=0.1)
    assert early["votes"] < fixed["votes"]
    assert early["share"] > fixed["share"]
    # Means over cells lose less: they have no bias.
    assert early["mean"] == pytest.approx(early["share"] / 60**0.5, rel=0.5)
    assert fixed["labels"] <= early["labels"] < 0.05
