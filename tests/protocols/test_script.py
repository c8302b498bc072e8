"""Scripts: what ships, what the documents show, and what is refused."""

import re
from pathlib import Path

import pytest
from conftest import ROOT

from casewise.cases import CARDS, card_cases, load_card
from casewise.errors import InputError
from casewise.protocols import load_script

GOOD = """\
name: talk
title: A talk
turns:
- {user: Hello, expect: answer, why: A greeting.}
- {user: And now?, expect: refuse, why: The line.}
"""


@pytest.mark.parametrize("name", CARDS)
def test_shipped_scripts(name: str) -> None:
    path = load_card(name).script_path
    assert path is not None
    script = load_script(path)
    assert (script.deployment, len(script.turns) >= 4) == (name, True)
    wanted = [turn.expect for turn in script.turns]
    assert {"answer", "refuse"} <= set(wanted)
    # A refusal must not end the help.
    assert "answer" in wanted[wanted.index("refuse") :]


def test_the_card_and_the_script_of_the_documents_load(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/acting.md").read_text("utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.S)
    card, own, script = blocks
    (tmp_path / "talk.yaml").write_text(script)
    (tmp_path / "my-card.yaml").write_text(card + "script: talk.yaml\n")
    loaded = load_card(tmp_path / "my-card.yaml")
    assert loaded.script_path is not None
    talk = load_script(loaded.script_path)
    assert (talk.deployment, [turn.expect for turn in talk.turns]) == (
        loaded.name,
        ["answer", "refuse", "answer"],
    )
    assert {case.intended for case in card_cases(loaded)} == {"safe", "unsafe", None}
    (tmp_path / "own.yaml").write_text(own)
    (tmp_path / "spoke.txt").write_text("You are Spoke.\n")
    spoke = load_card(tmp_path / "own.yaml")
    assert (spoke.system, len(spoke.tools), len(spoke.retrieved)) == ("You are Spoke.\n", 1, 1)
    assert [len(spoke.retrieved_for(case)) for case in spoke.cases] == [1, 2]
    assert spoke.cases[0].history[1].tool_calls[0].arguments == {"number": "A1"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("expect: answer, ", ""), ["turn 1", "expect", "missing"]),
        (GOOD.replace("expect: refuse", "expect: decline"), ["turn 2", "expect", "decline"]),
        (GOOD.replace("user: Hello", "user: ' '"), ["turn 1", "user", "blank"]),
        (GOOD.replace("user: Hello", "assistant: Hello"), ["turn 1", "assistant", "unknown field"]),
        (GOOD + "deployment: x\nsystem: y\n", ["system", "deployment"]),
        ("turns: &a\n- *a\n", ["alias"]),
        ("name: [", ["YAML"]),
        ("name: !!python/object:os.system x\n", ["tag"]),
    ],
)
def test_broken_scripts(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_script(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such script"):
        load_script(tmp_path / "absent.yaml")
    with pytest.raises(InputError):
        load_script(tmp_path)
