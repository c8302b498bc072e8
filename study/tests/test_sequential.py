"""Sequential collection: blocks drawn as people come, and cases that stop."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli, cli_in
from support.serving import Guest, Serving, check_at_once
from support.studies import (
    ADMIN,
    Record,
    exported,
    read_csv,
    write_arms,
)

SPLIT = ("none-May-I-borrow-ladder-0-", "safe-May-I-borrow-ladder-2-")
"""Cells on which people are of two minds; on the others all say safe but where it is unsafe."""


def write_sequential(folder: Path, queries: int = 4, votes: int = 7, least: int = 3) -> Path:
    """Cells of three arms; a majority of 3:0, 4:0 or 5:1 has a posterior above .89."""
    return write_arms(
        folder,
        queries=queries,
        votes=votes,
        collection={"rule": "sequential", "posterior": 0.89, "least": least},
        timing={"least_seconds": 0},
        attention={"per_person": 0},
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with Serving(write_sequential(tmp_path)) as one:
        yield one


def judge(guest: Guest, number: int, pages: int = 99) -> Guest:
    """Answer the pages from where the person is, as people of this number do."""
    for _ in range(pages):
        if not guest.at.startswith("/page/"):
            break
        text = guest.page.text
        arm = "safe" if "a school" in text else "unsafe" if "a game" in text else "none"
        ladder = re.search(r"ladder (\d+)", text)
        assert ladder is not None
        split = f"{arm}-May-I-borrow-ladder-{ladder[1]}-" in SPLIT
        is_safe = number % 2 == 0 if split else arm != "unsafe"
        guest.answer("safe" if is_safe else "unsafe")
    return guest


def is_over(server: Serving) -> str:
    """Why somebody new gets no block; empty while there is one."""
    with Guest(server) as one:
        if "Every place is taken at the moment" in one.page.text:
            return "held"
        return "complete" if "This study is complete" in one.page.text else ""


def fill(server: Serving, first: int = 0) -> int:
    """People come one after another until there is no place; how many came."""
    number = first
    while not is_over(server):
        assert number < 100, "the study does not end"
        with Guest(server, f"/?participant=key-{number}") as one:
            judge(one.begin(), number)
        number += 1
    return number - first


def votes_of(cell: Record) -> int:
    votes: int = cell["safe"] + cell["unsafe"]
    return votes


def check_promises(server: Serving, most: int = 7) -> list[Record]:
    """No query twice, no vote beyond the most, and every case decided or full."""
    summary = exported(cli_in(server.folder), "--with-flagged")
    votes = read_csv(server.folder / "out/votes.csv")
    asked = Counter((vote["rater"], vote["query_id"]) for vote in votes)
    assert set(asked.values()) == {1}
    counts = Counter(vote["case_id"] for vote in votes if vote["counted"] == "true")
    cells: list[Record] = summary["cells"]
    assert max(counts.values()) <= most
    assert all(cell["quota_met"] for cell in cells)
    assert [votes_of(cell) for cell in cells] == [counts[cell["case_id"]] for cell in cells]
    return cells


def test_a_study_collects_until_every_case_is_decided(server: Serving) -> None:
    came = fill(server)
    assert is_over(server) == "complete"
    cells = check_promises(server)
    # Of one mind: decided at 3 votes, and asked no further, as nobody else was at work.
    plain = [cell for cell in cells if cell["case_id"] not in SPLIT]
    assert len(plain) == 10
    assert {(cell["decided_at"], votes_of(cell)) for cell in plain} == {(3, 3)}
    assert came < 21
    with Guest(server, f"/admin/enter/{ADMIN}") as admin:
        assert "of at most 21 blocks completed" in admin.page.text


def test_blocks_ask_all_cells_alike_and_stay_after_a_restart(tmp_path: Path) -> None:
    path = write_sequential(tmp_path)
    with Serving(path) as server:
        guests = [Guest(server).begin() for _ in range(9)]
        drawn = server.rows("SELECT drawn FROM participant")
        load = Counter(cell for block in drawn for cell in json.loads(block))
        # All cells are asked nearly alike.
        assert (len(load), max(load.values()) - min(load.values()) <= 2) == (12, True)
        judge(guests[3], 3, pages=2)
        own = guests[3].own_address.removeprefix(server.origin)
        shown = guests[3].page.text
        for guest in guests:
            guest.client.close()
    with Serving(path) as server, Guest(server, own) as again:
        assert server.rows("SELECT drawn FROM participant") == drawn
        assert again.at == "/page/3"
        assert again.page.text.split("blockquote")[1] == shown.split("blockquote")[1]


def test_pending_votes_count_against_the_most(tmp_path: Path, address: str, cli: Cli) -> None:
    """However many come at once, no cell gets more than its votes, and then nobody gets a block."""
    path = write_sequential(tmp_path)
    with Serving(path, address) as one, Serving(path, address) as other:
        guests = [Guest((one, other)[number % 2]).agree() for number in range(24)]
        check_at_once(guests)
        assert [guest for guest in guests if guest.at == "/wait"]
        assert is_over(one) == "held"
        # What was drawn is judged, decided or not: votes that come late count.
        for number, guest in enumerate(guests):
            judge(guest, number).client.close()
    exported(cli, "--database", address, "--with-flagged")
    votes = read_csv(tmp_path / "out/votes.csv")
    assert max(Counter(vote["case_id"] for vote in votes).values()) == 7
    assert {vote["counted"] for vote in votes} == {"true"}


def test_who_leaves_gives_the_votes_back(server: Serving) -> None:
    with Guest(server) as ada:
        judge(ada.begin(), 1, pages=3)
        server.clock.turn(minutes=20)
        fill(server, first=1)
        # Every case is decided with ada's votes, and she may come back: so it is not complete.
        assert is_over(server) == "held"
        server.clock.turn(minutes=31)
        # Without them some are not: somebody else is asked, and ada has lost her place.
        assert not is_over(server)
        fill(server, first=50)
        assert is_over(server) == "complete"
        check_promises(server)
        rater = server.rows("SELECT rater FROM participant WHERE id = 1")
        votes = read_csv(server.folder / "out/votes.csv")
        counted = [vote["counted"] for vote in votes if vote["rater"] in rater]
        assert counted == ["false"] * 3


@pytest.mark.parametrize("how", ["withdraw", "exclude"])
def test_votes_that_are_taken_back_reopen_a_case(server: Serving, cli: Cli, how: str) -> None:
    with Guest(server, "/?participant=ada") as ada:
        judge(ada.begin(), 0)
        fill(server, first=1)
        assert is_over(server) == "complete"
        if how == "withdraw":
            ada.get("/withdraw")
            ada.send("/withdraw")
        else:
            (rater,) = server.rows("SELECT rater FROM participant WHERE id = 1")
            who = ("--reason", "a test", "--rater", rater)
            assert cli("annotate", "exclude", "study.yaml", *who).returncode == 0
    assert not is_over(server)
    fill(server, first=50)
    assert is_over(server) == "complete"
    check_promises(server)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a study in which four people answer after others have decided cases."""
    folder = tmp_path_factory.mktemp("released")
    with Serving(write_sequential(folder, queries=6)) as server:
        early = [Guest(server).begin() for _ in range(4)]
        fill(server)
        for number, guest in enumerate(early):
            judge(guest, number).client.close()
        fill(server, first=20)
        check_promises(server)
    # The folder is read back as it was written.
    exported(cli_in(folder), "--votes", "out", "--with-flagged", out="again")
    votes = [(folder / name / "votes.csv").read_text("utf-8") for name in ("out", "again")]
    assert votes[0] == votes[1]
    return folder / "out"


