"""Hostile and mistaken inputs to every command: one message, exit status 2, and nothing written."""

import gzip
import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import cli_in

GARBAGE = bytes(range(256)) * 40
CASE = json.dumps({"query": "May I borrow a ladder?", "intended": "safe"})
DEEP = "[" * 100_000
BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)
"""A file of a kilobyte, which names 9^29 values."""

FILES: dict[str, str | bytes] = {
    "empty.txt": "",
    "garbage.bin": GARBAGE,
    "garbage.jsonl": GARBAGE,
    "garbage.csv": GARBAGE,
    "garbage.yaml": GARBAGE,
    "garbage.xlsx": GARBAGE,
    "garbage.parquet": GARBAGE,
    "garbage.eval": GARBAGE,
    "cut.jsonl.gz": gzip.compress(CASE.encode() * 2000)[:40],
    "deep.json": DEEP,
    "deep.jsonl": f'{{"query": {DEEP}}}\n',
    "bomb.yaml": BOMB,
    "list.yaml": "- 1\n",
    "utf16.jsonl": CASE.encode("utf-16"),
    "nan.jsonl": '{"query": "q", "published_safe_rate": NaN}\n',
    "huge.jsonl": '{"query": "q", "votes": {"safe": 1e400, "unsafe": 0}}\n',
    "negative.jsonl": '{"query": "q", "votes": {"safe": -1, "unsafe": 0}}\n',
    "twice.jsonl": '{"id": "a", "query": "q"}\n{"id": "a", "query": "r"}\n',
    "a\nb's.jsonl": "{}\n",
    "cases.jsonl": f"{CASE}\n",
    "head.csv": "query,category\n",
    "plain.csv": "a,b\n1,2\n",
    "twice.txt": "May I borrow a ladder?\nMay I borrow a ladder?\n",
    "queries.csv": "query\nMay I borrow a ladder?\n",
    "rules.yaml": "rules:\n- {measure: acuracy, at_least: .5}\n",
    "limit.yaml": "rules:\n- {measure: accuracy, at_least: .nan}\n",
    "sweep.yaml": "model: [a/b]\nprotocls: [binary]\n",
    "target.yaml": "name: bot\nurl: ftp://localhost/x\nbody: {q: '{last}'}\nreply: text\n",
    "field.yaml": "name: bot\nurl: http://localhost/x\nbody: {q: '{lsat}'}\nreply: text\n",
    "secret.yaml": "name: b\nurl: http://localhost/x\nheaders: {X-Api-Key: abcdefgh12345678}\n"
    "body: {q: '{last}'}\nreply: text\n",
    "query.txt": "{query}",
    "chat.jsonl": '{"messages": [{"role": "user", "content": "Hello"}]}\n',
    "roles.jsonl": '{"messages": [{"role": "usr", "content": "Hello"}]}\n',
}


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of these, an empty folder, and a loop of links."""
    return furnish(tmp_path_factory.mktemp("mistaken"))


def furnish(folder: Path) -> Path:
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "folder.jsonl").mkdir()
    (folder / "full").mkdir()
    (folder / "full/mine.txt").write_text("mine")
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
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
    ("cases validate garbage.csv", "garbage.csv"),
    ("cases validate garbage.yaml", "garbage.yaml"),
    ("cases validate folder.jsonl", "folder.jsonl"),
    ("cases validate loop.jsonl", "loop.jsonl"),
    ("cases validate cut.jsonl.gz", "cut.jsonl.gz"),
    ("cases validate deep.json", "deep.json"),
    ("cases validate deep.jsonl", "deep.jsonl"),
    ("cases validate bomb.yaml", "bomb.yaml"),
    ("cases validate list.yaml", "list.yaml"),
    ("cases validate utf16.jsonl", "utf16.jsonl"),
    ("cases validate nan.jsonl", "published_safe_rate"),
    ("cases validate huge.jsonl", "votes"),
    ("cases validate negative.jsonl", "votes"),
    ("cases validate twice.jsonl", "duplicate id"),
    ("""cases validate "a\nb's.jsonl" """, "query"),
    ("cases validate head.csv", "head.csv"),
    ("cases convert cases.jsonl full", "full"),
    ("cases convert cases.jsonl x.docx", "x.docx"),
    ("cases convert cases.jsonl cases.jsonl/x.jsonl", "cases.jsonl"),
    ("cases convert cases.jsonl /proc/nowhere/x.jsonl", "/proc/nowhere"),
    ("cases convert cases.jsonl /dev/full/x.jsonl", "/dev/full"),
    ("cases split cases.jsonl --into a=.7,b=.7 --out-dir d", "shares sum to 1.4"),
    ("cases split cases.jsonl --into a --out-dir d", "--into"),
    ("cases split cases.jsonl --into ../a=.5,b=.5 --out-dir d", "../a"),
    ("cases split cases.jsonl --into a=nan,b=.5 --out-dir d", "nan"),
    ("cases sample cases.jsonl -n 0 --out x.jsonl", "0"),
    ("cases sample cases.jsonl -n 99999999999999999999 --out x.jsonl", "99999999999999999999"),
    ("cases sample cases.jsonl --share nan --out x.jsonl", "nan"),
    ("cases sample cases.jsonl -n 1 --out cases.jsonl", "cases.jsonl"),
    ("cases merge cases.jsonl garbage.jsonl --out x.jsonl", "garbage.jsonl"),
    ("cases diff cases.jsonl absent.jsonl", "absent.jsonl"),
    ("cases show cases.jsonl nobody", "nobody"),
    ("cases audit garbage.parquet", "garbage.parquet"),
    ("cases import garbage.xlsx --draft --out m.yaml", "garbage.xlsx"),
    ("cases import garbage.csv --draft --out m.yaml", "garbage.csv"),
    ("cases import empty.txt --draft --out m.yaml", "empty.txt"),
    ("cases import folder.jsonl --draft --out m.yaml", "folder.jsonl"),
    ("cases import plain.csv --draft --out cases.jsonl", "cases.jsonl"),
    ("cases import plain.csv --map bomb.yaml --out x.jsonl", "bomb.yaml"),
    ("cases import plain.csv --map nothing --out x.jsonl", "nothing"),
    ("cases import plain.csv --out x.jsonl", "--map"),
    # Running.
    (f"run {MODEL} --cases deep.json", "deep.json"),
    (f"run {MODEL} --prompt full", "full"),
    (f"run {MODEL} --prompt query.txt", "{context}"),
    (f"run {MODEL} --price-in inf", "--price-in"),
    (f"run {MODEL} --price-in -1", "--price-in"),
    (f"run {MODEL} --max-cost nan --price-in 1 --price-out 1", "--max-cost"),
    (f"run {MODEL} --max-cost -1 --price-in 1 --price-out 1", "--max-cost"),
    (f"run {MODEL} --epochs 0", "--epochs"),
    (f"run {MODEL} --limit 1.5", "--limit"),
    (f"run {MODEL} --limit -1", "--limit"),
    (f"run {MODEL} --log-dir cases.jsonl", "cases.jsonl"),
    (f"run {MODEL} --log-dir cases.jsonl/x", "cases.jsonl"),
    (f"run {MODEL} --ablate recipient --swap recipient", "--ablate and --swap"),
    (f"run {MODEL} --deployment customer-support", "respond"),
    (f"run {MODEL} --vary urgency", "respond"),
    (f"run {MODEL} --verdict-words garbage.bin", "garbage.bin"),
    (f"run {MODEL} --address 1.2.3.4:5", "--engine ray"),
    (f"run {MODEL} --model-base-url nonsense", "nonsense"),
    (f"run {MODEL} --generate top_p=2", "top_p"),
    (f"run {MODEL} --generate nonsense=2", "nonsense"),
    (f"run {MODEL} --status", "--status"),
    ("run --protocol respond --deployment bomb.yaml -m a/b", "bomb.yaml"),
    ("run --protocol respond --deployment starter -m a/b", "starter"),
    ("run bomb.yaml", "bomb.yaml"),
    ("run list.yaml", "list.yaml"),
    ("run sweep.yaml", "protocls"),
    ("run garbage.bin", "garbage.bin"),
    ("run sweep.yaml --limit 3", "--limit"),
    ("run --target absent.yaml --protocol respond", "absent.yaml"),
    ("run --target mybot:answer --protocol respond", "mybot"),
    ("target check bomb.yaml", "bomb.yaml"),
    ("target check target.yaml", "url"),
    ("target check field.yaml", "lsat"),
    ("target check secret.yaml", "X-Api-Key"),
    ("target check json:nothing", "nothing"),
    ("target check folder.jsonl", "folder.jsonl"),
    # Reading.
    ("score full", "full"),
    ("score garbage.parquet", "garbage.parquet"),
    ("score garbage.eval", "garbage.eval"),
    ("score plain.csv", "plain.csv"),
    ("score loop.jsonl", "loop.jsonl"),
    ("compare garbage.parquet", "garbage.parquet"),
    ("compare garbage.parquet garbage.eval", "garbage.parquet"),
    ("report garbage.parquet --out x.pdf", ".pdf"),
    ("gate garbage.parquet --config rules.yaml", "acuracy"),
    ("gate garbage.parquet --config limit.yaml", "at_least"),
    ("gate garbage.parquet --config bomb.yaml", "bomb.yaml"),
    ("gate garbage.parquet --config full", "full"),
    ("export garbage.parquet --out x.docx", "x.docx"),
    ("export garbage.parquet --to nothing --out x", "nothing"),
    ("describe garbage.jsonl", "garbage.jsonl"),
    ("power --test pairs --effect nan --discordance .1 --power .8", "effect"),
    ("power --test pairs --effect .03 --discordance 2 --power .8", "discordance"),
    ("power --test pairs --effect .03 --discordance .1 --power 1.5", "power"),
    ("power --test pairs --effect 0 --discordance .1 --power .8", "effect"),
    # Graders, replies, conversations.
    ("grade empty.txt --cases starter --out x.parquet", "empty.txt"),
    ("grade garbage.jsonl --cases starter --out x.parquet", "garbage.jsonl"),
    ("grade chat.jsonl --deployment nobody --out x.parquet", "nobody"),
    ("grade chat.jsonl --cases starter --out x.docx", "x.docx"),
    ("grade roles.jsonl --cases starter --out x.parquet", "no reply could be placed"),
    ("grade chat.jsonl --cases starter --turn 0 --out x.parquet", "--turn"),
    ("replay absent.jsonl -m a/b", "absent.jsonl"),
    ("replay garbage.jsonl -m a/b", "garbage.jsonl"),
    ("replay chat.jsonl -m a/b -m a/b", "--model"),
    ("replay chat.jsonl -m a/b --turn first", "first"),
    ("replay chat.jsonl -m a/b --sample 1", "--sample"),
    ("replay chat.jsonl -m gpt-4o -m a/b --dry-run", "provider"),
    ("graders sample full --out s.csv", "full"),
    ("graders sample garbage.parquet --out s.csv", "garbage.parquet"),
    ("graders sample garbage.parquet --n 0 --out s.csv", "--n"),
    ("graders check garbage.csv", "garbage.csv"),
    ("graders check plain.csv", "plain.csv"),
    # Contexts.
    ("contexts generate garbage.bin --out x.jsonl -m openai-api/fake/m", "garbage.bin"),
    ("contexts generate twice.txt --out x.jsonl -m openai-api/fake/m", "twice"),
    ("contexts generate plain.csv --out x.jsonl -m openai-api/fake/m", "plain.csv"),
    ("contexts generate queries.csv --out cases.jsonl -m openai-api/fake/m", "cases.jsonl"),
    ("contexts generate queries.csv --out x.jsonl -m gpt-4o", "openai/gpt-4o"),
    ("contexts generate queries.csv --out x.jsonl --candidates 0", "--candidates"),
    ("contexts generate queries.csv --out x.jsonl --temperature nan -m a/b", "--temperature"),
]


def test_the_table_is_long_enough() -> None:
    assert len(dict(TABLE)) == len(TABLE) >= 60


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
