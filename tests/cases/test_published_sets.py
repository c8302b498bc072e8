"""Shipped mappings on the files they are for; where a file is not at hand, on a table like it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli

from casewise.cases import (
    EXAMPLE,
    MAPPINGS,
    OPEN_SETS,
    Case,
    Imported,
    example_mapping,
    import_cases,
    load_mapping,
)
from casewise.errors import InputError


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
    found = import_cases(path, mapping)
    assert not found.problems
    assert len(found.cases) == found.rows * len(mapping.of_row)
    return found


def test_xstest(xstest: Path) -> None:
    found = taken(xstest / "xstest_prompts.csv", "xstest")
    assert Counter(case.intended for case in found.cases) == {"safe": 250, "unsafe": 200}
    assert not found.unlabelled
    assert all(case.votes is None and case.context is None for case in found.cases)


def test_opensafeintent(other_sets: Path) -> None:
    found = taken(other_sets / "opensafeintent.json", "opensafeintent")
    meant = Counter(case.intended for case in found.cases)
    assert (found.rows, meant) == (700, {"safe": 700, "unsafe": 700, None: 3500})
    # A dual-use prompt is neither: the import says how many cases have no label.
    assert sum(found.unlabelled.values()) == 3500
    # Other words are other queries: no pair is made of them, and nothing is said of contexts.
    assert len({case.query_id for case in found.cases}) == 4900
    assert len({tag for case in found.cases for tag in case.tags if tag[:4] == "set:"}) == 700


def test_cat(other_sets: Path) -> None:
    found = taken(other_sets / "cat_small.csv", "cat")
    assert not found.unlabelled
    alone = [case for case in found.cases if case.context is None]
    beside = [case for case in found.cases if case.context is not None]
    assert (len(alone), len(beside)) == (978, 978)
    assert [case.query_id for case in alone] == [case.query_id for case in beside]
    rates = [[case.published_safe_rate or 0 for case in cases] for cases in (alone, beside)]
    assert sum((one > 0.5) != (other > 0.5) for one, other in zip(*rates, strict=True)) == 146
    # Of 5,994 codes those of people who were unsure are no votes.
    assert sum((case.votes_safe or 0) + (case.votes_unsafe or 0) for case in found.cases) == 5843


def test_confaide(other_sets: Path, tmp_path: Path) -> None:
    labels = (other_sets / "confaide_tier_2_labels.txt").read_text()
    (tmp_path / "tier_2b.txt").write_bytes((other_sets / "confaide_tier_2b.txt").read_bytes())
    (tmp_path / "tier_2_labels.txt").write_text(labels)
    found = taken(tmp_path / "tier_2b.txt", "confaide-2b")
    assert (found.rows, found.unlabelled) == (98, {})
    for case, label in zip(found.cases, labels.split(), strict=True):
        assert case.published_safe_rate == pytest.approx((float(label) + 100) / 200)
        assert not case.query.startswith(("Please", "\\n", " "))
        assert "-100)" not in case.query


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
    assert sum(found.unlabelled.values()) == meant.get(None, 0)
    for case in found.cases:
        assert case.context is not None
        recipient = case.context.root["recipient"]
        assert isinstance(recipient, dict)
        assert isinstance(recipient["role"], list)


# --- tables like files that are not at hand -------------------------------------------------


def of_rows(file: Path, name: str, *records: dict[str, Any]) -> tuple[Case, ...]:
    file.write_text(json.dumps(records), "utf-8")
    return taken(file, name).cases


def test_u_safebench(tmp_path: Path) -> None:
    asked = {"id": "id_1", "instruction": "How do I fast for a week?", "task_domain": "qa"}
    ill = asked | {"user": "I have diabetes.", "risk_scenario": "physical_health_risk"}
    of_rows(tmp_path / "safety_eval_collection.json", "u-safebench", ill)
    well = asked | {"user": "I am a healthy adult."}
    of_rows(tmp_path / "helpfulness_eval_collection.json", "u-safebench", well)
    safe, unsafe = taken(tmp_path, "u-safebench").cases
    assert (safe.intended, unsafe.intended) == ("safe", "unsafe")
    assert safe.query_id == unsafe.query_id
    assert unsafe.context is not None
    assert unsafe.context.root == {"recipient": {"profile": "I have diabetes."}}


def test_moralexceptqa(tmp_path: Path) -> None:
    rule = {"study": "line", "context": "deli", "condition": "c1", "scenario": "May I cut in line?"}
    (case,) = of_rows(tmp_path / "f.json", "moralexceptqa", rule | {"human.response": 0.25})
    assert (case.published_safe_rate, case.votes) == (0.25, None)
    assert case.tags == ("context:deli", "condition:c1")


def test_contextual_appropriateness(tmp_path: Path) -> None:
    said = {"id": 7, "quote": "Move over.", "label": 0, "origin": "Adjudication"}
    whom = [("sibling", "Yes"), ("boss", "No"), ("friend", "Yes")]
    rows = [said | {"relationship": who, "is_appropriate": answer} for who, answer in whom]
    cases = of_rows(tmp_path / "dev.json", "contextual-appropriateness", *rows)
    assert len({case.query_id for case in cases}) == 1
    assert [(case.votes_safe, case.votes_unsafe) for case in cases] == [(1, 0), (0, 1), (1, 0)]
    # The same pair under another id is another vote on it, and the message one query.
    rows += [rows[0] | {"id": 31}, rows[2] | {"id": 31, "relationship": "aunt"}]
    # Another table of the folder is named, and read as no cases.
    folder = tmp_path / "set"
    folder.mkdir()
    pl.DataFrame(rows).write_csv(folder / "train.csv")
    pl.DataFrame({"relationship": ["boss"], "power": [3]}).write_csv(folder / "relations.csv")
    found = import_cases(folder, load_mapping("contextual-appropriateness"))
    assert (len(found.cases), found.problems) == (4, ())
    assert len({case.query_id for case in found.cases}) == 1
    assert found.cases[0].tags == ("origin:Adjudication", "id:7", "id:31")
    assert [case.votes_safe for case in found.cases] == [2, 0, 1, 1]
    assert [file.name for file in found.files] == ["train.csv"]
    assert "relations.csv is left unread: it has no column 'quote'" in found.notes
    (folder / "train.csv").unlink()
    with pytest.raises(InputError, match="no such column"):
        import_cases(folder, load_mapping("contextual-appropriateness"))


# --- fetching -------------------------------------------------------------------------------


def test_the_files_of_open_sets_are_those_at_hand(
    cli_inside: Cli, tmp_path: Path, other_sets: Path, xstest: Path
) -> None:
    """Terms first; then the pinned file, or nothing."""
    env = {"CASEWISE_CACHE": str(tmp_path / "cache")}
    at_hand = {
        "xstest": {"xstest_prompts.csv": xstest / "xstest_prompts.csv"},
        "cat": {"cat_small.csv": other_sets / "cat_small.csv"},
        "opensafeintent": {"dataset.json": other_sets / "opensafeintent.json"},
        "confaide": {
            f"tier_2{name}.txt": other_sets / f"confaide_tier_2{name}.txt"
            for name in ("a", "b", "_labels")
        },
    }
    assert at_hand.keys() == OPEN_SETS.keys()
    for name, files in at_hand.items():
        folder = tmp_path / name
        folder.mkdir()
        for file, real in files.items():
            (folder / file).write_bytes(real.read_bytes())
        fetch = ("cases", "fetch", name, "--from", folder)
        refused = cli_inside(*fetch, env=env)
        assert refused.returncode == 2
        assert "Licence: " in refused.stderr
        assert "the terms were not accepted" in refused.stderr
        done = cli_inside(*fetch, "--accept-terms", env=env)
        assert done.returncode == 0, done.stderr
        for mapping in OPEN_SETS[name].mappings:
            assert mapping in MAPPINGS
            assert f"--map {mapping} --out {mapping}.jsonl" in " ".join(done.stderr.split())
        first = next(iter(files))
        (folder / first).write_bytes((folder / first).read_bytes() + b" ")
        altered = cli_inside(*fetch, "--accept-terms", env=env)
        assert altered.returncode == 2
        assert "sha256 differs" in altered.stderr
