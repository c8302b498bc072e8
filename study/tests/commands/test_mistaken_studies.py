"""Hostile and mistaken inputs to the study's commands: one message, status 2, nothing written."""

import shlex
from pathlib import Path

import pytest
from conftest import cli_in
from support.simulated import World, planned, simulate
from support.studies import change

BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)
"""A file of a kilobyte, which names 9^29 values."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 4 queries, its votes, a folder of somebody's, and files of other kinds."""
    folder = tmp_path_factory.mktemp("mistaken")
    study = planned(folder)
    simulate(study, World(), seed=5).write(folder / "plain")
    change(study, consent={"contact": "TODO"})
    (folder / "full").mkdir()
    for name, text in {
        "full/mine.txt": "mine",
        "bomb.yaml": BOMB,
        "list.yaml": "- 1\n",
        "odd.csv": "a,b\n1,2\n",
        "item.csv": "rater,item,verdict\nada,1,safe\n",
        "head.csv": "rater,case_id,verdict\n",
        "bare.jsonl": '{"query": "May I?"}\n',
    }.items():
        (folder / name).write_text(text)
    (folder / "garbage.jsonl").write_bytes(bytes(range(256)) * 40)
    return folder


def there(folder: Path) -> dict[Path, bytes | None]:
    paths = folder.rglob("*")
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


PLAN = "annotate plan cases.jsonl --out s.yaml"
EXPORT = "annotate export study.yaml --out"
TABLE = [
    ("annotate plan garbage.jsonl --out s.yaml", "garbage.jsonl"),
    ("annotate plan bare.jsonl --out s.yaml", "--arms safe: bare.jsonl has no case in it"),
    ("annotate plan cases.jsonl --out study.yaml", "study.yaml exists: --force overwrites it"),
    ("annotate plan cases.jsonl --out cases.jsonl --force", "cases.jsonl"),
    ("annotate plan cases.jsonl --out s.json", "a study is YAML"),
    (f"{PLAN} --tasks 7", "nobody may judge a query twice, so at most 4"),
    (f"{PLAN} --votes 0", "--votes"),
    (f"{PLAN} --votes 200000", "at most 1,000,000"),
    (f"{PLAN} --arms safe,safe", "some of none, safe, unsafe, each once"),
    (f"{PLAN} --attention 9", "there are 8 checks to draw from"),
    (f"{PLAN} --currency euro", "--currency"),
    (f"{PLAN} --pay nan", "--pay"),
    ("annotate simulate bomb.yaml", "bomb.yaml"),
    ("annotate simulate absent.yaml", "absent.yaml"),
    ("annotate simulate study.yaml --careless nan", "--careless"),
    ("annotate simulate study.yaml --careless .7 --biased .4", "more than everybody"),
    (f"{EXPORT} out", "give --database URL"),
    (f"{EXPORT} out --votes plain --database sqlite:///x.db", "give one of them"),
    (f"{EXPORT} out --database nonsense", "nonsense"),
    (f"{EXPORT} full --votes plain --force", "mine.txt"),
    (f"{EXPORT} odd.csv --votes plain --force", "is no folder"),
    (f"{EXPORT} plain --votes plain --force", "would overwrite the votes"),
    (f"{EXPORT} out --votes odd.csv", "no table of this kind"),
    (f"{EXPORT} out --votes item.csv", "item.csv, row 1, field 'item': unknown column"),
    (f"{EXPORT} out --votes head.csv", "no vote that counts"),
    (f"{EXPORT} out --votes nowhere", "no such file"),
    ("annotate export list.yaml --out out", "list.yaml"),
    ("annotate backup study.yaml --out b.db", "study"),
    ("annotate blocks study.yaml --out full", "full"),
    ("annotate serve ''", "an argument is empty"),
    ("annotate serve study.yaml --rate nonsense", "TODO"),
    ("annotate purge study.yaml nobody", "study"),
    ("annotate simulat", "Did you mean 'simulate'?"),
]


@pytest.mark.parametrize(("command", "part"), TABLE, ids=[command for command, _ in TABLE])
def test_one_message_and_nothing_written(room: Path, command: str, part: str) -> None:
    before = there(room)
    done = cli_in(room)(*shlex.split(command), env={"COLUMNS": "200"})
    assert (done.returncode, done.stdout) == (2, "")
    assert part in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert there(room) == before
