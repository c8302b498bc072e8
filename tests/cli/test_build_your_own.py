"""docs/how-to/build-your-own.md, command by command, with a scripted model."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from conftest import ROOT, Cli
from support.fake_openai import Answer, FakeServer
from support.written import Writer, context, question_of, side_of

from casewise.cases import load_cases

PAGE = (ROOT / "docs/how-to/build-your-own.md").read_text("utf-8")
VERSION = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
QUERIES = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)[0]
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if not line.startswith("export ")
]
WITH_DIFFERENCE = {"casewise cases diff": 1}
"""Commands that end with another status than 0, as the page says."""

WITH_MODEL = ("casewise contexts generate", "casewise run")


def answer(request: dict[str, Any]) -> Answer:
    prompt = str(request["messages"][-1]["content"])
    if prompt.startswith("Review"):
        return Writer().review(prompt)
    if "Contextual Integrity" not in prompt or "Describe a situation" not in prompt:
        return '{"explanation": "x", "judgement": "safe"}'
    question = question_of(prompt)
    number = [line.rsplit(",", 1)[0] for line in QUERIES.splitlines()[1:]].index(question)
    tree = context(number, side_of(prompt))
    nouns = " ".join(re.findall(r"\w{6,}", question)[-2:])
    # In place of the scripted topic, the query's own.
    tree["sender"]["nature_of_the_interaction"] = (
        f"Small talk on {nouns} beside a "
        + tree["sender"]["nature_of_the_interaction"].split(" beside a ")[1]
    )
    return json.dumps(tree)


def edit(file: Path) -> None:
    """What a person does in an editor: an edit, and a version."""
    text = file.read_text("utf-8")
    assert text.count(" beside a ") == 20
    text = text.replace(" beside a ", " next to a ", 1)
    file.write_text(VERSION + text, "utf-8")


def test_every_command_of_the_page(cli: Cli, cli_inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text(QUERIES, "utf-8")
    said = {}
    with FakeServer(answer) as server:
        env = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": server.url}
        for command in COMMANDS:
            name, *arguments = shlex.split(command)
            assert name == "casewise"
            run = cli if command.startswith(WITH_MODEL) else cli_inside
            done = run(*arguments, env=env)
            wanted = next((n for one, n in WITH_DIFFERENCE.items() if command.startswith(one)), 0)
            assert done.returncode == wanted, f"{command}\n{done.stdout}\n{done.stderr}"
            said[command] = done.stdout
            if command == "casewise cases convert cases.jsonl pairs.yaml":
                edit(tmp_path / "pairs.yaml")
            if command.endswith("--dry-run"):
                assert not server.requests
    made = load_cases(tmp_path / "pairs.yaml")
    assert (len(made.cases), made.version) == (20, "1.0.0")
    assert {(case.source is not None, case.licence) for case in made.cases} == {(True, "CC-BY-4.0")}
    scored = said["casewise score logs/first"]
    assert f"version 1.0.0 (hash {made.hash})" in " ".join(scored.split())
    assert ", 1 changed" in said["casewise cases diff cases.jsonl pairs.yaml"]
    parts = [load_cases(tmp_path / f"parts/{name}.yaml").cases for name in ("dev", "test")]
    assert [len(part) for part in parts] == [10, 10]
    assert "2 removed" in said["casewise cases diff pairs.yaml smaller.jsonl"]
