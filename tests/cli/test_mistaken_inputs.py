"""Hostile and mistaken inputs to every command: one message, exit status 2, and nothing written."""

import gzip
import json
import os
import re
import shlex
from pathlib import Path
from textwrap import indent

import pytest
from conftest import cli_in

GARBAGE = bytes(range(256)) * 40
CASE = json.dumps({"query": "May I borrow a ladder?", "intended": "safe"})
DEEP = "[" * 100_000
BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)
"""A file of a kilobyte, which names 9^29 values."""

SWEEP = "- {model: openai/b}\n"
FILES: dict[str, str | bytes] = {
    "empty.txt": "",
    "garbage.bin": GARBAGE,
    "garbage.jsonl": GARBAGE,
    "garbage.xlsx": GARBAGE,
    "garbage.parquet": GARBAGE,
    "garbage.eval": GARBAGE,
    "cut.jsonl.gz": gzip.compress(CASE.encode() * 2000)[:40],
    "deep.json": DEEP,
    "bomb.yaml": BOMB,
    "deep.yaml": DEEP,
    "aliases.yaml": "- query: q\n  context:\n" + indent(BOMB, "    "),
    "nan.jsonl": '{"query": "q", "published_safe_rate": NaN}\n',
    "many.csv": "query,votes_safe,votes_unsafe\nq,1000000001,2\n",
    "negative.jsonl": '{"query": "q", "votes": {"safe": -1, "unsafe": 0}}\n',
    "twice.jsonl": '{"id": "a", "query": "q"}\n{"id": "a", "query": "r"}\n',
    "version.yaml": "version: 1.10\ncases: [{query: q}]\n",
    "a\nb's.jsonl": "{}\n",
    "cases.jsonl": f"{CASE}\n",
    "plain.csv": "a,b\n1,2\n",
    "twice.txt": "May I borrow a ladder?\nMay I borrow a ladder?\n",
    "queries.csv": "query\nMay I borrow a ladder?\n",
    "rules.yaml": "rules:\n- {measure: acuracy, at_least: .5}\n",
    "limit.yaml": "rules:\n- {measure: accuracy, at_least: .nan}\n",
    "sweep.yaml": "- {model: openai/b, protocl: binary}\n",
    "mapping.yaml": "model: openai/b\n",
    "claimed.yaml": f"{SWEEP}- {{model: openai/d, delivery: claimed}}\n",
    "servers.yaml": f"{SWEEP}- {{model: openai/b, model_base_url: 'http://h'}}\n",
    "target.yaml": "name: bot\nurl: ftp://localhost/x\nbody: {q: '{last}'}\nreply: text\n",
    "field.yaml": "name: bot\nurl: http://localhost/x\nbody: {q: '{lsat}'}\nreply: text\n",
    "query.txt": "{query}",
    "field.txt": "{question} {query} {context}",
    "chat.jsonl": '{"messages": [{"role": "user", "content": "Hello"}]}\n',
    "roles.jsonl": '{"messages": [{"role": "usr", "content": "Hello"}]}\n',
}


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of these, a folder of somebody's, a loop of links, and pipes."""
    return furnish(tmp_path_factory.mktemp("mistaken"))


def furnish(folder: Path) -> Path:
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "folder.jsonl").mkdir()
    (folder / "full").mkdir()
    (folder / "full/mine.txt").write_text("mine")
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    # Nobody writes into it.
    os.mkfifo(folder / "pipe.jsonl")
    os.mkfifo(folder / "pipe.eval")
    return folder


def there(room: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(room)): path.read_bytes() if path.is_file() else None
        for path in room.rglob("*")
    }


