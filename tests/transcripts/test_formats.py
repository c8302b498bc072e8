"""One conversation in every form that it is kept in: all are read as the same."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, clean_env
from support.starts import Start
from support.workbooks import write_workbook

from casewise.errors import InputError
from casewise.transcripts import BadLine, Conversation, read_conversations

QUERY, REPLY = 'When do you close, "please"?', "At six.\nOn Sundays, we are closed."
SAID = [("user", QUERY), ("assistant", REPLY)]
MESSAGES = [{"role": role, "content": text} for role, text in SAID]
HEAD = ("Case_ID", "Prompt", "Response", "model", "stars")
ROW = ("c-1", QUERY, REPLY, "bot-7", "5")


def as_csv(path: Path, **form: Any) -> Path:
    with path.open("w", newline="", encoding=form.pop("encoding", "utf-8")) as file:
        csv.writer(file, **form).writerows([HEAD, ROW])
    return path


def promptfoo_result(**changes: Any) -> dict[str, Any]:
    return {
        "id": "r-1",
        "prompt": {"raw": QUERY, "label": "{{query}}"},
        "vars": {"query": QUERY},
        "provider": {"id": "bot-7", "label": ""},
        "response": {"output": REPLY, "tokenUsage": {"total": 9}},
        "testCase": {"vars": {"query": QUERY}, "metadata": {"case_id": "c-1"}},
        "success": True,
        "latencyMs": 12,
    } | changes


def pyrit_pieces() -> list[dict[str, Any]]:
    return [
        {
            "id": f"p-{number}",
            "role": role,
            "conversation_id": "b2",
            "sequence": number,
            "timestamp": "2026-06-01T10:00:00",
            "labels": {"case_id": "c-1"},
            "prompt_target_identifier": {"__type__": "OpenAIChatTarget", "model_name": "bot-7"},
            "original_value_data_type": "text",
            "original_value": text,
            "converted_value_data_type": "text",
            "converted_value": text,
            "response_error": "none",
        }
        for number, (role, text) in enumerate(SAID)
    ]


def pyrit_1_pieces() -> list[dict[str, Any]]:
    """As ``MessagePiece.model_dump(mode="json")`` of PyRIT 1.1.0 gives them: without labels, and
    without the target, so that a prompt's metadata have to say which case it is."""
    return [
        {
            "id": f"136c65b6-3b13-4195-a2e0-cede0a503dd{number}",
            "role": role,
            "conversation_id": "c1",
            "sequence": number,
            "timestamp": "2026-06-01T10:00:00.134555Z",
            "original_value": text,
            "original_value_data_type": "text",
            "original_value_sha256": None,
            "converted_value": text,
            "converted_value_data_type": "text",
            "converted_value_sha256": None,
            "response_error": "none",
            "original_prompt_id": f"136c65b6-3b13-4195-a2e0-cede0a503dd{number}",
            "prompt_metadata": {"case_id": "c-1"} if number == 0 else {},
            "converter_identifiers": [],
        }
        for number, (role, text) in enumerate(SAID)
    ]


