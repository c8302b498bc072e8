"""Reading conversations: what is taken from a record, what is said of one that holds none."""

import json
from pathlib import Path

import polars as pl
from conftest import Cli

MESSAGES = [
    {"role": "user", "content": "When do you close?"},
    {"role": "assistant", "content": "At six, and on Sundays at four. Come before noon."},
]
GOOD = json.dumps({"messages": MESSAGES, "case_id": "c-1", "model": "openai/gpt-4o"})


BROKEN = {
    '{"messages": [{"role": "user", "content": "canary': "truncated JSON",
    '{"canary": 1, "canary": 2}': "the key stands twice",
    '"canary"': "not a row",
    '{"canary": "canary"}': "no messages and no reply (found an object;",
    '{"messages": "canary"}': "column 'messages': not valid JSON",
    '{"messages": {"canary": 1}}': "wrong value in field 'messages' (found an object; expected a",
    '{"messages": []}': "wrong value in field 'messages' (found nothing;",
    '{"messages": ["canary"]}': "message 1: not a message of the chat format (found text;",
    '{"messages": [{"role": "canary", "content": "a"}]}': "message 1: wrong role (found text;",
    '{"messages": [{"role": "user", "content": 3}]}': "message 1: wrong content (found a number;",
    '{"query": "canary", "reply": ["canary"]}': "wrong value in field 'reply' (found a list;",
    '{"messages": [{"role": "user", "content": "a"}], "id": ["canary"]}': "wrong value in field",
}


def test_every_broken_line_is_accounted_for_and_not_quoted(cli: Cli, tmp_path: Path) -> None:
    case = {"id": "c-1", "query": MESSAGES[0]["content"], "intended": "safe"}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case), "utf-8")
    for line, problem in BROKEN.items():
        (tmp_path / "a.jsonl").write_text(f"{line}\n{GOOD}\n", "utf-8")
        done = cli("grade", "a.jsonl", "--cases", "cases.jsonl", "--out", "t.parquet")
        assert done.returncode == 0, done.stderr
        said = " ".join((done.stdout + done.stderr).split())
        assert "line 1: " in said
        assert problem in said, line
        assert "canary" not in said
        table = pl.read_parquet(tmp_path / "t.parquet")
        assert table.select("case_id", "model").rows() == [("c-1", "openai/gpt-4o")]
