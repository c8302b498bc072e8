"""docs/build-your-own.md, command by command, with a scripted model."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, clean_env
from support.fake_openai import Answer, FakeServer
from support.revising import Revising
from support.written import Writer, context, question_of, side_of

from casewise.cases import load_cases

PAGE = (ROOT / "docs/build-your-own.md").read_text("utf-8")
QUERIES = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)[0]
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if not line.startswith("export ")
]
WITH_DIFFERENCE = {"casewise cases diff": 1}
"""Commands that end with another status than 0, as the page says."""


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


def shell(command: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = ["bash", "-euo", "pipefail", "-c", command]
    options: dict[str, Any] = {"cwd": folder, "env": clean_env() | {"PATH": path} | env}
    if "--no-browser" in command:
        # A page is served until somebody ends it.
        run[-1] = f"exec {command}"
        process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        assert process.stdout is not None
        first = process.stdout.readline().decode()
        assert first.startswith("http://127.0.0.1:"), first
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        return subprocess.CompletedProcess(run, 0, out.decode(), err.decode())
    return subprocess.run(
        run, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **options
    )


def accept_all(file: Path) -> None:
    """What a person does on the page."""
    with Revising(file) as server:
        for row in server.pairs():
            version = server.pair(row["key"])["version"]
            body = {"author": "Ada", "reason": "fits", "action": "accept"}
            at = f"/api/pairs/{row['key']}/decision"
            assert server.ask("POST", at, body, if_match=version)[0] == 200


@pytest.mark.skipif(sys.platform == "win32", reason="the page's commands are for a POSIX shell")
def test_every_command_of_the_page(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text(QUERIES, "utf-8")
    said = {}
    with FakeServer(answer) as server:
        env = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": server.url}
        for command in COMMANDS:
            done = shell(command, tmp_path, env)
            wanted = next((n for one, n in WITH_DIFFERENCE.items() if command.startswith(one)), 0)
            assert done.returncode == wanted, f"{command}\n{done.stdout}\n{done.stderr}"
            said[command] = done.stdout
            if "--no-browser" in command:
                accept_all(tmp_path / "cases.jsonl")
            if command.endswith("--dry-run"):
                assert not server.requests
    made = load_cases(tmp_path / "cases.jsonl")
    assert (len(made.cases), made.version) == (20, "1.0.0")
    assert {(case.source is not None, case.licence) for case in made.cases} == {(True, "CC-BY-4.0")}
    scored = said["casewise score logs/first"]
    assert f"version 1.0.0 (hash {made.hash})" in " ".join(scored.split())
    assert said["casewise contexts revise cases.jsonl --history"].count("accept") >= 10
    parts = [load_cases(tmp_path / f"parts/{name}.jsonl").cases for name in ("dev", "test")]
    assert [len(part) for part in parts] == [10, 10]
    assert "2 removed" in said["casewise cases diff cases.jsonl smaller.jsonl"]
