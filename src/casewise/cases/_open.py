"""From what a person writes after ``--cases`` to the cases."""

from importlib.resources import as_file, files
from pathlib import Path

from casewise.cases._casebench import casebench_data
from casewise.cases._load import CaseSet, load_cases

STARTER = "starter"
CASEBENCH = "casebench"


def open_cases(name: str | Path) -> CaseSet:
    """Load ``starter`` (bundled), ``casebench`` (from the cache), or a file of cases.

    Raises:
        InputError: The file can't be used.
        AssetError: CASE-Bench was not fetched yet.
    """
    if name == STARTER:
        with as_file(files("casewise.data") / "starter.yaml") as path:
            return load_cases(path, name=STARTER)
    if name == CASEBENCH:
        return load_cases(casebench_data(), name=CASEBENCH)
    return load_cases(name)
