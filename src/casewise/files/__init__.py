"""Files: atomic files and folders, CSV with its formula guard, locks and journals; one of each.

Every room may open this one; it knows of no other room but the errors.

>>> guard_cell("=1+1"), unguard_cell("'=1+1")
("'=1+1", '=1+1')
"""

from casewise.files._atomic import (
    HeldError,
    Journal,
    create_file,
    hold,
    journal_lines,
    new_file,
    replace_folder,
    write_atomically,
)
from casewise.files._text import (
    LONGEST,
    TOO_LONG,
    address_of,
    cache_dir,
    check_archive,
    check_size,
    csv_cells,
    csv_rows,
    csv_text,
    guard_cell,
    is_elsewhere,
    parse_json,
    place_of,
    quoted,
    raw_lines,
    read_bytes,
    read_lines,
    read_text,
    unguard_cell,
    utf8_text,
    whole_characters,
)

__all__ = [
    "HeldError",
    "Journal",
    "LONGEST",
    "TOO_LONG",
    "address_of",
    "cache_dir",
    "check_archive",
    "check_size",
    "create_file",
    "csv_cells",
    "csv_rows",
    "csv_text",
    "guard_cell",
    "hold",
    "is_elsewhere",
    "journal_lines",
    "new_file",
    "parse_json",
    "place_of",
    "quoted",
    "raw_lines",
    "read_bytes",
    "read_lines",
    "read_text",
    "replace_folder",
    "unguard_cell",
    "utf8_text",
    "whole_characters",
    "write_atomically",
]
