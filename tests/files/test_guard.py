"""No cell of a CSV file is run by a spreadsheet, and every text comes back as it was."""

import csv
import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.tables import judgement, table

import casewise as cw

MARKS = "=+-@\uff1d\uff0b\uff0d\uff20"
ODD = MARKS + "'\t\r\n \u3000\xa0\x1f.,;\"1e[{"
TEXTS = st.text(st.sampled_from(ODD) | st.characters(codec="utf-8"), max_size=12)
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def runs(cell: str) -> bool:
    """Whether a spreadsheet might run a cell."""
    if NUMBER.fullmatch(cell):
        return False
    return cell[:1] in ("\t", "\r", "\n") or cell.strip()[:1] in tuple(MARKS)


def raw(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def run_by(path: Path) -> list[str]:
    """The cells of a file that a spreadsheet might run."""
    return [cell for row in raw(path.read_bytes().decode()) for cell in row if runs(cell)]


FEW = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MANY = st.lists(st.lists(TEXTS, min_size=3, max_size=3), min_size=20, max_size=60)
GIVEN = [["'", "''=1", "'-3.5"], ["' =1", "\uff1d1", "\n=1"], ["'=1", "a\rb", "\u2028-1"]]


def convert(cli: Cli, folder: Path, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cases that went into CSV and back."""
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    for source, out in (("cases.jsonl", "cases.csv"), ("cases.csv", "again.jsonl")):
        done = cli("cases", "convert", source, out)
        assert done.returncode == 0, done.stderr
    lines = (folder / "again.jsonl").read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


@FEW
@given(MANY)
@example(GIVEN)
def test_cases_come_back(cli: Cli, tmp_path: Path, drawn: list[list[str]]) -> None:
    cases = [
        {"id": str(n), "query": f"{query}?", "category": f"{category}c", "source": f"{source}s"}
        for n, (query, category, source) in enumerate(drawn)
    ]
    again = convert(cli, tmp_path, cases)
    assert [{name: one[name] for name in cases[0]} for one in again] == cases
    assert not run_by(tmp_path / "cases.csv")


@FEW
@given(MANY)
@example(GIVEN)
def test_judgement_tables_come_back(cli: Cli, tmp_path: Path, drawn: list[list[str]]) -> None:
    rows = [
        judgement(f"q{n}", answer=answer, explanation=explanation, category=category, model="@m")
        | {"raw_score": -3.5}
        for n, (answer, explanation, category) in enumerate(drawn)
    ]
    table(*rows).write_parquet(tmp_path / "t.parquet")
    done = cli("export", "t.parquet", "--out", "t.csv", "--reveal")
    assert done.returncode == 0, done.stderr
    assert cw.judgements(tmp_path / "t.csv").equals(table(*rows))
    assert not run_by(tmp_path / "t.csv")
    assert "-3.5" in (tmp_path / "t.csv").read_text("utf-8").split(",")


@pytest.mark.skipif(
    subprocess.run(["which", "node"], capture_output=True, check=False).returncode != 0,
    reason="there is no node to run the page's script with",
)
def test_the_page_guards_as_the_files_do(cli: Cli, tmp_path: Path) -> None:
    script = (ROOT / "src/casewise/reporting/page/assets/page.js").read_text("utf-8")
    function = re.search(r"^function guarded\(.*?^}", script, re.DOTALL | re.MULTILINE)
    assert function is not None
    texts = [
        f"{quote}{space}{mark}{rest}"
        for quote in ("", "'", "''")
        for space in ("", " ", "\t")
        for mark in ("", *MARKS, "\r", "\n")
        for rest in ("1", "3.5", "cmd", "1e-9", "1\n")
    ]
    ask = f"{function.group()}\nconsole.log(JSON.stringify({json.dumps(texts)}.map(guarded)))"
    (tmp_path / "ask.js").write_text(ask)
    done = subprocess.run(["node", tmp_path / "ask.js"], capture_output=True, text=True, check=True)
    convert(cli, tmp_path, [{"id": f"c{n}", "query": text} for n, text in enumerate(texts)])
    header, *rows = raw((tmp_path / "cases.csv").read_bytes().decode())
    place = header.index("query")
    assert json.loads(done.stdout) == [row[place] for row in rows]
