"""``casewise annotate plan``."""

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ValidationError

from casewise.cases import CASEBENCH, MAX_SEED, STARTER, open_cases
from casewise.cli import Format, FormatOption, note, working
from casewise.cli.arguments import File
from casewise.dataset import PowerInputs, PowerTest, plan_power
from casewise.errors import UsageError
from casewise.files import quoted
from casewise.files.yaml import problem_of
from casewise_study.commands._plan_tables import PlanSheet, print_plan, simulated_designs
from casewise_study.study.block_balance import balance
from casewise_study.study.language import SOURCE
from casewise_study.study.planning import (
    PAPER_VOTES,
    check_ready,
    open_points,
    plan_study,
    time_warnings,
)
from casewise_study.study.schema import Arm, Pay, Platform
from casewise_study.study.study_file import load_study, study_cases, write_study
from casewise_study.study.study_rules import Collection, StoppingRule
from casewise_study.study.study_texts import text_warnings

_of_study = partial(typer.Option, rich_help_panel="Study")
_of_votes = partial(typer.Option, rich_help_panel="Votes from the power of a test")
_of_collection = partial(typer.Option, rich_help_panel="Fewer votes for the same labels")
_of_people = partial(typer.Option, rich_help_panel="People")
"""Options in the panels that this command has of its own."""


