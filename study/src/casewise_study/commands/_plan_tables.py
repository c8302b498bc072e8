"""Tables of ``annotate plan``, and what sequential collection saves, there and in ``simulate``."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from casewise.cases import CaseSet
from casewise.cli import Format, out, write_out
from casewise.sheets import (
    UNDEFINED,
    Column,
    Kind,
    Row,
    Table,
    count,
    escape,
    figures,
    interval,
    markdown,
    money,
    number,
    percent,
    terminal,
    to_json,
)
from casewise_study.simulation.simulated_people import marginal_rate, true_rates
from casewise_study.statistics.savings import DrawnDesigns, draw_designs
from casewise_study.study.block_balance import Balance
from casewise_study.study.planning import (
    Forecast,
    check_ready,
    forecast,
    open_points,
    time_warnings,
)
from casewise_study.study.reading_times import FAST, SLOW, USUAL, reading
from casewise_study.study.schema import Arm, Platform, Study
from casewise_study.study.study_rules import StoppingRule

_SOURCES = (
    "people read 175 to 300 words a minute, 238 on average (Brysbaert 2019, "
    "doi:10.1016/j.jml.2019.104047); in other languages in proportion to the words that are read "
    "aloud (Trauzettel-Klosinski and Dietz 2012, doi:10.1167/iovs.11-8284)",
    "to choose and to go on takes 5.3 s by the keystroke-level model (Card, Moran and Newell 1980, "
    "doi:10.1145/358886.358895), taken half and twice as long for the range",
)
_COLUMNS = (Column(""), Column("", Kind.NUMBER), Column("decided by"))
_DESIGN_COLUMNS = (
    Column("design"),
    Column("votes a case", Kind.NUMBER, 1),
    Column("people", Kind.COUNT),
    Column("cost", Kind.MONEY),
    *figures(Kind.SHARE, "wrong labels", "share off by", "mean off by", digits=3),
)
_Line = tuple[str, str, str]
"""Name, amount and reason."""


@dataclass(frozen=True, slots=True)
class PlanSheet:
    """All that a plan says."""

    study: Study
    made: CaseSet
    measured: Balance
    dropout: float
    drawn: DrawnDesigns
    """The fixed and the sequential design in simulated studies."""

    def forecast(self) -> Forecast:
        """People, time and money."""
        return forecast(self.study, self.dropout)


def print_plan(planned: PlanSheet, format: Format) -> None:
    """Print a plan to standard output."""
    notes = _notes(planned)
    if format is Format.JSON:
        write_out(to_json(_record(planned, notes)))
        return
    titled = (
        ("What it takes", _effort(planned)),
        ("How even it is", _balance(planned.measured)),
    )
    tables = [
        *(Table(_COLUMNS, list(map(Row, lines)), title) for title, lines in titled),
        _designs(planned),
    ]
    if format is Format.MARKDOWN:
        write_out(markdown(*tables, "\n".join(f"- {escape(line)}" for line in notes)))
        return
    out().print(terminal(*tables, *notes))


def _record(planned: PlanSheet, notes: Sequence[str]) -> dict[str, Any]:
    study = planned.study
    return {
        "votes": study.votes,
        **savings_record(study, planned.drawn),
        "designs": {rule: asdict(getattr(planned.drawn, rule)) for rule in StoppingRule},
        "attention": study.attention.per_person,
        "dropout": planned.dropout,
        "currency": study.pay.currency,
        "forecast": asdict(planned.forecast()),
        "time": _time_record(planned),
        "balance": asdict(planned.measured),
        "notes": list(notes),
        "warnings": time_warnings(study),
        "todo": check_ready(study),
        "open": open_points(study),
    }


def _effort(planned: PlanSheet) -> list[_Line]:
    study, dropout = planned.study, planned.dropout
    expected, pay = planned.forecast(), study.pay
    cells = len(study.design.cells)
    rows = [
        ("votes a case", str(study.votes), "--votes"),
        ("cases under arms", str(cells), f"--arms {','.join(study.arms)}"),
        ("people", count(expected.people), "--tasks"),
        ("to recruit", count(expected.recruit), f"--dropout {dropout:g}"),
        *_time_rows(planned, expected.minutes),
        ("hours of all", number(expected.hours, 1), ""),
    ]
    if pay.per_hour:
        rows += [
            ("pay a person", money(expected.pay_each, pay.currency), f"--pay {pay.per_hour:g}"),
            ("pay", money(expected.pay, pay.currency), ""),
            ("platform's fee", money(expected.fee, pay.currency), f"--fee {pay.fee:g}"),
        ]
    cost = money(expected.cost, pay.currency) if pay.per_hour else UNDEFINED
    return [*rows, ("cost", cost, "" if pay.per_hour else "unpaid: --pay")]


def _balance(measured: Balance) -> list[_Line]:
    """Lines on what is even, how much so, and the options that decide it."""
    arms = [
        (f"cases of arm {arm} a person", cases.words, "--arms, --tasks")
        for arm, cases in measured.arms.items()
    ]
    share = measured.category_share.words
    return [
        ("votes a case", measured.votes.words, "--votes"),
        ("cases a person", measured.size.words, "--tasks"),
        ("people who see a query twice", str(measured.repeated), ""),
        *arms,
        ("greatest share of a category", share, f"{measured.categories} categories, --tasks"),
    ]


def _time_record(planned: PlanSheet) -> dict[str, Any]:
    """Sources of the minutes. Times by the words, whatever the study file sets."""
    study = planned.study
    read = reading(study)
    return {
        "words": {"case": read.case_words, "besides": read.besides},
        "by_words": {
            name: {
                "words_per_minute": round(pace.words * read.speed),
                "answer_seconds": pace.answer,
                "case_seconds": read.case_seconds(pace),
                "minutes_besides": read.besides_minutes(pace),
                "minutes": read.session_minutes(pace),
            }
            for name, pace in (("fast", FAST), ("usual", USUAL), ("slow", SLOW))
        },
    }


def _time_rows(planned: PlanSheet, minutes: float) -> list[_Line]:
    read, pay = reading(planned.study), planned.study.pay
    seconds = (
        f"{number(read.case_seconds(USUAL), 0)} "
        f"({interval((read.case_seconds(FAST), read.case_seconds(SLOW)), 0)})",
        f"{USUAL.words * read.speed:.0f} words a minute ({FAST.words * read.speed:.0f} to "
        f"{SLOW.words * read.speed:.0f}), {USUAL.answer:g} s to answer",
    )
    besides = (number(read.besides_minutes(USUAL), 1), f"{count(read.besides)} words")
    if pay.seconds_per_task is not None:
        seconds = (f"{pay.seconds_per_task:g}", "--seconds")
    if pay.minutes_besides is not None:
        besides = (f"{pay.minutes_besides:g}", "--minutes-besides")
    sessions = (read.session_minutes(FAST), read.session_minutes(SLOW))
    by_words = f"{interval(sessions, 1)} by the words"
    return [
        ("words a case", number(read.case_words, 0), "query, context, earlier turns, question"),
        ("seconds a case", *seconds),
        ("minutes besides", *besides),
        ("minutes a person", number(minutes, 1), by_words),
    ]


def _designs(planned: PlanSheet) -> Table:
    """The fixed and the sequential design beside each other."""
    study, expected = planned.study, planned.forecast()
    rule = study.collection
    rows, drawn = [], planned.drawn
    early = f"sequential (posterior {rule.posterior:g}, least {rule.least})"
    for name, one in (("fixed", drawn.fixed), (early, drawn.sequential)):
        share = one.votes / study.votes
        cost = share * expected.cost if study.pay.per_hour else None
        people = round(share * expected.people)
        rows.append(Row([name, one.votes, people, cost, one.labels, one.share, one.mean]))
    return Table(_DESIGN_COLUMNS, rows, "With other --collection")


def _notes(planned: PlanSheet) -> list[str]:
    study, made, measured = planned.study, planned.made, planned.measured
    notes = savings_range(study, planned.drawn)
    left_out = sum(case.context is not None and case.intended is None for case in made.cases)
    if left_out and set(study.arms) != {Arm.NONE}:
        notes.append(f"{left_out} cases have no intended side, and so no arm: they are left out.")
    recruited = study.recruitment.platform is not Platform.NONE
    if study.pay.per_hour and recruited and not study.pay.fee:
        notes.append("The platform's fee is not counted: give --fee (see the platform's prices).")
    if measured.arms_apart > 1:
        notes.append(
            f"In some blocks two arms differ by {measured.arms_apart} cases: not every query has "
            "a case under each arm."
        )
    if measured.category_share.most >= 0.5 and measured.categories > 1:
        notes.append("A category fills half of a block or more: it fills as much of the cases.")
    if measured.categories == 1:
        notes.append("The cases have no categories, or one: none are spread.")
    if None in (study.pay.seconds_per_task, study.pay.minutes_besides):
        notes.append(
            f"Minutes are those of the longest session, by its words: {_SOURCES[0]}; "
            f"{_SOURCES[1]}. A pilot tells better: its data card has the median minutes, and its "
            "people.csv seconds a case, for --minutes-besides and --seconds."
        )
    return notes


def simulated_designs(study: Study, seed: int) -> DrawnDesigns:
    """Both designs in studies drawn from simulated people's shares."""
    rates = [marginal_rate(rate) for rate in true_rates(study, seed)]
    return draw_designs(study.collection.boundary, rates, study.votes, seed=seed)