MODEL = "--model openai-api/fake/m --protocol binary"
TABLE = [
    # Cases.
    ("cases validate empty.txt", "empty.txt"),
    ("cases validate garbage.jsonl", "garbage.jsonl"),
    ("cases validate folder.jsonl", "folder.jsonl"),
    ("cases validate loop.jsonl", "loop.jsonl"),
    ("cases validate pipe.jsonl", "pipe.jsonl"),
    ("cases validate cut.jsonl.gz", "cut.jsonl.gz"),
    ("cases validate deep.json", "deep.json"),
    ("cases validate deep.yaml", "deep.yaml, line 1: nested too deeply"),
    ("cases validate aliases.yaml", "aliases.yaml, line 4: a YAML alias (found '*a0'"),
    ("cases validate version.yaml", "text (quote numbers"),
    ("cases validate nan.jsonl", "published_safe_rate"),
    ("cases validate many.csv", "1000000000"),
    ("cases validate negative.jsonl", "votes"),
    ("cases validate twice.jsonl", "duplicate id"),
    ("""cases validate "a\nb's.jsonl" """, "query"),
    ("cases validate ''", "an argument is empty"),
    ("cases convert cases.jsonl full", "full"),
    ("cases convert cases.jsonl x.docx", "x.docx"),
    ("cases convert cases.jsonl /proc/nowhere/x.jsonl", "/proc/nowhere"),
    ("cases split cases.jsonl --into a=.7,b=.7 --out-dir d", "shares sum to 1.4"),
    ("cases split cases.jsonl --into ../a=.5,b=.5 --out-dir d", "../a"),
    ("cases sample cases.jsonl -n 0 --out x.jsonl", "0"),
    ("cases sample cases.jsonl -n 1 --out cases.jsonl", "cases.jsonl"),
    ("cases merge cases.jsonl garbage.jsonl --out x.jsonl", "garbage.jsonl"),
    ("cases diff cases.jsonl absent.jsonl", "absent.jsonl"),
    ("cases show cases.jsonl nobody", "nobody"),
    ("cases import garbage.xlsx --draft --out m.yaml", "garbage.xlsx"),
    ("cases import plain.csv --draft --out cases.jsonl", "cases.jsonl"),
    ("cases import plain.csv --map bomb.yaml --out x.jsonl", "bomb.yaml"),
    ("cases import plain.csv --out x.jsonl", "--draft"),
    ("cases import plain.csv --draft --map xstest", "give one of the two"),
    ("cases import --draft", "what to import"),
    # Running.
    ("run --protocol binery", "did you mean 'binary'?"),
    ("run --delivery sysetm", "unknown delivery 'sysetm'"),
    ("run -m openai/gpt-4o", "OPENAI_API_KEY"),
    ("run -m casewise/other --dry-run", "the only embedded model is casewise/smollm2"),
    ("run -m anthropic/claude-sonnet-4-0", "gives no log-probabilities"),
    ("run -m gpt-4o", "gpt-4o: which provider?"),
    ("run -m ollma/x", "no provider 'ollma': did you mean 'ollama'?"),
    (f"run {MODEL} --cases deep.json", "deep.json"),
    (f"run {MODEL} --prompt query.txt", "{context}"),
    (f"run {MODEL} --prompt field.txt", "unknown field {question}"),
    (f"run {MODEL} --max-cost 1", "openai-api/fake/m has none that is known: give --price-in"),
    (f"run {MODEL} --max-cost -1 --price-in 1 --price-out 1", "--max-cost"),
    (f"run {MODEL} --limit -1", "--limit"),
    (f"run {MODEL} --samples 3", "needs a protocol that averages answers"),
    (f"run {MODEL} --seed 4294967296", "4294967295"),
    (f"run {MODEL} --log-dir cases.jsonl/x", "cases.jsonl"),
    (f"run {MODEL} --log-dir=", "an argument is empty"),
    (f"run {MODEL} --ablate ''", "an argument is empty"),
    (f"run {MODEL} --ablate recipeint", "has 'recipeint'"),
    (f"run {MODEL} --ablate recipient,none", "has 'none'"),
    (f"run {MODEL} --ablate recipient --delivery none", "no --delivery none"),
    (f"run {MODEL} --ablate recipient --swap recipient", "--swap recipient needs"),
    (f"run {MODEL} --deployment customer-support", "respond"),
    (f"run {MODEL} --grader openai/gpt-4o", "needs replies to grade"),
    ("run -m openai/b --protocol respond --grader rulez", "which provider? Write PROVIDER/rulez"),
    ("run -m openai/b --protocol respond --grader openai/a,rules", "give rules, a model as"),
    (f"run {MODEL} --address 1.2.3.4:5", "--engine ray"),
    (f"run {MODEL} --model-base-url nonsense", "nonsense"),
    (f"run {MODEL} --generate reasoning_efort=high", "did you mean 'reasoning_effort'"),
    (f"run {MODEL} --generate reasoning_effort=hgh", "expected 'none', 'minimal', 'low'"),
    (f"run {MODEL} --generate temperature=1", "can't be given: casewise or an option"),
    (f"run {MODEL} --generate top_k=5", "(openai-api/fake/m) do not get it"),
    (f"run {MODEL} --generate top_p=1 --generate top_p=1", "given twice"),
    (
        "run -m casewise/smollm2 --generate reasoning_effort=high",
        "choose from",
    ),
    (f"run {MODEL} --engine ray --max-cost 1 --price-in 1 --price-out 1", "--engine ray takes"),
    ("run -m openai/b --protocol respond --deployment bomb.yaml", "bomb.yaml"),
    ("run bomb.yaml", "bomb.yaml"),
    ("run --cases garbage.xlsx", "garbage.xlsx: a table of another form"),
    ("run sweep.yaml", "protocl"),
    ("run sweep.yaml --limit 3", "--limit"),
    ("run mapping.yaml --dry-run", "expected - model"),
    ("run claimed.yaml --dry-run", "claimed.yaml, record 2: protocol probability has no"),
    ("run servers.yaml --dry-run", "servers.yaml, record 2: model_base_url"),
    (f"run {MODEL} --seed 3", "--seed 3 needs --vary"),
    (f"run {MODEL} --evidence ladder --rung 9", "error: no rung '9': choose from 0, 1"),
    ("run --model absent.yaml --protocol respond", "absent.yaml"),
    ("run --model mybot:answer --protocol respond", "mybot"),
    ("target check target.yaml", "url"),
    ("target check field.yaml", "lsat"),
    # Reading.
    ("score full", "full"),
    ("score ''", "Is a variable of the shell not set?"),
    ("score garbage.parquet", "garbage.parquet"),
    ("score garbage.eval", "garbage.eval"),
    ("score pipe.eval", "pipe.eval"),
    ("score plain.csv", "plain.csv"),
    ("score plain.csv --labels votes:1.5", "votes:SHARE"),
    ("compare garbage.parquet garbage.eval", "garbage.parquet"),
    ("report garbage.parquet --out x.pdf", ".pdf"),
    ("gate garbage.parquet --config rules.yaml", "acuracy"),
    ("gate garbage.parquet --config limit.yaml", "at_least"),
    ("gate garbage.parquet --config full", "full"),
    ("export garbage.parquet --out x.docx", "x.docx"),
    ("export garbage.parquet --to nothing --out x", "nothing"),
    ("describe garbage.jsonl", "garbage.jsonl"),
    ("power --test pairs --effect nan --discordance .1 --power .8", "effect"),
    ("power --test pairs --effect .03 --discordance 2 --power .8", "discordance"),
    # Replies, graders, conversations.
    ("grade chat.jsonl --deployment nobody --out x.parquet", "nobody"),
    ("grade roles.jsonl --cases starter --out x.parquet", "no reply could be placed"),
    ("replay garbage.jsonl -m a/b", "garbage.jsonl"),
    ("replay chat.jsonl -m a/b -m a/b", "--model"),
    ("replay chat.jsonl -m gpt-4o -m a/b --dry-run", "provider"),
    ("graders sample garbage.parquet --n 0 --out s.csv", "--n"),
    ("graders check plain.csv", "plain.csv"),
    ("score plain.csv --unparsed strict", "'--unparsed': 'strict' is not one of"),
    # Contexts.
    ("contexts generate twice.txt --out x.jsonl -m openai-api/fake/m", "twice"),
    ("contexts generate queries.csv --out cases.jsonl -m openai-api/fake/m", "cases.jsonl"),
    ("contexts generate queries.csv --out x.jsonl", "--model"),
    ("contexts generate queries.csv --out x.jsonl --temperature nan -m a/b", "--temperature"),
]


@pytest.mark.parametrize(("command", "part"), TABLE, ids=[command for command, _ in TABLE])
def test_one_message_and_nothing_written(room: Path, command: str, part: str) -> None:
    check_refused(room, command, part)


def check_refused(room: Path, command: str, part: str) -> None:
    before = there(room)
    done = cli_in(room)(*shlex.split(command), env={"COLUMNS": "200", "FAKE_API_KEY": "none"})
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", done.stderr).split())
    assert done.returncode == 2, said[-2000:]
    assert "Traceback" not in done.stderr
    # From casewise itself, or from what reads the command line.
    assert len(re.findall(r"error: |─ Error ─", done.stderr)) == 1, done.stderr
    # What became of each conversation is a result, even if nothing could be graded.
    assert done.stdout == "" or command.startswith("grade ")
    assert part in said
    assert len(said) < 1500
    assert there(room) == before
