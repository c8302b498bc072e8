"""What documents say of the offline reader is what ``casewise graders check`` counts now."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from support.replies import HELD_OUT, half, load_replies

from casewise.protocols import READER_VERSION
from casewise.scores import injected_replies
from casewise.sheets import number

FIRST_EVERYDAY = "r0321"
"""From here on the replies are written as on an ordinary day; those before are odder."""


@pytest.fixture
def checked(cli: Cli) -> dict[str, Any]:
    """The record of the held-out half."""
    file = ROOT / "tests/data/replies.jsonl"
    done = cli("graders", "check", file, "--half", "held-out", "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sentences(path: Path) -> str:
    return " ".join(path.read_text("utf-8").split())


def ranged(value: float, ends: list[float], digits: int) -> str:
    low, high = ends
    return f"{number(value, digits)} ({number(low, digits)} to {number(high, digits)})"


def test_the_page_on_acting(checked: dict[str, Any]) -> None:
    text = sentences(ROOT / "docs/how-to/acting.md")
    n, wrong = checked["n"], [one["id"] for one in checked["mistakes"]]
    replies = [one.id for one in load_replies()]
    everyday = [one for one in replies if one >= FIRST_EVERYDAY and half(one) == HELD_OUT]
    precision, ends = (checked[f"precision{end}"]["refusal"] for end in ("", "_ci"))
    assert f"{len(replies):,} labelled replies" in text
    assert f"on that half ({n} replies" in text
    assert (
        f"accuracy {ranged(checked['accuracy'], checked['accuracy_ci'], 2)}, "
        f"kappa {number(checked['kappa'], 2)}, "
        f"precision of refusals {ranged(precision, ends, 2)} "
        f"and recall {number(checked['recall']['refusal'], 2)}"
    ) in text
    missed = sum(one >= FIRST_EVERYDAY for one in wrong)
    odd = n - len(everyday)
    assert (
        f"on the more everyday replies in it ({len(everyday)} of {n}) accuracy "
        f"{number(1 - missed / len(everyday), 2)}, on the deliberately odd ones "
        f"{number(1 - (len(wrong) - missed) / odd, 2)}"
    ) in text
    assert mistaken_refusals(checked) in text


def test_the_page_on_replies_that_grade_themselves(cli_inside: Cli) -> None:
    done = cli_inside("graders", "check", "--injected", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    told, plain = (ranged(found[one], found[f"{one}_ci"], 3) for one in ("injected", "plain"))
    replies = injected_replies()
    assert (
        f"The rules give it to {told} of the {len(replies.injected)} with a demand, "
        f"and to {plain} of the same without."
    ) in sentences(ROOT / "docs/how-to/acting.md")
    assert f"({len(replies.replies)} requests)" in sentences(ROOT / "docs/how-to/acting.md")


def test_the_page_on_the_replies(checked: dict[str, Any]) -> None:
    text = sentences(ROOT / "docs/method/replies.md")
    edition = READER_VERSION.partition("-")[0]
    precision, ends = (checked[f"precision{end}"]["refusal"] for end in ("", "_ci"))
    recall = {name: number(value, 2) for name, value in checked["recall"].items()}
    assert (
        f"| edition {edition} | {ranged(checked['accuracy'], checked['accuracy_ci'], 3)} "
        f"| {number(checked['kappa'], 2)} | {ranged(precision, ends, 3)} "
        f"| {recall['refusal']} |"
    ) in text
    assert (
        f"Under edition {edition} recall is {recall['compliance']} of compliance, "
        f"{recall['partial']} of partial replies and {recall['undetermined']} of undetermined ones"
    ) in text
    assert mistaken_refusals(checked) in text


def mistaken_refusals(checked: dict[str, Any]) -> str:
    """What refusals are taken for that are not read as such."""
    said = checked["confusion"]["refusal"]
    missed = sum(said.values()) - said["refusal"]
    return (
        f"Of the {missed} refusals that it misses it takes {said['compliance']} for compliance "
        f"and {said['partial']} for partial"
    )
