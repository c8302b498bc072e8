"""Every figure of every published output and public set at hand, held against an earlier writing.

    python benchmarks/oracle.py ../shared/data --write   writes benchmarks/oracle.json.gz
    python benchmarks/oracle.py ../shared/data           prints what differs, and ends with 1

The commands that people use make the figures. Published outputs are scored under each label rule
and both rules for unread answers; public sets are imported with their mappings, described, audited,
and judged by a model whose P(safe) is a hash of the case; replies are graded. A figure is a number
under its path in the JSON of a command, or null. Figures that are gone are counted by name.
"""

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

ORACLE = Path(__file__).with_name("oracle.json.gz")
NAMES = (
    *("model", "protocol", "delivery", "ablation", "variant", "before", "after"),
    *("metric", "case_id", "source", "figure", "code"),
)
"""What tells the records of a list apart."""
SETS = {
    "xstest": "xstest/xstest_prompts.csv",
    "cat": "sets/cat_small.csv",
    "opensafeintent": "sets/opensafeintent.json",
    "privaci-bench": "sets/privaci/HIPAA/data-00000-of-00001.arrow",
    "moralexceptqa": "reproductions/moralexceptqa/complete_file.csv",
}
"""Public sets, by the names of their mappings."""
REPLIES = ("everyday", "harmful_prompts", "refusalbench", "speechmap")
RULES = ("published", "votes", "consensus", "intended")
TOLERANCE = 1e-9


def run(*arguments: str | Path, folder: Path) -> Any:
    """Run a command, and parse the JSON that it prints."""
    command = [sys.executable, "-m", "casewise", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout) if done.stdout.lstrip().startswith(("{", "[")) else None


def outputs(data: Path, folder: Path) -> Iterator[tuple[str, Any]]:
    """Scores of CASE-Bench's published outputs, and comparisons of them."""
    published = data / "casebench/exp"
    for rule in RULES:
        for unparsed in ("honest", "reference"):
            options = ("--labels", rule, "--unparsed", unparsed, "--format", "json")
            yield f"score {rule} {unparsed}", run("score", published, *options, folder=folder)
    models = [published / name for name in ("safety_gpt-4o", "safety_llama370B")]
    options = ("--every-pair", "--all", "--format", "json")
    yield "compare", run("compare", *models, *options, folder=folder)


def sets(data: Path, folder: Path) -> Iterator[tuple[str, Any]]:
    """Descriptions, audits and scores of public sets, judged by a hash of each case."""
    files = {"casebench": data / "casebench/CASEBench_data.json"}
    for name, path in SETS.items():
        files[name] = folder / f"{name}.jsonl"
        arguments = ("cases", "import", data / path, "--map", name, "--out", files[name])
        run(*arguments, folder=folder)
    for name, path in files.items():
        yield f"describe {name}", run("describe", path, "--format", "json", folder=folder)
        yield f"audit {name}", run("cases", "audit", path, "--format", "json", folder=folder)
    for name in SETS:
        table = _judged(name, files[name], folder)
        yield f"score {name}", run("score", table, "--format", "json", folder=folder)


def _judged(name: str, path: Path, folder: Path) -> Path:
    """A judgement table of cases, each with P(safe) by a hash of its id."""
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    rows = []
    for case in cases:
        p_safe = int(hashlib.sha256(case["id"].encode()).hexdigest()[:8], 16) / 2**32
        votes = case.get("votes") or []
        counts = {
            side: sum(vote["verdict"] == side for vote in votes) for side in ("safe", "unsafe")
        }
        rows.append(
            {
                **{"model": "hash", "protocol": "probability", "delivery": "judge", "epoch": 1},
                **{"case_id": case["id"], "query_id": case["query_id"]},
                **{key: case.get(key) for key in ("category", "intended", "published_safe_rate")},
                "votes_safe": counts["safe"] if votes else None,
                "votes_unsafe": counts["unsafe"] if votes else None,
                **{"status": "ok", "p_safe": p_safe},
                "verdict": "safe" if p_safe > 0.5 else "unsafe",
            }
        )
    out = folder / f"{name}.parquet"
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(out)
    return out


def replies(data: Path, folder: Path) -> Iterator[tuple[str, Any]]:
    """Classes of real replies by the reader: how many of each, by set and model."""
    for name in REPLIES:
        source = [json.loads(line) for line in (data / f"replies/{name}.jsonl").open()]
        queries = sorted({row["query"] for row in source})
        cases, file, table = (
            folder / f"{name}{end}" for end in (".cases.jsonl", ".jsonl", ".parquet")
        )
        _write(cases, ({"query": query, "intended": "safe"} for query in queries))
        _write(file, map(_conversation, source))
        run("grade", file, "--cases", cases, "--out", table, folder=folder)
        counted = pl.read_parquet(table).group_by("model", "status", "response_class").len()
        yield (
            f"grade {name}",
            {f"{model} {status} {kind}": n for model, status, kind, n in counted.rows()},
        )


def _conversation(row: dict[str, Any]) -> dict[str, Any]:
    """A reply in the chat format."""
    texts = (("user", row["query"]), ("assistant", row["reply"]))
    messages = [{"role": role, "content": text} for role, text in texts]
    return {"messages": messages, "model": row["model"]}


def _write(path: Path, records: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def power(folder: Path) -> Iterator[tuple[str, Any]]:
    """Annotators that the paper's inputs ask for."""
    options = ("--test", "proportions", "--p1", ".1", "--p2", ".6", "--power", ".95")
    yield "power", run("power", *options, "--format", "json", folder=folder)


def flat(value: Any, path: str) -> Iterator[tuple[str, float | None]]:
    """Each number, or null, of a JSON value under its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            record = inner if isinstance(inner, dict) else {}
            named = [record[key] for key in NAMES if isinstance(record.get(key), str)]
            name = " ".join(named) or place
            yield from flat(inner, f"{path}/{name}")
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, value


def figures(data: Path) -> dict[str, float | None]:
    """Every figure by its path."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rooms = (outputs(data, folder), sets(data, folder), replies(data, folder), power(folder))
        return {
            path: figure
            for room in rooms
            for name, value in room
            for path, figure in flat(value, name)
        }


def differs(old: float | None, new: float | None) -> bool:
    """Whether two figures differ by more than rounding."""
    if old is None or new is None:
        return old is not new
    return abs(old - new) > TOLERANCE * max(1.0, abs(old))


def main() -> int:
    """Write the oracle, or hold today's figures against it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the published data")
    parser.add_argument("--write", action="store_true", help="write the oracle anew")
    given = parser.parse_args()
    now = figures(given.data.resolve())
    if given.write:
        # No time in its header: the same figures make the same file.
        packed = gzip.compress(json.dumps(now, indent=0, sort_keys=True).encode(), mtime=0)
        ORACLE.write_bytes(packed)
        print(f"{len(now)} figures, {len(packed)} bytes")
        return 0
    before = json.loads(gzip.decompress(ORACLE.read_bytes()))
    gone = Counter(path.rsplit("/")[-1] for path in before.keys() - now.keys())
    wrong = [path for path in before.keys() & now.keys() if differs(before[path], now[path])]
    for path in sorted(wrong):
        print(f"{path}: {before[path]} before, {now[path]} now")
    print(
        f"{len(wrong)} of {len(before)} figures differ; gone, by name: {dict(gone.most_common())}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
