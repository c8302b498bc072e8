"""``casewise doctor``: what this machine has, and what to do about what it lacks."""

import typer

from casewise.cli._console import Format, FormatOption, print_as, working
from casewise.machine import MachineFact, examine, is_ready
from casewise.sheets import (
    Column,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    json_fields,
    page,
)

LACKING = 1
"""Exit status where the first run would not work offline."""


def doctor(format: FormatOption = Format.TABLE) -> None:
    """Look at this machine: versions, extras, cache, and keys by name.

    Nothing is sent, fetched or changed, and no value of a key is printed.

    [bold]Exit status[/]: 0 the first run (casewise run) works here offline,
    1 something for it is missing, 2 bad input.

    [bold]Examples[/]

    casewise doctor

    casewise doctor --format json
    """
    with working("looking"):
        facts = list(examine())
    print_as(format, _sheet(facts))
    if not is_ready(facts):
        raise typer.Exit(LACKING)


def _sheet(facts: list[MachineFact]) -> Sheet:
    lacking = ", ".join(fact.name for fact in facts if fact.needed and fact.todo)
    verdict = Word("The first run (casewise run) works here, offline.", Tone.GOOD)
    if lacking:
        verdict = Word(f"For the first run, offline, see to: {lacking}.", Tone.BAD)
    todo = sorted((fact for fact in facts if fact.todo), key=lambda fact: not fact.needed)
    lines = [f"- {fact.name}: {fact.found}; {fact.todo}" for fact in todo]
    table = Table(
        [Column(""), Column(""), Column("found")],
        [Row([fact.part, fact.name, fact.found]) for fact in facts],
    )
    fields = ("part", "name", "found", "todo", "needed")
    return page(
        [verdict, *lines, "", table],
        lambda: {"ready": is_ready(facts), "facts": [json_fields(fact, *fields) for fact in facts]},
    )
