"""Pages of the reference, made of the program: commands, measures, the Python interface.

Nothing here needs what builds the site, so tests hold the pages against the program.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import casewise
from casewise import errors, statistics
from casewise.choices import Family, Measure
from casewise.cli import app
from casewise.measures import measures

DOCS = Path(__file__).parent
COMMANDS = "reference/commands"
MEASURES = "reference/measures.md"
PYTHON = "reference/python-interface.md"
STATISTICS = "reference/statistics-functions.md"


@dataclass(frozen=True, slots=True)
class Command:
    """A command as the program has it."""

    path: tuple[str, ...]
    """``("cases", "split")``; empty of ``casewise`` itself."""
    help: str
    usage: str
    arguments: tuple[tuple[str, str], ...]
    """What stands on the command line, and what it means, with choices and defaults."""
    options: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    """Names of the commands in a group."""

    @property
    def name(self) -> str:
        """As it is typed."""
        return " ".join(("casewise", *self.path))


def commands() -> list[Command]:
    """Every command and group that help shows, a group before its commands."""
    return list(_walk(typer.main.get_command(app), None, ()))


def _walk(found: Any, parent: Any, path: tuple[str, ...]) -> Iterator[Command]:
    # Most commands are imported when they are used.
    found = found.load() if hasattr(found, "load") else found
    context = found.context_class(found, info_name=path[-1] if path else "casewise", parent=parent)
    records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for parameter in found.get_params(context):
        record = parameter.get_help_record(context)
        if record and not (path and "--help" in parameter.opts):
            records[parameter.param_type_name].append(record)
    inner = {name: one for name, one in getattr(found, "commands", {}).items() if not one.hidden}
    yield Command(
        path,
        inspect.cleandoc(found.help or ""),
        found.get_usage(context).removeprefix("Usage: "),
        tuple(records["argument"]),
        tuple(records["option"]),
        tuple(inner),
    )
    for name, one in inner.items():
        yield from _walk(one, context, (*path, name))


def command_pages() -> dict[str, str]:
    """A page for each command and each group, and one of them all, by its place in the site."""
    found = commands()
    root = found[0]
    pages = {f"{COMMANDS}/index.md": _overview(root, found)}
    for name in root.commands:
        parts = [one for one in found if one.path[:1] == (name,)]
        sections = (_section(one, "#" if len(one.path) == 1 else "##") for one in parts)
        pages[f"{COMMANDS}/{name}.md"] = "\n\n".join(sections) + "\n"
    return pages


def _overview(root: Command, found: list[Command]) -> str:
    rows = [
        f"| [`{one.name}`]({one.path[0]}.md{_anchor(one)}) | {_cell(_first(one.help))} |"
        for one in found[1:]
    ]
    return "\n".join(
        [
            "# Commands",
            "",
            "Made of the program: what `--help` says of each command, its options and defaults.",
            "",
            "| command | does |",
            "|---|---|",
            *rows,
            "",
            _table("options of `casewise`", root.options),
            "",
        ]
    )


def _anchor(command: Command) -> str:
    return "" if len(command.path) == 1 else "#" + command.name.replace(" ", "-")


def _first(text: str) -> str:
    """The first paragraph of a help text, in one line."""
    return " ".join(text.split("\n\n")[0].split())


def _section(command: Command, level: str) -> str:
    parts = [
        f"{level} casewise {' '.join(command.path)}",
        _prose(command.help),
        f"```text\n{command.usage}\n```",
        _table("argument", command.arguments),
        _table("option", command.options),
    ]
    return "\n\n".join(part for part in parts if part)


def _table(head: str, records: tuple[tuple[str, str], ...]) -> str:
    rows = (f"| `{name}` | {_cell(text)} |" for name, text in records)
    return "\n".join([f"| {head} | means |", "|---|---|", *rows]) if records else ""


def _prose(text: str) -> str:
    """A help text as Markdown: its examples as a block, other paragraphs as they are."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.replace("\b\n", "")):
        plain = re.sub(r"\\\[", "[", paragraph)
        if re.match(r"(casewise|inspect) ", plain):
            lines = "\n".join(line.strip() for line in plain.splitlines())
            if parts and parts[-1].startswith("```"):
                parts[-1] = parts[-1].removesuffix("\n```") + f"\n{lines}\n```"
            else:
                parts.append(f"```bash\n{lines}\n```")
        else:
            plain = re.sub(r"\[(/?)(bold|italic|dim)?\]", "", paragraph)
            parts.append(_linked(_escaped(plain.replace("\\[", "["))))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    plain = re.sub(r"\[/?(bold|italic|dim)\]", "", text).replace("\\[", "[")
    return _bars(_linked(_escaped(" ".join(plain.split()))))


def _escaped(text: str) -> str:
    return re.sub(r"([*<_\[\]])", r"\\\1", text)


