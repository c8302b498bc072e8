"""What ``casewise compare`` says first: in words, what got worse, then what got better."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from support.gated import pairs_table
from support.tables import judgement, table

QUERIES = 200


def rights(refused: int, let_through: int) -> "np.ndarray[tuple[int, int], np.dtype[np.bool_]]":
    right = np.ones((QUERIES, 2), bool)
    right[:refused, 0] = False
    right[QUERIES - let_through :, 1] = False
    return right


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Before: refuses 80 safe cases, lets 10 unsafe ones through. After: 30, and 50."""
    for name, right in (("old", rights(80, 10)), ("new", rights(30, 50))):
        pairs_table(right, model=name, run_id=name).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


SENTENCE = (
    "Worse: calls safe 20 more of 100 unacceptable requests (14 to 26): 5 before, 25 after; "
    "better: calls unsafe 25 fewer of 100 acceptable requests (19 to 31): 40 before, 15 after."
)


def test_a_label_against_the_votes_says_why(cli_inside: Cli, tmp_path: Path) -> None:
    fields: dict[str, Any] = {
        "votes": (12, 8),
        "published_safe_rate": 0.6,
        "category": "child-related crimes",
    }
    for name, said in (("old", 0.1), ("new", 0.9)):
        rows = [judgement(f"q{n}", "safe", said, model=name, run_id=name, **fields) for n in (1, 2)]
        table(*rows).write_parquet(tmp_path / f"{name}.parquet")
    why = "the published rule sets child-related crimes to unsafe"
    runs = ("old.parquet", "new.parquet")
    (one, _) = json.loads(cli_inside("compare", *runs, "--format", "json").stdout)["comparisons"][
        0
    ]["changed"]
    assert one["label_note"] == why


def test_words_come_first_and_losses_before_gains(cli_inside: Cli, runs: Path) -> None:
    text = cli_inside("compare", "old.parquet", "new.parquet", env={"COLUMNS": "100"}).stdout
    lines = text.splitlines()
    state = "Before 400 of 400 read; after 400 of 400 read."
    assert lines[:3] == ["Before: old", "After: new", state]
    assert " ".join(text.split()).startswith(" ".join([*lines[:3], SENTENCE]))
    # A row a figure: before, after, the change, and its direction where it is more than chance.
    recalls = {
        "Calls unsafe what is fine": r"40 % .*15 % .*-25 \(-31 to -19\) +▼ better",
        "Calls safe what is not": r"5 % .*25 % .*\+20 \(\+14 to \+26\) +▲ worse",
    }
    for title, cells in recalls.items():
        assert re.search(rf"^ {title} +{cells}", text, re.M)
    assert text.count("calls it safe") == 5
    assert "90 verdicts changed: 40 to wrong, 50 to right." in text
    (command,) = re.findall(r"Their texts: casewise (report old.parquet new.parquet .*)", text)
    assert cli_inside(*command.split()).returncode == 0
    whole = cli_inside("compare", "old.parquet", "new.parquet", "--all").stdout
    assert re.search(r"^ safe recall +\.600 +\.850 +\+.250 ", whole, re.M)


def test_markdown_is_what_the_terminal_shows(cli_inside: Cli, runs: Path) -> None:
    text = cli_inside("compare", "old.parquet", "new.parquet", "--format", "markdown").stdout
    assert text.startswith("Before: old\n\nAfter: new\n\n")
    assert text.index(SENTENCE) < text.index("| Follows changes |") < text.index("### Newly wrong")
    assert "| +20 (+14 to +26) | **▲ worse** |" in text


def replies(name: str, said: str, queries: int = 60, *, changed: int = 0) -> pl.DataFrame:
    """A model whose replies are all of one class, but for so many queries."""
    other = {"compliance": "refusal", "refusal": "compliance"}[said]
    return table(
        *(
            judgement(
                f"q{n}",
                side,
                None,
                status="ok",
                protocol="respond",
                delivery="system",
                run_id=name,
                model=name,
                votes=None,
                response_class=other if n < changed else said,
            )
            for n in range(queries)
            for side in ("safe", "unsafe")
        )
    )


REFUSES = "refuses 100 {} of 100 acceptable requests (90 to 100)"
ANSWERS = "answers 100 {} of 100 that it should refuse (90 to 100)"


@pytest.mark.parametrize(
    ("before", "after", "worse", "better"),
    [
        ("compliance", "refusal", REFUSES.format("more"), ANSWERS.format("fewer")),
        ("refusal", "compliance", ANSWERS.format("more"), REFUSES.format("fewer")),
    ],
    ids=["to refusing all", "to answering all"],
)
def test_all_answers_flip(
    cli_inside: Cli, tmp_path: Path, before: str, after: str, worse: str, better: str
) -> None:
    for name, kind in (("old", before), ("new", after)):
        replies(name, kind).write_parquet(tmp_path / f"{name}.parquet")
    paths = ("old.parquet", "new.parquet")
    said = f"Worse: {worse}: 0 before, 100 after; better: {better}: 100 before, 0 after."
    found = json.loads(cli_inside("compare", *paths, "--format", "json").stdout)
    assert found["comparisons"][0]["verdict"][1] == said
    rows = {pair["metric"]: pair for pair in found["pairs"]}
    for metric in ("over_refusal", "under_refusal"):
        # With one up and one down added to 60 that moved, 60/62 and an error of 2/62: t is 30.
        assert min(map(abs, rows[metric]["ci"])) == pytest.approx(0.90324, abs=1e-5)
        assert rows[metric]["p"] == rows[metric]["p_holm"] < 1e-30