def savings_range(study: Study, drawn: DrawnDesigns) -> list[str]:
    """Say what the rule saves and costs, from the least to the most of simulated studies.

    Empty under fixed collection, as is the record.
    """

    def spread(name: str, write: Callable[[float], str] = str) -> str:
        values = sorted(getattr(one, name) for one in drawn.savings)
        least, most = write(values[0]), write(values[-1])
        return least if least == most else f"{least} to {most}"

    if not study.collection.is_sequential:
        return []
    return [
        f"Sequential collection saves {spread('saved', lambda share: percent(share, 0))} of the "
        f"votes in {len(drawn.savings)} simulated studies. Beside all {study.votes} votes it "
        f"changes {spread('changed')} of {spread('labels')} labels, and a case's share of safe "
        f"votes is less exact: off by {spread('share_error', number)} in the mean, and by more "
        "where a case stops early. When many judge at once, some votes come after a case was "
        "decided, and less is saved."
    ]


def savings_record(study: Study, drawn: DrawnDesigns) -> dict[str, Any]:
    """The same for programs."""
    if not study.collection.is_sequential:
        return {}
    rule = study.collection.model_dump(mode="json")
    simulated = [asdict(one) | {"saved": one.saved} for one in drawn.savings]
    return {"collection": rule | {"simulated": simulated}}
