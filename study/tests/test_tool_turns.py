"""People see what a chatbot called, and what its tools returned; nothing of it is lost."""

from pathlib import Path

from conftest import Cli
from support.own_prompt import HISTORY
from support.serving import Guest, Serving
from support.studies import a_case, a_study, read_csv

CALL = 'find_order({"number": "A1"})'


def test_on_the_pages_of_a_study_and_in_its_blocks(cli_inside: Cli, tmp_path: Path) -> None:
    cases = [a_case("And A2?", "safe", history=HISTORY)]
    with Serving(a_study(tmp_path, cases, [[0]], attention={})) as server, Guest(server) as ada:
        shown = ada.begin().page.text
        for words in ("Tool of the chatbot", "find_order", "on its way"):
            assert words in shown
    done = cli_inside("annotate", "blocks", "study.yaml", "--out", "blocks.csv")
    assert done.returncode == 0, done.stderr
    (row,) = read_csv(tmp_path / "blocks.csv")
    assert any(f"Chatbot: [tool call: {CALL}]\nTool: on its way\n" in one for one in row.values())
