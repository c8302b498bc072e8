"""``casewise describe`` as a person runs it."""

import json
import subprocess
from pathlib import Path

from conftest import Cli

MINE = """
category: desk
cases:
  - query: How do I close an account?
    context: {sender: {platform_type: a bank's desk}}
    intended: safe
    votes: {safe: 9, unsafe: 3}
  - query: How do I close an account?
    context: {sender: {platform_type: a forum}}
    intended: unsafe
    votes: {safe: 3, unsafe: 9}
  - query: Which form moves my pension?
    context: {sender: {platform_type: a bank's desk}}
    intended: safe
    votes: {safe: 11, unsafe: 1}
  - query: Which form moves my pension?
    context: {sender: {platform_type: a forum}}
    intended: unsafe
    votes: {safe: 6, unsafe: 6}
"""


def done(run: subprocess.CompletedProcess[str]) -> str:
    assert run.returncode == 0, run.stderr
    assert "Warning" not in run.stderr
    return run.stdout


def test_a_file_of_ones_own(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(MINE)
    text = done(cli("describe", "mine.yaml", env={"COLUMNS": "80"}))
    assert max(map(len, text.splitlines())) <= 80
    assert "4 cases of 2 queries" in text
    # 20 of 24 votes against 9 of 24.
    assert text.startswith(
        "How far the context moves people: .833 of 24 votes are safe in contexts"
    )
    assert "warning tied-votes (1 of 4 cases)" in text
    markdown = done(cli("describe", "mine.yaml", "--format", "markdown"))
    assert "| safe votes | 20 and 9 |" in markdown
    record = json.loads(done(cli("describe", "mine.yaml", "--format", "json")))
    assert record["context_effect"]["safe_votes"] == [20, 9]
    # Of two queries no interval is given, and each figure says why.
    said = " ".join(text.split())
    of = "all cases, safe contexts, unsafe contexts"
    assert f"two people agree, Gwet's AC1 ({of}): no interval (2 queries make" in said
    assert "difference of shares (safe against unsafe): no interval (2 queries make" in said
    assert record["agreement"]["all"]["pairwise_ci"] is None


def test_casebench_at_eighty_columns(cli: Cli, casebench: Path) -> None:
    path = casebench / "CASEBench_data.json"
    text = done(cli("describe", path, env={"COLUMNS": "80"}))
    assert max(map(len, text.splitlines())) <= 80
    first = " ".join(" ".join(text.splitlines()[:4]).split())
    assert "305 of 450 queries differ" in first
    assert "56 after Holm, 294 after Benjamini-Hochberg" in first
    assert "pooled, z 52.1, p < .001" in first
    for figure in ("5,677 and 2,208", ".825", ".908", ".657", ".394"):
        assert figure in text
    assert "error author-in-rate (900 of 900 cases)" in text
