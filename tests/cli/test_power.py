"""``casewise power`` from the command line: answers, formats, and what is refused."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import ROOT, Cli

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
        ("--test t --effect .8 --power .8 --one-sided", "votes", 20.03, 21),
        ("--test t --effect .8 --n 21 --one-sided", "power", 0.8168, None),
        ("--test t --n 21 --power .8 --one-sided", "d", 0.7804, None),
        ("--test mann-whitney --effect .8 --power .8 --one-sided", "votes", 20.98, 21),
        ("--test mann-whitney --effect .8 --power .8 --parent minimum", "votes", 29.54, 30),
        # (1.95996 + .84162)^2 / (6 x .25^2) = 7.84888 / .375
        ("--test mann-whitney --superiority .75 --power .8", "votes", 20.93, 21),
        ("--test proportions --p1 .5 --p2 .75 --power .9", "votes", 76.71, 77),
        ("--test proportions --p1 .5 --p2 .75 --n 50", "power", 0.7402, None),
        ("--test proportions --p1 .25 --p2 .05 --n 68 --method exact", "power", 0.898, None),
        ("--test proportions --p1 .1 --p2 .6 --power .95 --method arcsine", "votes", 20.40, 21),
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
        # .045 x (.5 + .5 / K) = .03^2 x 300 / 7.84888 = .0344, so K = .5 / (.76445 - .5) = 1.89.
        ("--test pairs --effect .03 --sd .3 --n 300 --noise .5 --power .8", "epochs", 1.89, 2),
        ("--test pairs --effect .05 --sd .3 --n 300 --noise .5 --power .8", "epochs", 1.0, 1),
        # 2.80159 x .3 / sqrt(900)
        ("--test pairs --sd .3 --n 450 --power .8", "difference", 0.02802, None),
        # 7.84888 x .6 x .4 / .1^2 pairs
        (
            "--test rank-agreement --effect .6 --power .8 --cases-per-query 2",
            "queries",
            188.37,
            189,
        ),
        # 7.84888 / artanh(.2)^2 = 190.97 = 2 Q - 2
        (
            "--test pcc-within-query --effect .2 --power .8 --cases-per-query 3",
            "queries",
            96.48,
            97,
        ),
        (
            "--test pcc-within-query --n 97 --power .8 --cases-per-query 3",
            "pcc_within_query",
            0.19948,
            None,
        ),
        (
            "--test context-share --effect .2 --interval .1 --cases-per-query 2",
            "queries",
            50.79,
            51,
        ),
        ("--test context-share --effect .2 --n 51 --cases-per-query 2", "half_width", 0.0998, None),
        (
            "--test seen-change --effect .1 --discordance .15 --power .8 --cases-per-query 1",
            "queries",
            109.88,
            110,
        ),
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


def test_queries_for_several_numbers_of_contexts(power: Power) -> None:
    found = answers(power, "--test rank-agreement --effect .6 --power .8")
    assert [one["contexts"] for one in found] == [2, 3, 5, 10]
    assert [one["total"] for one in found] == [one["needed"] * one["contexts"] for one in found]
    needed = [one["needed"] for one in found]
    assert needed == sorted(needed, reverse=True)
    (back,) = answers(
        power, f"--test rank-agreement --effect .6 --n {needed[2]} --cases-per-query 5"
    )
    assert back["value"] == found[2]["power"] >= 0.8
    done = power("--test seen-change --effect .1 --discordance .15 --power .8")
    assert "so 110 (110 cases)" in done.stdout
    assert "queries in 5 contexts, so" in done.stdout
    assert "the figure's 95 % interval reaches" in done.stdout
    assert "they share the verdict without a context" in " ".join(done.stdout.split())


def test_the_document_has_what_the_commands_say(power: Power) -> None:
    text = " ".join((ROOT / "docs/method/statistics-appendix.md").read_text("utf-8").split())
    two, _, five, _ = answers(power, "--test rank-agreement --effect .6 --power .8")
    assert f"{two['needed']} queries in 2 contexts or {five['needed']} in 5 (`casewise" in text
    share = answers(power, "--test context-share --effect .4 --interval .1")[2]
    assert f"takes {share['needed']} queries in {share['contexts']} (`casewise" in text


def test_both_formulas_of_ranks(power: Power) -> None:
    shift, chance = answers(power, "--test mann-whitney --n 20 --power .8")
    assert (shift["quantity"], chance["quantity"]) == ("d", "superiority")
    (back,) = answers(power, f"--test mann-whitney --superiority {chance['value']} --n 20")
    assert back["value"] == pytest.approx(0.8, abs=1e-9)


def test_words(power: Power) -> None:
    done = power("--test t --effect .8 --power .8 --one-sided")
    assert done.returncode == 0
    assert "20.03 votes a case, so 21 (42 votes on the two cases of a pair)" in done.stdout
    assert "t-test of the grades on two cases, one-sided, alpha .05" in done.stdout
    done = power("--test pairs --effect .03 --discordance .1 --power .8")
    assert "432.12 pairs, so 433 (866 cases)" in done.stdout
    assert "Without --rho" in done.stdout
    assert "rho 0" in done.stdout
    done = power("--test pairs --effect .2 --sd .3 --rho .1 --n 20")
    assert "Fewer than 30 queries" in done.stdout
    done = power("--test proportions --p1 .5 --p2 .75 --power .9 --method exact")
    assert "85 votes a case (170 votes" in done.stdout
    assert "every number from 85 to" in done.stdout
    done = power("--test pairs --effect .05 --sd .3 --n 300 --noise .5 --power .8")
    assert "1 epoch, with power" in done.stdout


@pytest.mark.parametrize(
    "options",
    ["--test t --n 20 --effect .8", "--test pairs --n 400 --sd .3 --power .8", "--reproduce-paper"],
)
def test_markdown(power: Power, options: str) -> None:
    done = power(f"{options} --format markdown")
    assert done.returncode == 0, done.stderr
    assert "\n|---|" in done.stdout


def test_reproduce_paper(power: Power) -> None:
    done = power("--reproduce-paper --format json")
    assert done.returncode == 0, done.stderr
    search = json.loads(done.stdout)
    rows = search["found"]
    # 8 d by 3 tests, 5 chances, 20 pairs of shares by 3 methods; 2 alpha, 2 sides, 3 powers.
    assert search["tried"] == (8 * 3 + 5 + 20 * 3) * 2 * 2 * 3
    (first,) = [row for row in rows if row["test"] == "t" and not row["two_sided"]]
    assert first["effect"] == "d = 0.8"
    assert (first["alpha"], first["power"], first["in_all"]) == (0.05, 0.8, False)
    assert first["votes"] == pytest.approx(20.03, abs=0.005)
    for row in rows:
        low, high = (10, 10.5) if row["in_all"] else (20, 21)
        assert low < row["votes"] <= high
    assert {row["method"] for row in rows} >= {"arcsine", "pooled", "exact", "Noether"}
    table = power("--reproduce-paper").stdout
    assert "20.03" in table
    assert f"{len(rows)} of {search['tried']} sets of inputs" in table


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ("", ["--test is needed", "mann-whitney"]),
        ("--test t", ["too little is given", "--n, --power"]),
        ("--test t --power .8", ["too little is given", "--effect (Cohen's d)"]),
        ("--test proportions --p1 .3 --power .8", ["--p2 (beside --p1)"]),
        ("--test t --effect .8 --n 20 --power .8", ["too much is given"]),
        ("--test pairs --effect .1 --sd .3 --n 20 --power .8", ["too much", "add --noise"]),
        (
            "--test pairs --effect .1 --sd .3 --n 20 --power .8 --noise .5 --epochs 2",
            ["too much is given"],
        ),
        ("--test pairs --effect .1 --sd .3 --n 20 --epochs 3", ["--epochs", "needs --noise"]),
        ("--test t --effect 0 --power .8", ["--effect 0", "difference of nothing"]),
        ("--test t --effect -1 --power .8", ["--effect -1"]),
        ("--test t --effect nan --n 20", ["--effect nan"]),
        ("--test t --effect inf --n 20", ["--effect inf"]),
        ("--test proportions --p1 .3 --p2 .3 --n 20", ["both 0.3", "no difference"]),
        ("--test proportions --p2 .3 --n 20", ["needs --p1"]),
        ("--test proportions --p1 1.3 --p2 .3 --n 20", ["--p1 1.3", "0 to 1"]),
        ("--test mann-whitney --superiority .5 --n 20", ["no difference"]),
        ("--test mann-whitney --superiority .7 --effect 1 --n 20", ["instead of --effect"]),
        ("--test t --effect .8 --n 20 --alpha 0", ["--alpha 0", "above 0 and below 1"]),
        ("--test t --effect .8 --n 20 --alpha 1.5", ["--alpha 1.5"]),
        ("--test t --effect .8 --n 20 --alpha nan", ["--alpha nan"]),
        ("--test t --effect .8 --power .05", ["--power 0.05", "above --alpha"]),
        ("--test t --effect .8 --power 1", ["--power 1", "below 1"]),
        ("--test t --effect .8 --n 1", ["--n 1", "2 to 10,000,000"]),
        ("--test t --effect .8 --n 20 --p1 .3", ["--p1 doesn't belong to --test t"]),
        ("--test pairs --effect .1 --n 50", ["--discordance", "--sd"]),
        ("--test pairs --effect .1 --n 50 --sd .3 --discordance .1", ["either --discordance"]),
        ("--test pairs --effect .1 --n 50 --sd 0", ["--sd 0"]),
        ("--test pairs --effect .2 --n 50 --discordance .1", ["at most --discordance (0.1)"]),
        ("--test pairs --effect .1 --n 50 --sd .3 --rho 2", ["--rho 2"]),
        ("--test pairs --effect .1 --n 50 --sd .3 --rho .9 --noise .5", ["--rho 0.9", "most 0.5"]),
        (
            "--test pairs --effect .1 --n 50 --sd .3 --rho .1 --cases-per-query 1",
            ["--cases-per-query is 1"],
        ),
        (
            "--test pairs --effect .01 --sd .3 --n 300 --noise .5 --power .8",
            ["no number of epochs", "more queries"],
        ),
        ("--test proportions --p1 .5 --n 3 --power .9", ["--n 3 is too few"]),
        ("--test pairs --sd 1 --n 2 --power .99", ["--n 2 is too few"]),
        ("--test t --effect 1e-6 --power .8", ["more than 10,000,000 votes"]),
        ("--test proportions --p1 .5 --p2 .501 --power .8 --method exact", ["--method pooled"]),
        ("--test proportions --p1 .5 --p2 .6 --n 5000 --method exact", ["up to 1000"]),
        ("--test rank-agreement --effect .4 --power .8", ["--effect 0.4", "above 0.5"]),
        ("--test rank-agreement --effect .6 --n 50", ["--n needs --cases-per-query"]),
        ("--test rank-agreement --effect .6 --n 50 --rho .2", ["--rho doesn't belong"]),
        ("--test rank-agreement --effect .6", ["--n and --power or --interval are needed"]),
        ("--test context-share --effect .4 --power .8", ["told from nothing", "--interval"]),
        ("--test context-share --interval .1", ["--interval needs --effect"]),
        ("--test pcc-within-query --effect .2 --interval .1 --power .8", ["instead of --power"]),
        ("--test pcc-within-query --effect .2 --interval 1e-6", ["more than 10,000,000 queries"]),
        ("--test pcc-within-query --effect .2 --power .8 --cases-per-query 1", ["2 to "]),
        ("--test seen-change --effect .1 --power .8", ["needs --discordance"]),
        ("--test seen-change --effect .2 --discordance .1 --power .8", ["at most --discordance"]),
        ("--test t --effect .8 --interval .1", ["--interval doesn't belong to --test t"]),
        ("--reproduce-paper --test t", ["give no others"]),
        ("--reproduce-paper --alpha .01", ["give no others"]),
        ("--test z --n 20", ["--test"]),
        ("--test t --n many", ["--n"]),
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


def test_help_shows_examples(power: Power) -> None:
    done = power("--help")
    assert done.returncode == 0
    assert "casewise power --reproduce-paper" in done.stdout


def test_as_a_person_runs_it(cli: Cli) -> None:
    done = cli("power", "--test", "t", "--effect", ".8", "--power", ".8", "--one-sided")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("20.03 votes a case, so 21 (42 ")
    done = cli("power", "--test", "t", "--effect", "0", "--power", ".8")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --effect 0")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
