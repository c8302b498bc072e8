"""A trial of a workbook, by a process of its own, which a hostile workbook ends alone.

One filled cell in the last row and column takes hundreds of gigabytes, and the library then aborts.
Run by path; it imports no part of casewise.
"""

import sys

from python_calamine import CalamineWorkbook

if __name__ == "__main__":
    try:
        from resource import RLIMIT_AS, setrlimit
    except ImportError:
        pass  # Windows has no such limit.
    else:
        setrlimit(RLIMIT_AS, (1 << 30, 1 << 30))
    book = CalamineWorkbook.from_path(sys.argv[1])
    for name in book.sheet_names:
        book.get_sheet_by_name(name).to_python(skip_empty_area=False)
