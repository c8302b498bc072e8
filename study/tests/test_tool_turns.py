"""People see what a chatbot called, and what its tools returned; nothing of it is lost."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from support.own_prompt import HISTORY

from casewise.cases import Case, load_cases
from casewise.evaluation.models._in_process import plain_turns
from casewise.evaluation.tasks._samples import to_message
from casewise_study.app_base import templates
from casewise_study.app_study.screens import shown
from casewise_study.exchange.blocks_csv import _with_history
from casewise_study.study.language import paragraphs
from casewise_study.study.reading_times import case_words

CASE = Case.model_validate({"id": "c", "query": "And A2?", "history": HISTORY})
CALL = 'find_order({"number": "A1"})'


def test_on_the_pages_of_a_study() -> None:
    environment = templates("casewise_study.app_study")
    environment.filters["paragraphs"] = paragraphs
    page = environment.from_string(
        '{% import "macros.html" as m with context %}{{ m.case(shown) }}'
    )
    html = page.render(shown=shown(CASE.query, CASE.context, CASE.history), _=str)
    assert "Tool of the chatbot" in html
    assert "find_order" in html
    assert "on its way" in html
    assert f"Chatbot: [tool call: {CALL}]\nTool: on its way\n" in _with_history(CASE)
    assert case_words(CASE.query, None, CASE.history) > case_words(CASE.query, None)


def test_a_model_of_this_process_is_told_of_them() -> None:
    twice = [to_message(turn) for turn in (*CASE.history[:3], *CASE.history[2:])]
    assert plain_turns(twice) == [
        {"role": "user", "content": "Where is order A1?"},
        {"role": "assistant", "content": f"[tool call: {CALL}]"},
        {"role": "user", "content": "[tool result: on its way]\n[tool result: on its way]"},
        {"role": "assistant", "content": "It is on its way."},
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "yaml"])
def test_at_the_command_line(cli_inside: Cli, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "in.json").write_text(json.dumps([{"query": "And A2?", "history": HISTORY}]))
    assert cli_inside("cases", "convert", "in.json", f"out.{suffix}").returncode == 0
    (case,) = load_cases(tmp_path / f"out.{suffix}").cases
    assert case.history == CASE.history
    shown = cli_inside("cases", "show", f"out.{suffix}", case.id).stdout
    assert f"assistant: [tool call: {CALL}]" in shown
    assert "tool: on its way" in shown
