"""Hostile and mistaken inputs to the study's commands: one message, status 2, nothing written."""

from pathlib import Path

import pytest
from cli.test_mistaken_inputs import check_refused, furnish
from conftest import Cli
from support.planned import on_disk, pairs

from casewise_study.study.study_file import write_study


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hostile files, and a study."""
    folder = furnish(tmp_path_factory.mktemp("mistaken"))
    (folder / "study").mkdir()
    write_study(on_disk(folder / "study", pairs(4)), folder / "study/study.yaml")
    return folder


TABLE = [
    ("annotate plan garbage.jsonl --out s.yaml", "garbage.jsonl"),
    ("annotate plan cases.jsonl --out full", "full"),
    ("annotate plan starter --out s.txt", "s.txt"),
    ("annotate plan starter --out s.yaml --votes 0", "--votes"),
    ("annotate plan starter --out s.yaml --arms maybe", "maybe"),
    ("annotate plan starter --out s.yaml --pay nan", "--pay"),
    ("annotate plan starter --out s.yaml --fee inf", "--fee"),
    ("annotate simulate bomb.yaml", "bomb.yaml"),
    ("annotate simulate garbage.yaml", "garbage.yaml"),
    ("annotate simulate study/study.yaml --careless 2", "--careless"),
    ("annotate simulate study/study.yaml --careless nan", "--careless"),
    ("annotate simulate study/study.yaml --careless .9 --biased .9", "more than everybody"),
    ("annotate export study/study.yaml --out votes", "study"),
    ("annotate export study/study.yaml --out votes --database nonsense", "nonsense"),
    ("annotate export list.yaml --out votes", "list.yaml"),
    ("annotate backup study/study.yaml --out b.db", "study"),
    ("annotate backup absent.yaml --out b.db", "absent.yaml"),
    ("annotate blocks study/study.yaml --out full", "full"),
    ("annotate export study/study.yaml --votes garbage.csv --out votes", "garbage.csv"),
    ("annotate serve study/study.yaml --rate nonsense", "TODO"),
    ("annotate purge study/study.yaml --rater nobody", "study"),
]


@pytest.mark.parametrize(("command", "part"), TABLE, ids=[command for command, _ in TABLE])
def test_one_message_and_nothing_written(room: Path, command: str, part: str) -> None:
    check_refused(room, command, part)


def test_an_empty_path_is_no_folder(cli: Cli) -> None:
    done = cli("annotate", "serve", "")
    assert done.returncode == 2
    assert "STUDY is empty" in done.stderr
