"""Published figures, recomputed from published outputs with the functions of ``casewise score``.

A work is a folder in ``works/``: ``work.yaml`` says where its outputs are, and what its authors
say of them; ``reader.py`` makes a judgement table of them. docs/internals/works.md says how to add
one.
"""

from casewise.reproduce._figures import ByReader, Figure, Reproduction, recompute
from casewise.reproduce._reading import read_anew
from casewise.reproduce._sources import gather, to_fetch
from casewise.reproduce._work import PublishedTable, SourceFile, Work, load_work, work_names

__all__ = [
    "ByReader",
    "Figure",
    "PublishedTable",
    "Reproduction",
    "SourceFile",
    "Work",
    "gather",
    "load_work",
    "read_anew",
    "recompute",
    "to_fetch",
    "work_names",
]
