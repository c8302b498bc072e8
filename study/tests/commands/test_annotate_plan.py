"""``casewise annotate plan`` from the command line: files, numbers, and what is refused."""

import contextlib
import re
import shlex
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from support.studies import plan, read_yaml, some_cases, write_cases


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_cases(tmp_path, some_cases(6, kinds=2))
    return tmp_path


def test_starter_is_planned_by_default_as_in_the_paper(cli: Cli, tmp_path: Path) -> None:
    done = cli("annotate", "plan", "starter", "--out", "study.yaml")
    assert done.returncode == 0
    shown = " ".join(done.stdout.split())
    # 28 queries x 3 arms x 21 votes are 1764, by 20 a person: 88.2 people.
    assert "votes a case 21 --votes" in shown
    assert "people 89 --tasks" in shown
    assert "people who see a query twice 0" in shown
    assert "consent.contact still says TODO" in done.stderr
    assert "Content warning" in done.stderr
    assert len(read_yaml(tmp_path / "study.yaml")["design"]["cells"]) == 84


def test_costs_by_hand(cli: Cli, folder: Path) -> None:
    found = plan(
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
    assert found["balance"]["votes"] == {"least": 4, "most": 4}
    assert found["balance"]["arms"]["safe"] == {"least": 2, "most": 2}
    study = read_yaml(folder / "study.yaml")
    assert study["recruitment"]["return_url"] is not None
    assert study["pay"]["fee"] == 0.25


def test_the_same_plan_twice_is_the_same_file_and_another_seed_another(
    cli: Cli, folder: Path
) -> None:
    written = []
    for seed in ("3", "3", "4"):
        plan(cli, "--seed", seed, "--votes", "2", "--force")
        written.append((folder / "study.yaml").read_bytes())
    assert written[0] == written[1] != written[2]


def test_cases_without_a_side_are_told_of_and_found_from_elsewhere(cli: Cli, folder: Path) -> None:
    text = (folder / "cases.jsonl").read_text("utf-8").replace(', "intended": "unsafe"', "", 1)
    (folder / "cases.jsonl").write_text(text, "utf-8")
    found = plan(cli, "--votes", "2", out="a/b/my study.yaml")
    assert "without an intended side: 1 case." in found["notes"][0]
    study = read_yaml(folder / "a/b/my study.yaml")
    assert (study["cases"], study["id"]) == ("../../cases.jsonl", "my-study")
    assert len(study["design"]["cells"]) == 17


def test_votes_without_an_intention_are_no_arm_and_what_to_map_is_named(
    cli: Cli, folder: Path
) -> None:
    voted = [case | {"intended": None, "votes": {"safe": 3, "unsafe": 1}} for case in some_cases(3)]
    write_cases(folder, voted)
    done = cli("annotate", "plan", "cases.jsonl", "--out", "study.yaml")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "6 contexts of cases.jsonl without an intended side" in said
    assert "add intended: {column: NAME, safe: [WORD], unsafe: [WORD]} to the mapping" in said


def test_sequential_collection_is_planned_with_what_it_saves_and_costs(
    cli: Cli, folder: Path
) -> None:
    options = ("--votes", "11", "--tasks", "6", "--pay", "12")
    fixed = plan(cli, *options)
    sequential = ("--force", "--collection", "sequential")
    found = plan(cli, *options, *sequential)
    # The most people, and what they cost, are those of the fixed plan.
    assert found["forecast"] == fixed["forecast"]
    study = read_yaml(folder / "study.yaml")
    assert study["votes"] == 11
    assert study["collection"] == {"rule": "sequential", "posterior": 0.95, "least": 5}
    # Both designs stand beside each other, whichever is taken.
    assert fixed["designs"]["fixed"] == found["designs"]["fixed"]
    many, few = found["designs"]["fixed"], found["designs"]["sequential"]
    assert f"saves {1 - few['votes'] / 11:.0%}".replace("%", " %") in found["notes"][0]
    assert (many["votes"], 5 <= few["votes"] < 11) == (11, True)
    assert few["share"] > many["share"] > 0
    # With votes too few to stop early they are one row, and its columns are explained.
    base = ("annotate", "plan", "cases.jsonl", "--out", "study.yaml", "--force")
    alike = cli(*base, "--votes", "3", "--tasks", "6")
    assert "fixed or sequential" in alike.stdout, alike.stderr
    assert "sequential (posterior" not in alike.stdout
    assert "Wrong labels: share of cases" in alike.stdout


@pytest.mark.slow
def test_what_the_page_on_studies_says_of_planning_is_true(cli: Cli, tmp_path: Path) -> None:
    page = (ROOT / "study/docs/annotation-study.md").read_text("utf-8")
    planning = page[page.index("## Planning") : page.index("## What an ethics board asks")]
    blocks = re.findall(r"```bash\n(.*?)```", planning, re.DOTALL)
    lines = "".join(blocks).replace("\\\n", "").splitlines()
    assert len(lines) == 3
    said = [cli(*shlex.split(line)[1:], env={"COLUMNS": "200"}) for line in lines]
    assert [done.returncode for done in said] == [0] * 3
    assert "so 39 (78 votes" in said[1].stdout
    assert "Sequential collection saves" in said[2].stdout
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
    assert names["balance"](study, names["study_cases"](study)).repeated == 0


@pytest.mark.slow
def test_the_minutes_and_the_pay_on_the_page_are_those_of_the_plan(
    cli: Cli, casebench: Path, tmp_path: Path
) -> None:
    page = (ROOT / "study/docs/annotation-study.md").read_text("utf-8")
    file = str(casebench / "CASEBench_data.json")
    bench = ("--arms", "safe,unsafe", "--tasks", "45", "--pay", "12", "--force")
    found = [plan(cli, cases="starter"), plan(cli, *bench, cases=file)]
    for name in ("fast", "usual", "slow"):
        paces = [one["time"]["by_words"][name] for one in found]
        starter, long = (f"{one['minutes']:.1f} min" for one in paces)
        pace = paces[0]
        answer = Decimal(str(pace["answer_seconds"])).quantize(Decimal("0.1"), ROUND_HALF_UP)
        row = f"| {name} | {pace['words_per_minute']} | {answer} s | {starter} | {long} |"
        assert row in page
    assert f"{found[1]['time']['words']['case'] - 13:.0f} words a case and the question" in page
    even = found[1]["balance"]
    assert (even["categories"], even["repeated"]) == (45, 0)
    hasty = ("--seconds", "25", "--minutes-besides", "6")
    warned = plan(cli, *bench, *hasty, cases=file)
    assert warned["forecast"]["pay_each"] == 5.8
    short, low = warned["warnings"]
    assert "25 s are short" in short
    assert "14.00 GBP would fit" in low
