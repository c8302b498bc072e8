"""Help as it is shown: what a command does, examples to copy, and its options in panels.

Options name their panel (``rich_help_panel``), one of those below where it fits. A line is as wide
as the terminal, or as COLUMNS says, and never cuts a name: where there is little room, what an
option does stands below it.
"""

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from casewise.errors import UsageError

MODEL = "Model"
CASES = "Cases"
PROTOCOL = "Protocol"
CONVERSATIONS = "Conversations"
SAMPLING = "Sampling"
COST = "Cost"
PLACE = "Where it runs"
GRADER = "Grader of replies"
TRUTH = "Truth and unread answers"
UNCERTAINTY = "Uncertainty"
OUTPUT = "Output"
PANELS = (MODEL, CASES, PROTOCOL, CONVERSATIONS, SAMPLING, GRADER, TRUTH, COST, PLACE, UNCERTAINTY)
"""The panels that several commands share, in their order; then come a command's own, and OUTPUT."""

WIDEST, WIDE = 100, 68
"""Columns that help takes at most, and from which on two columns fit in a panel."""

NAMES = 27
"""Columns of the names of options, where what they do stands beside them."""

_EXAMPLES = re.compile(r"\[bold\]Examples?\[/\]")
_TYPES = {"int": "N", "float": "NUMBER", "str": "TEXT", "path": "PATH", "file": "FILE"}


def one_of(names: Iterable[str]) -> str:
    """How an option shows the names that it takes, of which help knows."""
    return f"<{'|'.join(names)}>"


def several_of(names: Iterable[str]) -> str:
    """How an option shows the names that it takes joined by commas."""
    return f"{one_of(names)},..."


class HelpCommand(TyperCommand):
    """A command with help in panels, which takes an empty argument for no folder."""

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Read the arguments."""
        given = list(args)
        ctx = super().make_context(info_name, args, parent, **extra)
        if "." not in given and any(_EMPTY.fullmatch(one) for one in given):
            _refuse_empty_paths(ctx)
        return ctx

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _print_help(self, ctx, ())


_EMPTY = re.compile("|--[^=]+=")


def _refuse_empty_paths(ctx: Any) -> None:
    """To Python, the path without a name is the current folder; here it is a variable not set."""
    for param in ctx.command.params:
        value = ctx.params.get(param.name)
        values = value if isinstance(value, list | tuple) else [value]
        is_option = param.param_type_name == "option"
        if Path() in values or (
            "" in values and (not is_option or "FILE" in (param.metavar or ""))
        ):
            raise UsageError(
                f"{param.opts[0] if is_option else param.display_name_raw} is empty: expected a "
                "file or a folder (. is the current one). Is a variable of the shell not set?"
            )


class HelpGroup(TyperGroup):
    """A group with its commands in a panel."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        _print_help(self, ctx, [(name, about(one)) for name, one in self.commands.items()])


def about(command: Any) -> str:
    """What a command does, in its first words, without an end."""
    return _paragraphs(command.get_short_help_str(1000))[0].removesuffix(".")


def _print_help(command: Any, ctx: Any, commands: Sequence[tuple[str, str]]) -> None:
    console = Console(highlight=False)
    console.width = min(console.width, WIDEST)
    first, *others = _paragraphs(command.help or "")
    place = next((i for i, text in enumerate(others) if _EXAMPLES.match(text)), len(others))
    examples = [*others[place + 1 :], *_paragraphs(command.epilog or "")]
    console.print(_usage(command, ctx), style="bold", markup=False, end="\n\n")
    console.print(first, end="\n\n")
    if any(examples):
        console.print("[bold]Examples[/]")
        for example in filter(None, examples):
            # No markup, and nothing for the terminal to fold: the lines are to be copied.
            console.print(_copyable(example, console.width - 2), markup=False, soft_wrap=True)
        console.print()
    for text in others[:place]:
        console.print(text, end="\n\n")
    width = console.width - 4
    panels = _panels(command, ctx, commands, width)
    names = min(NAMES, max(len(name) for rows in panels.values() for name, _ in rows))
    for title, rows in panels.items():
        lines = (line for row in rows for line in _row(console, *row, names, width))
        body = Text("\n").join(lines)
        console.print(Panel(body, title=title, title_align="left", border_style="dim"))


