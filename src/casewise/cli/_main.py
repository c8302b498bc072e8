"""``casewise``: its commands and groups, imported when somebody asks for them."""

import gc
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import casewise
from casewise.cli._console import err, write_any_character
from casewise.errors import CasewiseError, install_hint


def lazy_group(places: Mapping[str, str]) -> type[TyperGroup]:
    """A class of groups with commands that are imported one by one.

    Args:
        places: For each command's name its module in this folder and its function,
            as ``_score:score``.
    """

    class Group(TyperGroup):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.commands = _Commands(places, self.commands)

    return Group


class _Commands(MutableMapping[str, Any]):
    """Commands by name; to ask for the names imports nothing."""

    def __init__(self, places: Mapping[str, str], made: MutableMapping[str, Any]) -> None:
        self._places = places
        self._made = made

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _command(name, self._places[name])
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._places, **self._made})

    def __len__(self) -> int:
        return len({**self._places, **self._made})


def _command(name: str, place: str) -> Any:
    module, function = place.split(":")
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
    )
    alone.command(name)(getattr(import_module(f"casewise.cli.{module}"), function))
    return typer.main.get_command(alone)


BAD_INPUT = 2
INTERRUPTED = 130

COMMANDS = {
    "run": "_run:run",
    "grade": "_grade:grade",
    "score": "_score:score",
    "compare": "_compare:compare",
    "replay": "_replay:replay",
    "report": "_report:report",
    "describe": "_describe:describe",
    "export": "_export:export",
    "gate": "_gate:gate",
    "power": "_power:power",
    "purge": "_purge:purge",
    "doctor": "_doctor:doctor",
}
"""Where each command stands: the file in this folder, and its function."""

GROUPS = {
    "cases": (
        "Files of cases: validate, show, convert, import, audit, split, sample, merge, diff, "
        "release; fetch CASE-Bench.",
        {
            "validate": "_cases:validate",
            "show": "_cases:show",
            "convert": "_cases:convert",
            "fetch": "_cases:fetch",
            "audit": "_cases:audit",
            "split": "_case_sets:split",
            "sample": "_case_sets:sample",
            "merge": "_case_sets:merge",
            "diff": "_case_sets:diff",
            "release": "_case_sets:release",
            "import": "_import:import_",
        },
    ),
    "contexts": (
        "Contexts for queries: have a model write them, and revise them pair by pair.",
        {"generate": "_generate:generate", "revise": "_revise:revise"},
    ),
    "annotate": (
        "People's votes: plan a study, run it, screen it, and give the votes to the cases.",
        {
            "plan": "_annotate_plan:plan",
            "simulate": "_annotate_simulate:simulate",
            "texts": "_annotate_plan:texts",
            "serve": "_annotate_serve:serve",
            "purge": "_annotate_store:purge",
            "exclude": "_annotate_store:exclude",
            "backup": "_annotate_backup:backup",
            "restore": "_annotate_backup:restore",
            "payments": "_annotate_payments:payments",
            "export": "_annotate_export:export",
            "tasks": "_annotate_exchange:tasks",
            "collect": "_annotate_exchange:collect",
        },
    ),
    "target": (
        "A bot of your own, behind its own address: send it one message, and see what is read.",
        {"check": "_target:check"},
    ),
    "graders": (
        "Graders of replies: draw replies for people to label, check a grader against labels.",
        {"check": "_graders:check", "sample": "_grader_sample:sample"},
    ),
}
"""Of each group: its help, and its commands."""

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    name="casewise",
    help="Does a language model's safety judgement follow the context? "
    "Run models over cases, and score them against what people judged.",
    epilog="A first run, offline, in a minute: casewise run",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for name, (about, commands) in GROUPS.items():
    group = typer.Typer(
        cls=lazy_group(commands), help=about, no_args_is_help=True, rich_markup_mode="rich"
    )
    app.add_typer(group, name=name)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"casewise {casewise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Run the command line. Exit status: 0 done, 1 not all done, 2 bad input, 130 stopped."""
    # What a command imports stays until it ends: looking for garbage in it is a fifth of a start.
    gc.set_threshold(50_000)
    write_any_character()
    try:
        app()
    except CasewiseError as error:
        _say_error(str(error))
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe has what it wanted; keep Python quiet about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "casewise"):
            raise
        _say_error(
            f"the package {package} is missing or broken ({error}). Install casewise again "
            f"({install_hint()}); casewise doctor looks at the others"
        )
        sys.exit(BAD_INPUT)
    except OSError as error:
        _say_error(f"{error.filename or 'input or output'}: {error.strerror or error}")
        sys.exit(BAD_INPUT)


def _say_error(text: str) -> None:
    console = err()
    console.print("[bold red]error:[/] ", end="")
    # A command folded by us could not be pasted.
    console.print(text, markup=False, soft_wrap=console.soft_wrap or "To go on: " in text)
