"""``casewise``: its commands, and the rooms that they open, imported when they are needed."""

import ast
import gc
import inspect
import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from traceback import format_tb
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import casewise
from casewise import LazyModule
from casewise.cli._console import err, write_any_character, write_to_nobody
from casewise.errors import CasewiseError, UsageError, install_hint

if TYPE_CHECKING:
    import polars

    import casewise.cases as case_files
    import casewise.gate as gates
    import casewise.judgements as judgement_files
    from casewise import (
        contexts,
        dataset,
        exports,
        measures,
        protocols,
        replies,
        reporting,
        results,
        statistics,
        transcripts,
    )
else:
    # The front door has functions called cases, gate and judgements.
    _NAMED = {
        "case_files": "casewise.cases",
        "gates": "casewise.gate",
        "judgement_files": "casewise.judgements",
        "polars": "polars",
    }

    def __getattr__(name: str) -> LazyModule:
        if name not in __all__:
            raise AttributeError(name)
        return LazyModule(_NAMED.get(name, f"casewise.{name}"))


__all__ = [
    "app",
    "case_files",
    "contexts",
    "dataset",
    "exports",
    "gates",
    "judgement_files",
    "main",
    "measures",
    "polars",
    "protocols",
    "replies",
    "reporting",
    "results",
    "statistics",
    "transcripts",
]


class HelpCommand(TyperCommand):
    """Command that refuses empty arguments."""

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """Both names, whoever asks first: the option is made once."""
        return ["-h", "--help"]

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Read the arguments.

        Raises:
            UsageError: One of them is empty, which would stand for the current folder.
        """
        if any(re.fullmatch("|--[^=]+=", argument) for argument in args):
            raise UsageError(
                "an argument is empty: give a value (. is the current folder). Is a variable of "
                "the shell not set?"
            )
        return super().make_context(info_name, args, parent, **extra)


class _LazyCommand(HelpCommand):
    """A command that is imported when it is used; its name and summary are known before.

    Args:
        name: The command's name.
        place: Its module and its function there, as ``casewise.cli._score:score``.
    """

    def __init__(self, name: str, place: str) -> None:
        super().__init__(name)
        self.place = place

    def load(self) -> Any:
        """The command itself."""
        return _load(self.name, self.place)

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Read the arguments of the command itself."""
        return self.load().make_context(info_name, args, parent, **extra)

    @property
    def short_help(self) -> str:
        """First paragraph of the function's docstring, read without importing anything."""
        module, function = self.place.split(":")
        defined = (node for node in _source(module).body if isinstance(node, ast.FunctionDef))
        text = next((ast.get_docstring(node) for node in defined if node.name == function), None)
        return " ".join((text or "").partition("\n\n")[0].split())

    @short_help.setter
    def short_help(self, text: str | None) -> None:
        """Ignore what Typer sets, which is nothing."""


class _MissingCommand(HelpCommand):
    """A command or group of a distribution that is not installed."""

    def __init__(self, name: str, distribution: str) -> None:
        self.needs = f"needs {distribution}, which is not installed"
        super().__init__(name, short_help=self.needs.capitalize())
        self.distribution = distribution

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Refuse, with the line that installs it."""
        path = f"{parent.command_path} {self.name}" if parent else self.name
        hint = install_hint(distribution=self.distribution)
        raise UsageError(f"{path} {self.needs}: {hint}")


def _source(module: str) -> ast.Module:
    """Source of a module, empty if it is not there; only the packages above it are imported."""
    try:
        spec = find_spec(module)
    except ImportError:
        spec = None
    return ast.parse(Path(spec.origin).read_text("utf-8") if spec and spec.origin else "")


@cache
def _load(name: str | None, place: str) -> Any:
    """A command, made once: to read the types of its options takes longer than many commands."""
    module, function = place.split(":")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    callback = getattr(import_module(module), function)
    # Typer keeps the line ends of a docstring, which are not those of a terminal.
    paragraphs = (inspect.getdoc(callback) or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    alone.command(name, cls=HelpCommand, help=text)(callback)
    return typer.main.get_command(alone)


ENTRY_POINTS = "casewise.commands"
"""Group of entry points by which other distributions add commands.

``annotate.plan`` is the command ``casewise annotate plan``, a function with Typer's annotations;
``annotate`` is a module, whose docstring is the group's help.
"""

ELSEWHERE = {"annotate": "casewise-study"}
"""Commands and groups of distributions that we know of, to name where they are not installed."""


@cache
def _entry_points() -> Mapping[str, str]:
    """Place of each command of another distribution, by its name; looked for when one is needed."""
    # To import it, and to look through what is installed, takes a tenth of a start.
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def _extension_commands(group: str) -> dict[str, Any]:
    """Commands that other distributions add to a group, by their names there."""
    begin = f"{group}." if group else ""
    commands: dict[str, Any] = {}
    for full in {**ELSEWHERE, **_entry_points()}:
        name = full.removeprefix(begin).partition(".")[0]
        path = f"{begin}{name}"
        if not full.startswith(begin) or path in commands or path in GROUPS:
            continue
        if any(command.startswith(f"{path}.") for command in _entry_points()):
            commands[name] = _extension_group(path)
        elif path in _entry_points():
            commands[name] = _LazyCommand(name, _entry_points()[path])
        else:
            commands[name] = _MissingCommand(name, ELSEWHERE[path])
    return commands


@cache
def _extension_group(path: str) -> Any:
    module = _entry_points().get(path)
    about = ast.get_docstring(_source(module)) if module else None
    alone = typer.Typer(
        cls=lazy_group(path, {}),
        name=path.rpartition(".")[2],
        help=about,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    alone.callback()(lambda: None)
    return typer.main.get_command(alone)


def lazy_group(group: str, places: Mapping[str, str]) -> type[TyperGroup]:
    """Class of a group whose commands are imported one by one.

    Args:
        group: Its name among those of ``casewise``, whose own is empty.
        places: For each command's name its module and its function, as ``_score:score``.
    """

    class Group(TyperGroup):
        get_help_option_names = HelpCommand.get_help_option_names

        @property
        def commands(self) -> dict[str, Any]:
            """Every command, those of other distributions last."""
            return {**self._own, **_extension_commands(group)}

        @commands.setter
        def commands(self, commands: Mapping[str, Any]) -> None:
            late = {
                name: _LazyCommand(name, f"casewise.cli.{place}") for name, place in places.items()
            }
            self._own = {**late, **commands}

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Look among our own first, and among those of other distributions where need be."""
            return self._own.get(cmd_name) or self.commands.get(cmd_name)

    return Group


