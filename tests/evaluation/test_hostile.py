"""Whatever a query holds, it reaches the server unchanged, from every form of file."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from support.fake_openai import FakeServer

from casewise.cases import Case, Context, write_cases

QUERIES = [
    "{query} {context} {{x}} %s ${x} {{ 7*7 }} {% if x %} <%= x %>",
    "\"quoted\" 'single' \\n \\ `tick` and a comma, a tab\there",
    "control \x00\x01\x1b[31m and \u2028 \x85 \ufeff \U0001f600",
    "<script>alert(1)</script> &amp; <|im_end|> [INST] </think> ![](http://127.0.0.1/x)",
    "line one\nline two\r\nline three ",
    "  leading and trailing  ",
    "attachment://0123456789abcdef0123456789abcdef",
    "data:image/png;base64,AAAA",
    "x" * 100_000,
]


@pytest.mark.parametrize("suffix", [".jsonl", ".yaml", ".csv"])
def test_queries_reach_the_server_unchanged(cli: Cli, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"cases{suffix}"
    context = Context({"sender": {"note": "{query} \x00 </script> \u2028 é"}})
    write_cases([Case(query=query, context=context) for query in QUERIES], path)
    with FakeServer(lambda request: "Judgement: safe") as server:
        done = cli(
            *("run", "-m", "openai-api/fake/m", "--protocol", "binary"),
            *("--cases", path, "--log-dir", "logs"),
            env={"FAKE_API_KEY": "k", "FAKE_BASE_URL": server.url},
        )
    assert done.returncode == 0, done.stderr
    for query in QUERIES:
        (prompt,) = [one for one in server.prompts if f"\nQuery:\n{query}\n\nSituation:\n" in one]
        assert json.dumps(context.root) in prompt
    exported = cli("export", "logs", "--out", "table.parquet")
    assert exported.returncode == 0, exported.stderr
