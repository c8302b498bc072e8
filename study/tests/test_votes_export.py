"""The folder of an export: read back, read by the rest of casewise, free of what may identify."""

import json
from pathlib import Path

import pytest
from conftest import Cli, cli_in
from support.exchanged import ON_PROLIFIC, account, write_prolific
from support.serving import Guest, Serving
from support.simulated import Votes, World, planned, simulate
from support.studies import (
    ARMS,
    Record,
    a_study,
    exported,
    flags,
    read_csv,
    some_cases,
    write_study,
)

SECRET = "I am the clerk of <b>Arden</b>, =1+1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a study."""
    folder = tmp_path_factory.mktemp("study")
    return planned(folder, queries=12, arms=ARMS, votes=7, size=6, checks=2).parent


@pytest.fixture(scope="module")
def collected(folder: Path) -> Votes:
    world = World(careless=0.2)
    found = simulate(folder / "study.yaml", world, seed=3)
    for person in found.people:
        person["demographics"] = ""
    for vote in found.votes:
        vote |= {"reason": "", "confidence": ""}
    found.people[0]["demographics"] = '{"town": "Arden"}'
    found.votes[0] |= {"reason": SECRET, "confidence": 4, "seconds": 601.0}
    found.write(folder / "given")
    return found


@pytest.fixture(scope="module")
def summary(folder: Path, collected: Votes) -> Record:
    """The export's, in the folder ``out``."""
    return exported(cli_in(folder), "--votes", "given")


def cases_of(folder: Path) -> list[Record]:
    return [json.loads(line) for line in (folder / "cases.jsonl").read_text("utf-8").splitlines()]


def test_the_folder_is_read_back(folder: Path, summary: Record) -> None:
    cli = cli_in(folder)
    assert exported(cli, "--votes", "out", out="again") == summary
    for name in ("votes.csv", "people.csv", "checks.csv", "cases.jsonl", "data-card.md"):
        assert (folder / "again" / name).read_bytes() == (folder / "out" / name).read_bytes()
    everything = ("--with-reasons", "--with-demographics")
    exported(cli, "--votes", "given", *everything, out="whole")
    exported(cli, "--votes", "whole", *everything, out="whole-again")
    for name in ("votes.csv", "people.csv"):
        whole = (folder / "whole" / name).read_bytes()
        assert b"Arden" in whole
        assert (folder / "whole-again" / name).read_bytes() == whole


def test_what_may_identify_is_left_out(folder: Path, summary: Record) -> None:
    for path in (folder / "out").iterdir():
        assert b"Arden" not in path.read_bytes(), path.name


def test_without_flagged(folder: Path, collected: Votes, summary: Record) -> None:
    raters = {vote["rater"] for case in cases_of(folder / "out") for vote in case["votes"]}
    flagged = flags(folder / "out").keys()
    assert flagged
    assert raters == {person["rater"] for person in collected.people} - flagged
    said = "the counted votes, without those of flagged people"
    assert summary["cases_votes"] == said
    assert said in (folder / "out/data-card.md").read_text("utf-8")
    # Figures are those of the exported cases, beside everybody's.
    everybody, *_, unflagged = summary["sensitivity"]
    for arm in summary["arms"]:
        assert arm["share_safe"] == unflagged["share_safe"][arm["arm"]]
    assert everybody["votes"] == len(collected.votes) > unflagged["votes"]
    # Nothing is deleted: the votes themselves are all there.
    votes = read_csv(folder / "out/votes.csv")
    assert [row["time"] for row in votes] == [vote["time"] for vote in collected.votes]
    assert {row["rater"] for row in votes if row["flags"]} == flagged
    assert summary["funnel"]["flagged_any"] == len(flagged)


def test_labels_that_turn_are_named_or_counted(folder: Path) -> None:
    """People are divided over every case, so that a few flagged ones turn many labels."""
    divided = World(careless=0.3, spread=0, effect=0)
    votes = simulate(folder / "study.yaml", divided, seed=3).write(folder / "divided")
    turned = exported(cli_in(folder), "--votes", votes, out="turned")["turned"]
    card = (folder / "turned/data-card.md").read_text("utf-8")
    more = len(turned) - card.count("with everybody, ")
    assert more > 0
    assert f"\n- {more} more (`turned` in" in card


