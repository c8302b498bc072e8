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


def sparse(path: Path, head: bytes, size: int = 400 << 20) -> str:
    """A file that goes on with zeros, which take no room on the disk."""
    path.write_bytes(head)
    os.truncate(path, size)
    return path.name


def corner(path: Path) -> str:
    """A workbook whose last row and column hold its one cell."""
    book = write_workbook(path.with_name("book.xlsx"), {"S": [["query"], ["why"]]})
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(path, "w") as new:
        for one in old.namelist():
            new.writestr(one, old.read(one).replace(b'"A2"', b'"XFD1048576"'))
    book.unlink()
    return path.name


BAD: dict[str, bytes] = {
    "empty.csv": b"",
    "empty.json": b"",
    "empty.parquet": b"",
    "blank.csv": b"\n \n",
    "header.csv": b"query,label\n",
    "binary.csv": bytes(range(256)) * 40,
    "binary.json": bytes(range(128, 256)) * 40,
    "binary.xlsx": bytes(range(256)) * 40,
    "binary.parquet": b"PAR1" + bytes(range(256)) * 40,
    "picture.csv": b"\x89PNG\r\n" + b"\0" * 3000,
    "word.docx": b"PK\x03\x04",
    "deep.json": b"[" * 200_000 + b"]" * 200_000,
    "deep.jsonl": b'{"query": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    "huge.jsonl": b'{"query": "q", "votes": {"safe": ' + b"9" * 5000 + b', "unsafe": 1}}',
    "key.json": b'[{"query": "a", "query": "b"}]',
    "types.json": b"[1, 2]",
    "number.json": b"7",
    "columns.json": b'{"query": [], "label": []}',
    "cut.json": b'[{"query": "a"}, {"query": "b',
    "cut.csv": b'query,label\n"a,b\n',
    "cut.jsonl": b'{"query": "a"}\n{"query": "b',
    "cut.parquet": b"PAR1abc",
    "short.csv": b"query,label\nWhy?\nHow?,safe\n",
    "half.jsonl": b'{"query": "\\ud83d"}\n',
    "latin.json": '[{"query": "é"}]'.encode("latin-1"),
}
"""Files that no cases can be imported from."""


def test_bad_files_are_a_sentence_each(tmp_path: Path) -> None:
    """Broken, empty, endless and exploding ones: in little memory, and soon."""
    for name, data in BAD.items():
        (tmp_path / name).write_bytes(data)
    for name in ("sparse.csv", "sparse.json", "sparse.jsonl", "sparse.parquet", "sparse.xlsx"):
        sparse(tmp_path / name, b'{"query": "q', 2 << 30)
    corner(tmp_path / "corner.xlsx")
    texts = pl.repeat("x" * 1000, 1_000_000, eager=True).alias("query")
    texts.to_frame().write_parquet(tmp_path / "bomb.parquet")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder").mkdir()
    names = [*sorted(path.name for path in tmp_path.iterdir()), "/dev/zero", "absent.csv"]
    commands = [("cases", "import", name, "--out", "o.jsonl") for name in names]
    arguments = [sys.executable, "-c", _SCRIPT, str(ADDRESSES), json.dumps(commands)]
    done = subprocess.run(
        arguments,
        cwd=tmp_path,
        env=clean_env(),
        text=True,
        capture_output=True,
        check=False,
        timeout=120,
    )
    parts = done.stderr.split("ended with 2\n")
    assert len(parts) == len(names) + 1, done.stderr
    for name, part in zip(names, parts, strict=False):
        assert name in part, part
        assert "Traceback" not in part
    assert int(done.stdout.split()[-2]) < 300 << 10
    assert not (tmp_path / "o.jsonl").exists()


@pytest.mark.slow
def test_files_that_would_take_all_memory(tmp_path: Path) -> None:
    """A device and long lines without an end, and archives that unpack to far more."""
    with (
        zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("header.json", "w", force_zip64=True) as header,
    ):
        for _ in range(400):
            header.write(b" " * (1 << 20))
    rows = pl.repeat(1, (1 << 23) + 1, dtype=pl.Int8, eager=True).alias("verdict")
    rows.to_frame().write_parquet(tmp_path / "rows.parquet")
    table = b"run_id,model,protocol,case_id,status,verdict\nr,"
    refused(
        tmp_path,
        ("cases", "validate", "/dev/zero"),
        ("cases", "validate", sparse(tmp_path / "line.jsonl", b'{"query": "q"}\n{"query": "')),
        ("cases", "validate", sparse(tmp_path / "cell.csv", b'query,label\nq,"')),
        ("cases", "validate", sparse(tmp_path / "text.json", b'[{"query": "')),
        ("cases", "validate", sparse(tmp_path / "page.yaml", b"- query: ")),
        ("cases", "import", "--draft", corner(tmp_path / "corner.xlsx")),
        ("score", sparse(tmp_path / "table.csv", table)),
        ("score", "bomb.eval"),
        ("score", "rows.parquet"),
    )


def test_a_log_that_unpacks_to_far_more_is_not_unpacked(cli: Cli, tmp_path: Path) -> None:
    """By what its list of files says; in truth it holds less, which nobody gets to see."""
    with zipfile.ZipFile(tmp_path / "bomb.eval", "w") as archive:
        archive.writestr("header.json", "{}")
        archive.getinfo("header.json").file_size = 400 << 20
    done = cli("score", "bomb.eval")
    assert done.returncode == 2
    assert "header.json in it" in done.stderr
    assert "a hundred times what is packed" in " ".join(done.stderr.split())


def test_a_line_of_a_few_megabytes_is_read(cli_inside: Cli, tmp_path: Path) -> None:
    """So is as many votes as there may be."""
    case = {"query": "q", "context": {"sender": {"type": "a" * (8 << 20)}}}
    case["votes"] = {"safe": 1_000_000_000, "unsafe": 1}
    (tmp_path / "long.jsonl").write_text(json.dumps(case), "utf-8")
    done = cli_inside("cases", "validate", "long.jsonl")
    assert (done.returncode, "1 case of 1 query" in done.stdout) == (0, True), done.stderr


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
