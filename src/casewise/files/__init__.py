"""Files: atomic files and folders, CSV with its formula guard, locks and journals; one of each.

Every room may open this one; it knows of no other room but the errors.

>>> guard_cell("=1+1"), unguard_cell("'=1+1")
("'=1+1", '=1+1')
"""

from casewise.files._atomic import create_file, new_file, write_atomically
from casewise.files._csv import (
    CsvRow,
    csv_cells,
    csv_rows,
    csv_text,
    guard_cell,
    unguard_cell,
)
from casewise.files._folder import recover_folder, replace_folder
from casewise.files._journal import Journal, JournalLine, journal_lines
from casewise.files._lock import HeldError, hold
from casewise.files._text import (
    parse_json,
    raw_lines,
    read_bytes,
    read_lines,
    read_text,
    utf8_text,
)

__all__ = [
    "CsvRow",
    "HeldError",
    "Journal",
    "JournalLine",
    "create_file",
    "csv_cells",
    "csv_rows",
    "csv_text",
    "guard_cell",
    "hold",
    "journal_lines",
    "new_file",
    "parse_json",
    "raw_lines",
    "read_bytes",
    "read_lines",
    "read_text",
    "recover_folder",
    "replace_folder",
    "unguard_cell",
    "utf8_text",
    "write_atomically",
]
