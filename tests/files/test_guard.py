"""No cell of a CSV file is run by a spreadsheet, and every text comes back as it was."""

import csv
import io
import json
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from hypothesis import example, given, settings
from hypothesis import strategies as st

from casewise.cases import Case, load_cases, write_cases
from casewise.files import guard_cell, unguard_cell
from casewise.scores import make_table, table_bytes
from casewise.scores._judgement_table import read_table

MARKS = "=+-@\uff1d\uff0b\uff0d\uff20"
ODD = MARKS + "'\t\r\n \u3000\xa0\x1f.,;\"1e[{"
TEXTS = st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"), max_size=12)
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def runs(cell: str) -> bool:
    """Whether a spreadsheet might run a cell."""
    if NUMBER.fullmatch(cell):
        return False
    return cell[:1] in ("\t", "\r", "\n") or cell.strip()[:1] in tuple(MARKS)


@given(TEXTS)
@example("'")
@example("''=1")
@example("'-3.5")
@example("' =1")
def test_guarded_cells_come_back_and_never_run(text: str) -> None:
    assert unguard_cell(guard_cell(text)) == text
    assert not text.strip() or not runs(guard_cell(text))


def raw(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def run_by(path: Path) -> list[str]:
    """The cells of a file that a spreadsheet might run."""
    return [cell for row in raw(path.read_bytes().decode()) for cell in row if runs(cell)]


QUICK = settings(max_examples=60, deadline=None)


@QUICK
@given(st.lists(TEXTS, min_size=4, max_size=4))
def test_cases_come_back(texts: list[str]) -> None:
    query, category, source, tag = texts
    case = Case(
        query=f"{query}?",
        category=f"{category}c",
        source=f"{source}s",
        tags=tuple(t for t in (tag,) if t.strip()),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.csv"
        write_cases([case], path)
        assert load_cases(path).cases == (case,)
        assert not run_by(path)


@QUICK
@given(st.lists(TEXTS, min_size=3, max_size=3))
def test_judgement_tables_come_back(texts: list[str]) -> None:
    answer, explanation, category = texts
    row = {
        "run_id": "r",
        "model": "@m",
        "protocol": "probability",
        "case_id": "c1",
        "query_id": "q1",
        "epoch": 1,
        "status": "ok",
        "verdict": "safe",
        "p_safe": 0.5,
        "raw_score": -3.5,
    }
    more = {"answer": answer, "explanation": explanation, "category": category, "error": None}
    table = make_table([row | more, row | {"case_id": "c2"}])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(table_bytes(table, path))
        assert read_table(path).equals(table)
        assert not run_by(path)
        assert "-3.5" in path.read_text("utf-8").split(",")


def test_a_formula_through_the_command_line(cli_inside: Cli, tmp_path: Path) -> None:
    case = {"query": '=HYPERLINK("http://127.0.0.1/","is this safe?")', "category": "\n@law"}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    assert cli_inside("cases", "convert", "cases.jsonl", "cases.csv").returncode == 0
    header, row = raw((tmp_path / "cases.csv").read_bytes().decode())
    assert row[header.index("query")] == f"'{case['query']}"
    assert row[header.index("category")] == f"'{case['category']}"
    assert cli_inside("cases", "convert", "cases.csv", "again.jsonl").returncode == 0
    again = json.loads((tmp_path / "again.jsonl").read_text("utf-8"))
    assert {name: again[name] for name in case} == case


@pytest.mark.skipif(
    subprocess.run(["which", "node"], capture_output=True, check=False).returncode != 0,
    reason="there is no node to run the page's script with",
)
def test_the_page_guards_as_the_files_do(tmp_path: Path) -> None:
    script = (ROOT / "src/casewise/reporting/page/assets/download.js").read_text("utf-8")
    function = re.search(r"^function guarded\(.*?^}", script, re.DOTALL | re.MULTILINE)
    assert function is not None
    texts = [
        f"{quote}{space}{mark}{rest}"
        for quote in ("", "'", "''")
        for space in ("", " ", "\t")
        for mark in ("", *MARKS, "\r", "\n")
        for rest in ("", "1", "3.5", "cmd", "1e-9", "1\n")
    ]
    ask = f"{function.group()}\nconsole.log(JSON.stringify({json.dumps(texts)}.map(guarded)))"
    (tmp_path / "ask.js").write_text(ask)
    done = subprocess.run(["node", tmp_path / "ask.js"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [guard_cell(text) for text in texts]
