"""Scripts and cards: those that the documents show are asked, and broken scripts are refused."""

import re
from pathlib import Path

import pytest
from conftest import ROOT, Cli

from casewise.errors import InputError
from casewise.protocols import load_script

GOOD = """\
name: talk
title: A talk
turns:
- {user: Hello, expect: answer, why: A greeting.}
- {user: And now?, expect: refuse, why: The line.}
"""


def test_a_script_that_ships_goes_on_after_a_refusal() -> None:
    paths = sorted((ROOT / "src/casewise/data/scripts").glob("*.yaml"))
    assert paths
    for path in paths:
        script = load_script(path)
        assert (script.deployment, len(script.turns) >= 4) == (path.stem, True)
        wanted = [turn.expect for turn in script.turns]
        assert "answer" in wanted[wanted.index("refuse") :]


def test_the_cards_and_the_script_of_the_documents_can_be_run(tmp_path: Path, cli: Cli) -> None:
    page = (ROOT / "docs/how-to/acting.md").read_text("utf-8")
    card, own, script = re.findall(r"```yaml\n(.*?)```", page, re.S)
    (tmp_path / "talk.yaml").write_text(script)
    (tmp_path / "my-card.yaml").write_text(card + "script: talk.yaml\n")
    (tmp_path / "own.yaml").write_text(own)
    (tmp_path / "spoke.txt").write_text("You are Spoke.\n")
    # Three cases and three turns of the script; two cases.
    for name, requests in (("my-card", 6), ("own", 2)):
        path = str(tmp_path / f"{name}.yaml")
        run = ("run", "-m", "openai/gpt-4o", "--protocol", "respond", "--deployment", path)
        done = cli(*run, "--dry-run")
        assert done.returncode == 0, done.stderr
        assert f"{requests} requests; nothing was sent" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("expect: answer, ", ""), ["turn 1", "expect", "missing"]),
        (GOOD.replace("expect: refuse", "expect: decline"), ["turn 2", "expect", "decline"]),
        (GOOD.replace("user: Hello", "user: ' '"), ["turn 1", "user", "blank"]),
        (GOOD + "deployment: x\nsystem: y\n", ["system", "deployment"]),
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
