"""Write cases: the canonical JSON Lines, YAML for hands, CSV for spreadsheets; and their releases.

``mine.jsonl`` has ``mine.releases.yaml``: a list, oldest first, that only ever grows. A version is
bound to the hash of the cases (``dataset_hash``), so the same cases in another form are the same
version, and cases that were changed since are none.
"""

import datetime
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError

from casewise.cases._case import Case, VoteCounts
from casewise.cases._turn import Strict
from casewise.cases._yaml_files import field_path, problem_of, read_plain_yaml
from casewise.errors import InputError, UsageError
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
    """JSON Lines, the canonical form: one case a line."""
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
    """YAML, for editing by hand."""
    fields = [to_fields(case) for case in cases]
    text: str = yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def to_csv(cases: Iterable[Case]) -> str:
    """CSV, for spreadsheets; contexts, histories and votes are JSON in their cells."""
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


_VERSION = r"(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){1,2}"

_HEAD = (
    "# The released versions of the cases beside this file, oldest first. Written by\n"
    "# casewise cases release; lines are added, never changed.\n"
)


class Release(Strict):
    """One version of a data set."""

    version: Annotated[str, Field(pattern=f"^{_VERSION}$")]
    """Two or three numbers, as in ``1.2`` or ``1.2.0``; each release has a greater one."""
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    """Hash of the cases: ``dataset_hash``."""
    date: datetime.date
    cases: int = Field(ge=1)
    queries: int = Field(ge=1)
    note: str | None = None
    """Change, in the words of whoever released it."""


def releases_path(file: Path | str) -> Path:
    """Path of the releases of a file of cases: ``mine.jsonl`` has ``mine.releases.yaml``."""
    return Path(file).with_suffix(".releases.yaml")


def load_releases(file: Path | str) -> tuple[Release, ...]:
    """The releases of a file of cases, oldest first; none where it has no such file.

    Raises:
        InputError: The releases can't be read, or are out of order.
    """
    path = releases_path(file)
    if not path.is_file():
        return ()
    data = read_plain_yaml(path, "list of releases")
    if not isinstance(data, list):
        raise InputError("not a list of releases", path, found=data, expected="a list")
    releases = [_release(record, path, number) for number, record in enumerate(data, start=1)]
    for number, (earlier, other) in enumerate(pairwise(releases), start=2):
        if _numbers(other.version) <= _numbers(earlier.version):
            raise InputError(
                "out of order",
                path,
                f"release {number}",
                field="version",
                found=other.version,
                expected=f"greater than {earlier.version}",
            )
    return tuple(releases)


def add_release(
    file: Path | str,
    cases: Sequence[Case],
    *,
    version: str,
    date: datetime.date,
    note: str,
) -> Release:
    """Add a release of the cases to the file of releases beside them.

    Args:
        file: The file of cases; only its name is used.
        cases: Its cases.
        version: Version, greater than that of the last release.
        date: Date of the release.
        note: Description of the change; may be empty.

    Raises:
        UsageError: The version is none, or not greater than the last; or nothing changed since.
        InputError: The earlier releases can't be read.
    """
    earlier = load_releases(file)
    if not re.fullmatch(_VERSION, version):
        raise UsageError(f"--version {version!r}: write two or three numbers, as in 1.0 or 1.2.0")
    if earlier:
        last = earlier[-1]
        if last.hash == dataset_hash(cases):
            raise UsageError(f"{file}: nothing changed since {last.version}; nothing was written")
        if _numbers(version) <= _numbers(last.version):
            raise UsageError(f"--version {version}: the last release is {last.version}; go on")
    made = Release(
        version=version,
        hash=dataset_hash(cases),
        date=date,
        cases=len(cases),
        queries=len({case.query_id for case in cases}),
        note=note or None,
    )
    records = [release.model_dump(exclude_none=True) for release in (*earlier, made)]
    text = yaml.safe_dump(records, sort_keys=False, allow_unicode=True, width=100)
    write_atomically(releases_path(file), (_HEAD + text).encode())
    return made


def _release(record: Any, path: Path, number: int) -> Release:
    place = f"release {number}"
    if not isinstance(record, dict):
        raise InputError("not a release", path, place, found=record)
    try:
        return Release.model_validate(record)
    except ValidationError as error:
        detail = error.errors()[0]
        # YAML reads 1.10 as the number 1.1.
        words = {"string_type": "text (quote it)"}
        problem, found, expected = problem_of(detail, Release.model_fields, words)
        field = field_path(detail["loc"])
        raise InputError(
            problem, path, place, field=field, found=found, expected=expected
        ) from None


def _numbers(version: str) -> tuple[int, ...]:
    major, minor, patch = map(int, f"{version}.0".split(".")[:3])
    return major, minor, patch
