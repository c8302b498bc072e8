"""``casewise annotate plan`` from the command line: files, numbers, and what is refused."""

import contextlib
import json
import re
import shlex
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from support.planned import pairs

from casewise.cases import write_cases
from casewise_study.study.study_file import load_study, study_cases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_cases(pairs(6, 2), tmp_path / "cases.jsonl")
    return tmp_path


def planned(cli: Cli, *options: str | Path, cases: str = "cases.jsonl") -> dict[str, Any]:
    done = cli("annotate", "plan", cases, "--out", "study.yaml", "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_starter_is_planned_by_default_as_in_the_paper(cli: Cli, tmp_path: Path) -> None:
    done = cli("annotate", "plan", "starter", "--out", "study.yaml", env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert all(len(line.rstrip()) <= 80 for line in done.stdout.splitlines())
    shown = " ".join(done.stdout.split())
    # 28 queries x 3 arms x 21 votes are 1764, by 20 a person: 88.2 people.
    assert "votes a case 21 the default, as in the CASE-Bench paper" in shown
    assert "people 89 --tasks" in shown
    assert "people who see a query twice 0" in shown
    assert "cost – unpaid: --pay" in shown
    assert "consent.contact still says TODO" in done.stderr
    assert "Content warning" in done.stderr
    study = load_study(tmp_path / "study.yaml")
    assert study.cases == "starter"
    assert len(study_cases(study)) == 84


def test_costs_by_hand(cli: Cli, folder: Path) -> None:
    found = planned(
        cli, "--votes", "4", "--tasks", "6", "--attention", "2", "--seconds", "30",
        "--minutes-besides", "5", "--pay", "12", "--currency", "EUR", "--fee", ".25",
        "--dropout", ".2", "--platform", "prolific",
    )  # fmt: skip
    # 6 queries x 3 arms x 4 votes = 72, by 6: 12 people, of 15 asked. 8 pages of 30 s and 5
    # minutes: 9 minutes each, 1.8 hours in all, 1.80 each, 21.60, a quarter on top.
    assert found["forecast"] == {
        "people": 12, "recruit": 15, "minutes": 9.0, "hours": pytest.approx(1.8),
        "pay_each": 1.8, "pay": pytest.approx(21.6), "fee": pytest.approx(5.4),
        "cost": pytest.approx(27),
    }  # fmt: skip
    assert found["currency"] == "EUR"
    assert found["balance"]["votes"] == {"least": 4, "mean": 4, "most": 4}
    assert found["balance"]["arms"]["safe"] == {"least": 2, "mean": 2, "most": 2}
    # By 3 a person: 24 people, 5 pages of 30 s and 5 minutes each: 8 whole minutes, 1.60 each.
    half = found["other_tasks"][0]
    assert (half["tasks"], half["forecast"]["people"]) == (3, 24)
    assert half["forecast"]["cost"] == pytest.approx(1.25 * 24 * 1.6)
    study = load_study(folder / "study.yaml")
    assert study.recruitment.return_url is not None
    assert study.pay.fee == 0.25


def test_votes_from_the_power_of_a_test_are_those_of_power(cli: Cli, folder: Path) -> None:
    found = planned(cli, "--p1", ".5", "--p2", ".9", "--power", ".8")
    given = ("--test", "proportions", "--p1", ".5", "--p2", ".9", "--power", ".8")
    asked = cli("power", *given, "--format", "json")
    assert found["votes"] == json.loads(asked.stdout)["answers"][0]["needed"]
    assert found["votes_from"] == "casewise power --test proportions --p1 0.5 --p2 0.9 --power 0.8"


def test_the_same_plan_twice_is_the_same_file(cli: Cli, folder: Path) -> None:
    planned(cli, "--seed", "3")
    first = (folder / "study.yaml").read_bytes()
    planned(cli, "--seed", "3", "--force")
    assert (folder / "study.yaml").read_bytes() == first
    planned(cli, "--seed", "4", "--force")
    assert (folder / "study.yaml").read_bytes() != first


def test_the_cases_lie_elsewhere(cli: Cli, folder: Path) -> None:
    cli("annotate", "plan", "cases.jsonl", "--out", "a/b/my study.yaml")
    study = load_study(folder / "a/b/my study.yaml")
    assert (study.cases, study.id) == ("../../cases.jsonl", "my-study")
    assert len(study_cases(study)) == 18


def test_markdown(cli: Cli, folder: Path) -> None:
    done = cli(
        "annotate", "plan", "cases.jsonl", "--out", "s.yaml", "--votes", "2", "--format", "markdown"
    )
    assert "| votes a case | 2 | --votes |" in done.stdout
    tables = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in tables} == {4, 5, 6, 8}


def test_cases_without_sides_are_told_of(cli: Cli, folder: Path) -> None:
    text = (folder / "cases.jsonl").read_text("utf-8").replace(', "intended": "unsafe"', "", 1)
    (folder / "cases.jsonl").write_text(text, "utf-8")
    found = planned(cli, "--votes", "2", "--fee", "0")
    assert "1 cases have no intended side" in found["notes"][1]
    assert found["balance"]["cells"] == 17


def test_casebench_is_planned_whole(cli: Cli, casebench: Path, tmp_path: Path) -> None:
    cases = str(casebench / "CASEBench_data.json")
    found = planned(cli, "--arms", "safe,unsafe", "--votes", "5", cases=cases)
    # 450 queries x 2 arms x 5 votes are 4500, by 20.
    assert found["forecast"]["people"] == 225
    even = found["balance"]
    assert (even["queries"], even["categories"], even["repeated"]) == (450, 45, 0)
    assert even["arms_apart"] == 0
    # 20 of 45 categories: none twice in a block.
    assert even["category_share"]["most"] == 1 / 20
    assert even["efficiency"] > 0.98 * even["efficiency_bound"]


def test_an_existing_study_is_kept(cli: Cli, folder: Path) -> None:
    (folder / "study.yaml").write_text("mine", "utf-8")
    done = cli("annotate", "plan", "cases.jsonl", "--out", "study.yaml")
    assert done.returncode == 2
    assert "study.yaml exists: --force overwrites it" in done.stderr
    assert (folder / "study.yaml").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tasks", "7"), "nobody may judge a query twice, so at most 6"),
        (("--arms", "safe,both"), "some of none, safe, unsafe, each once"),
        (("--arms", "safe,safe"), "each once"),
        (("--arms", ""), "--arms"),
        (("--votes", "5", "--p1", ".5"), "drop either"),
        (("--p1", ".5", "--p2", ".8"), "--power: needed to work out the votes"),
        (("--alpha", ".01"), "--p1, --p2, --power: needed"),
        (("--p1", ".5", "--p2", ".51", "--power", ".99"), "at most 1,000,000"),
        (("--p1", ".5", "--p2", ".5", "--power", ".8"), "no difference to find"),
        (("--attention", "9"), "there are 8 checks to draw from"),
        (("--currency", "euro"), "three capital letters"),
        (("--pay", "nan"), "--pay"),
        (("--seconds", "inf"), "--seconds"),
        (("--contact", " "), "--contact is blank"),
        (("--votes", "200000"), "at most 1,000,000"),
        (("--dropout", "1"), "dropout"),
        (("--out", "study.json"), "a study is YAML"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_written(
    options: tuple[str, ...], message: str, cli: Cli, folder: Path
) -> None:
    before = sorted(folder.iterdir())
    done = cli("annotate", "plan", "cases.jsonl", "--out", "study.yaml", *options)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert sorted(folder.iterdir()) == before


def test_cases_that_have_no_contexts(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"query": "May I?"}\n{"query": "Must I?"}\n', "utf-8")
    done = cli("annotate", "plan", "q.jsonl", "--out", "s.yaml")
    assert done.returncode == 2
    assert "--arms safe: q.jsonl has no case in it" in done.stderr
    done = cli("annotate", "plan", "q.jsonl", "--out", "s.yaml", "--arms", "none", "--votes", "1")
    assert done.returncode == 0, done.stderr
    assert len(load_study(tmp_path / "s.yaml").design.blocks) == 1


def test_no_cases_at_all(cli: Cli, tmp_path: Path) -> None:
    done = cli("annotate", "plan", "none.jsonl", "--out", "s.yaml")
    assert done.returncode == 2
    assert "none.jsonl" in done.stderr
    (tmp_path / "empty.jsonl").write_text("", "utf-8")
    done = cli("annotate", "plan", "empty.jsonl", "--out", "s.yaml")
    assert done.returncode == 2
    assert not (tmp_path / "s.yaml").exists()


def test_the_cases_are_not_overwritten(cli: Cli, tmp_path: Path) -> None:
    write_cases(pairs(3), tmp_path / "cases.yaml")
    before = (tmp_path / "cases.yaml").read_bytes()
    done = cli("annotate", "plan", "cases.yaml", "--out", "cases.yaml", "--force")
    assert done.returncode == 2
    assert "would overwrite the cases" in done.stderr
    assert (tmp_path / "cases.yaml").read_bytes() == before


def test_what_the_page_on_studies_says_of_planning_is_true(cli: Cli, tmp_path: Path) -> None:
    page = (ROOT / "study/docs/annotation-study.md").read_text("utf-8")
    planning = page[page.index("## Planning") : page.index("## What an ethics board asks")]
    blocks = re.findall(r"```bash\n(.*?)```", planning, re.DOTALL)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    assert len(lines) == 5
    said = [cli(*shlex.split(line)[1:], env={"COLUMNS": "200"}) for line in lines]
    assert [done.returncode for done in said] == [0] * 5
    assert "so 39 (78 votes" in said[2].stdout
    assert "39  casewise power --test proportions --p1 0.5" in said[3].stdout
    assert "Sequential collection saves" in said[4].stdout
    asked = re.search(r"`(casewise power --test proportions --n 21[^`]*)`", planning)
    assert asked is not None
    assert "53 of 100" in cli(*asked[1].split()[1:]).stdout
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    with contextlib.chdir(tmp_path):
        exec(code[1], names)
    study = names["study"]
    assert names["forecast"](study, dropout=0.1).recruit == 74
    found = names["balance"](study, names["study_cases"](study))
    assert round(found.efficiency, 2) == 0.93


def test_the_minutes_and_the_pay_on_the_page_are_those_of_the_plan(
    cli: Cli, casebench: Path, tmp_path: Path
) -> None:
    page = (ROOT / "study/docs/annotation-study.md").read_text("utf-8")
    file = str(casebench / "CASEBench_data.json")
    bench = ("--arms", "safe,unsafe", "--tasks", "45", "--pay", "12", "--force")
    found = [planned(cli, cases="starter"), planned(cli, *bench, cases=file)]
    asked = found[0]["attention"]
    (none, *_, most), four = asked["simulated"], asked["simulated"][4]
    assert (asked["per_person"], asked["enough"], most["checks"]) == (8, 8, 8)
    said = [f"{one['found']:.2f}".removeprefix("0") for one in (most, four, none)]
    assert "it takes 8: {} are found, with 4 checks {}, and with none {}.".format(*said) in page
    for name in ("fast", "usual", "slow"):
        paces = [one["time"]["by_words"][name] for one in found]
        starter, long = (f"{one['minutes']:.1f} min" for one in paces)
        pace = paces[0]
        answer = Decimal(str(pace["answer_seconds"])).quantize(Decimal("0.1"), ROUND_HALF_UP)
        row = f"| {name} | {pace['words_per_minute']} | {answer} s | {starter} | {long} |"
        assert row in page
    assert f"{found[1]['time']['words']['case'] - 13:.0f} words a case and the question" in page
    hasty = ("--seconds", "25", "--minutes-besides", "6")
    warned = planned(cli, *bench, *hasty, cases=file)
    assert warned["forecast"]["pay_each"] == 5.8
    assert len(warned["warnings"]) == 2
    for line in warned["warnings"]:
        assert f"warning: {line}\n" in page


def test_sequential_collection_is_planned_with_what_it_saves_and_costs(
    cli: Cli, folder: Path
) -> None:
    options = ("--votes", "11", "--tasks", "6", "--pay", "12")
    fixed = planned(cli, *options)
    assert "collection" not in fixed
    sequential = (*options, "--force", "--collection", "sequential", "--least-votes", "6")
    found = planned(cli, *sequential)
    rule = found["collection"]
    assert (rule["rule"], rule["posterior"], rule["least"]) == ("sequential", 0.95, 6)
    assert all(0 < one["saved"] < 5 / 11 and one["fixed"] == 18 * 11 for one in rule["simulated"])
    assert any("share of safe votes is less exact" in line for line in found["notes"])
    # The most people, and what they cost, are those of the fixed plan.
    assert found["forecast"] == fixed["forecast"]
    study = load_study(folder / "study.yaml")
    assert (study.votes, study.collection.least) == (11, 6)
    shown = cli("annotate", "plan", "cases.jsonl", "--out", "study.yaml", *sequential)
    page = " ".join(shown.stdout.split())
    assert "With other --collection" in page
    # Both designs stand beside each other, whichever is taken.
    assert "sequential (posterior 0.95, least 6)" in page
    assert fixed["designs"]["fixed"] == found["designs"]["fixed"]
    for one in (fixed, found):
        many, few = one["designs"]["fixed"], one["designs"]["sequential"]
        assert (many["votes"], 6 <= few["votes"] < 11) == (11, True)
        assert few["share"] > many["share"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--posterior", ".9"], "--posterior: of --collection sequential"),
        (["--collection", "sequential", "--posterior", ".5"], "above .5 and below 1"),
        (["--collection", "sequential", "--votes", "4"], "--least-votes 5: at most --votes, 4"),
    ],
)
def test_settings_of_sequential_collection_that_do_not_fit(
    cli: Cli, folder: Path, options: list[str], said: str
) -> None:
    done = cli("annotate", "plan", "cases.jsonl", "--out", "study.yaml", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (folder / "study.yaml").exists()
