"""What a judge is shown: the contexts that a run sends."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conftest import Cli
from support.fake_openai import FakeServer

Record = dict[str, Any]


def run(cli: Cli, folder: Path, cases: Sequence[Record], *options: str) -> tuple[Any, list[str]]:
    """A run over cases: what the command did, and the prompts that it sent."""
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    command = ("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", "--log-dir")
    name = f"logs{len(list(folder.glob('logs*')))}"
    with FakeServer(lambda _: '{"judgement": "safe"}') as server:
        done = cli(*command, name, *options, env=server.env)
    return done, server.prompts


def contexts_sent(
    cli: Cli, folder: Path, cases: Sequence[Record], *options: str
) -> list[tuple[str, Record]]:
    """Query and context of each prompt, in the order of the queries."""
    done, prompts = run(cli, folder, cases, "--protocol", "binary", *options)
    assert done.returncode == 0, done.stderr
    found = (re.search(r"Query:\n(.*)\n\nSituation:\n(.*)\n", prompt) for prompt in prompts)
    return sorted(((one[1], json.loads(one[2])) for one in found if one), key=lambda pair: pair[0])


def swaps_sent(
    cli: Cli, folder: Path, cases: Sequence[Record], name: str
) -> list[tuple[str, Record]]:
    """The contexts with a part of their twins'; the whole ones, which are asked too, left out."""
    sent = contexts_sent(cli, folder, cases, "--swap", name)
    for case in cases:
        whole = case["query"], case.get("context")
        if whole in sent:
            sent.remove(whole)
    return sent
