"""``casewise annotate plan``."""

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from casewise.analysis import PowerInputs, PowerTest, plan_power
from casewise.annotation.study import (
    PAPER_VOTES,
    Arm,
    Asker,
    Balance,
    Forecast,
    Pay,
    Platform,
    Range,
    Study,
    StudyPlan,
    balance,
    check_ready,
    forecast,
    load_study,
    plan_study,
    study_cases,
    write_study,
)
from casewise.cases import CASEBENCH, STARTER, CaseSet, open_cases
from casewise.cli._cases import File
from casewise.cli._console import note, out, working, write_out
from casewise.errors import UsageError

_VOTES = "Votes from the power of a test"
_PEOPLE = "People"


class Format(StrEnum):
    """How the plan is printed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a table: what, how much, and which choice decides it."""

    name: str
    value: str
    by: str


def plan(
    file: File,
    to: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The study file to write (.yaml).")
    ],
    arms: Annotated[
        str, typer.Option(metavar="ARM,...", help="Contexts to show: none, safe, unsafe.")
    ] = "none,safe,unsafe",
    votes: Annotated[
        int | None,
        typer.Option(min=1, help=f"On each case. Default: {PAPER_VOTES}, as the CASE-Bench paper."),
    ] = None,
    tasks: Annotated[
        int | None,
        typer.Option(min=1, help="Cases a person, at most. Default: 20, or the number of queries."),
    ] = None,
    attention: Annotated[
        int, typer.Option(min=0, help="Attention checks a person; four are written to draw from.")
    ] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 0,
    title: Annotated[
        str, typer.Option(help="What people see as the study's name.")
    ] = "What should a chatbot answer?",
    by: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Who does the study, for the consent.")
    ] = None,
    contact: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Whom people can write to.")
    ] = None,
    ethics: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The board that approved it, and its number.")
    ] = None,
    p1: Annotated[
        float | None,
        typer.Option(help="Share of safe votes on one case, 0..1.", rich_help_panel=_VOTES),
    ] = None,
    p2: Annotated[
        float | None,
        typer.Option(help="Share on the other, to be told from the first.", rich_help_panel=_VOTES),
    ] = None,
    power: Annotated[
        float | None,
        typer.Option(help="The chance of telling them apart, such as .8.", rich_help_panel=_VOTES),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Of the two-sided test. Default: .05.", rich_help_panel=_VOTES),
    ] = None,
    platform: Annotated[
        Platform, typer.Option(help="Where people come from.", rich_help_panel=_PEOPLE)
    ] = Platform.NONE,
    seconds: Annotated[
        float, typer.Option(min=1, help="A case takes, on average.", rich_help_panel=_PEOPLE)
    ] = 25,
    minutes_besides: Annotated[
        float,
        typer.Option(min=0, help="Consent, tutorial and questions take.", rich_help_panel=_PEOPLE),
    ] = 6,
    pay: Annotated[
        float, typer.Option(min=0, help="An hour. 0: nobody is paid.", rich_help_panel=_PEOPLE)
    ] = 0,
    currency: Annotated[
        str, typer.Option(help="Three capital letters.", rich_help_panel=_PEOPLE)
    ] = "GBP",
    fee: Annotated[
        float | None,
        typer.Option(
            min=0, help="The platform's, as a share of the pay: .4.", rich_help_panel=_PEOPLE
        ),
    ] = None,
    dropout: Annotated[
        float,
        typer.Option(
            min=0, max=0.95, help="Share of people who won't finish.", rich_help_panel=_PEOPLE
        ),
    ] = 0.1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the study file.")] = False,
    format: Annotated[Format, typer.Option(help="How to print the plan.")] = Format.TABLE,
) -> None:
    """Plan a study: who judges which cases, how many people it takes, and what it costs.

    Nobody sees a query twice, so nobody compares its contexts. Each case gets
    exactly --votes judgements; each person sees all arms and many categories.
    The study file holds every text that people read; edit it, then run
    casewise annotate serve. People, minutes and costs are forecasts.

    [bold]Examples[/]

    casewise annotate plan starter --out study.yaml

    casewise annotate plan cases.jsonl --out study.yaml --arms safe,unsafe --votes 11 --tasks 15

    casewise annotate plan cases.jsonl --out study.yaml --p1 .5 --p2 .8 --power .8

    casewise annotate plan casebench --out study.yaml --platform prolific --pay 12 --fee .4 --by "Example University" --contact ada@example.org
    """  # noqa: E501
    if to.exists() and not force:
        raise UsageError(f"{to} exists: --force overwrites it, or choose another name")
    source: str | Path = file if file in (STARTER, CASEBENCH) else Path(file)
    if isinstance(source, Path) and to.exists() and to.samefile(source):
        raise UsageError(f"{to}: would overwrite the cases")
    number, reason = _votes(votes, p1, p2, power, alpha)
    wanted = StudyPlan(
        title=_given("title", title) or "",
        arms=_arms(arms),
        votes=number,
        tasks=tasks,
        attention=attention,
        seed=seed,
        platform=platform,
        pay=_pay(currency, pay, seconds, minutes_besides, fee),
        asker=Asker(_given("by", by), _given("contact", contact), _given("ethics", ethics)),
    )
    with working("reading the cases"):
        made = open_cases(source)
    with working(f"dealing {len(made.cases)} cases to people"):
        study = plan_study(made, source, to, wanted)
        write_study(study, to)
        study = load_study(to)
        measured = balance(study, study_cases(study))
    expected = forecast(study, dropout)
    _print(study, made, measured, expected, reason, dropout, fee, format)
    _say_next(study, made, to)


