"""Folders that Hugging Face's own library wrote, and folders as its Hub keeps them."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

import casewise as cw
from casewise.errors import InputError

datasets = pytest.importorskip("datasets")

MAPPING = {
    "turns": "turns",
    "category": "topic",
    "source": {"constant": "desk"},
    "licence": {"constant": "CC0-1.0"},
    "intended": {"column": "label", "safe": ["fine"], "unsafe": ["harmful"]},
    "context": "context",
}


def of_queries(*queries: str) -> Any:
    count = len(queries)
    labels = datasets.ClassLabel(names=["fine", "harmful"])
    context = {"recipient": {"type": "nurse"}}
    made = datasets.Dataset.from_dict(
        {
            "turns": [[query] for query in queries],
            "topic": ["law"] * count,
            "label": [number % 2 for number in range(count)],
            "context": [context if number else None for number in range(count)],
        }
    )
    return made.cast_column("label", labels)


@pytest.fixture(autouse=True)
def _quiet() -> None:
    datasets.disable_progress_bars()


def test_a_data_set_that_was_saved(tmp_path: Path) -> None:
    of_queries("One?", "Two?", "Three?").save_to_disk(tmp_path / "saved", num_shards=2)
    assert len(list((tmp_path / "saved").glob("*.arrow"))) == 2
    found = cw.load_cases(tmp_path / "saved", MAPPING)
    assert [case.query for case in found] == ["One?", "Two?", "Three?"]
    assert [case.intended for case in found] == ["safe", "unsafe", "safe"]
    assert found.to_dicts()[1]["context"] == {"recipient": {"type": "nurse"}}


def test_a_folder_as_the_hub_keeps_it(cli_inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "hub/data").mkdir(parents=True)
    for name, queries in {"train": ("One?", "Two?"), "test": ("Three?",)}.items():
        of_queries(*queries).to_parquet(tmp_path / f"hub/data/{name}-00000-of-00001.parquet")
    (tmp_path / "hub/README.md").write_text("# Card")
    (tmp_path / "hub/extra.csv").write_text("a\n1\n")
    (tmp_path / "m.yaml").write_text(json.dumps(MAPPING))
    done = cli_inside("cases", "import", "hub", "--map", "m.yaml", "--out", "c.jsonl")
    assert "left unread: extra.csv" in done.stderr
    assert [case.query for case in cw.load_cases(tmp_path / "c.jsonl")] == [
        "Three?",
        "One?",
        "Two?",
    ]


def test_folders_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no data in the folder"):
        cw.load_cases(tmp_path, MAPPING)
    of_queries("One?").save_to_disk(tmp_path / "saved")
    (shard,) = (tmp_path / "saved").glob("*.arrow")
    shard.write_bytes(shard.read_bytes()[:200])
    with pytest.raises(InputError, match="can't be read as Arrow"):
        cw.load_cases(tmp_path / "saved", MAPPING)
