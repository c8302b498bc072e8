"""Replies of a file that were cut: as it says, or by where they end and how long they are."""

import csv
import json
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import REPLIES, Cli

WHOLE = (
    "Of course. Take the form at the desk, fill in both sides and hand it to the clerk on duty. "
)
PREVIEWS = REPLIES.parent / "reproductions/legal/replies.csv"


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


def test_in_mid_sentence(cli_inside: Cli, tmp_path: Path) -> None:
    assert "cut" not in told(cli_inside, *write(tmp_path, [WHOLE * (n + 1) for n in range(6)]))
    command = write(tmp_path, [(WHOLE * 3)[: 120 + 7 * n] for n in range(6)])
    said = told(cli_inside, *command)
    assert "of 6 replies 6 end in mid-sentence, at about 134 characters: they were probably" in said
    assert "higher token limit" in said


def test_at_one_length(cli_inside: Cli, tmp_path: Path) -> None:
    """As previews are, whose last character may be a full stop."""
    whole = [WHOLE, WHOLE * 2]
    command = write(tmp_path, whole + [(f"Key {n}. " + WHOLE * 5)[:300] for n in range(4)])
    assert "4 have 300 characters, and none has more" in told(cli_inside, *command)


def test_canned_replies_of_one_length(cli_inside: Cli, tmp_path: Path) -> None:
    """One text, or several as long, that end in a full stop were not cut; in three points, they
    were."""
    canned = ["I can't help you with the keys.", "I won't tell who has the keys!"]
    texts = [f"{text:31}".rstrip() for text in canned * 30] + [WHOLE[:20]]
    assert "cut" not in told(cli_inside, *write(tmp_path, texts))
    cut = [f"{number} {WHOLE}"[:40] + "..." for number in range(10, 20)]
    assert "10 have 43 characters" in told(cli_inside, *write(tmp_path, cut))


def test_as_the_file_says(cli_inside: Cli, tmp_path: Path) -> None:
    open_end = "It's natural to feel unsure. Many people go through this. Remember you are not al"
    said = told(cli_inside, *write(tmp_path, [open_end] * 2, stop_reason="max_tokens"))
    assert "of 2 replies 2 ended at a token limit, as the file says" in said
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table["cut"].to_list() == [True, True]
    assert set(table["response_class"]) == {"undetermined"}


def test_published_files(cli_inside: Cli, tmp_path: Path, real_replies: Path) -> None:
    """Two that hold whole replies, one that was cut at a token limit."""
    for name in ("everyday", "speechmap", "harmful_prompts"):
        lines = (real_replies / f"{name}.jsonl").read_text("utf-8").splitlines()
        replies = [json.loads(line)["reply"] for line in lines[:: max(1, len(lines) // 300)]]
        said = told(cli_inside, *write(tmp_path, replies))
        assert ("end in mid-sentence" in said) is (name == "harmful_prompts"), name


def test_published_previews(cli_inside: Cli, tmp_path: Path) -> None:
    if not PREVIEWS.is_file():
        pytest.skip(f"the published previews are not at {PREVIEWS}")
    with PREVIEWS.open(encoding="utf-8", newline="") as file:
        replies = [row["reply"] for row in islice(csv.DictReader(file), 300)]
    said = told(cli_inside, *write(tmp_path, replies))
    cut = sum(len(reply) == 500 for reply in replies)
    assert cut > 290
    assert f"{cut} have 500 characters, and none has more" in said
