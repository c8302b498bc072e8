"""How numbers are written in tables; what is undefined is a dash."""

import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from conftest import Cli
from support.tables import judgement, table

import casewise as cw


def cells(markdown: str, head: str) -> list[dict[str, str]]:
    """The rows of the first table in Markdown that has such a column."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in markdown.splitlines()]
    start = next(place for place, line in enumerate(lines) if head in line)
    rows = []
    for line in lines[start + 2 :]:
        if not line:
            break
        rows.append(dict(zip(lines[start], line, strict=True)))
    return rows


def figures_of(scores: cw.Scores, run: str) -> dict[str, str]:
    """Every measure of a run, as the whole table has it."""
    return {row["measure"]: row[run] for row in cells(scores.to_markdown(whole=True), "measure")}


def test_halves_go_away_from_zero() -> None:
    """Of 16 answers so many are right: sixteenths are halves of a thousandth, and exact."""
    rows = [
        judgement(f"q{n}", "safe", 0.9 if n < right else 0.1, votes=None, model=f"m{right}")
        for right in range(17)
        for n in range(16)
    ]
    scores = cw.score(table(*rows))
    for right in range(17):
        found = figures_of(scores, f"m{right} (probability)")
        share = Decimal(right) / 16
        written = str(share.quantize(Decimal("0.001"), ROUND_HALF_UP)).removeprefix("0")
        value, low, high = re.findall(r"\d?\.\d{3}", found["accuracy"])
        assert value == written
        assert found["safe recall"].split()[0] == written
        assert float(low) <= share <= float(high)


def test_what_is_undefined_is_a_dash() -> None:
    rows = [judgement("q", side, None) for side in ("safe", "unsafe")]
    found = figures_of(cw.score(table(*rows)), "m (probability)")
    assert (found["n"], found["read"]) == ("2", ".000")
    assert {found[name] for name in ("accuracy", "f1 safe", "PCC", "Brier")} == {"–"}


def test_counts_signs_and_small_p_values() -> None:
    """A judge of 1,200 queries of which half is wrong after."""
    both = [
        table(*(judgement(f"q{n}", "safe", 0.9 if n < right else 0.1) for n in range(1200)))
        for right in (1200, 600)
    ]
    assert figures_of(cw.score(both[0]), "m (probability)")["n"] == "1,200"
    changed = {row[""]: row for row in cells(cw.compare(*both).to_markdown(whole=True), "change")}
    assert (changed["accuracy"]["change"], changed["Brier"]["change"]) == ("-.500", "+.200")
    # With two added queries: -600 / 1202, t(1201) 1.9619 of an error of .01448.
    assert changed["accuracy"]["95 %"] == "-.528 to -.471"
    assert changed["accuracy"]["p"] == "< .001"


def test_money_that_is_spent_is_never_nothing(cli: Cli, tmp_path: Path) -> None:
    command = ("run", "-m", "openai-api/fake/m", "--cases", "starter", "--limit", "1")
    done = cli(*command, "--price-in", "2.5", "--price-out", "0", "--dry-run")
    tokens, cost = re.findall(r"(\d+) +\d+ +(\d\.\d+)$", done.stdout, re.M)[0]
    assert 0 < float(cost) < 0.005
    assert abs(float(cost) - int(tokens) * 2.5e-6) <= 0.00005