def as_pyrit_csv(path: Path) -> Path:
    """As its exporter does: what is no text is printed as Python has it."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(pyrit_pieces()[0]))
        writer.writeheader()
        writer.writerows(reversed(pyrit_pieces()))
    return path


def as_json(path: Path, data: object, indent: int | None = None) -> Path:
    path.write_text(json.dumps(data, indent=indent), "utf-8")
    return path


def as_parquet(path: Path, **messages: Any) -> Path:
    pl.DataFrame({"case_id": ["c-1"], "model": ["bot-7"]} | messages).write_parquet(path)
    return path


def as_workbook(path: Path) -> Path:
    return write_workbook(path, {"replies": [HEAD, ROW]})


RECORD = {"messages": MESSAGES, "case_id": "c-1", "model": "bot-7"}
TURNS = [{"from": "human", "value": QUERY}, {"from": "gpt", "value": REPLY}]
SHAREGPT = {"conversations": TURNS, "case_id": "c-1", "model": "bot-7"}
OUTPUT = {"evalId": "e", "results": {"version": 3, "results": [promptfoo_result()], "stats": {}}}

FORMS: dict[str, Callable[[Path], Path]] = {
    "lines.jsonl": lambda path: as_json(path, RECORD),
    "list.json": lambda path: as_json(path, [RECORD], indent=1),
    "table.csv": as_csv,
    "excel.csv": lambda path: as_csv(path, delimiter="\t", encoding="utf-16"),
    "table.xlsx": as_workbook,
    "table.parquet": lambda path: as_parquet(path, messages=[MESSAGES]),
    "sharegpt.parquet": lambda path: as_parquet(path, conversations=[TURNS]),
    "promptfoo.json": lambda path: as_json(path, OUTPUT, indent=2),
    "pyrit.json": lambda path: as_json(path, pyrit_pieces(), indent=4),
    "pyrit.csv": as_pyrit_csv,
}


def test_pieces_of_a_later_version_of_pyrit(tmp_path: Path) -> None:
    (found,) = read_conversations(as_json(tmp_path / "a.json", pyrit_1_pieces()))
    assert isinstance(found, Conversation), found
    assert [(turn.role, turn.content) for turn in found.turns] == SAID
    assert (found.case, found.model, found.query) == ("c-1", None, QUERY)


@pytest.mark.parametrize("name", FORMS)
def test_every_form(tmp_path: Path, name: str) -> None:
    (found,) = read_conversations(FORMS[name](tmp_path / name))
    assert isinstance(found, Conversation), found
    assert [(turn.role, turn.content) for turn in found.turns] == SAID
    assert (found.case, found.model, found.line) == ("c-1", "bot-7", 1)


def test_roles_of_sharegpt_and_a_system_message_in_a_field_of_its_own(tmp_path: Path) -> None:
    turns = [
        {"from": "human", "value": "a"},
        {"from": "function_call", "value": "{}"},
        {"from": "observation", "value": "b"},
        {"from": "chatgpt", "value": "c"},
    ]
    (found,) = read_conversations(
        as_json(tmp_path / "a.jsonl", {"system": "You sell tea.", "conversations": turns})
    )
    assert isinstance(found, Conversation), found
    assert [(turn.role, turn.content) for turn in found.turns] == [
        ("system", "You sell tea."),
        ("user", "a"),
        ("assistant", "{}"),
        ("tool", "b"),
        ("assistant", "c"),
    ]
    (bare,) = read_conversations(as_json(tmp_path / "b.jsonl", turns))
    assert isinstance(bare, Conversation), bare
    assert bare.turns == found.turns[1:]


def test_an_unknown_form_says_what_was_expected(tmp_path: Path) -> None:
    turn = {"from": "narrator", "value": "x"}
    (found,) = read_conversations(as_json(tmp_path / "a.jsonl", {"conversations": [turn]}))
    assert isinstance(found, BadLine)
    assert "message 1: wrong role (found text; expected" in str(found)
    assert "or 'from' and 'value'" in str(found)


TASK = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import solver

@solver
def reply_to_the_first():
    async def solve(state, generate):
        if state.sample_id == 8:
            raise ValueError
        return await generate(state)
    return solve

folder, query, reply = sys.argv[1:]
outputs = [
    ModelOutput.from_content("mockllm/model", reply),
    ModelOutput.from_content("mockllm/model", "No.", stop_reason="content_filter"),
]
for output in outputs:
    # Without it, a tokenizer is fetched.
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
(log,) = eval(
    Task(
        dataset=[Sample(id=7, input=query, metadata={"case_id": "c-1"}), Sample(id=8, input=query)],
        solver=reply_to_the_first(),
        fail_on_error=False,
    ),
    model=get_model("mockllm/model", custom_outputs=outputs),
    epochs=2,
    max_samples=1,
    log_dir=folder,
    display="none",
)
write_eval_log(log, folder + "/as.json", format="json")
sys.exit()
"""