def plan(
    file: File,
    to: Annotated[
        Path, _of_study("--out", "-o", metavar="FILE", help="The study file to write (.yaml).")
    ],
    arms: Annotated[
        str, _of_study(metavar="ARM,...", help="Contexts to show: none, safe, unsafe.")
    ] = "none,safe,unsafe",
    votes: Annotated[
        int | None,
        _of_study(min=1, help=f"On each case. Default: {PAPER_VOTES}, as the CASE-Bench paper."),
    ] = None,
    tasks: Annotated[
        int | None,
        _of_study(min=1, help="Cases a person, at most. Default: 20, or the number of queries."),
    ] = None,
    attention: Annotated[
        int | None,
        _of_study(
            min=0, help="Attention checks a person. Default: 8, or for half as many as cases."
        ),
    ] = None,
    seed: Annotated[int, _of_study(min=0, max=MAX_SEED, help="Seed of the random assignment.")] = 0,
    title: Annotated[
        str, _of_study(help="What people see as the study's name.")
    ] = "What should a chatbot answer?",
    by: Annotated[
        str | None, _of_study(metavar="TEXT", help="Who does the study, for the consent.")
    ] = None,
    contact: Annotated[
        str | None, _of_study(metavar="TEXT", help="Whom people can write to.")
    ] = None,
    ethics: Annotated[
        str | None,
        _of_study(metavar="TEXT", help="The board that approved it, and its number."),
    ] = None,
    keep_until: Annotated[
        datetime | None,
        _of_study(
            formats=["%Y-%m-%d"],
            metavar="DATE",
            help="When what could identify people is deleted. Default: after twelve months.",
        ),
    ] = None,
    language: Annotated[
        str, _of_study(metavar="CODE", help="Of the pages: en, de, or that of a .po file.")
    ] = SOURCE,
    p1: Annotated[float | None, _of_votes(help="Share of safe votes on one case, 0..1.")] = None,
    p2: Annotated[
        float | None, _of_votes(help="Share on the other, to be told from the first.")
    ] = None,
    power: Annotated[
        float | None, _of_votes(help="The chance of telling them apart, such as .8.")
    ] = None,
    alpha: Annotated[float | None, _of_votes(help="Of the two-sided test. Default: .05.")] = None,
    collection: Annotated[
        StoppingRule,
        _of_collection(
            help="sequential: a case stops once its majority is decided; --votes is the most."
        ),
    ] = StoppingRule.FIXED,
    posterior: Annotated[
        float | None,
        _of_collection(help="Decided when the majority is all people's so probably. Default: .95."),
    ] = None,
    least_votes: Annotated[
        int | None,
        _of_collection(min=1, help="On every case, however clear. Default: 5."),
    ] = None,
    platform: Annotated[Platform, _of_people(help="Where people come from.")] = Platform.NONE,
    seconds: Annotated[
        float | None,
        _of_people(min=1, help="A case takes, on average. Default: by the words that people read."),
    ] = None,
    minutes_besides: Annotated[
        float | None,
        _of_people(min=0, help="Consent, tutorial and questions take. Default: by their words."),
    ] = None,
    pay: Annotated[float, _of_people(min=0, help="Pay an hour. 0: unpaid.")] = 0,
    currency: Annotated[str, _of_people(help="Three capital letters.")] = "GBP",
    fee: Annotated[
        float | None, _of_people(min=0, help="The platform's, as a share of the pay: .4.")
    ] = None,
    dropout: Annotated[
        float, _of_people(min=0, max=0.95, help="Share of people who won't finish.")
    ] = 0.1,
    force: Annotated[bool, _of_study("--force", help="Overwrite the study file.")] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Plan a study: who judges which cases, how many people it takes, and what it costs.

    Nobody sees a query twice, so nobody compares its contexts. Each case gets
    exactly --votes judgements (--collection sequential: at most); each person sees all arms and many categories.
    The study file holds every text that people read; edit it, then run
    casewise annotate serve. People, minutes and costs are forecasts.

    [bold]Examples[/]

    casewise annotate plan starter --out study.yaml

    casewise annotate plan cases.jsonl --out study.yaml --arms safe,unsafe --votes 11 --tasks 15

    casewise annotate plan cases.jsonl --out study.yaml --p1 .5 --p2 .8 --power .8

    casewise annotate plan cases.jsonl --out study.yaml --collection sequential

    casewise annotate plan casebench --out study.yaml --platform prolific --pay 12 --fee .4 --by "Example University" --contact ada@example.org
    """  # noqa: E501
    if to.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--out {to}: a study is YAML; end its name in .yaml")
    if to.exists() and not force:
        raise UsageError(f"{to} exists: --force overwrites it, or choose another name")
    source: str | Path = file if file in (STARTER, CASEBENCH) else Path(file)
    if isinstance(source, Path) and to.exists() and to.samefile(source):
        raise UsageError(f"{to}: would overwrite the cases")
    number, reason = _votes(votes, p1, p2, power, alpha)
    chosen = _checked(
        Collection,
        rule=collection,
        **_named(posterior=posterior, least=least_votes),
    )
    if collection is StoppingRule.FIXED and chosen != Collection():
        raise UsageError("--posterior, --least-votes: of --collection sequential; add that")
    if collection is StoppingRule.SEQUENTIAL and chosen.least > number:
        raise UsageError(f"--least-votes {chosen.least}: at most --votes, {number}; lower either")
    paid = _checked(
        Pay,
        currency=currency,
        per_hour=pay,
        seconds_per_task=seconds,
        minutes_besides=minutes_besides,
        fee=fee or 0,
    )
    with working("reading the cases"):
        made = open_cases(source)
    with working(f"dealing {len(made.cases)} cases to people"):
        study = plan_study(
            made,
            source,
            to,
            title=_given("title", title) or "",
            arms=_arms(arms),
            votes=number,
            collection=chosen,
            tasks=tasks,
            attention=attention,
            seed=seed,
            platform=platform,
            pay=paid,
            language=language,
            by=_given("by", by),
            contact=_given("contact", contact),
            ethics=_given("ethics", ethics),
            keep_until=keep_until.date() if keep_until else None,
        )
        write_study(study, to)
        study = load_study(to)
        even = balance(study, study_cases(study))
        drawn = simulated_designs(study, seed)
    planned = PlanSheet(study, made, even, reason, dropout, fee is not None, drawn)
    print_plan(planned, format)
    _say_next(planned, to)


_Part = TypeVar("_Part", bound=BaseModel)
_OPTIONS = {
    "per_hour": "pay",
    "seconds_per_task": "seconds",
    "minutes_besides": "minutes-besides",
    "least": "least-votes",
}


def _checked(part: type[_Part], **values: Any) -> _Part:
    """A part of the study from its options.

    Raises:
        UsageError: A value that the study file would not take.
    """
    try:
        return part(**values)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = str(detail["loc"][0])
        _, found, expected = problem_of(detail, (), {"finite_number": "a finite number"})
        if field == "currency":
            expected = "three capital letters, such as GBP"
    raise UsageError(f"--{_OPTIONS.get(field, field)} {found}: expected {expected}")


def _named(**values: Any) -> dict[str, Any]:
    """The values that were given."""
    return {name: value for name, value in values.items() if value is not None}


def _votes(
    votes: int | None,
    p1: float | None,
    p2: float | None,
    power: float | None,
    alpha: float | None,
) -> tuple[int, str]:
    """The number of votes, and where it is from."""
    asked = {"--p1": p1, "--p2": p2, "--power": power}
    if all(value is None for value in (*asked.values(), alpha)):
        if votes is not None:
            return votes, "--votes"
        return PAPER_VOTES, "the default, as in the CASE-Bench paper"
    if votes is not None:
        raise UsageError("--votes is given, and --p1, --p2, --power would work it out: drop either")
    if missing := [name for name, value in asked.items() if value is None]:
        raise UsageError(f"{', '.join(missing)}: needed to work out the votes (or give --votes)")
    level = 0.05 if alpha is None else alpha
    planned = plan_power(PowerInputs(PowerTest.PROPORTIONS, power=power, alpha=level, p1=p1, p2=p2))
    needed = planned.answers[0].needed
    if needed is None:
        raise UsageError(f"--p1 {p1:g} --p2 {p2:g}: no number of votes was found")
    words = f"--p1 {p1:g} --p2 {p2:g} --power {power:g}"
    if alpha is not None:
        words += f" --alpha {alpha:g}"
    return needed, f"casewise power --test proportions {words}"


def _arms(text: str) -> tuple[Arm, ...]:
    names = [name.strip() for name in text.split(",")]
    wrong = [name for name in names if name not in list(Arm)]
    if wrong or len(set(names)) < len(names):
        raise UsageError(
            f"--arms {text}: give some of {', '.join(Arm)}, each once, with commas between them"
        )
    return tuple(arm for arm in Arm if arm in names)


def _given(name: str, text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise UsageError(f"--{name} is blank: leave it out, or say something")
    return text.strip() if text is not None else None


def _say_next(planned: PlanSheet, to: Path) -> None:
    study = planned.study
    for line in planned.made.notes:
        note(f"note: {line}")
    for line in (*time_warnings(study), *text_warnings(study)):
        note(f"warning: {line}")
    note(f"{to}: written. Edit its texts; then try it: casewise annotate serve {quoted(to)}")
    if problems := check_ready(study):
        note("Before people may be asked:")
        for line in problems:
            note(f"- {line}")
    if missing := open_points(study):
        note("Still open, for a board and the law: say it in the file, or waive it there with why")
        for line in missing:
            note(f"- {line}")
    note("Content warning: queries and contexts may be distressing.")
