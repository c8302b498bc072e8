"""The study file: read as it was written, and refused in plain words."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cli, cli_in
from support.serving import Guest, Serving
from support.studies import (
    WAIVED,
    a_case,
    change,
    plan,
    read_csv,
    read_yaml,
    some_cases,
    write_arms,
    write_cases,
    write_study,
)

BY = ("--by", "Example University", "--contact", "ada@example.org")
SERVE = ("annotate", "serve", "study.yaml", "--host", "203.0.113.1")


def test_a_study_is_read_as_it_was_written(tmp_path: Path) -> None:
    texts = ("# no comment: 'x'\n\n- \"a\"", "\u2028é \U0001f600\n: |", "*no alias &x", "yes")
    consent = {"text": texts[0], "warning": texts[1], "contact": texts[2], "ethics": texts[3]}
    # Paragraphs run on where the file breaks lines.
    lines = "One line\nand another.\n \nWe ask:\n- the first,\n  which is long\n"
    write_study(tmp_path, consent=consent, instructions=lines + "- the second\n1. third\n\n\n")
    with Serving(tmp_path / "study.yaml") as server, Guest(server) as ada:
        for words in ("# no comment: &#39;x&#39;", "é \U0001f600", "*no alias &amp;x", "yes"):
            assert words in ada.page.text, words
        shown = " ".join(re.sub("<[^>]+>", "|", ada.agree().page.text).split())
    shown = re.sub(r"[| ]*\|[| ]*", "|", shown)
    assert "|One line and another.|" in shown
    assert "|We ask: - the first, which is long - the second 1. third|" in shown


def test_a_case_without_context_of_ones_own_is_the_arm_none(tmp_path: Path, cli: Cli) -> None:
    own = a_case("May I borrow ladder 0?", "none", id="mine", tags=["kept"])
    write_cases(tmp_path, [*some_cases(2), own])
    plan(cli, "--votes", "1", "--attention", "0", *BY)
    cells = read_yaml(tmp_path / "study.yaml")["design"]["cells"]
    assert ("none mine" in cells, len(cells)) == (True, 6)


def test_cases_that_do_not_fit_stop_a_study(tmp_path: Path, cli: Cli) -> None:
    path = write_arms(tmp_path, queries=3, votes=1)
    made = read_yaml(path)["design"]

    def refused(message: str) -> None:
        done = cli("annotate", "blocks", "study.yaml", "--out", "blocks.csv")
        assert done.returncode == 2
        assert re.search(message, " ".join(done.stderr.split())), done.stderr

    change(path, design={"cells": [made["cells"][0], "safe gone", *made["cells"][2:]]})
    refused(r"design\.cells, record 2: no such case .*'safe gone'")
    change(path, design={"cells": made["cells"], "blocks": ["0 1 2", "3 4 5", "6 7 8"]})
    refused(r"design\.blocks, record 1: two cells of one query")
    change(path, design=made)
    write_cases(tmp_path, some_cases(4, ("none", "safe", "unsafe")))
    refused("the cases have changed since the study was planned")
    change(write_study(tmp_path), arms=["none", "safe"])
    refused(r"arms, record 1: no cell of the design has this arm \(found 'none'\)")


def test_a_study_moves_with_its_cases(tmp_path: Path, cli: Cli) -> None:
    write_arms(tmp_path, queries=3)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("cases.jsonl", "study.yaml"):
        (tmp_path / name).rename(moved / name)
    done = cli("annotate", "blocks", "elsewhere/study.yaml", "--out", "blocks.csv")
    assert done.returncode == 0, done.stderr
    for row in read_csv(tmp_path / "blocks.csv"):
        if not row["check"]:
            assert (row["context"] == "(no context)") == (row["arm"] == "none")


def swapped(old: str, new: str) -> Callable[[str], str]:
    return lambda text: re.sub(old, new, text, count=1, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A study file as it is planned."""
    folder = tmp_path_factory.mktemp("text")
    write_cases(folder, some_cases(3, ("none", "safe", "unsafe")))
    plan(cli_in(folder), "--votes", "2", "--tasks", "3", "--attention", "2")
    return (folder / "study.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (swapped(r"^  least_seconds", "  least_second"),
         r"field 'timing\.least_second': unknown field \(.*; did you mean 'least_s"),
        (swapped(r"^votes: .*", "votes: 3"),
         r"design\.cells, record 1: the cell none \S+ is in 2 blocks \(expected 3, one for each"),
        (swapped(r"^  - unsafe\n", ""), r"record 3: not an arm of the study \(found 'unsafe'"),
        (swapped(r"^    - safe ", "    - sane "),
         r"design\.cells, record 2: not a cell \(found 'sane .*an arm \(none, safe, unsafe\)"),
        (swapped(r"^(    - none (\S+)\n    - safe) \S+", r"\1 \2"),
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
        # A query is not shown in an error.
        (swapped(r"query: .*carpet\?", "query: " + "a secret " * 3000),
         "record 1, field 'query': wrong value"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    change: Callable[[str], str], message: str, text: str, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(changed := change(text), "utf-8")
    assert changed != text
    done = cli("annotate", "blocks", "study.yaml", "--out", "b.csv", env={"COLUMNS": "9999"})
    assert done.returncode == 2
    assert re.search(message, done.stderr), done.stderr
    assert done.stderr.startswith("error: study.yaml")
    assert len(done.stderr) < 700
    assert "secret" not in done.stderr


def test_a_new_study_is_not_ready_until_its_askers_are_named(tmp_path: Path, cli: Cli) -> None:
    write_cases(tmp_path, some_cases(3))
    plan(cli, "--attention", "0")
    first = "# Write this sentence of consent.text first: This study is done by TODO.\n"
    assert first in (tmp_path / "study.yaml").read_text("utf-8")
    said = " ".join(cli(*SERVE).stderr.split())
    assert re.search(r"- consent\.text .* - consent\.contact .* not ready to be served", said)
    plan(cli, "--attention", "0", "--force", *BY, "--ethics", "Board A, 17")
    change(tmp_path / "study.yaml", safeguards=WAIVED)
    assert "not ready" not in cli(*SERVE).stderr
    made = read_yaml(tmp_path / "study.yaml")
    assert "pay" not in made["exit_question"] + made["tool_question"]
    consent = made["consent"]
    assert consent["ethics"] == "Board A, 17"
    assert "approved: Board A, 17" in " ".join(consent["text"].split())


def test_a_platform_needs_a_way_back_and_a_code_nobody_guesses(tmp_path: Path, cli: Cli) -> None:
    write_cases(tmp_path, some_cases(3))
    codes = set()
    for _ in range(2):
        plan(cli, "--attention", "0", "--platform", "prolific", "--force", *BY)
        change(tmp_path / "study.yaml", safeguards=WAIVED)
        assert "not ready" not in cli(*SERVE).stderr
        codes.add(read_yaml(tmp_path / "study.yaml")["recruitment"]["completed"])
    assert len(codes) == 2
    bare = {"return_url": None, "completed": "COMPLETED"}
    change(tmp_path / "study.yaml", recruitment=bare)
    said = " ".join(cli(*SERVE).stderr.split())
    assert re.search(r"- recruitment\.return_url .* - recruitment\.completed .* not ready", said)


def test_checks_look_like_what_people_will_see_and_want_either_answer(
    tmp_path: Path, cli: Cli
) -> None:
    write_cases(tmp_path, some_cases(3))
    plan(cli, "--attention", "0")
    study = read_yaml(tmp_path / "study.yaml")
    assert ["context" in one for one in study["tutorial"]] == [False, True, True]
    checks = study["attention"]["checks"]
    assert ["context" in check for check in checks] == [True] * 4 + [False] * 4
    # One answer to everything fails some.
    assert sorted(check["expected"] for check in checks) == ["safe"] * 4 + ["unsafe"] * 4