@pytest.mark.slow
def test_a_log_of_another_task(tmp_path: Path) -> None:
    """Written by Inspect itself, in two epochs; one of its two samples ended in an error."""
    given = [str(tmp_path), QUERY, REPLY]
    start = Start([], tmp_path, clean_env(), first=f"import sys; sys.argv[1:] = {given}\n{TASK}")
    _, err = start.communicate()
    assert start.returncode == 0, err
    found = list(read_conversations(tmp_path))
    assert [one.id.split(" ", 1)[1] for one in found if isinstance(one, Conversation)] == [
        "7 1",
        "7 2",
    ]
    first, second = (one for one in found if isinstance(one, Conversation))
    reason = "no messages (found an error; expected a conversation)"
    bad = [f"sample {number}: {reason}" for number in (3, 4)]
    assert [str(one) for one in found if isinstance(one, BadLine)] == bad
    assert [(turn.role, turn.content) for turn in first.turns] == SAID
    assert (first.case, first.sample, first.model) == ("c-1", "7", "mockllm/model")
    assert (first.declined, second.declined) == (False, True)
    assert len(list(read_conversations(tmp_path / "as.json"))) == 4


def test_pieces_of_pyrit_become_the_messages_that_were_sent(tmp_path: Path) -> None:
    asked, answered = pyrit_pieces()
    asked |= {"converted_value": "V2hlbg==", "original_value": QUERY}
    image = asked | {"converted_value": "/tmp/a.png", "converted_value_data_type": "image_path"}
    blocked = answered | {
        "response_error": "blocked",
        "converted_value_data_type": "error",
        "converted_value": '{"status_code": 200}',
    }
    path = as_json(tmp_path / "a.json", [blocked, asked, image, {"role": "user"}])
    bad, found = read_conversations(path)
    assert isinstance(bad, BadLine)
    assert str(bad).startswith("record 4: not a piece of a message (found an object; expected")
    assert isinstance(found, Conversation)
    assert found.turns[0].content == "V2hlbg==\n[image_path]"
    assert found.query == QUERY
    assert found.declined


def test_results_of_promptfoo_with_errors_and_objects(tmp_path: Path) -> None:
    results = [
        promptfoo_result(response=None, error="canary"),
        promptfoo_result(response={"output": {"closes": 6}}, testCase={}, id=None),
    ]
    broken, found = read_conversations(as_json(tmp_path / "a.json", {"results": results}))
    assert str(broken) == "record 1: no reply (found an error; expected 'response' with 'output')"
    assert isinstance(found, Conversation)
    assert found.turns[-1].content == '{"closes": 6}'
    assert (found.id, found.case) == ("record 2", None)


WRITTEN = ROOT / "tests/data/promptfoo.jsonl"
"""By promptfoo 0.121.20: one test with a case's id and one that fails, each with two prompts."""


def test_what_promptfoo_itself_has_written(tmp_path: Path) -> None:
    results = [json.loads(line) for line in WRITTEN.read_text("utf-8").splitlines()]
    whole = as_json(tmp_path / "out.json", {"evalId": "e", "results": {"results": results}})
    for path in (WRITTEN, whole):
        found = list(read_conversations(path))
        told = [one for one in found if isinstance(one, Conversation)]
        assert [[turn.role for turn in one.turns] for one in told] == [
            ["user", "assistant"],
            ["system", "user", "assistant"],
        ]
        assert {(one.case, one.category, one.model) for one in told} == {("c-1", "hours", "bot-7")}
        assert len({one.id for one in told}) == 2
        assert [one.line for one in found if isinstance(one, BadLine)] == [3, 4]


def test_rows_that_are_broken(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'id,messages\n1,"[{""role"": ""user"", ""content"": ""hello""}]"\n2,canary\n3\n4,\n'
        '5,"[1]"\n"6"canary,x\n7,never read\n'
    )
    found = list(read_conversations(path))
    assert isinstance(found[0], Conversation)
    assert [str(one).split(" (")[0] for one in found[1:]] == [
        "row 2: column 'messages': not valid JSON: Expecting value at line 1 column 1",
        "row 3: 1 cells",
        "row 4: no messages and no reply",
        "row 5: message 1: not a message of the chat format",
        "row 6: not valid CSV: ',' expected after '\"'; what follows can't be read",
    ]
    assert "canary" not in " ".join(map(str, found[1:]))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "stars,remark\n5,fine\n", "no column of messages or of replies"),
        ("a.pdf", "%PDF-1.7\n", "not recognised as conversations"),
        ("a.eval", "PK and no more", "not a readable Inspect log"),
        ("a.json", '{\n"messages":\n [', "truncated JSON"),
    ],
)
def test_files_that_are_no_conversations(
    tmp_path: Path, name: str, content: str, told: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=told):
        list(read_conversations(tmp_path / name))