def _votes(
    votes: int | None,
    p1: float | None,
    p2: float | None,
    power: float | None,
    alpha: float | None,
) -> tuple[int, str]:
    """The number of votes, and where it is from."""
    asked = {"--p1": p1, "--p2": p2, "--power": power}
    if all(one is None for one in (*asked.values(), alpha)):
        if votes is not None:
            return votes, "--votes"
        return PAPER_VOTES, "the default, as in the CASE-Bench paper"
    if votes is not None:
        raise UsageError("--votes is given, and --p1, --p2, --power would work it out: drop either")
    missing = [name for name, value in asked.items() if value is None]
    if missing:
        raise UsageError(f"{', '.join(missing)}: needed to work out the votes (or give --votes)")
    level = 0.05 if alpha is None else alpha
    found = plan_power(PowerInputs(PowerTest.PROPORTIONS, power=power, alpha=level, p1=p1, p2=p2))
    needed = found.answers[0].needed
    if needed is None:
        raise UsageError(f"--p1 {p1:g} --p2 {p2:g}: no number of votes was found")
    words = f"--p1 {p1:g} --p2 {p2:g} --power {power:g}"
    if alpha is not None:
        words += f" --alpha {alpha:g}"
    return needed, f"casewise power --test proportions {words}"


def _arms(text: str) -> tuple[Arm, ...]:
    names = [one.strip() for one in text.split(",")]
    wrong = [one for one in names if one not in list(Arm)]
    if wrong or len(set(names)) < len(names):
        raise UsageError(
            f"--arms {text}: give some of {', '.join(Arm)}, each once, with commas between them"
        )
    return tuple(one for one in Arm if one in names)


