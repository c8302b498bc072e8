"""The key of every run in the tests: planted, and searched for in all that they leave."""

import base64
import gzip
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

KEY = "sk-planted-5c1e7b9d30f64a28b7e2"
"""Given to every model; nothing that a run writes or prints may hold it."""


def planted(env: Mapping[str, str]) -> dict[str, str]:
    """An environment in which every key is the planted one; an empty one stays empty."""
    return {
        name: KEY if name.endswith("_API_KEY") and value else value for name, value in env.items()
    }


MOST, MOST_ROWS = 64 << 20, 100_000
"""Bytes of a file, and rows of a table, that are searched: a few tests write bombs."""


def found_in(root: Path, needle: str = KEY) -> list[str]:
    """Where a needle stands: in names, and in files, in what they compress, and in base64."""
    forms = _written(needle)
    found = []
    for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
        if needle in path.name:
            found.append(f"{path}: its name")
        if path.is_symlink() or not path.is_file():
            continue
        for part, content in _parts(path):
            if any(form in content for form in forms):
                found.append(f"{path}{part}")
    return found


def _written(needle: str) -> list[bytes]:
    """As text, in UTF-16, in hexadecimals, and in base64 at any offset."""
    plain = needle.encode()
    forms = [plain, needle.encode("utf-16-le"), plain.hex().encode()]
    # A short one's base64 is four letters, which stand in some log's random names by chance.
    for offset in range(3 if len(needle) >= 12 else 0):
        whole = base64.b64encode(b"x" * offset + plain)
        forms.append(whole[4 if offset else 0 : len(whole) - 4])
    return forms


def _parts(path: Path) -> Iterator[tuple[str, bytes]]:
    """A file's bytes, and those of what it compresses."""
    with path.open("rb") as stream:
        data = stream.read(MOST)
    yield "", data
    if data.startswith(b"PK"):
        yield from _of_zip(path)
    elif data.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(path) as stream:
                yield "!", stream.read(MOST)
        except (OSError, EOFError):
            return
    elif data.startswith(b"PAR1") and data.endswith(b"PAR1"):
        import polars as pl

        yield "!values", pl.scan_parquet(path).head(MOST_ROWS).collect().write_json().encode()
        yield "!metadata", json.dumps(pl.read_parquet_metadata(path)).encode()


def _of_zip(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix == ".eval":
        # It teaches zipfile the compression of logs.
        import inspect_ai.log  # noqa: F401
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                with archive.open(name) as stream:
                    yield f"!{name}", name.encode() + stream.read(MOST)
    except Exception:  # whatever zipfile and zstandard raise at what a test has cut short
        return
