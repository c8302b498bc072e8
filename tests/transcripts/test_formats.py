"""One conversation in every form that it is kept in: all are read as the same."""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli, clean_env
from support.fake_openai import FakeServer
from support.starts import Start
from support.workbooks import write_workbook

QUERY, REPLY = 'When do you close, "please"?', "At six.\nOn Sundays, we are closed."
SAID = [("user", QUERY), ("assistant", REPLY)]
MESSAGES = [{"role": role, "content": text} for role, text in SAID]
HEAD = ("Case_ID", "Prompt", "Response", "model", "stars")
ROW = ("c-1", QUERY, REPLY, "bot-7", "5")


def as_csv(path: Path, **form: Any) -> Path:
    with path.open("w", newline="", encoding=form.pop("encoding", "utf-8")) as file:
        csv.writer(file, **form).writerows([HEAD, ROW])
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

FORMS: dict[str, Callable[[Path], Path]] = {
    "lines.jsonl": lambda path: as_json(path, RECORD),
    "list.json": lambda path: as_json(path, [RECORD], indent=1),
    "table.csv": as_csv,
    "excel.csv": lambda path: as_csv(path, delimiter="\t", encoding="utf-16"),
    "table.xlsx": as_workbook,
    "table.parquet": lambda path: as_parquet(path, messages=[MESSAGES]),
    "sharegpt.parquet": lambda path: as_parquet(path, conversations=[TURNS]),
}


@dataclass(frozen=True)
class Graded:
    """What ``casewise grade --reveal`` makes of a file: its table, and what it says."""

    status: int
    said: str
    table: pl.DataFrame


@pytest.fixture
def grade(cli: Cli, tmp_path: Path) -> Callable[[Path], Graded]:
    def call(path: Path) -> Graded:
        case = {"id": "c-1", "query": QUERY, "intended": "safe"}
        (tmp_path / "cases.jsonl").write_text(json.dumps(case), "utf-8")
        out = tmp_path / "out.parquet"
        out.unlink(missing_ok=True)
        done = cli("grade", path, "--cases", "cases.jsonl", "--reveal", "--out", out)
        table = pl.read_parquet(out) if out.is_file() else pl.DataFrame()
        return Graded(done.returncode, " ".join((done.stdout + done.stderr).split()), table)

    return call


Grade = Callable[[Path], Graded]


def test_columns_of_other_names(cli: Cli, tmp_path: Path, grade: Grade) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"Frage;Antwort;Fall\n{quoted(QUERY)};{quoted(REPLY)};c-1\n", "utf-8")
    assert "--columns reply=NAME" in grade(path).said
    command = ("grade", path, "--cases", "cases.jsonl", "--reveal", "--out", "out.parquet")
    done = cli(*command, "--columns", "query=Frage,reply=Antwort,case=Fall")
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table.select("case_id", "answer").rows() == [("c-1", REPLY)]
    for wrong in ("reply=Antwort,stars=x", "reply", "reply=Gibtsnicht"):
        done = cli(*command, "--columns", wrong)
        assert done.returncode == 2
        assert "expected" in done.stderr


@pytest.mark.parametrize("name", FORMS)
def test_every_form(grade: Grade, tmp_path: Path, name: str) -> None:
    found = grade(FORMS[name](tmp_path / name))
    rows = found.table.select("case_id", "model", "answer").rows()
    assert rows == [("c-1", "bot-7", REPLY)], found.said


def test_roles_of_sharegpt_and_a_system_message_in_a_field_of_its_own(
    cli: Cli, tmp_path: Path
) -> None:
    turns = [
        {"from": "human", "value": "a"},
        {"from": "gpt", "value": "b"},
        {"from": "human", "value": "c"},
        {"from": "chatgpt", "value": "At six. Come before noon, if you can."},
    ]
    said = {"system": "You sell tea.", "conversations": turns}
    as_json(tmp_path / "a.jsonl", said)
    with FakeServer(lambda request: "At six. Come before noon, please.") as server:
        env = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
        command = ("replay", "a.jsonl", "-m", "openai-api/fake/m", "--log-dir", "logs")
        done = cli(*command, "--same-server", env=env)
        assert done.returncode == 0, done.stderr
    longest = max((request["messages"] for request in server.requests), key=len)
    assert [(one["role"], one["content"]) for one in longest] == [
        ("system", "You sell tea."),
        ("user", "a"),
        ("assistant", "b"),
        ("user", "c"),
    ]


TASK = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
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
eval(
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
sys.exit()
"""


@pytest.mark.slow
def test_a_log_of_another_task(grade: Grade, tmp_path: Path) -> None:
    """Written by Inspect itself, in two epochs; one of its two samples ended in an error."""
    given = [str(tmp_path), QUERY, REPLY]
    start = Start([], tmp_path, clean_env(), first=f"import sys; sys.argv[1:] = {given}\n{TASK}")
    _, err = start.communicate()
    assert start.returncode == 0, err
    found = grade(tmp_path)
    rows = found.table.select("case_id", "model", "answer", "graded_by").rows()
    assert rows == [
        ("c-1", "mockllm/model", REPLY, "rules"),
        ("c-1", "mockllm/model", "No.", "provider"),
    ]
    reason = "no messages (found an error; expected a conversation)"
    assert found.said.count(reason) == 2


def test_rows_that_are_broken(grade: Grade, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        f"case_id,messages\nc-1,{quoted(json.dumps(MESSAGES))}\n2,canary\n3\n4,\n"
        '5,"[1]"\n"6"canary,x\n7,never read\n'
    )
    found = grade(path)
    assert found.table["case_id"].to_list() == ["c-1"]
    for reason in (
        "row 3: column 'messages': not valid JSON: Expecting value at line 1 column 1",
        "row 4: wrong number of cells",
        "row 5: no messages and no reply",
        "row 6: message 1: not a message of the chat format",
        "row 7: not valid CSV: ',' expected after '\"'",
    ):
        assert reason in found.said
    assert "canary" not in found.said


def quoted(text: str) -> str:
    """A cell of CSV."""
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "stars,remark\n5,fine\n", "no column of messages or of replies"),
        ("a.pdf", "%PDF-1.7\n", "can't be read as a table"),
        ("a.eval", "PK and no more", "not a readable Inspect log"),
        ("a.json", '{\n"messages":\n [', "truncated JSON"),
    ],
)
def test_files_that_are_no_conversations(
    grade: Grade, tmp_path: Path, name: str, content: str, told: str
) -> None:
    (tmp_path / name).write_text(content)
    found = grade(tmp_path / name)
    assert found.status == 2
    assert told in found.said
