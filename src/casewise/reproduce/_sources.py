"""Files of a work: fetched into the cache, or found in a folder; each checked before it is used."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from casewise.cases import check_cache_writable, check_sha256, download
from casewise.errors import AssetError
from casewise.files import cache_dir, write_atomically
from casewise.reproduce._work import SourceFile, Work

Told = Callable[[SourceFile, int], None]
"""Hears how many bytes of a file have come."""


def gather(
    name: str, work: Work, origin: Path | None = None, told: Told | None = None
) -> dict[str, Path]:
    """Find the files of a work, each checked against its hash; by their paths.

    Args:
        name: The work's name.
        work: The work.
        origin: A folder that holds the files, at any depth; None takes the cache, and fetches what
            it lacks.
        told: Hears of progress.

    Raises:
        AssetError: A file is absent, altered, or can't be fetched; none is half-written.
    """
    if origin is not None:
        if not origin.is_dir():
            raise AssetError(f"{origin}: no such folder")
        return {file.path: _find(file, origin, work) for file in work.files}
    return {file.path: _fetch(name, file, work, told) for file in work.files}


def to_fetch(name: str, work: Work) -> list[SourceFile]:
    """Files of a work that the cache lacks."""
    return [file for file in work.files if not _cached(name, file).is_file()]


def _find(file: SourceFile, origin: Path, work: Work) -> Path:
    """A file by its path below a folder, or by its name at any depth."""
    wanted = Path(file.path)
    places = [origin / wanted] if (origin / wanted).is_file() else sorted(origin.rglob(wanted.name))
    if not places:
        raise AssetError(f"{origin}: holds no {file.path} ({file.bytes:,} bytes; {work.address})")
    # Another file of that name is not the one that was altered.
    of_size = [one for one in places if one.stat().st_size == file.bytes]
    nearest = min(of_size or places, key=lambda one: one.parts[-2:] != wanted.parts[-2:])
    check_sha256(nearest.read_bytes(), file.sha256, str(nearest))
    return nearest


def _cached(name: str, file: SourceFile) -> Path:
    return cache_dir() / "reproduce" / name / file.path


def _fetch(name: str, file: SourceFile, work: Work, told: Told | None) -> Path:
    path = _cached(name, file)
    if path.is_file():
        check_sha256(path.read_bytes(), file.sha256, f"{path} (delete it to fetch it again)")
        return path
    remedy = f"give a folder that holds it: casewise reproduce {name} --from FOLDER"
    if work.files_at is None:
        raise AssetError(f"{file.path}: can't be fetched by itself; {remedy}")
    check_cache_writable(path.parent)
    data = download(f"{work.files_at}/{file.path}", remedy, told and partial(told, file))
    check_sha256(data, file.sha256, file.path)
    write_atomically(path, data)
    return path
