"""A folder of files that is there whole or not at all."""

from collections.abc import Mapping
from pathlib import Path

from casewise.errors import UsageError
from casewise.files import replace_folder


def check_free(folder: Path) -> None:
    """Refuse a folder that holds anything.

    Raises:
        UsageError: It is a file, or not empty.
    """
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists():
        raise UsageError(f"{folder}: is there already; name a new or an empty folder")


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, named by their paths under a folder that has nothing yet.

    Raises:
        UsageError: The folder holds something.
    """
    with replace_folder(folder, lambda: check_free(folder)) as new:
        for name, data in files.items():
            path = new / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