def _bars(text: str) -> str:
    return text.replace("|", "\\|")


def _linked(text: str) -> str:
    """Names of documents as links to them."""
    return re.sub(
        r"docs/((?:[a-z-]+/)?[a-z-]+\.md)",
        lambda match: f"[{title(DOCS / match[1])}](../../{match[1]})",
        text,
    )


def title(page: Path) -> str:
    """The first heading of a page."""
    return re.search(r"^# (.+)$", page.read_text("utf-8"), re.MULTILINE)[1]  # type: ignore[index]


def defined(row: Measure) -> str:
    """The formula, and where it comes from."""
    return f"{row.definition} ({row.source})" if row.source else row.definition


def span(row: Measure) -> str:
    """The least and the greatest value: ``0..1``; ``0..`` where there is no greatest."""
    return f"{row.low:g}..{'' if row.high == float('inf') else f'{row.high:g}'}"


def slug(heading: str) -> str:
    """The anchor of a heading, as the site and code hosts make it."""
    plain = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower().strip())
    return re.sub(r"[ -]+", "-", plain)


def measures_page() -> str:
    """Every measure, with its formula, range and source."""
    groups: dict[str, list[Measure]] = {}
    for row in measures():
        head = "Of verdicts and probabilities" if Family.JUDGEMENTS in row.of else ""
        head = head or ("Of two contexts" if Family.PAIRS in row.of else "Of replies")
        groups.setdefault(head, []).append(row)
    lines = [MEASURES_HEAD]
    for head, rows in groups.items():
        lines += [
            f"\n## {head}\n",
            "| key | what it is | range | better |",
            "|---|---|---|---|",
            *map(_measure_row, rows),
        ]
    return "\n".join([*lines, ""])


MEASURES_HEAD = """# Measures

Every measure that `casewise score`, `compare`, `report` and `gate` have, by its key in JSON,
tables and a gate's file: made of the program's own table. `r` is the share of people who call a
case safe, `p` the model's probability of safe; `s` and `u` are the verdicts in the context of a
pair that is meant to be safe, and in the other. Each has `_se`, clustered by query, and `_ci`,
95 %; of no cases or answers all three are null. [Statistics](../method/statistics.md) explains
them."""


def _measure_row(row: Measure) -> str:
    cells = [f"`{row.name}`", f"{row.says}: {defined(row)}", span(row), row.better.value]
    return f"| {' | '.join(cells)} |"


def python_page() -> str:
    """The front door, from its docstrings."""
    names = [name for name in casewise.__all__ if not name.startswith("__")]
    functions = [name for name in names if inspect.isfunction(getattr(casewise, name))]
    results = [name for name in names if name not in functions]
    failures = [
        name
        for name, one in vars(errors).items()
        if inspect.isclass(one) and issubclass(one, Exception) and one.__module__ == errors.__name__
    ]
    parts = [
        "# Python interface",
        "Made of the docstrings. [In Python](python.md) shows how the parts go together.",
        "## Functions",
        *(_directive(getattr(casewise, name), f"cw.{name}") for name in functions),
        "## Results",
        *(_directive(getattr(casewise, name), f"cw.{name}", members=True) for name in results),
        "## Errors",
        *(_directive(getattr(errors, name), f"casewise.errors.{name}") for name in failures),
    ]
    return "\n\n".join(parts) + "\n"


def statistics_page() -> str:
    """The measures on arrays, from their docstrings."""
    names = sorted(name for name in vars(statistics) if not name.startswith("_"))
    found = {name: getattr(statistics, name) for name in names}
    found = {name: one for name, one in found.items() if not inspect.ismodule(one)}
    parts = [
        "# Statistics in Python",
        "`casewise.statistics`, made of the docstrings: arrays in, frozen results out. "
        "[Statistics](../method/statistics.md) says what the figures mean.",
        "## Functions",
        *(_directive(one, name) for name, one in found.items() if inspect.isfunction(one)),
        "## Results",
        *(
            _directive(one, name, members=True)
            for name, one in found.items()
            if inspect.isclass(one)
        ),
        "## Constants",
        "| name | value |\n|---|---|\n"
        + "\n".join(
            f"| `{name}` | `{str(one)[:120]}` |"
            for name, one in found.items()
            if not (inspect.isclass(one) or inspect.isfunction(one))
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _directive(one: Any, name: str, *, members: bool = False) -> str:
    """What mkdocstrings puts a docstring in place of."""
    lines = [
        f"### {name}",
        "",
        f"::: {one.__module__}.{one.__qualname__}",
        "    options:",
        "      show_root_heading: false",
        "      show_root_toc_entry: false",
        f"      members: {'null' if members else '[]'}",
    ]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Every generated page: its place in the site, and its Markdown."""
    return {
        **command_pages(),
        MEASURES: measures_page(),
        PYTHON: python_page(),
        STATISTICS: statistics_page(),
    }
