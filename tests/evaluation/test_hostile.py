"""Whatever a query holds, it reaches the server unchanged, from every form of file."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from support.fake_openai import FakeServer

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
    context = {"sender": {"note": "{query} \x00 </script> \u2028 é"}}
    lines = [json.dumps({"query": query, "context": context}) for query in QUERIES]
    (tmp_path / "first.jsonl").write_text("\n".join(lines), "utf-8")
    assert cli("cases", "convert", "first.jsonl", path).returncode == 0
    with FakeServer(lambda request: "Judgement: safe") as server:
        done = cli(
            *("run", "-m", "openai-api/fake/m", "--protocol", "binary"),
            *("--cases", path, "--log-dir", "logs"),
            env=server.env,
        )
    assert done.returncode == 0, done.stderr
    for query in QUERIES:
        (prompt,) = [one for one in server.prompts if f"\nQuery:\n{query}\n\nSituation:\n" in one]
        assert json.dumps(context) in prompt
    exported = cli("export", "logs", "--out", "table.parquet")
    assert exported.returncode == 0, exported.stderr
