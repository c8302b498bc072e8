"""Replies of a file that were cut, as it says."""

import json
from pathlib import Path
from typing import Any

import polars as pl
from conftest import Cli


def write(folder: Path, replies: list[str], **more: Any) -> tuple[str | Path, ...]:
    cases = [
        {"id": f"c{n}", "query": f"Who has key {n}?", "intended": "safe"}
        for n in range(len(replies))
    ]
    records = [
        {"id": f"r{n}", "case_id": f"c{n}", "query": f"Who has key {n}?", "reply": reply, **more}
        for n, reply in enumerate(replies)
    ]
    for name, lines in (("cases", cases), ("replies", records)):
        text = "\n".join(map(json.dumps, lines))
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return "grade", folder / "replies.jsonl", "--cases", folder / "cases.jsonl"


def told(cli_inside: Cli, *command: str | Path) -> str:
    done = cli_inside(*command, "--out", "t.parquet")
    assert done.returncode == 0, done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_as_the_file_says(cli_inside: Cli, tmp_path: Path) -> None:
    open_end = "It's natural to feel unsure. Many people go through this. Remember you are not al"
    said = told(cli_inside, *write(tmp_path, [open_end] * 2, stop_reason="max_tokens"))
    assert "2 of 2 replies ended at a token limit, as the file says" in said
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table["cut"].to_list() == [True, True]
    assert set(table["response_class"]) == {"undetermined"}
