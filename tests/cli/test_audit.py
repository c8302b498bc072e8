"""``casewise cases audit`` as a person runs it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli

from casewise.dataset import CHECKS, _text_checks

SECRET = "call our quiet friend Ottokar at anna.k@firma-nord.de or TODO"

MINE = f"""
licence: CC0-1.0
cases:
- query: What does a quiet harbour town charge for mooring in winter?
  contexts:
    safe: {{recipient: {{type: a clerk, background: a careful person}}}}
    unsafe: {{recipient: {{type: a clerk, background: {SECRET}}}}}
- query: Which bakery near the old museum sells rye bread on Sundays?
  contexts:
    safe: {{recipient: {{type: a baker}}}}
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path / "mine.yaml"


def record(cli: Cli, *arguments: str | Path) -> Any:
    done = cli("cases", "audit", *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_file_of_ones_own_in_eighty_columns(cli_inside: Cli, mine: Path) -> None:
    done = cli_inside("cases", "audit", mine, env={"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(
        "mine.yaml: 3 cases of 2 queries (1 in a safe and an unsafe context)"
    )
    heads = [line.split()[:2] for line in lines if line.startswith(("error", "warning", "note"))]
    assert heads[0] == ["error", "placeholder"]
    assert ["warning", "personal-data"] in heads
    assert ["warning", "missing-twin"] in heads
    assert ["note", "missing-category"] in heads
    assert "nan" not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_texts_stay_hidden_unless_revealed(cli_inside: Cli, mine: Path, form: str) -> None:
    hidden = cli_inside("cases", "audit", mine, "--format", form)
    for text in ("Ottokar", "mooring", "careful", "TODO:", "a clerk"):
        assert text not in hidden.stdout
    shown = cli_inside("cases", "audit", mine, "--format", form, "--reveal")
    # What looks like personal data stays masked, also where texts are revealed.
    assert "firma-nord" not in shown.stdout
    assert "a••••••••••••e" in shown.stdout
    assert "TODO" in shown.stdout
    assert "TODO" not in shown.stderr
    assert shown.stderr


def test_json_has_every_figure_or_null(cli_inside: Cli, mine: Path) -> None:
    found = record(cli_inside, mine)
    assert found["data"] | {"dataset_hash": ""} == {
        "name": "mine.yaml",
        "dataset_hash": "",
        "cases": 3,
        "queries": 2,
        "pairs": 1,
        "categories": 0,
    }
    assert found["figures"]["shortcut-leakage"] is None
    assert found["figures"]["placeholder"] == 1
    (placeholder,) = [one for one in found["findings"] if one["code"] == "placeholder"]
    assert (placeholder["severity"], placeholder["n"], placeholder["of"]) == ("error", 1, 3)
    assert len(placeholder["cases"]) == 1
    assert found["parameters"]["recipient.type"]["present"] == 3
    assert found["twins"]["words"]["cohen_d"] is None


def test_the_starter_set_is_sound(cli_inside: Cli) -> None:
    found = record(cli_inside, "starter")
    codes = {one["code"] for one in found["findings"]}
    assert not [one for one in found["findings"] if one["severity"] == "error"]
    assert not codes & {
        "near-copy-context", "near-copy-query", "personal-data", "verdict-words",
        "shortcut-leakage", "language-mismatch",
    }  # fmt: skip
    assert found["figures"]["query-leakage"] == 0.5


def test_queries_in_both_contexts_are_no_pairs(cli_inside: Cli, tmp_path: Path) -> None:
    """Two safe contexts and two unsafe ones are four pairs of one query."""
    cases = [
        {
            "query_id": "q",
            "query": "How do I?",
            "intended": side,
            "context": {"text": f"{k} {side}"},
        }
        for k in range(2)
        for side in ("safe", "unsafe")
    ]
    file = tmp_path / "four.jsonl"
    file.write_text("".join(f"{json.dumps(case)}\n" for case in cases), "utf-8")
    said = cli_inside("cases", "audit", str(file)).stdout
    assert said.startswith(f"{file.name}: 4 cases of 1 query (1 in a safe and an unsafe context), ")


def test_builds_fail_on_what_they_name(cli_inside: Cli, mine: Path) -> None:
    done = cli_inside("cases", "audit", mine, "--fail-on", "error, personal-data>0")
    assert done.returncode == 1
    assert "failed on error: found placeholder" in done.stderr
    assert "failed on personal-data>0: found 1" in done.stderr
    assert done.stdout
    done = cli_inside("cases", "audit", mine, "--fail-on", "placeholder>1,near-copy-query")
    assert done.returncode == 0, done.stderr
    done = cli_inside("cases", "audit", mine, "--fail-on", "shortcut-leakage>.9")
    assert done.returncode == 0
    assert "too few cases" in done.stderr


def test_a_page_of_markdown_is_written(cli_inside: Cli, mine: Path, tmp_path: Path) -> None:
    done = cli_inside("cases", "audit", mine, "--out", "audit.md", "--fail-on", "error")
    assert done.returncode == 1
    text = (tmp_path / "audit.md").read_text()
    assert text.startswith("# Audit of mine.yaml\n")
    assert "- `placeholder` (1 of 3 cases)" in text
    assert "| recipient.type | 3 | 2 | 1 | 2 | 0 of 1 |" in text


def test_the_page_never_takes_the_place_of_the_cases(cli_inside: Cli, mine: Path) -> None:
    done = cli_inside("cases", "audit", mine, "--out", "mine.yaml")
    assert done.returncode == 2
    assert "would overwrite" in done.stderr
    assert mine.read_text() == MINE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["absent.yaml"], "no such file"),
        (["starter", "--fail-on", "shortcut"], "there is no check 'shortcut'"),
        (["starter", "--fail-on", "error<1"], "write error, warning, a code"),
        (["starter", "--seed", "-1"], "--seed"),
    ],
)
def test_bad_input(cli_inside: Cli, arguments: list[str], said: str) -> None:
    done = cli_inside("cases", "audit", *arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_the_page_lists_every_check_with_its_severity() -> None:
    page = (ROOT / "docs/how-to/audit.md").read_text("utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| (\w+)(, measured)? \|", page, re.MULTILINE)
    assert listed == [
        (code, str(check.severity), ", measured" if check.measured else "")
        for code, check in CHECKS.items()
    ]


def test_without_the_extra_languages_are_named_as_not_looked_at(
    cli_inside: Cli, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_text_checks, "find_spec", lambda name: None)
    seen = record(cli_inside, mine)
    assert seen["languages"] is None
    assert seen["figures"]["mixed-languages"] is None
    told = " ".join(cli_inside("cases", "audit", mine).stdout.split())
    assert (
        "Languages were not told apart: in a checkout of casewise, pip install '.[audit]'" in told
    )
    demanded = cli_inside("cases", "audit", mine, "--fail-on", "mixed-languages")
    assert demanded.returncode == 2
    assert "--fail-on mixed-languages needs an extra" in demanded.stderr