def test_the_cases_carry_the_votes(folder: Path, collected: Votes, summary: Record) -> None:
    exported(cli_in(folder), "--votes", "given", "--with-flagged", out="all")
    made, before = cases_of(folder / "all"), cases_of(folder)
    bare = [{name: value for name, value in one.items() if name != "votes"} for one in made]
    known = {one["id"]: one for one in bare}
    for case in before:
        given = {name: value for name, value in case.items() if value is not None}
        assert given.items() <= known[case["id"]].items()
    alone = [case for case in made if not case.get("context")]
    assert (len(alone), {case.get("intended") for case in alone}) == (12, {None})
    for case in made:
        assert [(vote["rater"], vote["verdict"]) for vote in case["votes"]] == [
            (vote["rater"], vote["verdict"])
            for vote in collected.votes
            if vote["case_id"] == case["id"]
        ]


def test_earlier_votes_are_other_peoples(tmp_path: Path, cli: Cli) -> None:
    """A study over cases that have votes already: its own are given back alone, and it says so."""
    earlier: Record = {"published_safe_rate": 0.5, "source": "a|b", "licence": "MIT"}
    cases = some_cases(2, **earlier, tags=["kept", "votes:sequential"])
    path = a_study(tmp_path, cases, [[0, 3], [1, 2]])
    simulate(path, World(), seed=2).write(tmp_path / "given")
    exported(cli, "--votes", "given")
    for case in cases_of(tmp_path / "out"):
        assert (case.get("published_safe_rate"), case["tags"]) == (None, ["kept"])
    card = (tmp_path / "out/data-card.md").read_text("utf-8")
    assert "4 of the cases had votes or published shares before this study" in card
    assert "Sources of the cases: a\\|b. Their licences: MIT." in card


def test_the_card(folder: Path, summary: Record) -> None:
    card = (folder / "out/data-card.md").read_text("utf-8")
    for part in (
        "Planned GBP 12.00 an hour",
        "| without flagged |",
        "- `attention_failed: 2`. Flagged: who fails more attention checks",
        "within the time that the page's words take at 1000 a minute",
        "than the words of the case take at 600 a minute, at least 3 s",
        "for the longest block, planned to take 9.3 minutes by the study file",
        # A file of votes says nothing of who the people are.
        "Whether anybody confirmed who these people are is not known.",
        "several ids shared a browser, is not known",
    ):
        assert part in card, part
    words = set(card.replace("|", " ").replace(",", " ").replace("]", " ").split())
    assert not {"nan", "[nan", "+nan", "None", "inf"} & words
    # Every row of a table has the cells of its head.
    tables = [block.splitlines() for block in card.split("\n\n") if block.startswith("|")]
    assert len(tables) >= 4
    for lines in tables:
        assert {line.replace("\\|", "").count("|") for line in lines} == {lines[0].count("|")}
    assert not [case for case in cases_of(folder) if case["query"] in card]


def test_a_failure_leaves_nothing(folder: Path, summary: Record) -> None:
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    (folder / "cases.jsonl").rename(folder / "gone.jsonl")
    call = ("annotate", "export", "study.yaml", "--votes", "given", "--out", "out", "--force")
    assert cli_in(folder)(*call).returncode == 2
    (folder / "gone.jsonl").rename(folder / "cases.jsonl")
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before


def test_the_card_says_what_was_checked_of_people(tmp_path: Path, cli: Cli) -> None:
    """Five people: two came by one browser, two are confirmed."""
    path = write_study(tmp_path, blocks=6, recruitment=ON_PROLIFIC, second_accounts="leave_out")
    with Serving(path) as server:
        for number in range(4):
            with Guest(server, f"/?PROLIFIC_PID={account(number)}") as one:
                one.begin().finish()
                if number == 0:
                    one.get(f"/?PROLIFIC_PID={account(9)}")
                    one.begin().finish()
    rows = [(account(number), "APPROVED", "C0FFEE") for number in (0, 1)]
    file = write_prolific(tmp_path / "export.csv", *rows)
    assert cli("annotate", "reconcile", "study.yaml", file).returncode == 0
    funnel = exported(cli, "--with-flagged")["funnel"]
    card = (tmp_path / "out/data-card.md").read_text("utf-8")
    confirmed = funnel["confirmed"]
    assert (confirmed["export"], confirmed["link"]) == (2, 0)
    assert (
        "Of these people the platform's export confirmed 2, a signed link alone 0, and nobody yet "
        f"{confirmed['nobody']}." in card
    )
    assert "From the browsers of 2 ids the study was opened" in card
    assert "in one browser count for nothing: the votes of 1 were left out" in card
    assert (funnel["shared_browsers"], funnel["second_left_out"]) == (2, 1)
    people = read_csv(tmp_path / "out/people.csv")
    assert [person["confirmed"] for person in people].count("export") == 2
    assert {person["confirmed"] for person in people} == {"export", "nobody"}
    # It is read back with the rest.
    again = exported(cli, "--votes", "out", "--with-flagged", out="again")
    assert again["funnel"]["confirmed"] == confirmed