BAD_INPUT = 2
INTERRUPTED = 130

COMMANDS = {
    "run": "_run:run",
    "grade": "_grade:grade",
    "score": "_score:score",
    "compare": "_report:compare",
    "replay": "_replay:replay",
    "report": "_report:report",
    "describe": "_dataset:describe",
    "export": "_export:export",
    "gate": "_gate:gate",
    "power": "_dataset:power",
    "doctor": "_doctor:doctor",
}
"""Place of each command: the file in this folder, and its function."""

GROUPS = {
    "cases": (
        "Files of cases: validate, show, convert, import, audit, split, sample, merge, diff; "
        "fetch CASE-Bench.",
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
            "import": "_import:import_",
        },
    ),
    "contexts": (
        "Contexts for queries, written by a model.",
        {"generate": "_generate:generate"},
    ),
    "target": (
        "A bot of your own, behind its own address: send it one message, and see what is read.",
        {"check": "_target:check"},
    ),
    "graders": (
        "Graders of replies: draw replies for people to label, check a grader against labels.",
        {"check": "_graders:check", "label": "_graders:label", "sample": "_graders:sample"},
    ),
}
"""Help and commands of each group."""

app = typer.Typer(
    cls=lazy_group("", COMMANDS),
    name="casewise",
    help="Does a language model's safety judgement follow the context? "
    "Run models over cases, and score them against what people judged.",
    epilog="Example: casewise run",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for name, (about, commands) in GROUPS.items():
    group = typer.Typer(cls=lazy_group(name, commands), help=about, no_args_is_help=True)
    app.add_typer(group, name=name)


def _version(is_requested: bool) -> None:
    if is_requested:
        print(f"casewise {casewise.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command."""


@cache
def _program() -> Any:
    """All groups, made once."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line.

    Exit status: 0 done, 1 not all done, 2 bad input, 128 and the signal's number (Ctrl-C 130).
    """
    # What a command imports stays until it ends: looking for garbage in it is a fifth of a start.
    gc.set_threshold(50_000)
    write_any_character()
    try:
        sys.exit(_program()(prog_name="casewise", standalone_mode=False) or 0)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        write_to_nobody()
        sys.exit(0)
    except Exception as error:
        text = _message(error)
        if text is None:
            print(_fault_report(error), file=sys.stderr)
            sys.exit(1)
        if text:
            _say_error(text)
        sys.exit(BAD_INPUT)


def _fault_report(error: BaseException) -> str:
    """Traceback of a fault of ours, and of what it was raised from, the first cause first.

    Messages are left out: they may quote what was asked, or a key.
    """
    parts: list[str] = []
    raised: BaseException | None = error
    while raised is not None:
        kind = f"{type(raised).__module__}.{type(raised).__qualname__}".removeprefix("builtins.")
        parts.insert(0, f"{''.join(format_tb(raised.__traceback__))}{kind}")
        raised = raised.__cause__ or (None if raised.__suppress_context__ else raised.__context__)
    tracebacks = "\n\n".join(f"Traceback (most recent call last):\n{part}" for part in parts)
    note = "a fault of casewise or of an extension; its message may quote a query or a key"
    return f"{tracebacks} ({note}, and is left out)"


def _message(error: Exception) -> str | None:
    """Message on an error that a person can mend, empty after help; None on a fault of ours."""
    match error:
        case CasewiseError():
            return str(error)
        case ImportError():
            return _package_message(error)
        case OSError():
            return f"{error.filename or 'input or output'}: {error.strerror or error}"
    # What Typer found wrong with options: of no public class, but with a text and a context.
    return _option_message(error) if hasattr(error, "format_message") else None


def _package_message(error: ImportError) -> str | None:
    """Message on another distribution that is not there; None where one of ours is broken."""
    package = (error.name or "").partition(".")[0]
    if package in ("", "casewise", "casewise_study"):
        return None
    return (
        f"the package {package} is missing or broken ({error}). Install casewise again "
        f"({install_hint()}); casewise doctor looks at the others"
    )


def _option_message(error: Any) -> str:
    """Message on mistaken options; empty after help."""
    command = getattr(getattr(error, "ctx", None), "command_path", "casewise")
    text: str = error.format_message().replace("Value error, ", "")
    return f"{text} ({command} --help)" if text else ""


def _say_error(text: str) -> None:
    console = err()
    console.print("[bold red]error:[/] ", end="")
    # A command folded by us could not be pasted.
    console.print(text, markup=False, soft_wrap=console.soft_wrap or "To go on: " in text)
