"""Analyses beside a score, each a question and the figures that answer it.

A file of this room holds functions marked ``@analysis``; every view shows what they make.
"""

from importlib import import_module
from pkgutil import iter_modules

from casewise.results import ANALYSES as ANALYSES

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
