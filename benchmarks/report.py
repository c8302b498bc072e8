"""Time, peak memory and size of ``casewise report`` on as many outputs as were published.

    python benchmarks/report.py                          # 43 files, as upstream's exp has
    python benchmarks/report.py --files 8 --reveal

The published outputs at hand are copied under other models' names until there are so many; one
process reads them and writes the page. CASE-Bench's files are looked for in
``../shared/data/casebench`` or ``$CASEWISE_CASEBENCH``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("CASEWISE_CASEBENCH", ROOT.parent / "shared/data/casebench"))
OF_CASES = {"scores", "query", "context", "context_intended_to_be_safe", "safe_rate", "category"}
LIMIT_S, LIMIT_GB, LIMIT_MB = 25, 0.5, 5


def copy_outputs(folder: Path, count: int) -> float:
    """Copies of the published outputs, each round of them by other models; their size in MB."""
    sources = sorted((DATA / "exp").glob("*/*.json"))
    if not sources:
        sys.exit(f"CASE-Bench's outputs are not at {DATA}/exp (set CASEWISE_CASEBENCH)")
    size = 0
    for place, source in enumerate(islice(cycle(sources), count)):
        mark = f"-{place // len(sources)}" if place >= len(sources) else ""
        records = json.loads(source.read_bytes())
        renamed = [
            {key if key in OF_CASES else f"{key}{mark}": value for key, value in one.items()}
            for one in records
        ]
        path = folder / f"{source.parent.name}{mark}" / source.name
        path.parent.mkdir(exist_ok=True)
        size += path.write_bytes(json.dumps(renamed).encode())
    return size / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=43)
    parser.add_argument("--reveal", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, page = Path(name) / "exp", Path(name) / "report.html"
        folder.mkdir()
        read = copy_outputs(folder, options.files)
        command = [sys.executable, "-m", "casewise", "report", str(folder), "--out", str(page)]
        command += ["--reveal"] if options.reveal else []
        started = time.perf_counter()
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if status:
            sys.exit("casewise report failed")
        made = page.stat().st_size / 1e6
    unit = 1e9 if sys.platform == "darwin" else 1e6
    print(f"{options.files} files, {read:.0f} MB read: {seconds:.1f} s (bound {LIMIT_S} s)")
    print(f"{usage.ru_utime + usage.ru_stime:.1f} s of computing")
    print(f"peak {usage.ru_maxrss / unit:.2f} GB (bound {LIMIT_GB} GB)")
    print(f"page {made:.1f} MB (bound {LIMIT_MB} MB for ten)")


if __name__ == "__main__":
    main()
