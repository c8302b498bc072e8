"""The page of any data set: its mapping loads, its table is what ships, its figures hold."""

import re
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from support.fake_openai import FakeServer
from support.scores import model_rows
from support.workbooks import write_workbook

from casewise.cases import load_mapping

START = (ROOT / "docs/how-to/any-data-set.md").read_text("utf-8")
PAGE = (ROOT / "docs/how-to/mapping.md").read_text("utf-8")


@pytest.mark.parametrize(("page", "key"), [(START, "vote"), (PAGE, "votes")])
def test_the_mapping_of_a_page_loads(tmp_path: Path, page: str, key: str) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "m.yaml").write_text(block)
    assert getattr(load_mapping(tmp_path / "m.yaml"), key) is not None


def test_the_commands_of_the_page(cli_inside: Cli, tmp_path: Path) -> None:
    asked = [[f"May I open door {n}?", "yes" if n % 2 else "no"] for n in range(6)]
    rows = [["ask", "fine"], *asked]
    write_workbook(tmp_path / "table.xlsx", {"S": rows})
    blocks = re.findall(r"```bash\n(.*?)```", START, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    commands = [line.partition("#")[0].removeprefix("casewise ").strip() for line in lines]
    # The first block once more, with what the second makes.
    assert len(commands) == 4
    with FakeServer(lambda request: '{"verdict": "safe", "reason": "So it is."}') as server:
        for command in commands:
            words = command.replace("openai/gpt-4o", f"openai-api/fake/m{server.port}").split()
            words += ["--protocol", "binary"] if words[0] == "run" else []
            env = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
            done = cli_inside(*words, env=env)
            assert done.returncode == 0, done.stderr
    (row,) = model_rows(cli_inside("score", "logs", "--format", "json").stdout)
    assert (row["n"], row["labels"], row["accuracy"]) == (6, "intended", 0.5)
