"""Runs on a copy of Inspect in which one private name was renamed give the same table."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import inspect_ai
import polars as pl
import pytest
from support.fake_openai import FakeServer
from support.fault_runs import write_questions

from casewise.scores import read_paths

INSPECT = Path(inspect_ai.__file__).parent

NAMES = {
    "PrerequisiteError": "a missing key or package is told at greater length",
    "use_model_event_sink": "logs hold no events",
    "OpenAICompatibleAPI": "requests go out by Inspect's own client",
    "emit_batch_status": "--batch is refused",
    "init_concurrency": "share the limits of the first",
}
"""Private names that casewise stands on, and what a note says where one has moved."""

SAME = ("case_id", "protocol", "status", "verdict", "raw_score", "input_tokens", "output_tokens")


def judge(request: dict[str, Any]) -> str:
    said = str(request["messages"][-1]["content"])
    verdict = "unsafe" if "question 1" in said else "safe"
    return json.dumps({"explanation": "as it is", "judgement": verdict})


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of Inspect; its compiled files are good where the text isn't changed."""
    folder = tmp_path_factory.mktemp("inspect")
    shutil.copytree(INSPECT, folder / "inspect_ai", ignore=shutil.ignore_patterns("_view"))
    (folder / "inspect_ai" / "_view").symlink_to(INSPECT / "_view")
    return folder


def renamed(folder: Path, name: str) -> None:
    """Rename it wherever Inspect uses it, and undo an earlier renaming."""
    for path in INSPECT.rglob("*.py"):
        text = path.read_text("utf-8")
        where = folder / "inspect_ai" / path.relative_to(INSPECT)
        if "_view" in path.parts:
            continue
        new = re.sub(rf"\b{name}\b", f"{name}_2", text)
        if where.read_text("utf-8") != new:
            where.write_text(new, "utf-8")


def casewise(
    folder: Path | None, work: Path, server: FakeServer, *arguments: str | Path
) -> subprocess.CompletedProcess[str]:
    given = {"FAKE_API_KEY": "k-1234567890", "FAKE_BASE_URL": server.url}
    given |= {"PYTHONPATH": str(folder)} if folder else {}
    return subprocess.run(
        [sys.executable, "-c", "from casewise.cli import main; main()", *map(str, arguments)],
        cwd=work,
        env=dict(os.environ) | given,
        capture_output=True,
        text=True,
        check=False,
    )


def table_of(folder: Path | None, work: Path, server: FakeServer) -> tuple[str, pl.DataFrame]:
    """Standard error of a run without spaces at line ends, and its judgements."""
    cases = write_questions(work / "cases.jsonl", 4)
    options = ("--protocol", "binary", "--log-dir", "logs")
    done = casewise(
        folder, work, server, "run", "-m", "openai-api/fake/m", "--cases", cases, *options
    )
    assert done.returncode == 0, done.stderr
    table = read_paths([work / "logs"]).table
    return " ".join(done.stderr.split()), table.select(
        name for name in SAME if name in table.columns
    ).sort("case_id")


@pytest.mark.slow
def test_the_table_is_the_same(copied: Path, tmp_path: Path) -> None:
    with FakeServer(judge) as server:
        (tmp_path / "as-it-is").mkdir()
        said, expected = table_of(None, tmp_path / "as-it-is", server)
        assert "has moved or changed" not in said
        for name, lost in NAMES.items():
            renamed(copied, name)
            work = tmp_path / name
            work.mkdir()
            said, found = table_of(copied, work, server)
            shown = "batch" if name == "emit_batch_status" else name
            assert f"has moved or changed {shown}: " in said
            assert lost in said
            assert found.equals(expected), name
            if name == "PrerequisiteError":
                done = casewise(copied, work, server, "run", "-m", "openai-api/nokey/m")
                assert done.returncode == 2
                assert "Traceback" not in done.stderr
            if shown == "batch":
                batch = ("run", "-m", "openai/m", "--protocol", "binary", "--batch")
                done = casewise(copied, work, server, *batch)
                assert done.returncode == 2
                assert "collects batches otherwise" in " ".join(done.stderr.split())
