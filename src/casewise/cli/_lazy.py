"""Groups whose commands are imported when somebody asks for them: most need what others don't."""

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup


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
