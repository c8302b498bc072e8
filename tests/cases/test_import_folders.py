"""Folders that Hugging Face's own library wrote, and folders as its Hub keeps them."""

import json
from pathlib import Path
from typing import Any

import pytest

from casewise.cases import import_cases
from casewise.cases._mapping import CaseMapping
from casewise.errors import InputError

datasets = pytest.importorskip("datasets")

MAPPING = CaseMapping.model_validate(
    {
        "turns": "turns",
        "category": "topic",
        "source": {"constant": "desk"},
        "licence": {"constant": "CC0-1.0"},
        "intended": {"column": "label", "safe": ["fine"], "unsafe": ["harmful"]},
        "context": "context",
    }
)


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
    found = import_cases(tmp_path / "saved", MAPPING)
    assert not found.problems
    assert [case.query for case in found.cases] == ["One?", "Two?", "Three?"]
    assert [case.intended for case in found.cases] == ["safe", "unsafe", "safe"]
    context = found.cases[1].context
    assert context is not None
    assert context.root == {"recipient": {"type": "nurse"}}


def test_a_selection_that_was_saved(tmp_path: Path) -> None:
    of_queries("One?", "Two?", "Three?").select([2, 0]).save_to_disk(tmp_path / "saved")
    found = import_cases(tmp_path / "saved", MAPPING)
    assert [case.query for case in found.cases] == ["Three?", "One?"]


def test_splits_of_a_dict_that_was_saved(tmp_path: Path) -> None:
    parts = {"train": of_queries("One?", "Two?"), "test": of_queries("Three?")}
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "saved")
    found = import_cases(tmp_path / "saved", MAPPING)
    assert len(found.cases) == 3
    assert found.notes == ("all splits are taken: train, test (--split takes one)",)
    found = import_cases(tmp_path / "saved", MAPPING, split="test")
    assert [case.query for case in found.cases] == ["Three?"]
    assert not found.notes
    named = MAPPING.model_copy(update={"split": "train"})
    assert len(import_cases(tmp_path / "saved", named).cases) == 2
    with pytest.raises(InputError, match=r"no such split \(found 'dev'; expected train, test\)"):
        import_cases(tmp_path / "saved", MAPPING, split="dev")


def test_a_folder_as_the_hub_keeps_it(tmp_path: Path) -> None:
    data = tmp_path / "hub/data"
    data.mkdir(parents=True)
    of_queries("One?", "Two?").to_parquet(data / "train-00000-of-00001.parquet")
    of_queries("Three?").to_parquet(data / "test-00000-of-00001.parquet")
    (tmp_path / "hub/README.md").write_text("# Card")
    (tmp_path / "hub/extra.csv").write_text("a\n1\n")
    found = import_cases(tmp_path / "hub", MAPPING, split="train")
    assert [case.intended for case in found.cases] == ["safe", "unsafe"]
    assert found.notes == ("only .parquet files are read; left unread: extra.csv",)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_folder_of_plain_files(tmp_path: Path, form: str) -> None:
    for name, query in (("train", "One?"), ("dev", "Two?")):
        text = f'turns,topic,label,context\n{query},law,fine,"{{""a"": ""b""}}"\n'
        if form == "jsonl":
            cells = {"turns": query, "topic": "law", "label": "fine", "context": {"a": "b"}}
            text = json.dumps(cells) + "\n"
        (tmp_path / f"{name}.{form}").write_text(text)
    found = import_cases(tmp_path, MAPPING, split="validation")
    assert [(case.query, case.intended) for case in found.cases] == [("Two?", "safe")]


def test_folders_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        import_cases(tmp_path / "none", MAPPING)
    with pytest.raises(InputError, match="no data in the folder"):
        import_cases(tmp_path, MAPPING)
    of_queries("One?").save_to_disk(tmp_path / "saved")
    (shard,) = (tmp_path / "saved").glob("*.arrow")
    shard.write_bytes(shard.read_bytes()[:200])
    with pytest.raises(InputError, match="can't be read as Arrow"):
        import_cases(tmp_path / "saved", MAPPING)
    shard.unlink()
    with pytest.raises(InputError, match=r"no such file, but state\.json names it"):
        import_cases(tmp_path / "saved", MAPPING)
