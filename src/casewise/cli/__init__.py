"""The command line: one module a command; parse, call one library function, print."""

import os

# Before numpy is imported: arrays here are small, and OpenBLAS's threads wait for each other longer
# than they compute, where another program uses the processor too (a fit: 50 ms for 2).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from casewise.cli._console import Format, FormatOption, err, note, out, working, write_out
from casewise.cli._main import app, main

__all__ = ["Format", "FormatOption", "app", "err", "main", "note", "out", "working", "write_out"]
