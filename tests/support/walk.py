"""The files of casewise whose functions a command calls, in the order in which it enters them.

Run as a script: ``python walk.py FILE ARGUMENT...`` runs the command line, and writes the names to
the file, a line each. What runs while a module is imported does not count.
"""

import sys
import threading
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, FrameType

MARK = "/src/casewise/"


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and MARK in code.co_filename:
            return True
        frame = frame.f_back
    return False


def walk(arguments: list[str]) -> list[str]:
    """Run a command; the files that it enters, by their paths in the package."""
    files: dict[str, None] = {}
    elsewhere: dict[int, CodeType] = {}

    # Called for each function that is called: what is known once is not looked at again.
    def enter(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if id(code) in elsewhere:
            return
        path = code.co_filename.replace("\\", "/")
        name = path.rpartition(MARK)[2]
        # A class's body is no function: its names are not optimised.
        if MARK not in path or not code.co_flags & 1 or name in files:
            elsewhere[id(code)] = code
        elif not _is_importing(frame):
            files[name] = None

    sys.argv = ["casewise", *arguments]
    threading.settrace(enter)
    sys.settrace(enter)
    try:
        (script,) = entry_points(group="console_scripts", name="casewise")
        main = script.load()
        with suppress(SystemExit):
            main()
    finally:
        sys.settrace(None)
    return list(files)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("\n".join(walk(sys.argv[2:])), encoding="utf-8")
