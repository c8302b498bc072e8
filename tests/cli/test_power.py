"""``casewise power`` from the command line: answers, formats, and what is refused."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import Cli

from casewise.cli import main


@dataclass(frozen=True, slots=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Power = Callable[[str], Done]


@pytest.fixture
def power(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Power:
    """Run the command in this process: many short runs, of which each would start Python."""

    def call(options: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["casewise", "power", *options.split()])
        with pytest.raises(SystemExit) as exit_:
            main()
        out, err = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return Done(exit_.value.code, out, err)

    monkeypatch.setenv("COLUMNS", "100")
    return call


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


def test_words(power: Power) -> None:
    done = power("--test pairs --effect .03 --discordance .1 --power .8")
    assert "432.12 pairs, so 433 (866 cases)" in done.stdout
    assert "Without --rho" in done.stdout
    assert "rho 0" in done.stdout
    done = power("--test pairs --effect .2 --sd .3 --rho .1 --n 20")
    assert "Fewer than 30 queries" in done.stdout
    done = power("--test proportions --p1 .5 --p2 .75 --power .9 --one-sided")
    assert done.stdout.startswith("62.")
    assert "votes on the two cases of a pair)" in done.stdout
    assert "test of the shares of safe votes on two cases, one-sided, alpha .05" in done.stdout


@pytest.mark.parametrize(
    "options",
    ["--test proportions --p1 .5 --p2 .75 --n 20", "--test pairs --n 400 --sd .3 --power .8"],
)
def test_markdown(power: Power, options: str) -> None:
    done = power(f"{options} --format markdown")
    assert done.returncode == 0, done.stderr
    assert "\n|---|" in done.stdout


PAIRS = "--test pairs --discordance .3"


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ("", ["--test is needed", "proportions, pairs"]),
        (PAIRS, ["too little is given", "--n, --power"]),
        (f"{PAIRS} --power .8", ["too little is given", "--effect (the difference"]),
        ("--test proportions --p1 .3 --power .8", ["--p2 (beside --p1)"]),
        (f"{PAIRS} --effect .1 --n 20 --power .8", ["too much is given"]),
        (f"{PAIRS} --effect 0 --power .8", ["--effect 0", "difference of nothing"]),
        (f"{PAIRS} --effect nan --n 20", ["--effect nan"]),
        ("--test proportions --p1 .3 --p2 .3 --n 20", ["both 0.3", "no difference"]),
        ("--test proportions --p2 .3 --n 20", ["needs --p1"]),
        ("--test proportions --p1 1.3 --p2 .3 --n 20", ["--p1 1.3", "0 to 1"]),
        (f"{PAIRS} --effect .1 --n 20 --alpha 0", ["--alpha 0", "above 0 and below 1"]),
        (f"{PAIRS} --effect .1 --n 20 --alpha nan", ["--alpha nan"]),
        (f"{PAIRS} --effect .1 --power .05", ["--power 0.05", "above --alpha"]),
        (f"{PAIRS} --effect .1 --power 1", ["--power 1", "below 1"]),
        (f"{PAIRS} --effect .1 --n 1", ["--n 1", "2 to 10,000,000"]),
        (f"{PAIRS} --effect .1 --n 20 --p1 .3", ["--p1 doesn't belong to --test pairs"]),
        ("--test pairs --effect .1 --n 50", ["--discordance", "--sd"]),
        (f"{PAIRS} --effect .1 --n 50 --sd .3", ["either --discordance"]),
        ("--test pairs --effect .1 --n 50 --sd 0", ["--sd 0"]),
        (f"{PAIRS} --effect .4 --n 50", ["at most --discordance (0.3)"]),
        (f"{PAIRS} --effect .1 --n 50 --rho 2", ["--rho 2"]),
        (f"{PAIRS} --effect .1 --n 50 --rho -.6 --cases-per-query 3", ["--rho -0.6", "least -0.5"]),
        (f"{PAIRS} --effect .1 --n 50 --rho .1 --cases-per-query 1", ["--cases-per-query is 1"]),
        ("--test proportions --p1 .5 --n 3 --power .9", ["--n 3 is too few"]),
        (f"{PAIRS} --effect 1e-6 --power .8", ["more than 10,000,000 pairs"]),
        ("--test z --n 20", ["--test"]),
        (f"{PAIRS} --n many", ["--n"]),
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


def test_as_a_person_runs_it(cli: Cli) -> None:
    done = cli("power", *["--test", "proportions", "--p1", ".5", "--p2", ".75", "--power", ".9"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("76.71 votes a case, so 77 (154 ")
    done = cli("power", *["--test", "proportions", "--p1", ".5", "--p2", ".5", "--power", ".9"])
    assert done.returncode == 2
    assert done.stderr.startswith("error: --p1 and --p2 are both 0.5")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