def _usage(command: Any, ctx: Any) -> str:
    named = [one for one in command.params if one.param_type_name == "argument"]
    shown = [one.metavar or one.name.upper() for one in named]
    words = [n if one.required else f"[{n}]" for n, one in zip(shown, named, strict=True)]
    words += ["COMMAND"] if isinstance(command, TyperGroup) else []
    return " ".join(["Usage:", ctx.command_path, "[OPTIONS]", *words])


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]


def _copyable(example: str, width: int) -> str:
    """A command in lines that fit, each but the last of which says that it goes on."""
    whole = re.sub(r"'[^']*'|\"[^\"]*\"", lambda one: one[0].replace(" ", "\0"), example)
    # An option stays beside its value, unless that is long.
    short = rf"(?<= )(--?[\w-]+) (?=[^-])(?=\S{{1,{width // 2}}}( |$))"
    whole = re.sub(short, "\\1\0", whole)
    lines = textwrap.wrap(
        whole, width - 2, break_long_words=False, break_on_hyphens=False, subsequent_indent="  "
    )
    return "\n".join(f"  {line}" for line in " \\\n".join(lines).replace("\0", " ").split("\n"))


def _panels(
    command: Any, ctx: Any, commands: Sequence[tuple[str, str]], width: int
) -> dict[str, list[tuple[str, Text]]]:
    """Names and texts by panel, in the order of ``PANELS``; what has no panel comes last."""
    panels: dict[str, list[tuple[str, Text]]] = {
        "Arguments": [],
        "Commands": [(name, Text.from_markup(text)) for name, text in commands],
        **{name: [] for name in PANELS},
    }
    rest = []
    for param in command.get_params(ctx):
        if (record := param.get_help_record(ctx)) is None:
            continue
        name, text = record
        panel = getattr(param, "rich_help_panel", None)
        if param.param_type_name == "argument":
            panels["Arguments"].append(_shown(*_argument(name, text), width))
        elif panel is None:
            rest.append(_shown(name, text, width))
        else:
            panels.setdefault(panel, []).append(_shown(name, text, width))
    panels[OUTPUT] = panels.pop(OUTPUT, [])
    shown = {title: rows for title, rows in panels.items() if rows}
    return {
        **shown,
        "Other options" if shown.keys() - {"Arguments", "Commands"} else "Options": rest,
    }


def _shown(name: str, text: str, width: int) -> tuple[str, Text]:
    """The name of an option with its type in words, and what it does; long choices stand there."""
    name = re.sub(r"<(?:list\[)?(\w+)(?: range)?\]?>", _type_word, name)
    choices = re.search(r"<([^>]*\|[^>]*)>", name)
    text, _, extra = text.rpartition("  [") if "  [" in text else (text, "", "")
    shown = Text.from_markup(text)
    if choices and len(name) > width:
        name = name.replace(choices[0], "CHOICE")
        shown.append(f"{' ' if text else ''}One of {choices[1].replace('|', ', ')}.")
    if extra := "; ".join(filter(None, map(_in_words, extra.removesuffix("]").split("; ")))):
        shown.append(f" [{extra}]" if shown else f"[{extra}]", "dim")
    return name, shown


def _argument(name: str, text: str) -> tuple[str, str]:
    """An argument without its type, and with its choices before what it does, if it has any."""
    word, _, kind = name.partition(" <")
    choices = kind.removesuffix(">").replace("|", ", ") if "|" in kind else ""
    return word.upper() if choices else word, f"One of {choices}. {text}" if choices else text


def _in_words(extra: str) -> str:
    """A range in words, and what else is said of an option as it is; 0 or more is not said."""
    if found := re.fullmatch(r"(.+)<=x<=(.+)", extra):
        return f"{found[1]} to {found[2]}"
    found = re.fullmatch(r"x>=(.+)", extra)
    return extra if found is None else "" if float(found[1]) == 0 else f"{found[1]} or more"


def _type_word(found: re.Match[str]) -> str:
    return _TYPES.get(found[1], found[1].upper())


def _row(console: Console, name: str, text: Text, names: int, width: int) -> Iterator[Text]:
    beside = width >= WIDE
    indent = names + 2 if beside else 4
    head = Text(name, "bold cyan")
    if beside and len(name) <= names:
        head.pad_right(indent - len(name))
    else:
        yield head
        head = Text(" " * indent)
    for line in text.wrap(console, width - indent):
        line.rstrip()
        yield head.append_text(line)
        head = Text(" " * indent)
