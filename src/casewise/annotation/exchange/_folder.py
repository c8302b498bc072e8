"""A folder of files that is there whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from casewise.errors import UsageError


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
    check_free(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        for name, data in files.items():
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(0o777 & ~mask)
        if folder.is_dir():
            folder.rmdir()
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
