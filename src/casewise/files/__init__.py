"""Files: tables, text and JSON; CSV with its formula guard; atomic files and folders, locks.

Every room may open this one; it knows of no other room but the errors.

>>> guard_cell("=1+1"), unguard_cell("'=1+1")
("'=1+1", '=1+1')
"""

from casewise.files.atomic import (
    Journal,
    create_file,
    hold,
    journal_lines,
    new_file,
    replace_folder,
    write_atomically,
)
from casewise.files.rows import (
    Row,
    Table,
    TableForm,
    as_row,
    open_table,
    open_tables,
    rows,
)
from casewise.files.text import (
    address_of,
    cache_dir,
    check_archive,
    check_size,
    csv_text,
    guard_cell,
    is_elsewhere,
    parse_json,
    place_of,
    quoted,
    read_bytes,
    read_text,
    text_lines,
    unguard_cell,
    whole_characters,
)
