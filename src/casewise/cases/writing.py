"""Write cases: the canonical JSON Lines, YAML for hands, CSV for spreadsheets."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from casewise.cases.model import FIRST, Case, dataset_hash, to_fields, to_line
from casewise.errors import UsageError
from casewise.files import csv_text, write_atomically


class _Dumper(yaml.SafeDumper):
    """YAML's safe dumper, quoting text with line ends or control characters.

    YAML folds line breaks, U+0085 and U+2028 among them, in every other style.
    """

    def represent_str(self, data: str) -> yaml.ScalarNode:
        style = None if data.isprintable() else '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def to_yaml(cases: Iterable[Case]) -> str:
    """YAML, for editing by hand."""
    fields = [to_fields(case) for case in cases]
    text: str = yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def to_csv(cases: Iterable[Case]) -> str:
    """CSV, for spreadsheets; contexts, histories and votes are JSON in their cells."""
    names = [*FIRST, *(name for name in Case.model_fields if name not in FIRST)]
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
    ".jsonl": lambda cases: "\n".join([*map(to_line, cases), ""]),
    ".yaml": to_yaml,
    ".yml": to_yaml,
    ".csv": to_csv,
}


def write_cases(cases: Sequence[Case], path: Path | str) -> str:
    """Write cases in the form that the path's suffix names (.jsonl, .yaml or .csv), atomically.

    Returns:
        Their ``dataset_hash``.

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
    data = writer(cases).encode()
    write_atomically(path, data)
    if path.suffix.lower() != ".jsonl":
        return dataset_hash(cases)
    # Of the canonical form the hash is that of the file but for its last line end.
    return hashlib.sha256(memoryview(data)[:-1]).hexdigest()[:16]
