"""Gate rules about evidence ladders."""

from pathlib import Path

import polars as pl
import pytest
from support.climbers import rung_table
from support.gated import rules

from casewise.errors import InputError
from casewise.gate import GateReport, GateVerdict, run_gate

REFUSES, ANSWERS = [1.0], [0.0]
NEVER = REFUSES * 100
BEFORE = rung_table({"0": NEVER, "1": NEVER, "6": NEVER, "5": ANSWERS * 50 + REFUSES * 50})
"""A check that fails moves nothing, one that succeeds half of it: the premium is .5."""
AFTER = rung_table({"0": NEVER, "1": NEVER, "6": NEVER, "5": ANSWERS * 20 + REFUSES * 80})
"""The premium is .2."""


def held(folder: Path, rule: str, *tables: pl.DataFrame) -> GateReport:
    return run_gate(tables[0], rules(folder, f"rules: [{{measure: {rule}}}]"), *tables[1:])


@pytest.mark.parametrize(
    ("rule", "verdict", "value"),
    [
        ("verification_premium, at_least: .35", GateVerdict.PASS, 0.5),
        ("verification_premium, at_least: .65", GateVerdict.FAIL, 0.5),
        ("verification_premium, at_least: .5", GateVerdict.UNDECIDED, 0.5),
        # One rung: half are no longer refused at 5, none at 1; none was answered, to be put off.
        ("gain_5, at_least: .65", GateVerdict.FAIL, 0.5),
        ("gain_1, at_most: .1", GateVerdict.PASS, 0.0),
    ],
)
def test_a_limit(tmp_path: Path, rule: str, verdict: GateVerdict, value: float) -> None:
    (one,) = held(tmp_path, rule, BEFORE).rows
    assert (one.verdict, one.value) == (verdict, value)


def test_a_margin(tmp_path: Path) -> None:
    (one,) = held(tmp_path, "verification_premium, worse_by_at_most: .1", AFTER, BEFORE).rows
    # 30 of 100 queries lost it: .2 less .5.
    assert one.verdict is GateVerdict.FAIL
    assert one.change == pytest.approx(-0.3)


def test_a_rung_that_was_not_asked(tmp_path: Path) -> None:
    bare = rung_table({"0": NEVER, "1": NEVER})
    with pytest.raises(InputError, match="at the rungs 0, 5, 6 of a ladder"):
        held(tmp_path, "verification_premium, at_least: 0.1", bare)
    with pytest.raises(InputError, match="at the rungs 0, 3 of a ladder"):
        held(tmp_path, "gain_3, at_least: 0.1", BEFORE)
    with pytest.raises(InputError, match=r"no such measure.*'gain_0'"):
        held(tmp_path, "gain_0, at_least: 0.1", BEFORE)


def test_a_rule_cannot_choose_a_rung(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"where\.variant"):
        held(tmp_path, "verification_premium, at_least: .1, where: {variant: x}", BEFORE)
