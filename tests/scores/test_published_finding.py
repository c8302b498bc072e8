"""The tutorial on published outputs: its lines, its notebook and its table say the same."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT

PAGE = (ROOT / "docs/start/research.md").read_text("utf-8")
NOTEBOOK = ROOT / "examples/published_to_finding.ipynb"


@pytest.fixture
def table(casebench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Cases, and those that GPT-4o calls unsafe, of each row of the page's table."""
    (tmp_path / "exp").symlink_to(casebench / "exp")
    monkeypatch.chdir(tmp_path)
    rows = re.findall(r"^\| [a-z][^|]*\| (\d+) \| (\d+) \(", PAGE, re.M)
    assert len(rows) == 6
    return [[int(number) for number in row] for row in rows]


def test_the_lines_of_the_page_print_its_table(
    table: list[list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "research.md", "exec"), names)
    printed = re.findall(r"(true|false) +┆ (\d+) +┆ (\d+)", capsys.readouterr().out)
    shown = [
        [int(number) for number in row]
        for frame in (printed[:2], printed[2:4], printed[4:])
        for _, *row in sorted(frame, reverse=True)
    ]
    assert shown == table
    assert names["table"].filter(model="gpt-4o", protocol="binary")["query_id"].is_unique().all()


@pytest.mark.slow
def test_the_notebook_finds_the_same(table: list[list[int]]) -> None:
    document = json.loads(NOTEBOOK.read_text("utf-8"))
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    names: dict[str, Any] = {}
    for cell in code:
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    found = [[n, hits] for counts in names["found"].values() for hits, n in _pairs(counts)]
    assert found == table[2:]
    categories: pl.DataFrame = names["categories"]
    assert categories["count"].max() == 3


def _pairs(counts: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(counts[::2], counts[1::2], strict=True))
