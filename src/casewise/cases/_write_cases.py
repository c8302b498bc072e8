"""Write cases: the canonical JSON Lines, YAML for hands, CSV for spreadsheets."""

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from casewise.cases._case import Case, VoteCounts
from casewise.errors import UsageError
from casewise.files import csv_text, write_atomically

_FIRST = ("id", "query_id", "query", "context", "intended")


def to_fields(case: Case) -> dict[str, Any]:
    """The fields of a case as plain JSON values, without those that are absent."""
    dumped = case.model_dump(mode="json")
    if case.version == 1:
        dumped["version"] = None
    ordered = {name: dumped[name] for name in (*_FIRST, *dumped) if dumped[name] not in (None, [])}
    if case.votes is not None and not isinstance(case.votes, VoteCounts):
        ordered["votes"] = [
            {name: value for name, value in vote.items() if value is not None}
            for vote in dumped["votes"]
        ]
    if case.ratings is not None and case.ratings.rule is None:
        del ordered["ratings"]["rule"]
    return ordered


def to_line(case: Case) -> str:
    """One line of the canonical JSON Lines file, without its line end."""
    return json.dumps(to_fields(case), ensure_ascii=False)


def dataset_hash(cases: Iterable[Case]) -> str:
    """Hash a data set: SHA-256 over the canonical JSON lines, cut to 16 characters."""
    digest = hashlib.sha256()
    for number, case in enumerate(cases):
        digest.update((b"\n" if number else b"") + to_line(case).encode())
    return digest.hexdigest()[:16]


def to_jsonl(cases: Iterable[Case]) -> str:
    """The canonical file: one case a line."""
    return "".join(f"{to_line(case)}\n" for case in cases)


class _Dumper(yaml.SafeDumper):
    """YAML's safe dumper, quoting text with line ends or control characters.

    YAML folds line breaks, U+0085 and U+2028 among them, in every other style.
    """

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def to_yaml(cases: Iterable[Case]) -> str:
    """A file for hands."""
    fields = [to_fields(case) for case in cases]
    text: str = yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def to_csv(cases: Iterable[Case]) -> str:
    """A file for spreadsheets; contexts, histories and votes are JSON in their cells."""
    names = [*_FIRST, *(name for name in Case.model_fields if name not in _FIRST)]
    records = map(to_fields, cases)
    return csv_text(
        names, ([_cell(name, record.get(name)) for name in names] for record in records)
    )


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "tags" and all(tag and tag.strip() == tag and tag[0] != "[" for tag in value):
        joined = ";".join(value)
        if joined.count(";") == len(value) - 1:
            return joined
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_WRITERS: dict[str, Callable[[Iterable[Case]], str]] = {
    ".jsonl": to_jsonl,
    ".yaml": to_yaml,
    ".yml": to_yaml,
    ".csv": to_csv,
}


def write_cases(cases: Iterable[Case], path: Path | str) -> None:
    """Write cases in the form that the path's suffix names (.jsonl, .yaml or .csv), atomically.

    Raises:
        UsageError: Another suffix.
    """
    path = Path(path)
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise UsageError(
            f"{path}: can't write cases as {path.suffix or 'a file without a suffix'}; "
            f"end the name in one of {', '.join(_WRITERS)}"
        )
    write_atomically(path, writer(cases).encode())
