"""``casewise doctor``: what this machine has, and what to do about what it lacks."""

from collections.abc import Sequence
from typing import Annotated

import typer

from casewise.cli._console import Format, FormatOption, print_as, working
from casewise.cli._options import flag
from casewise.machine import MachineFact, State, examine, is_ready
from casewise.sheets import (
    Column,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    escape,
    json_fields,
    markdown,
    terminal,
)

LACKING = 1
"""Exit status where the first run would not work offline."""

_TONES = {State.WRONG: Tone.BAD, State.ABSENT: Tone.DOUBT}


def doctor(
    reach: Annotated[
        bool,
        flag(
            "--reach",
            "Also ask services on other machines, each once, with its key, for its models.",
        ),
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Look at this machine: versions, extras, caches, keys (by name), models; and what to do.

    Nothing is written, fetched or changed. A server on this machine whose
    address is in the environment is asked for its models, without a key;
    services elsewhere only with --reach. docs/how-to/your-machine.md says what each
    line means.

    [bold]Exit status[/]: 0 the first run (casewise run) works here offline,
    1 something for it is missing, 2 bad input.

    [bold]Examples[/]

    casewise doctor

    casewise doctor --reach --format json
    """
    with working("looking"):
        facts = list(examine(reach=reach))
    print_as(format, _sheet(facts))
    if not is_ready(facts):
        raise typer.Exit(LACKING)


def _table(facts: Sequence[MachineFact]) -> Table:
    rows = [Row([fact.name, _word(fact.state), fact.found], fact.part) for fact in facts]
    return Table([Column(""), Column(""), Column("found")], rows)


def _word(state: State) -> Word | str:
    return Word(state, _TONES[state]) if state in _TONES else str(state)


def _todo(facts: Sequence[MachineFact]) -> list[str]:
    """A line for each thing to do, what the first run needs before all else."""
    lacking = [fact for fact in facts if fact.todo]
    lacking.sort(key=lambda fact: (not fact.needed, fact.state is not State.WRONG))
    return [f"{fact.part}, {fact.name}: {fact.todo}" for fact in lacking]


def _verdict(facts: list[MachineFact]) -> Word:
    if is_ready(facts):
        return Word("The first run (casewise run) works here, offline.", Tone.GOOD)
    lacking = [fact.name for fact in facts if fact.needed and fact.state is not State.OK]
    return Word(f"For the first run, offline, see to: {', '.join(lacking)}.", Tone.BAD)


def _sheet(facts: list[MachineFact]) -> Sheet:
    table, todo, verdict = _table(facts), _todo(facts), _verdict(facts)
    heading = ["What to do", *(f" - {line}" for line in todo), ""] if todo else []
    listed = "\n".join(["What to do:", "", *(f"- {escape(line)}" for line in todo)])
    fields = ("part", "name", "state", "found", "todo", "needed")
    return Sheet(
        lambda: terminal(table, *heading, verdict),
        lambda: markdown(table, listed if todo else "", escape(verdict.text)),
        lambda: {"ready": is_ready(facts), "facts": [json_fields(fact, *fields) for fact in facts]},
    )
