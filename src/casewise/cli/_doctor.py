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
    every: Annotated[
        bool, flag("--all", "Also list the parts that are as they should be.")
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Look at this machine: what is wrong first, what is absent, and what to do about it.

    It looks at versions, extras, caches, keys (by name) and models; --all lists
    those that are as they should be. Nothing is written, fetched or changed.
    A server on this machine whose address is in the environment is asked for
    its models, without a key; services elsewhere only with --reach.
    docs/how-to/your-machine.md says what each line means.

    [bold]Exit status[/]: 0 the first run (casewise run) works here offline,
    1 something for it is missing, 2 bad input.

    [bold]Examples[/]

    casewise doctor

    casewise doctor --all

    casewise doctor --reach --format json
    """
    with working("looking"):
        facts = list(examine(reach=reach))
    print_as(format, _sheet(facts, every=every))
    if not is_ready(facts):
        raise typer.Exit(LACKING)


def _table(facts: Sequence[MachineFact]) -> Table:
    rows = [Row([fact.name, _word(fact.state), fact.found], fact.part) for fact in facts]
    return Table([Column(""), Column(""), Column("found")], rows)


def _word(state: State) -> Word | str:
    return Word(state, _TONES[state]) if state in _TONES else str(state)


def _is_urgent(fact: MachineFact) -> bool:
    return fact.state is not State.OK and (fact.needed or fact.state is State.WRONG)


def _todo(facts: Sequence[MachineFact]) -> list[str]:
    """A line for each thing to do, what the first run needs before all else, what is wrong next."""
    lacking = [fact for fact in facts if fact.todo]
    lacking.sort(key=lambda fact: (not fact.needed, fact.state is not State.WRONG))
    return [f"{fact.part}, {fact.name}: {fact.found}; {fact.todo}" for fact in lacking]


def _verdict(facts: list[MachineFact]) -> Word:
    if is_ready(facts):
        return Word("The first run (casewise run) works here, offline.", Tone.GOOD)
    lacking = [fact.name for fact in facts if fact.needed and fact.state is not State.OK]
    return Word(f"For the first run, offline, see to: {', '.join(lacking)}.", Tone.BAD)


def _rest(facts: Sequence[MachineFact]) -> str:
    """What the short form leaves out."""
    others = [fact for fact in facts if not _is_urgent(fact)]
    absent = [fact.name for fact in others if fact.state is not State.OK]
    well = f"{len(others) - len(absent)} parts are as they should be"
    lacking = f"; absent, and not needed for it: {', '.join(absent)}" if absent else ""
    return f"{well}{lacking}. casewise doctor --all lists each, and says how to get what is absent."


def _sheet(facts: list[MachineFact], *, every: bool) -> Sheet:
    verdict = _verdict(facts)
    todo = _todo(facts if every else [fact for fact in facts if _is_urgent(fact)])
    last: Table | str = _table(facts) if every else _rest(facts)
    listed = "\n".join(f"- {escape(line)}" for line in todo)
    fields = ("part", "name", "state", "found", "todo", "needed")
    return Sheet(
        lambda: terminal(verdict, *(f" - {line}" for line in todo), *([""] if every else []), last),
        lambda: markdown(escape(verdict.text), listed, last),
        lambda: {"ready": is_ready(facts), "facts": [json_fields(fact, *fields) for fact in facts]},
    )
