"""``casewise cases audit`` as a person runs it."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli

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
    done = cli.ok("cases", "audit", *arguments, "--format", "json")
    return json.loads(done.stdout)


def test_a_file_of_ones_own_in_eighty_columns(cli_inside: Cli, mine: Path) -> None:
    done = cli_inside.ok("cases", "audit", mine, env={"COLUMNS": "80"})
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
    assert "the intended side is guessed takes 10 cases of either side" in done.stdout
    assert "–" not in done.stdout
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


def test_the_starter_set_is_sound(cli_inside: Cli) -> None:
    found = record(cli_inside, "starter")
    codes = {finding["code"] for finding in found["findings"]}
    assert not [finding for finding in found["findings"] if finding["level"] == "error"]
    assert not codes & {
        "near-copy-context", "near-copy-query", "personal-data", "verdict-words",
        "shortcut-leakage",
    }  # fmt: skip
    assert found["figures"]["query-leakage"] == 0.5


def test_builds_fail_on_what_they_name(cli_inside: Cli, mine: Path) -> None:
    done = cli_inside("cases", "audit", mine, "--fail-on", "error, personal-data")
    assert done.returncode == 1
    assert "failed on error: found placeholder" in done.stderr
    assert "failed on personal-data: found personal-data" in done.stderr
    assert done.stdout
    cli_inside.ok("cases", "audit", mine, "--fail-on", "near-copy-query")
