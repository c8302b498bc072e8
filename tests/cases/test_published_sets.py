"""Shipped mappings on the files they are for; where a file is not at hand, on a table like it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from casewise.cases import (
    EXAMPLE,
    MAPPINGS,
    Case,
    Imported,
    example_mapping,
    import_cases,
    load_mapping,
)


@pytest.mark.parametrize("name", [EXAMPLE, *MAPPINGS])
def test_a_shipped_mapping_loads_and_says_where_its_data_are(tmp_path: Path, name: str) -> None:
    text = example_mapping(name)
    (tmp_path / "m.yaml").write_text(text, "utf-8")
    loaded = load_mapping(tmp_path / "m.yaml")
    if name in MAPPINGS:
        assert load_mapping(name) == loaded
        assert f"--map {name} --out" in text


def taken(path: Path, name: str) -> Imported:
    """What a shipped mapping makes of a file: every row is a case, and none is lost."""
    mapping = load_mapping(name)
    imported = import_cases(path, mapping)
    assert not imported.problems
    assert len(imported.cases) == imported.rows * len(mapping.of_row)
    return imported


def test_xstest(xstest: Path) -> None:
    found = taken(xstest / "xstest_prompts.csv", "xstest")
    assert Counter(case.intended for case in found.cases) == {"safe": 250, "unsafe": 200}
    assert found.unlabelled == 0
    assert all(case.votes is None and case.context is None for case in found.cases)


def test_opensafeintent(other_sets: Path) -> None:
    found = taken(other_sets / "opensafeintent.json", "opensafeintent")
    meant = Counter(case.intended for case in found.cases)
    assert (found.rows, meant) == (700, {"safe": 700, "unsafe": 700, None: 3500})
    # A dual-use prompt is neither: the import says how many cases have no label.
    assert found.unlabelled == 3500
    # Other words are other queries: no pair is made of them, and nothing is said of contexts.
    assert len({case.query_id for case in found.cases}) == 4900
    assert len({tag for case in found.cases for tag in case.tags if tag[:4] == "set:"}) == 700


def test_cat(other_sets: Path) -> None:
    found = taken(other_sets / "cat_small.csv", "cat")
    assert found.unlabelled == 0
    alone = [case for case in found.cases if case.context is None]
    beside = [case for case in found.cases if case.context is not None]
    assert (len(alone), len(beside)) == (978, 978)
    assert [case.query_id for case in alone] == [case.query_id for case in beside]
    rates = [[case.published_safe_rate or 0 for case in cases] for cases in (alone, beside)]
    assert sum((rate > 0.5) != (other > 0.5) for rate, other in zip(*rates, strict=True)) == 146
    # Of 5,994 codes those of people who were unsure are no votes.
    assert sum((case.votes_safe or 0) + (case.votes_unsafe or 0) for case in found.cases) == 5843


@pytest.mark.parametrize(
    ("folder", "meant"),
    [
        ("HIPAA", {"safe": 87, "unsafe": 20, None: 107}),
        ("ACLU", {"safe": 11, "unsafe": 58}),
    ],
)
def test_privaci_bench(other_sets: Path, folder: str, meant: dict[str | None, int]) -> None:
    found = taken(other_sets / "privaci" / folder, "privaci-bench")
    assert Counter(case.intended for case in found.cases) == meant
    assert found.unlabelled == meant.get(None, 0)
    for case in found.cases:
        assert case.context is not None
        recipient = case.context.root["recipient"]
        assert isinstance(recipient, dict)
        assert isinstance(recipient["role"], list)


# --- tables like files that are not at hand -------------------------------------------------


def of_rows(file: Path, name: str, *records: dict[str, Any]) -> tuple[Case, ...]:
    file.write_text(json.dumps(records), "utf-8")
    return taken(file, name).cases


def test_moralexceptqa(tmp_path: Path) -> None:
    rule = {"study": "line", "context": "deli", "condition": "c1", "scenario": "May I cut in line?"}
    (case,) = of_rows(tmp_path / "f.json", "moralexceptqa", rule | {"human.response": 0.25})
    assert (case.published_safe_rate, case.votes) == (0.25, None)
    assert case.tags == ("context:deli", "condition:c1")
