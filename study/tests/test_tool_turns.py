"""People see what a chatbot called, and what its tools returned; nothing of it is lost."""

import csv
from pathlib import Path

from conftest import Cli
from support.own_prompt import HISTORY
from support.pairs import a_pair
from support.serving import Guest, Serving
from support.studies import fields, on_disk

from casewise_study.study.study_file import by_arm

CALL = 'find_order({"number": "A1"})'


def test_on_the_pages_of_a_study_and_in_its_blocks(cli_inside: Cli, tmp_path: Path) -> None:
    cases = a_pair("And A2?", history=HISTORY)
    cells = [cell for cell in by_arm(cases) if cell[0] == "safe"]
    on_disk(tmp_path, cases, fields(cases, cells, [[0]], attention={}))
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:
        shown = ada.begin().page.text
        for words in ("Tool of the chatbot", "find_order", "on its way"):
            assert words in shown
    done = cli_inside("annotate", "blocks", "study.yaml", "--out", "blocks.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "blocks.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert any(f"Chatbot: [tool call: {CALL}]\nTool: on its way\n" in one for one in row.values())
