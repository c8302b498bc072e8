"""Completion of values that are being typed (``--install-completion``): names and files.

Nothing here is slow, prints or fails: what can't be known is not offered.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from casewise.choices import RULES, SMOLLM2
from casewise.cli._main import case_files, contexts, protocols

Completer = Callable[[str], list[str]]

_SUFFIXES = (".jsonl", ".ndjson", ".json", ".yaml", ".yml", ".csv")


def offer(
    names: Callable[[], Iterable[str]], *, commas: bool = False, files: bool = False
) -> Completer:
    """Offer names.

    Args:
        names: The names.
        commas: Whether several may be joined by commas, each of them once.
        files: Whether a file may stand in their place.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, _ = incomplete.rpartition(",") if commas else ("", "", "")
        try:
            unused = [f"{before}{comma}{name}" for name in names() if name not in before.split(",")]
            offered = [*unused, *(_paths(incomplete) if files else ())]
        except Exception:  # Whatever it is, a person who types can't mend it there.
            return []
        return [path for path in offered if path.startswith(incomplete)]

    return complete


def _paths(incomplete: str) -> Iterator[str]:
    """Folders, with a slash, and files that casewise reads, beside what is typed."""
    folder, slash, _ = incomplete.rpartition("/")
    place = Path(f"{folder}{slash}").expanduser() if slash else Path()
    for path in sorted(place.iterdir()):
        if path.is_dir() or path.suffix in _SUFFIXES:
            yield f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}"


def _variations() -> Iterator[str]:
    """Changes of conversations by name, without those that take a number."""
    return (name for name, variation in protocols.VARIATIONS.items() if name == variation.title)


def _parts() -> list[str]:
    """Groups of a context, and single parameters."""
    return [*case_files.GROUPS, *(place.partition(".")[2] for place in contexts.PARAMETERS)]


models = offer(lambda: [SMOLLM2])
graders = offer(lambda: [RULES])
cases = offer(lambda: [case_files.STARTER, case_files.CASEBENCH], files=True)
parts = offer(_parts, commas=True)
changes = offer(_variations, commas=True)
mappings = offer(lambda: case_files.MAPPINGS, files=True)
