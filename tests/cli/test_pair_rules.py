"""Contexts that are edited: ``contexts check`` and ``cases diff`` name the rules of pairs."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Cli

Fields = dict[str, Any]

KEPT_VOTES = "people voted on this text; their votes would come to stand on another"
OTHER_QUERY = "the cases of a pair share their query: change it in all of them"
SAME_TEXT = "two cases of the pair would have the same query, context and history"


def pair() -> list[Fields]:
    """Twins with ids of their own; people voted on the safe one."""
    return [
        {
            "id": f"ladder-{side}",
            "query_id": "ladder",
            "query": "May I borrow the ladder?",
            "context": {"sender": {"type": "tool shed"}, "recipient": {"type": who}},
            "intended": side,
        }
        | votes
        for side, who, votes in (
            ("safe", "a neighbour", {"votes": {"safe": 4, "unsafe": 1}}),
            ("unsafe", "a stranger", {}),
        )
    ]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.yaml"
    path.write_text(yaml.safe_dump(pair(), sort_keys=False), "utf-8")
    return path


def edited(old: Path, name: str, **changes: Fields) -> Path:
    """The file as an editor leaves it, with fields of the safe or the unsafe case changed."""
    records = yaml.safe_load(old.read_text("utf-8"))
    for one in records:
        one |= changes.get(one["id"].removeprefix("ladder-"), {})
    path = old.with_name(name)
    path.write_text(yaml.safe_dump(records, sort_keys=False), "utf-8")
    return path


def broken(cli: Cli, *arguments: str) -> list[tuple[list[str], str]]:
    done = cli(*arguments, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)["broken"]
    return [(one["case_ids"], one["reason"]) for one in found]


def test_check_lists_pairs_as_the_page_does(old: Path, cli_inside: Cli) -> None:
    done = cli_inside("contexts", "check", "old.yaml", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "pairs": [
            {
                "query_id": "ladder",
                "cases": ["ladder-safe", "ladder-unsafe"],
                "voted": ["ladder-safe"],
                "differing": ["recipient.type"],
            }
        ],
        "broken": [],
    }
    shown = cli_inside("contexts", "check", "old.yaml").stdout
    assert "No rule of pairs is broken." in shown
    # The texts may be distressing, and are not needed.
    assert "borrow" not in shown


def test_an_edit_of_a_text_that_people_voted_on_is_named(old: Path, cli_inside: Cli) -> None:
    context = {"sender": {"type": "tool shed"}, "recipient": {"type": "a good neighbour"}}
    edited(old, "new.yaml", safe={"context": context})
    found = broken(cli_inside, "cases", "diff", "old.yaml", "new.yaml")
    assert found == [(["ladder-safe"], KEPT_VOTES)]
    shown = cli_inside("cases", "diff", "old.yaml", "new.yaml")
    assert shown.returncode == 1
    assert "Against the rules of pairs" in shown.stdout
    # The other case has no votes, and a case whose votes were taken out has none either.
    edited(old, "free.yaml", unsafe={"context": context})
    assert broken(cli_inside, "cases", "diff", "old.yaml", "free.yaml") == []
    edited(old, "bare.yaml", safe={"context": context, "votes": None})
    assert broken(cli_inside, "cases", "diff", "old.yaml", "bare.yaml") == []


def test_a_query_is_changed_in_all_cases_of_a_pair(old: Path, cli_inside: Cli) -> None:
    edited(old, "one.yaml", unsafe={"query": "May I keep the ladder?"})
    both = ["ladder-safe", "ladder-unsafe"]
    assert broken(cli_inside, "cases", "diff", "old.yaml", "one.yaml") == [(both, OTHER_QUERY)]
    assert broken(cli_inside, "contexts", "check", "one.yaml") == [(both, OTHER_QUERY)]
    assert cli_inside("contexts", "check", "one.yaml").returncode == 1


def test_two_cases_of_one_text_are_no_pair(old: Path, cli_inside: Cli) -> None:
    same = pair()[0]["context"]
    edited(old, "same.yaml", unsafe={"context": same})
    both = ["ladder-safe", "ladder-unsafe"]
    assert (both, SAME_TEXT) in broken(cli_inside, "contexts", "check", "same.yaml")
    assert (both, SAME_TEXT) in broken(cli_inside, "cases", "diff", "old.yaml", "same.yaml")
