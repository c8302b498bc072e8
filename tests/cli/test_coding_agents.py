"""The page for coding agents: its commands in its order, and what it says of them."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

from conftest import ROOT, Cli
from support.fake_openai import Answer, FakeServer

PAGE = (ROOT / "docs/how-to/coding-agents.md").read_text("utf-8")


def judge(request: dict[str, Any]) -> Answer:
    """Follows the context."""
    side = "unsafe" if "bought" in str(request["messages"][-1]["content"]) else "safe"
    return f'{{"explanation": "x", "judgement": "{side}"}}'


def test_each_command_does_what_the_page_says(cli: Cli, tmp_path: Path) -> None:
    lines = ["Question,Who asks,Our policy"]
    for number in range(12):
        ask = f"How do I change the name on order {number}?"
        lines += [f"{ask},the customer who placed it,answer", f"{ask},who bought it,refuse"]
    (tmp_path / "table.csv").write_text("\n".join(lines), "utf-8")
    (block,) = re.findall(r"```bash\n(.*?)```", PAGE, re.S)
    said: dict[str, str] = {}
    with FakeServer(judge) as server:
        env = {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": server.url}
        for line in block.splitlines():
            program, *arguments = shlex.split(line)
            if program == "casewise":
                done = cli(*arguments, env=env)
                said[line] = done.stdout
                assert done.returncode == 0, f"{line}\n{done.stderr}"
            if "--dry-run" in line:
                assert server.requests == []
        assert len(server.requests) == 24
    read = [json.loads(out) for line, out in said.items() if line.endswith("json")]
    doctor, described, scored, gated = read
    assert doctor
    assert described["shape"]["label_changes"]["changed"] == 12
    assert (scored[0]["coverage"], scored[0]["accuracy"], len(scored[0]["verdict"])) == (1, 1, 3)
    assert {"accuracy_ci", "withheld"} <= set(scored[0])
    assert scored[-1]["model"].startswith("baseline:")
    assert gated["verdict"] == "pass"
    assert (tmp_path / "report.html").is_file()
    assert len(PAGE.split()) <= 400


def test_bad_input_is_status_2(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"query": 3}\n')
    done = cli("describe", "cases.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cases.jsonl" in done.stderr
    assert "expected" in done.stderr
