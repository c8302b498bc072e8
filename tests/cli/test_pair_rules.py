"""Contexts that are edited: what ``contexts check`` and ``cases diff`` say of it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Cli

Fields = dict[str, Any]


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


def moved(cli: Cli, new: str) -> list[str]:
    """Cases whose votes would come to stand on another text."""
    done = cli("cases", "diff", "old.yaml", new, "--format", "json")
    assert done.returncode == 1, done.stderr
    return [one["id"] for one in json.loads(done.stdout)["changed"] if one["moves_votes"]]


def checked(cli: Cli, file: str) -> list[tuple[str, list[str]]]:
    done = cli("contexts", "check", file, "--format", "json")
    found = json.loads(done.stdout)["findings"]
    assert done.returncode == bool(found), done.stderr
    return [(one["code"], one["cases"]) for one in found]


def test_check_lists_pairs(old: Path, cli_inside: Cli) -> None:
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
        "findings": [],
    }
    shown = cli_inside("contexts", "check", "old.yaml").stdout
    assert "Checked queries and contexts of pairs: no finding." in shown
    # The texts may be distressing, and are not needed.
    assert "borrow" not in shown


def test_an_edit_of_a_text_that_people_voted_on_is_named(old: Path, cli_inside: Cli) -> None:
    context = {"sender": {"type": "tool shed"}, "recipient": {"type": "a good neighbour"}}
    edited(old, "new.yaml", safe={"context": context})
    assert moved(cli_inside, "new.yaml") == ["ladder-safe"]
    shown = cli_inside("cases", "diff", "old.yaml", "new.yaml").stdout
    assert "people voted on this text" in shown
    # The other case has no votes, and a case whose votes were taken out has none either.
    edited(old, "free.yaml", unsafe={"context": context})
    assert moved(cli_inside, "free.yaml") == []
    edited(old, "bare.yaml", safe={"context": context, "votes": None})
    assert moved(cli_inside, "bare.yaml") == []


def test_a_query_is_changed_in_all_cases_of_a_pair(old: Path, cli_inside: Cli) -> None:
    edited(old, "one.yaml", unsafe={"query": "May I keep the ladder?"})
    both = ["ladder-safe", "ladder-unsafe"]
    assert checked(cli_inside, "one.yaml") == [("unlike-queries", both)]


def test_two_cases_of_one_text_are_no_pair(old: Path, cli_inside: Cli) -> None:
    edited(old, "same.yaml", unsafe={"context": pair()[0]["context"]})
    both = ["ladder-safe", "ladder-unsafe"]
    assert checked(cli_inside, "same.yaml") == [("identical-twins", both)]
