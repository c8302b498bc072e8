"""Tables of ``annotate plan``, and what sequential collection would save."""

from dataclasses import asdict, dataclass
from typing import Any

from casewise.cases import CaseSet
from casewise.cli import out, write_out
from casewise.sheets import (
    UNDEFINED,
    Column,
    Kind,
    Row,
    Table,
    count,
    figures,
    interval,
    money,
    number,
    percent,
    plural,
    terminal,
    to_json,
)
from casewise_study.commands.shared import ResultFormat
from casewise_study.simulation.simulated_people import marginal_rate, true_rates
from casewise_study.statistics.savings import Savings, draw_savings
from casewise_study.study.block_balance import Balance
from casewise_study.study.planning import (
    Forecast,
    time_warnings,
)
from casewise_study.study.reading_times import FAST, SLOW, USUAL, reading
from casewise_study.study.schema import Arm, Platform, Study
from casewise_study.study.study_rules import StoppingRule

_SOURCES = (
    "Minutes are those of the longest session, by its words: people read 175 to 300 words a "
    "minute, 238 on average (Brysbaert 2019, doi:10.1016/j.jml.2019.104047); in other languages in "
    "proportion to the words that are read aloud (Trauzettel-Klosinski and Dietz 2012, "
    "doi:10.1167/iovs.11-8284); to choose and to go on takes 5.3 s by the keystroke-level model "
    "(Card, Moran and Newell 1980, doi:10.1145/358886.358895), taken half and twice as long for "
    "the range. A pilot tells better: its data card has the median minutes, and its people.csv "
    "seconds a case, for --minutes-besides and --seconds."
)
_COLUMNS = (Column(""), Column("", Kind.NUMBER), Column("decided by"))
_DESIGN_COLUMNS = (
    Column("design"),
    Column("votes a case", Kind.NUMBER, 1),
    Column("people", Kind.COUNT),
    Column("cost", Kind.MONEY),
    *figures(Kind.SHARE, "wrong labels", "share off by", "mean off by", digits=3),
)
_DESIGN_NOTE = (
    "In simulated studies. Wrong labels: share of cases whose majority is not that of all people. "
    "Share off by: typical error of a case's share of safe votes. Mean off by: that of their mean "
    "over all cases."
)


@dataclass(frozen=True, slots=True)
class PlanSheet:
    """All that a plan says."""

    study: Study
    case_set: CaseSet
    measured: Balance
    expected: Forecast
    """People, time and money."""
    dropout: float
    drawn: Savings
    """The fixed and the sequential design in simulated studies."""


def print_plan(planned: PlanSheet, format: ResultFormat) -> None:
    """Print a plan to standard output."""
    notes = _notes(planned)
    if format is ResultFormat.JSON:
        write_out(to_json(_record(planned) | {"notes": notes}))
        return
    lines = Table(_COLUMNS, list(map(Row, _lines(planned))), "What it takes, and how even it is")
    out().print(terminal(lines, _designs(planned), *notes))


def _record(planned: PlanSheet) -> dict[str, Any]:
    study = planned.study
    times = reading(study)
    return {
        "designs": {rule: asdict(getattr(planned.drawn, rule)) for rule in StoppingRule},
        "currency": study.pay.currency,
        "forecast": asdict(planned.expected),
        "time": {
            "words": {"case": times.case_words, "besides": times.besides},
            # Whatever the study file sets.
            "by_words": {
                name: {
                    "words_per_minute": round(pace.words * times.speed),
                    "answer_seconds": pace.answer,
                    "case_seconds": times.case_seconds(pace),
                    "minutes": times.session_minutes(pace),
                }
                for name, pace in (("fast", FAST), ("usual", USUAL), ("slow", SLOW))
            },
        },
        "balance": asdict(planned.measured),
        "warnings": time_warnings(study),
    }


def _lines(planned: PlanSheet) -> list[tuple[str, str, str]]:
    """Name, amount and reason of each figure."""
    study, expected, even = planned.study, planned.expected, planned.measured
    times, pay, cells = reading(study), study.pay, len(study.design.cells)
    seconds = pay.seconds_per_task or times.case_seconds(USUAL)
    range_of = [
        f"{interval((spent(FAST), spent(SLOW)), 1)} by the words"
        for spent in (times.case_seconds, times.session_minutes)
    ]
    rows = [
        ("votes a case", even.votes.words, "--votes"),
        ("cases under arms", str(cells), f"--arms {','.join(study.arms)}"),
        ("people", count(expected.people), "--tasks"),
        ("to recruit", count(expected.recruit), f"--dropout {planned.dropout:g}"),
        ("seconds a case", number(seconds, 0), range_of[0]),
        ("minutes a person", number(expected.minutes, 1), range_of[1]),
        ("hours of all", number(expected.hours, 1), ""),
        ("people who see a query twice", str(even.repeated), ""),
        ("cases a person", even.size.words, "--tasks"),
        *(
            (f"cases of arm {arm} a person", cases.words, "--arms, --tasks")
            for arm, cases in even.arms.items()
        ),
        (
            "greatest share of a category",
            even.category_share.words,
            f"{plural(even.categories, 'category')}, --tasks",
        ),
    ]
    if pay.per_hour:
        each = money(expected.pay_each, pay.currency)
        rows += [
            ("pay a person", each, f"--pay {pay.per_hour:g}"),
            ("pay", money(expected.pay, pay.currency), ""),
            ("platform's fee", money(expected.fee, pay.currency), f"--fee {pay.fee:g}"),
        ]
    cost = money(expected.cost, pay.currency) if pay.per_hour else UNDEFINED
    return [*rows, ("cost", cost, "" if pay.per_hour else "unpaid: --pay")]


def _designs(planned: PlanSheet) -> Table:
    """The fixed and the sequential design beside each other."""
    study, expected, drawn = planned.study, planned.expected, planned.drawn
    rule = study.collection
    rows = []
    early = f"sequential (posterior {rule.posterior:g}, least {rule.least})"
    designs = {"fixed": drawn.fixed, early: drawn.sequential}
    for name, design in (designs if drawn.saved else {"fixed or sequential": drawn.fixed}).items():
        share = design.votes / study.votes
        cost = share * expected.cost if study.pay.per_hour else None
        people = round(share * expected.people)
        rows.append(
            Row([name, design.votes, people, cost, design.labels, design.share, design.mean])
        )
    return Table(_DESIGN_COLUMNS, rows, "With other --collection", _DESIGN_NOTE)


def _notes(planned: PlanSheet) -> list[str]:
    study = planned.study
    notes = []
    if study.collection.is_sequential:
        notes.append(
            f"Sequential collection saves {percent(planned.drawn.saved, 0)} of the votes in "
            "simulated studies. When many judge at once, some votes come after a case was decided, "
            "and less is saved."
        )
    cases = planned.case_set.cases
    left_out = sum(case.context is not None and case.intended is None for case in cases)
    if left_out and set(study.arms) != {Arm.NONE}:
        notes.append(f"Left out, without an intended side: {plural(left_out, 'case')}.")
    recruited = study.recruitment.platform is not Platform.NONE
    if study.pay.per_hour and recruited and not study.pay.fee:
        notes.append("The platform's fee is not counted: give --fee (see the platform's prices).")
    if None in (study.pay.seconds_per_task, study.pay.minutes_besides):
        notes.append(_SOURCES)
    return notes


def simulated_savings(study: Study, seed: int) -> Savings:
    """Both designs in studies drawn from simulated people's shares."""
    rates = [marginal_rate(rate) for rate in true_rates(study, seed)]
    return draw_savings(study.collection.boundary, rates, study.votes, seed=seed)