def _given(name: str, text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise UsageError(f"--{name} is blank: leave it out, or say something")
    return text.strip() if text is not None else None


def _pay(
    currency: str, pay: float, seconds: float, minutes_besides: float, fee: float | None
) -> Pay:
    if len(currency) != 3 or not (currency.isascii() and currency.isupper()):
        raise UsageError(f"--currency {currency}: three capital letters, such as GBP")
    numbers = {"pay": pay, "seconds": seconds, "minutes-besides": minutes_besides, "fee": fee or 0}
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise UsageError(f"--{name} {value}: a number, please")
    return Pay(
        currency=currency,
        per_hour=pay,
        seconds_per_task=seconds,
        minutes_besides=minutes_besides,
        fee=fee or 0,
    )


def _print(
    study: Study,
    made: CaseSet,
    measured: Balance,
    expected: Forecast,
    reason: str,
    dropout: float,
    fee: float | None,
    format: Format,
) -> None:
    notes = _notes(study, made, measured, fee)
    if format is Format.JSON:
        record = {
            "votes": study.votes,
            "votes_from": reason,
            "forecast": asdict(expected),
            "currency": study.pay.currency,
            "dropout": dropout,
            "balance": _plain(asdict(measured)),
            "notes": notes,
            "todo": check_ready(study),
        }
        write_out(json.dumps(record, indent=2) + "\n")
        return
    tables = {
        "What it takes": _effort(study, expected, reason, dropout),
        "How even it is": _evenness(measured),
    }
    if format is Format.MARKDOWN:
        parts = [_markdown(heading, rows) for heading, rows in tables.items()]
        write_out("\n".join([*parts, *(f"- {one}" for one in notes)]).rstrip() + "\n")
        return
    for heading, rows in tables.items():
        out().print(_table(heading, rows))
    for line in notes:
        out().print(line, markup=False)


def _effort(study: Study, expected: Forecast, reason: str, dropout: float) -> list[_Row]:
    pay = study.pay
    cells = len(study.design.cells)
    rows = [
        _Row("votes a case", str(study.votes), reason),
        _Row("cases under arms", str(cells), f"--arms {','.join(study.arms)}"),
        _Row("people", f"{expected.people:,}", "--tasks"),
        _Row("to recruit", f"{expected.recruit:,}", f"--dropout {dropout:g}"),
        _Row(
            "minutes a person",
            f"{expected.minutes:.1f}",
            f"--seconds {pay.seconds_per_task:g} --minutes-besides {pay.minutes_besides:g}",
        ),
        _Row("hours of all", f"{expected.hours:,.1f}", ""),
    ]
    if pay.per_hour:
        rows += [
            _Row("pay a person", _money(expected.pay_each, pay), f"--pay {pay.per_hour:g}"),
            _Row("pay", _money(expected.pay, pay), ""),
            _Row("platform's fee", _money(expected.fee, pay), f"--fee {pay.fee:g}"),
        ]
    cost = _money(expected.cost, pay) if pay.per_hour else "–"
    return [*rows, _Row("cost", cost, "" if pay.per_hour else "nobody is paid: --pay")]


def _evenness(measured: Balance) -> list[_Row]:
    arms = [
        _Row(f"cases of arm {arm} a person", _range(found), "--arms, --tasks")
        for arm, found in measured.arms.items()
    ]
    share = measured.category_share
    return [
        _Row("votes a case", _range(measured.votes), "--votes"),
        _Row("cases a person", _range(measured.size), "--tasks"),
        _Row("people who see a query twice", str(measured.repeated), ""),
        *arms,
        _Row(
            "greatest share of a category",
            f"{share.least:.2f} to {share.most:.2f}",
            f"{measured.categories} categories, --tasks",
        ),
        _Row("a category off its share by", f"{measured.category_off:.2f} cases at most", ""),
        _Row(
            "people on both of two queries",
            f"{_range(measured.met)}, mean {_number(measured.met.mean)}",
            "--votes, --tasks",
        ),
        _Row("pairs of queries never met", _percent(measured.never_met), "--votes, --tasks"),
        _Row(
            "efficiency of the blocks",
            f"{_number(measured.efficiency, 3)} of {_number(measured.efficiency_bound, 3)}",
            "--tasks",
        ),
    ]


def _notes(study: Study, made: CaseSet, measured: Balance, fee: float | None) -> list[str]:
    notes = []
    left_out = sum(one.context is not None and one.intended is None for one in made.cases)
    if left_out and set(study.arms) != {Arm.NONE}:
        notes.append(f"{left_out} cases have no intended side, and so no arm: they are left out.")
    if study.pay.per_hour and study.recruitment.platform is not Platform.NONE and fee is None:
        notes.append(
            "The platform's fee is not counted: give --fee (MTurk's was .2, and .4 with ten or "
            "more people a HIT; see the platform's prices)."
        )
    if measured.arms_apart > 1:
        notes.append(
            f"In some blocks two arms differ by {measured.arms_apart} cases: not every query has "
            "a case under each arm."
        )
    if measured.category_share.most >= 0.5 and measured.categories > 1:
        notes.append("A category fills half of a block or more: it fills as much of the cases.")
    if measured.categories == 1:
        notes.append("The cases have no categories, or one: none are spread.")
    return notes


def _say_next(study: Study, made: CaseSet, to: Path) -> None:
    for line in made.notes:
        note(f"note: {line}")
    name = shlex.quote(str(to))
    note(f"{to}: written. Edit its texts; then try it: casewise annotate serve {name}")
    problems = check_ready(study)
    if problems:
        note("Before people may be asked:")
        for line in problems:
            note(f"- {line}")
    note("Content warning: queries and contexts may be distressing.")


def _money(value: float, pay: Pay) -> str:
    return f"{value:,.2f} {pay.currency}"


def _number(value: float, digits: int = 1) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f} %"


def _range(found: Range) -> str:
    if math.isnan(found.least):
        return "–"
    low, high = f"{found.least:g}", f"{found.most:g}"
    return low if low == high else f"{low} to {high}"


def _plain(value: Any) -> Any:
    """NaN as null."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _table(heading: str, rows: Sequence[_Row]) -> Table:
    table = Table(
        title=heading, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("decided by", overflow="fold")
    for row in rows:
        table.add_row(row.name, row.value, row.by.replace("[", "\\["))
    return table


def _markdown(heading: str, rows: Sequence[_Row]) -> str:
    lines = [f"| {row.name} | {row.value} | {row.by} |" for row in rows]
    return "\n".join([f"| {heading} | | decided by |", "|---|---:|---|", *lines, ""])
