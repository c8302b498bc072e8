"""Time and peak memory of ``casewise score`` on generated judgement tables.

    python benchmarks/score_rows.py                      # 1e4, 1e5 and 1e6 judgements

Each size is scored by a process of its own, from a Parquet file, with every interval; so the time
holds starting Python and reading the file, and the peak is what a person's machine must have.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from remote import print_method

from casewise.judgements import SCHEMA

LIMIT_GB = 2.0


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    peak_gb: float
    scored: int


def generate(rows: int, models: int, seed: int = 0) -> pl.DataFrame:
    """``models`` models that judge the same pairs of cases, with 20 votes a case."""
    random = np.random.default_rng(seed)
    cases = rows // models // 2 * 2
    rate = random.beta(np.tile([4, 2], cases // 2), np.tile([2, 5], cases // 2))
    safe = random.binomial(20, rate)
    parts = []
    for model in range(models):
        p = np.clip(0.5 + 0.7 * (rate - 0.5) + random.normal(0, 0.15, cases), 0, 1)
        place = pl.int_range(cases, eager=True)
        parts.append(
            pl.DataFrame(
                {
                    "run_id": pl.repeat(f"run{model}", cases, eager=True),
                    "model": pl.repeat(f"model{model}", cases, eager=True),
                    "protocol": pl.repeat("probability", cases, eager=True),
                    "delivery": pl.repeat("judge", cases, eager=True),
                    "dataset_hash": pl.repeat("generated", cases, eager=True),
                    "case_id": place.cast(pl.String),
                    "query_id": (place // 2).cast(pl.String),
                    "category": pl.Series((place // 2 % 45).cast(pl.String)),
                    "intended": pl.Series(np.tile(["safe", "unsafe"], cases // 2)),
                    "votes_safe": safe,
                    "votes_unsafe": 20 - safe,
                    "epoch": pl.repeat(1, cases, eager=True),
                    "status": pl.repeat("ok", cases, eager=True),
                    "verdict": pl.Series(np.where(p > 0.5, "safe", "unsafe")),
                    "p_safe": p,
                }
            )
        )
    table = pl.concat(parts)
    missing = [pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in table]
    return table.with_columns(missing).select(
        pl.col(name).cast(kind) for name, kind in SCHEMA.items()
    )


def measure(path: Path) -> Measured:
    """Score a file in a process of its own."""
    command = [sys.executable, "-m", "casewise", "score", str(path), "--format", "csv"]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        sys.exit(f"casewise score failed on {path}")
    # Linux counts in kB, macOS in bytes.
    unit = 1e9 if sys.platform == "darwin" else 1e6
    return Measured(seconds, usage.ru_maxrss / unit, len(lines) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--models", type=int, default=10)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(f"{'judgements':>10}  {'models':>6}  {'seconds':>7}  {'peak GB':>7}")
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "judgements.parquet"
            generate(rows, options.models).write_parquet(path)
            found = measure(path)
        over = f"  above {LIMIT_GB:g} GB" if found.peak_gb > LIMIT_GB else ""
        print(
            f"{rows:>10,}  {options.models:>6}  {found.seconds:>7.1f}  {found.peak_gb:>7.2f}{over}"
        )
    print_method(__doc__)


if __name__ == "__main__":
    main()
