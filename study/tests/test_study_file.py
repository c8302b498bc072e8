"""The study file: read as it was written, and refused in plain words."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.planned import a_plan, a_study, on_disk, pairs

from casewise.errors import InputError
from casewise_study.study.language import paragraphs
from casewise_study.study.planning import check_ready
from casewise_study.study.schema import Arm, Block, Platform, Study, StudyCell
from casewise_study.study.study_file import (
    load_study,
    study_cases,
    study_yaml,
    write_study,
)
from casewise_study.study.study_texts import Investigator

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=200)
LINES = st.lists(TEXT, max_size=4).map("\n".join).filter(lambda one: bool(one.strip()))
IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


BARE = a_study(pairs(3), a_plan(votes=1, arms=(Arm.NONE,))).model_dump(mode="json")


@settings(max_examples=30, deadline=None)
@given(texts=st.tuples(LINES, LINES, LINES, LINES), ids=st.sets(IDS, min_size=3, max_size=3))
def test_a_study_is_read_as_it_was_written(
    texts: tuple[str, str, str, str], ids: set[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    consent = BARE["consent"] | {"text": texts[0], "contact": texts[1], "ethics": texts[2]}
    design = BARE["design"] | {"cells": [f"none {one}" for one in sorted(ids)]}
    changed = {"consent": consent, "instructions": texts[3], "design": design}
    study = Study.model_validate(BARE | changed)
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(study_yaml(study), "utf-8", newline="\n")
    assert load_study(path).model_dump() == study.model_dump()


def test_a_case_without_context_of_ones_own_is_the_arm_none(tmp_path: Path) -> None:
    bare = {"id": "mine", "context": None, "intended": None, "tags": ("kept",)}
    own = pairs(1)[0].model_copy(update=bare)
    study = on_disk(tmp_path, [*pairs(2), own])
    write_study(study, tmp_path / "study.yaml")
    found = study_cases(load_study(tmp_path / "study.yaml"))
    assert StudyCell(Arm.NONE, "mine") in study.design.cells
    assert own in found
    assert len(found) == 6


def test_cases_that_do_not_fit_stop_a_study(tmp_path: Path) -> None:
    study = on_disk(tmp_path, pairs(3), a_plan(votes=1, tasks=3))
    path = tmp_path / "study.yaml"
    write_study(study, path)
    text = path.read_text("utf-8")

    def refused(message: str) -> None:
        with pytest.raises(InputError, match=message):
            study_cases(load_study(path))

    path.write_text(text.replace(study.design.cells[1].case_id, "gone"), "utf-8")
    refused(r"design\.cells, record 2: no such case .*'safe gone'")
    blocks: tuple[Block, ...] = ((0, 1, 2), (3, 4, 5), (6, 7, 8))
    design = study.design.model_copy(update={"blocks": blocks})
    write_study(study.model_copy(update={"design": design}), path)
    refused(r"design\.blocks, record 1: two cells of one query")
    path.write_text(text, "utf-8")
    on_disk(tmp_path, pairs(4))
    refused("the cases have changed since the study was planned")


def test_a_study_moves_with_its_cases(tmp_path: Path) -> None:
    write_study(on_disk(tmp_path, pairs(3)), tmp_path / "study.yaml")
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("cases.jsonl", "study.yaml"):
        (tmp_path / name).rename(moved / name)
    loaded = load_study(moved / "study.yaml")
    for case, cell in zip(study_cases(loaded), loaded.design.cells, strict=True):
        assert case.id == cell.case_id
        assert (case.context is None) == (cell.arm is Arm.NONE)


def swapped(old: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(old, new, text, count=1, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swapped(r"^  least_seconds", "  least_second"),
         r"field 'timing\.least_second': unknown field \(expected one of least_seconds"),
        (swapped(r"^votes: .*", "votes: 3"),
         r"design\.cells, record 1: the cell none \w+ is in 2 blocks \(expected 3, one for each"),
        (swapped(r"^  - unsafe\n", ""), r"record 3: not an arm of the study \(found 'unsafe'"),
        (swapped(r"^    - safe ", "    - sane "),
         r"design\.cells, record 2: not a cell \(found 'sane .*an arm \(none, safe, unsafe\)"),
        (swapped(r"^(    - none (\w+)\n    - safe) \w+", r"\1 \2"),
         r"design\.cells, record 2: the case stands twice"),
        (swapped(r"(?<=  blocks:\n)    - .*", "    - 0 99 1"),
         r"design\.blocks, record 1: no such cell \(found 99; expected 0 to 8\)"),
        (swapped(r"(?<=  blocks:\n)    - .*", "    - 0 3 0"), "record 1: a cell stands twice"),
        (swapped(r"(?<=  blocks:\n)    - .*", "    - [0, 3]"), "record 1: not a block"),
        (swapped(r"screened_out: .*", "screened_out: COMPLETED"),
         r"field 'recruitment\.screened_out': the code stands twice"),
        (swapped(r"return_url: .*", "return_url: https://a.example/done"),
         r"field 'recruitment\.return_url': no place for the code"),
        (swapped(r"return_url: .*", "return_url: javascript:alert(1)"), "return_url"),
        (swapped(r"answer: 1", "answer: 3"),
         r"comprehension\.questions, record 1, field 'answer': no such option \(found 3; .*0 to 2"),
        (swapped(r"per_person: .*", "per_person: 9"),
         r"field 'attention\.per_person': too many \(found 9; expected at most 8"),
        (swapped(r"most_seconds: .*", "most_seconds: .inf"), r"field 'timing\.most_seconds'"),
        (swapped(r"^casewise_study: 1", "casewise_study: 2"), "field 'casewise_study'"),
        (swapped(r"^  posterior: .*", "  posterior: 0.5"), r"field 'collection\.posterior'"),
        (lambda text: "- a list\n", "not a study"),
        (lambda text: text.replace("title:", "title: *x #"), "a YAML alias"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(change: Callable[[str], str], message: str, tmp_path: Path) -> None:
    text = study_yaml(a_study(pairs(3), a_plan(votes=2, tasks=3)))
    path = tmp_path / "study.yaml"
    path.write_text(changed := change(text), "utf-8")
    assert changed != text
    with pytest.raises(InputError, match=message) as caught:
        load_study(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 700


def test_a_query_is_not_shown_in_an_error(tmp_path: Path) -> None:
    plain = a_study(pairs(2)).model_dump(mode="json")
    plain["attention"]["checks"][0]["query"] = "a secret " * 3000
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(plain), "utf-8")
    with pytest.raises(InputError, match="record 1, field 'query': wrong value") as caught:
        load_study(path)
    assert "secret" not in str(caught.value)


def test_a_new_study_is_not_ready_until_its_askers_are_named() -> None:
    problems = check_ready(a_study(pairs(3)))
    assert [one.split()[0] for one in problems] == ["consent.text", "consent.contact"]
    asker = Investigator(by="Example University", contact="ada@example.org", ethics="Board A, 17")
    study = a_study(pairs(3), a_plan(asker=asker))
    assert check_ready(study) == []
    assert study.consent.ethics == "Board A, 17"
    assert "approved: Board A, 17" in " ".join(study.consent.text.split())


def test_a_platform_needs_a_way_back_and_a_code_nobody_guesses() -> None:
    asker = Investigator(by="Example University", contact="ada@example.org")
    study = a_study(pairs(3), a_plan(asker=asker, platform=Platform.PROLIFIC))
    again = a_study(pairs(3), a_plan(asker=asker, platform=Platform.PROLIFIC))
    assert check_ready(study) == []
    assert study.recruitment.completed != again.recruitment.completed
    bare = study.recruitment.model_copy(update={"return_url": None, "completed": "COMPLETED"})
    problems = check_ready(study.model_copy(update={"recruitment": bare}))
    assert [one.split()[0] for one in problems] == [
        "recruitment.return_url",
        "recruitment.completed",
    ]


def test_checks_look_like_what_people_will_see_and_want_either_answer() -> None:
    study = a_study(pairs(3), a_plan(arms=tuple(Arm)))
    assert [one.context is not None for one in study.tutorial] == [False, True, True]
    checks = study.attention.checks
    assert [one.context is not None for one in checks] == [True] * 4 + [False] * 4
    # One answer to everything fails some.
    assert sorted(one.expected for one in checks) == ["safe"] * 4 + ["unsafe"] * 4


def test_paragraphs_run_on_where_the_file_breaks_lines() -> None:
    text = "One line\nand another.\n \nWe ask:\n- the first,\n  which is long\n"
    text += "- the second\n1. third\n\n\n"
    assert paragraphs(text) == [
        "One line and another.",
        "We ask:\n- the first, which is long\n- the second\n1. third",
    ]
    study = a_study(pairs(3))
    assert "\n" in study.consent.text
    assert all("\n" not in one for one in paragraphs(study.consent.text))
