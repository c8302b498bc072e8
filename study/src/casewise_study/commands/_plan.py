"""``casewise annotate plan``."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from casewise.cases import CASEBENCH, MAX_SEED, STARTER, open_cases
from casewise.cli import note, working
from casewise.cli.arguments import File
from casewise.errors import UsageError
from casewise.files import quoted
from casewise.sheets import plural
from casewise_study.commands._plan_tables import PlanSheet, print_plan, simulated_savings
from casewise_study.commands.shared import ResultFormat, note_open
from casewise_study.statistics.stopping import LEAST_VOTES
from casewise_study.study.block_balance import balance
from casewise_study.study.language import SOURCE
from casewise_study.study.planning import (
    PAPER_VOTES,
    forecast,
    plan_study,
    time_warnings,
)
from casewise_study.study.schema import Arm, Pay, Platform
from casewise_study.study.study_file import load_study, study_cases, write_study
from casewise_study.study.study_rules import Collection, StoppingRule
from casewise_study.study.study_texts import text_warnings

_of_study = partial(typer.Option, rich_help_panel="Study")
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
        int, _of_study(min=1, help="Votes on each case; 21 as in the CASE-Bench paper.")
    ] = PAPER_VOTES,
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
    by: Annotated[
        str | None, _of_study(metavar="TEXT", help="Who runs the study, for the consent.")
    ] = None,
    contact: Annotated[
        str | None, _of_study(metavar="TEXT", help="Whom people can write to.")
    ] = None,
    ethics: Annotated[
        str | None,
        _of_study(metavar="TEXT", help="The board that approved it, and its number."),
    ] = None,
    language: Annotated[
        str, _of_study(metavar="CODE", help="Language of the pages: en, de, or that of a .po file.")
    ] = SOURCE,
    collection: Annotated[
        StoppingRule,
        _of_study(
            help="sequential: a case stops once its majority is decided; --votes is the most."
        ),
    ] = StoppingRule.FIXED,
    platform: Annotated[Platform, _of_people(help="Where people come from.")] = Platform.NONE,
    seconds: Annotated[
        float | None,
        _of_people(min=1, help="Mean seconds a case. Default: by the number of words."),
    ] = None,
    minutes_besides: Annotated[
        float | None,
        _of_people(
            min=0, help="Minutes for consent, tutorial and questions. Default: by their words."
        ),
    ] = None,
    pay: Annotated[float, _of_people(min=0, help="Pay an hour. 0: unpaid.")] = 0,
    currency: Annotated[str, _of_people(help="Three capital letters.")] = "GBP",
    fee: Annotated[float, _of_people(min=0, help="Platform's fee as a share of the pay: .4.")] = 0,
    dropout: Annotated[
        float, _of_people(min=0, max=0.95, help="Share of people who won't finish.")
    ] = 0.1,
    force: Annotated[bool, _of_study("--force", help="Overwrite the study file.")] = False,
    format: Annotated[ResultFormat, _of_study(help="Form of the output.")] = ResultFormat.TABLE,
) -> None:
    """Plan a study: who judges which cases, how many people it takes, and what it costs.

    Nobody sees a query twice, so nobody compares its contexts. Each case gets
    exactly --votes judgements (--collection sequential: at most); each person sees all arms and many categories.
    The study file holds every text that people read; edit it, then run
    casewise annotate serve. People, minutes and costs are forecasts.

    [bold]Examples[/]

    casewise annotate plan starter --out study.yaml

    casewise annotate plan cases.jsonl --out study.yaml --arms safe,unsafe --votes 11 --tasks 15

    casewise annotate plan cases.jsonl --out study.yaml --collection sequential

    casewise annotate plan casebench --out study.yaml --platform prolific --pay 12 --fee .4 --by "Example University" --contact ada@example.org
    """  # noqa: E501
    source: str | Path = file if file in (STARTER, CASEBENCH) else Path(file)
    _check_place(to, source, force=force)
    with working("reading the cases"):
        case_set = open_cases(source)
    with working(f"dealing {plural(len(case_set.cases), 'case')} to people"):
        study = plan_study(
            case_set,
            source,
            to,
            title="What should a chatbot answer?",
            arms=_arms(arms),
            votes=votes,
            collection=Collection(rule=collection, least=min(LEAST_VOTES, votes)),
            tasks=tasks,
            attention=attention,
            seed=seed,
            platform=platform,
            pay=_pay(pay, currency, fee, seconds, minutes_besides),
            language=language,
            by=_given(by),
            contact=_given(contact),
            ethics=_given(ethics),
        )
        write_study(study, to)
        study = load_study(to)
        even = balance(study, study_cases(study))
        drawn = simulated_savings(study, seed)
    planned = PlanSheet(study, case_set, even, forecast(study, dropout), dropout, drawn)
    print_plan(planned, format)
    _say_next(planned, to)


def _check_place(to: Path, source: str | Path, *, force: bool) -> None:
    if to.suffix not in (".yaml", ".yml"):
        raise UsageError(f"--out {to}: a study is YAML; end its name in .yaml")
    if to.exists() and not force:
        raise UsageError(f"{to} exists: --force overwrites it, or choose another name")
    if isinstance(source, Path) and to.exists() and to.samefile(source):
        raise UsageError(f"{to}: would overwrite the cases")


def _pay(
    per_hour: float, currency: str, fee: float, seconds: float | None, minutes: float | None
) -> Pay:
    try:
        return Pay(
            currency=currency,
            per_hour=per_hour,
            seconds_per_task=seconds,
            minutes_besides=minutes,
            fee=fee,
        )
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        raise UsageError(
            f"--currency, --pay, --seconds, --minutes-besides, --fee: {detail['input']}: "
            f"{detail['msg'][0].lower()}{detail['msg'][1:]}"
        ) from None


def _given(text: str | None) -> str | None:
    return (text or "").strip() or None


def _arms(text: str) -> tuple[Arm, ...]:
    names = [name.strip() for name in text.split(",")]
    wrong = [name for name in names if name not in list(Arm)]
    if wrong or len(set(names)) < len(names):
        raise UsageError(
            f"--arms {text}: give some of {', '.join(Arm)}, each once, with commas between them"
        )
    return tuple(arm for arm in Arm if arm in names)


def _say_next(planned: PlanSheet, to: Path) -> None:
    study = planned.study
    for line in planned.case_set.notes:
        note(f"note: {line}")
    for line in (*time_warnings(study), *text_warnings(study)):
        note(f"warning: {line}")
    note(f"{to}: written. Edit its texts; then try it: casewise annotate serve {quoted(to)} --try")
    note_open(study)
    note("Content warning: queries and contexts may be distressing.")
