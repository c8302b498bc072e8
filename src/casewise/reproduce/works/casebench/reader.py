"""Outputs of CASE-Bench: ``casewise score`` reads them as they are."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from casewise.scores import read_paths


def read(files: Mapping[str, Path]) -> pl.DataFrame:
    """The judgements of all outputs."""
    return read_paths(list(files.values())).table