def test_the_card_says_which_rule_stopped_each_case(released: Path) -> None:
    summary = json.loads((released / "summary.json").read_text("utf-8"))
    cells = summary["cells"]
    decided = [cell for cell in cells if cell["decided_at"]]
    votes = sum(map(votes_of, cells))
    late = sum(votes_of(cell) - cell["decided_at"] for cell in decided)
    assert late > 0
    assert votes == summary["funnel"]["votes"]
    card = " ".join((released / "data-card.md").read_text("utf-8").split())
    undecided = len(cells) - len(decided)
    assert f"{len(decided)} cases were decided so, {undecided} came to the most votes" in card
    assert f"{votes} votes count in place of 126: {126 - votes} were saved" in card
    assert f"{late} votes came when their case was decided already; they count" in card


def test_shares_of_sequential_votes_are_those_of_first_votes(
    released: Path, cli: Cli, tmp_path: Path
) -> None:
    """So the table has them; ``describe`` withholds what would lean."""
    summary = json.loads((released / "summary.json").read_text("utf-8"))
    shares: dict[str, list[float]] = {}
    raw: dict[str, list[float]] = {}
    for cell in summary["cells"]:
        assert cell["interval"] is None
        raw.setdefault(cell["arm"], []).append(cell["safe"] / (cell["safe"] + cell["unsafe"]))
        shares.setdefault(cell["arm"], []).append(cell["share_safe"])
    assert shares != raw
    means = {arm: float(np.mean(values)) for arm, values in shares.items()}
    for contrast in summary["contrasts"]:
        value = contrast["difference"]["value"]
        assert value == pytest.approx(means[contrast["first"]] - means[contrast["second"]])
        # Of fewer than ten queries there is no interval.
        assert contrast["queries"] < 10
        assert contrast["difference"]["interval"] is None
    assert summary["arms"][0]["share_safe"]["value"] == pytest.approx(means["none"])

    lines = (released / "cases.jsonl").read_text("utf-8").splitlines()

    def described(**fields: object) -> dict[str, Any]:
        """What ``describe`` says of the cases, with these fields in place of theirs."""
        text = "\n".join(json.dumps(json.loads(line) | fields) for line in lines)
        (tmp_path / "cases.jsonl").write_text(text, "utf-8")
        done = cli("describe", "cases.jsonl", "--format", "json")
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    record = described()
    effect = record["context_effect"]
    assert (effect["difference"], record["agreement"]["all"]["pairwise"]) == (None, None)
    (told,) = [finding for finding in record["findings"] if finding["code"] == "sequential-votes"]
    assert "lean to the majority" in told["text"]
    # Without the mark all is given.
    plain = described(tags=[])["context_effect"]
    assert plain["difference"] != pytest.approx(means["safe"] - means["unsafe"])
