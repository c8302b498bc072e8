"""Files that would hang a command, end it without a word, or take all memory: a sentence each."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli, clean_env
from support.workbooks import write_workbook

_SCRIPT = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 20,) * 2)
from casewise.cli import main
for command in json.loads(sys.argv[2]):
    sys.argv = ["casewise", *command]
    try:
        main()
    except SystemExit as ended:
        print("ended with", ended.code, file=sys.stderr, flush=True)
print(*(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""

ADDRESSES = 4096
"""MiB that a process may reserve, so that no fault of ours takes the machine's memory."""

MEMORY = 800
"""MiB that it may use: what a command imports, a file of 256 MiB, and a table's one cell."""

CASE = b'{"query": "q"}\n'


def refused(folder: Path, *commands: Sequence[str]) -> None:
    """Run commands in a process of little memory; each gives one sentence on its file, and 2."""
    arguments = [sys.executable, "-c", _SCRIPT, str(ADDRESSES), json.dumps(commands)]
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=clean_env(),
        text=True,
        capture_output=True,
        check=False,
        timeout=60,
    )
    parts = done.stderr.split("ended with 2\n")
    assert len(parts) == len(commands) + 1, done.stderr
    for command, part in zip(commands, parts, strict=False):
        assert part.startswith("error: "), done.stderr
        assert any(name in part for name in command), done.stderr
        assert part.count("\n") == 1, done.stderr
    assert int(done.stdout.split()[-2]) < MEMORY << 10


@pytest.mark.slow
def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe without a writer, and a device without an end."""
    for suffix in ("yaml", "csv", "parquet", "xlsx", "txt"):
        os.mkfifo(tmp_path / f"pipe.{suffix}")
    (tmp_path / "cases.jsonl").write_bytes(CASE)
    refused(
        tmp_path,
        ("cases", "validate", "/dev/zero"),
        ("cases", "validate", "pipe.csv"),
        ("cases", "import", "--draft", "pipe.xlsx"),
        ("score", "pipe.parquet"),
        ("score", "/dev/zero"),
        ("target", "check", "pipe.yaml"),
        ("run", "--model", "mockllm/model", "--cases", "cases.jsonl", "--prompt", "pipe.txt"),
    )


def sparse(path: Path, head: bytes, mib: int = 400) -> str:
    """A file that goes on with zeros, which take no room on the disk."""
    path.write_bytes(head)
    os.truncate(path, mib << 20)
    return path.name


@pytest.mark.slow
def test_long_lines_and_cells(tmp_path: Path) -> None:
    lines = sparse(tmp_path / "line.jsonl", CASE + b'{"query": "')
    cell = sparse(tmp_path / "cell.csv", b'query,label\nq,"')
    text = sparse(tmp_path / "text.json", b'[{"query": "')
    page = sparse(tmp_path / "page.yaml", b"- query: ")
    table = sparse(tmp_path / "table.csv", b"run_id,model,protocol,case_id,status,verdict\nr,")
    refused(
        tmp_path,
        *(("cases", "validate", name) for name in (lines, cell, text, page)),
        ("cases", "import", "--draft", cell),
        ("score", table),
    )


def test_a_line_of_a_few_megabytes_is_read(cli_inside: Cli, tmp_path: Path) -> None:
    """So is as many votes as there may be."""
    case = {"query": "q", "context": {"sender": {"type": "a" * (8 << 20)}}}
    case["votes"] = {"safe": 1_000_000_000, "unsafe": 1}
    (tmp_path / "long.jsonl").write_text(json.dumps(case), "utf-8")
    done = cli_inside("cases", "validate", "long.jsonl")
    assert (done.returncode, "1 cases of 1 queries" in done.stdout) == (0, True), done.stderr


def repacked(source: Path, name: str, part: str, change: bytes, to: bytes) -> str:
    """A workbook with a text of one part changed."""
    with (
        zipfile.ZipFile(source) as old,
        zipfile.ZipFile(source.with_name(name), "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for one in old.namelist():
            data = old.read(one)
            if one == part:
                assert change in data
                data = data.replace(change, to, 1)
            new.writestr(one, data)
    return name


@pytest.mark.slow
def test_workbooks(tmp_path: Path) -> None:
    grid = [["query", "label"], ["why", "safe"]]
    book = write_workbook(tmp_path / "book.xlsx", {"S": grid}, "excel")
    sheet = "xl/worksheets/sheet1.xml"
    corner = repacked(book, "corner.xlsx", sheet, b'"B2"', b'"XFD1048576"')
    cell = repacked(book, "cell.xlsx", "xl/sharedStrings.xml", b"why", b"a" * (400 << 20))
    refused(
        tmp_path,
        *(("cases", "import", "--draft", name) for name in (corner, cell)),
    )


@pytest.mark.slow
def test_archives_and_tables_that_unpack_to_far_more(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("header.json", "w", force_zip64=True) as header,
    ):
        for _ in range(400):
            header.write(b" " * (1 << 20))
    rows = pl.repeat(1, (1 << 23) + 1, dtype=pl.Int8, eager=True).alias("verdict")
    rows.to_frame().write_parquet(tmp_path / "rows.parquet")
    pl.DataFrame({"query": ["a" * (300 << 20)]}).write_parquet(tmp_path / "cell.parquet")
    refused(
        tmp_path,
        ("score", "bomb.eval"),
        ("score", "rows.parquet"),
        ("cases", "import", "--draft", "cell.parquet"),
    )


ESC = "\x1b[2J\x9b31m\u202e\x07"


def test_texts_of_others_move_no_terminal(cli_inside: Cli, tmp_path: Path) -> None:
    case = {
        "id": f"a{ESC}",
        "query": f"q{ESC}",
        "category": f"c{ESC}",
        "intended": "safe",
        "context": {"sender": {f"type{ESC}": f"bot{ESC}"}},
        "history": [{"role": one, "content": f"t{ESC}"} for one in ("user", "assistant")],
        "votes": {"safe": 3, "unsafe": 1},
    }
    (tmp_path / "cases.jsonl").write_text(json.dumps(case), "utf-8")
    wrong = case | {"intended": f"x{ESC}"}
    (tmp_path / "wrong.jsonl").write_text(f"{json.dumps(case)}\n{json.dumps(wrong)}", "utf-8")
    table = {"model": f"m{ESC}", "protocol": "binary", "case_id": f"a{ESC}", "intended": "safe"}
    rows = pl.DataFrame([table | {"status": "ok", "verdict": "safe", "run_id": f"r{ESC}"}])
    rows.write_parquet(tmp_path / "run.parquet")
    replies = {"query": f"q{ESC}", "case_id": f"a{ESC}", "reply": f"Sure{ESC}"}
    (tmp_path / "replies.jsonl").write_text(json.dumps(replies), "utf-8")
    for command in (
        ("cases", "show", "cases.jsonl"),
        ("cases", "show", "cases.jsonl", f"a{ESC}"),
        ("cases", "validate", "wrong.jsonl"),
        ("score", "run.parquet"),
        ("grade", "replies.jsonl", "--cases", "cases.jsonl"),
    ):
        done = cli_inside(*command)
        assert not set(done.stdout + done.stderr) & set(ESC) - set("[2J31m"), command
    done = cli_inside("cases", "show", "cases.jsonl")
    assert "q\\u001b[2J\\u009b31m\\u202e\\u0007" in done.stdout, done.stderr
