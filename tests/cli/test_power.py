"""``casewise power`` from the command line: answers, formats, and what is refused."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Cli

Power = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture
def power(cli: Cli) -> Power:
    return lambda options: cli("power", *options.split(), env={"COLUMNS": "100"})


def answers(power: Power, options: str) -> list[dict[str, Any]]:
    done = power(f"{options} --format json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found: list[dict[str, Any]] = json.loads(done.stdout)["answers"]
    return found


@pytest.mark.parametrize(
    ("options", "quantity", "value", "needed"),
    [
        ("--test proportions --p1 .5 --p2 .75 --power .9", "votes", 76.71, 77),
        ("--test proportions --p1 .5 --p2 .75 --n 50", "power", 0.7402, None),
        # 7.84888 x .09 / .03^2 = 784.89 cases; in pairs 392.44 x 1.2.
        (
            "--test pairs --effect .03 --sd .3 --power .8 --cases-per-query 1",
            "cases",
            784.89,
            785,
        ),
        ("--test pairs --effect .03 --sd .3 --power .8 --rho .2", "pairs", 470.93, 471),
        (
            "--test pairs --effect .03 --sd .3 --power .8 --cases-per-query 3",
            "queries",
            261.63,
            262,
        ),
        # A margin, one-sided: (1.645 + .842)^2 x .09 / .05^2 = 222.6.
        ("--test pairs --margin .05 --sd .3 --cases-per-query 1 --power .8", "cases", 222.57, 223),
        # 2.80159 x .3 / sqrt(900)
        ("--test pairs --sd .3 --n 450 --power .8", "difference", 0.02802, None),
    ],
)
def test_answers(
    power: Power, options: str, quantity: str, value: float, needed: int | None
) -> None:
    (answer,) = answers(power, options)
    assert answer["quantity"] == quantity
    assert answer["value"] == pytest.approx(value, abs=0.005 if value > 1 else 0.0005)
    assert answer.get("needed") == needed


def test_both_directions_of_a_share(power: Power) -> None:
    above, below = answers(power, "--test proportions --p1 .6 --n 21 --power .8")
    for answer, side in ((above, "p2_above"), (below, "p2_below")):
        assert answer["quantity"] == side
        (back,) = answers(power, f"--test proportions --p1 .6 --p2 {answer['value']} --n 21")
        assert back["value"] == pytest.approx(0.8, abs=1e-9)
    # With few votes, a share near 1 can only be told from a lower one.
    (below,) = answers(power, "--test proportions --p1 .9 --n 21 --power .8")
    assert below["quantity"] == "p2_below"


def test_the_papers_number(power: Power) -> None:
    """By the inputs that its help has."""
    options = "--test proportions --p1 .1 --p2 .6 --power .95"
    assert f"casewise power {options}" in " ".join(power("--help").stdout.split())
    (answer,) = answers(power, options)
    assert (answer["needed"], answer["total"]) == (21, 42)


PAIRS = "--test pairs --discordance .3"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (PAIRS, ["too little is given", "--n, --power"]),
        (f"{PAIRS} --effect .1 --n 20 --power .8", ["too much is given"]),
        ("--test proportions --p1 .3 --p2 .3 --n 20", ["both 0.3", "no difference"]),
        (f"{PAIRS} --effect .4 --n 50", ["at most --discordance (0.3)"]),
        (f"{PAIRS} --effect .1 --n 50 --rho -.6 --cases-per-query 3", ["--rho -0.6", "least -0.5"]),
        (f"{PAIRS} --effect 1e-6 --power .8", ["more than 10,000,000 pairs"]),
    ],
)
def test_refused(power: Power, options: str, parts: list[str]) -> None:
    done = power(options)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    said = " ".join(done.stderr.split())
    for part in parts:
        assert part in said
