"""The entry point: every command, and what becomes of errors."""

import os
import sys
from typing import Annotated

import typer

import casewise
from casewise.cli._audit import audit
from casewise.cli._case_sets import diff, merge, sample, split
from casewise.cli._cases import cases_app
from casewise.cli._compare import compare
from casewise.cli._console import err
from casewise.cli._contexts import contexts_app
from casewise.cli._describe import describe
from casewise.cli._export import export
from casewise.cli._gate import gate
from casewise.cli._generate import generate
from casewise.cli._graders import graders_app
from casewise.cli._import import import_
from casewise.cli._power import power
from casewise.cli._release import release
from casewise.cli._report import report
from casewise.cli._revise import revise
from casewise.cli._run import run
from casewise.cli._score import score
from casewise.errors import CasewiseError

BAD_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="casewise",
    help="Does a language model's safety judgement follow the context? "
    "Run models over cases, and score them against what people judged.",
    epilog="A first run, offline, in a minute: casewise run",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(run)
app.command()(score)
app.command()(compare)
app.command()(report)
app.command()(describe)
app.command()(export)
app.command()(gate)
app.command()(power)
for command in (audit, split, sample, merge, diff, release):
    cases_app.command()(command)
cases_app.command("import")(import_)
contexts_app.command()(generate)
contexts_app.command()(revise)
app.add_typer(cases_app, name="cases")
app.add_typer(contexts_app, name="contexts")
app.add_typer(graders_app, name="graders")


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
    except OSError as error:
        _say_error(f"{error.filename or 'input or output'}: {error.strerror or error}")
        sys.exit(BAD_INPUT)


def _say_error(text: str) -> None:
    console = err()
    console.print("[bold red]error:[/] ", end="")
    console.print(text, markup=False)
