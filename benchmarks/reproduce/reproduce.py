"""Figures that five works published, recomputed from the outputs that their authors published.

    python benchmarks/reproduce/reproduce.py FOLDER

FOLDER holds files of some of the works, at any depth: each is found by its name, and is the one
with the hash that its work (NAME.yaml) pins. Printed are Markdown tables; the functions of
``casewise score`` make the figures. docs/method/published.md says how to add a work.
"""

import argparse
import csv
import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import yaml

from casewise.cases import read_label_rule
from casewise.choices import Split, UnreadPolicy
from casewise.judgements import make_table, read_paths
from casewise.measures import Scoring
from casewise.protocols import string_match
from casewise.results import Score, compare_runs, find_runs, score_table

WORKS = Path(__file__).parent
Rows = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """A published figure and its recomputed value."""

    source: str
    """Table, page or file that states it."""
    row: str
    name: str
    published: float
    recomputed: float
    tolerance: float

    @property
    def is_equal(self) -> bool:
        """Whether the two differ by the tolerance at most, but for the rounding of fractions."""
        return abs(self.recomputed - self.published) <= self.tolerance + 1e-9


def legal(row: Mapping[str, str], _: Path) -> Rows:
    """A reply, refused or not by the authors' labels; every prompt should be answered."""
    case = f"{row['topic']}/{row['number']}"
    yield {
        **{"model": row["model"], "variant": row["prefix"], "protocol": "respond"},
        **{"case_id": case, "query_id": case, "category": row["topic"], "status": "ok"},
        **{"epoch": 1, "intended": "safe"},
        "response_class": "refusal" if row["is_refused"] == "True" else "compliance",
    }


FLOOR = 2e-7
"""The authors' cross-entropy is Keras's, which cuts p at 1e-7 and then adds 1e-7."""
STUDIES = {"lines": "Line", "blue.house": "Prop", "cannonball": "Cann."}


def moralexceptqa(row: Mapping[str, str], _: Path) -> Rows:
    """A probability of "yes, this rule may be broken", by one prompt or seed of a model."""
    p = float(row["proba_1"])
    yield {
        **{"run_id": row["model"], "model": row["model_type"], "protocol": "probability"},
        "case_id": "/".join(row[name] for name in ("study", "context", "condition")),
        "query_id": f"{row['study']}/{row['context']}",
        **{"category": STUDIES[row["study"]], "status": "ok"},
        "published_safe_rate": float(row["human.response"]),
        "verdict": "safe" if p > 0.5 else "unsafe",
        "p_safe": min(max(p, FLOOR), 1 - FLOOR),
    }


REFUSALS = ("direct_refusal", "indirect_refusal")
SIDES = {"benign": "safe", "dual_use": "unsafe"}


def refusalbench(row: Mapping[str, str], _: Path) -> Rows:
    """A trial among all tiers, of which none is labelled; and again if its tier is an outer one."""
    trial = {
        **{"model": row["model"], "protocol": "respond", "status": "ok"},
        **{"case_id": row["prompt_id"], "query_id": row["prompt_id"]},
        **{"category": row["tier"], "epoch": int(row["trial_idx"])},
        "response_class": "refusal" if row["modal_compliance"] in REFUSALS else "compliance",
    }
    # Over all tiers the rate of refusal is that of safe requests.
    yield trial | {"variant": "all tiers", "intended": "safe"}
    if side := SIDES.get(row["tier"]):
        yield trial | {"variant": "benign and dual use", "intended": side}


CLASSES = {"1": "compliance", "2": "refusal", "3": "partial"}


def xstest(row: Mapping[str, str], path: Path) -> Rows:
    """A completion by each that grades it: GPT-4, or two people and our string match."""
    if "gpt4_label" in row:
        classes = {"GPT-4": CLASSES[row["gpt4_label"][0]]}
    else:
        matched = string_match(row["completion"])
        classes = {"people": CLASSES[row["final_label"][0]], "string match": str(matched)}
    for grader, class_ in classes.items():
        yield {
            **{"model": path.stem.split("_")[3], "variant": grader, "protocol": "respond"},
            **{"case_id": row["id"], "query_id": row["id"], "category": row["type"]},
            "intended": "unsafe" if row["type"].startswith("contrast") else "safe",
            **{"status": "ok", "response_class": class_},
        }


READERS = {one.__name__: one for one in (legal, moralexceptqa, refusalbench, xstest)}
"""Judgements of a row of a work's CSV; the outputs of a work without one are CASE-Bench's."""


def read(name: str, paths: Sequence[Path]) -> pl.DataFrame:
    """Judgement table of a work's files."""
    if name not in READERS:
        return read_paths(paths).table
    rows: list[dict[str, Any]] = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows += (one for row in csv.DictReader(file) for one in READERS[name](row, path))
    return make_table(rows)


def find(folder: Path, work: Mapping[str, Any]) -> list[Path]:
    """Files of a work below a folder.

    Raises:
        FileNotFoundError: One is absent, or is another version.
    """
    files = []
    for name, sha256 in work["files"].items():
        paths = folder.rglob(Path(name).name)
        right = (path for path in paths if hashlib.sha256(path.read_bytes()).hexdigest() == sha256)
        if (path := next(right, None)) is None:
            place = f"{work['address']}, commit {work['commit']}"
            raise FileNotFoundError(f"no {name} with sha256 {sha256} ({place})")
        files.append(path)
    return files


def load(name: str) -> dict[str, Any]:
    """A work, by its name."""
    return yaml.safe_load((WORKS / f"{name}.yaml").read_text("utf-8"))


def works() -> list[str]:
    """Names of the works."""
    return sorted(path.stem for path in WORKS.glob("*.yaml"))


def recompute(name: str, folder: Path) -> list[Figure]:
    """Published figures of a work, recomputed from its files below a folder."""
    work = load(name)
    table = read(name, find(folder, work))
    rules = work["scoring"]
    scoring = Scoring(read_label_rule(rules["labels"]), UnreadPolicy(rules["unparsed"]))
    return [
        figure for published in work["published"] for figure in _figures(published, table, scoring)
    ]


def _figures(published: Mapping[str, Any], table: pl.DataFrame, scoring: Scoring) -> list[Figure]:
    """Figures of one place; where runs of a model have one name, their mean, as the authors do."""
    runs: dict[str, list[dict[str, float]]] = defaultdict(list)
    before, split = published.get("before"), published.get("split")
    scored = (
        _compared(table, scoring, before)
        if before
        else ((score, {}) for score in score_table(table, scoring, by=split and Split(split)))
    )
    for score, more in scored:
        keys = {**score.condition, **score.group}
        values = {measure: one.value for measure, one in score.measures.items()}
        row = ", ".join(str(keys[key]) for key in published["keys"] if keys.get(key))
        runs[row].append({"n": score.n} | values | more)
    return [
        Figure(
            *(published["source"], row, name, value),
            fmean(eval(formula, {}, known) for known in runs[row]),
            published["tolerance"],
        )
        for row, values in published["rows"].items()
        for (name, formula), value in zip(published["measures"].items(), values, strict=True)
        if value is not None
    ]


def _compared(
    table: pl.DataFrame, scoring: Scoring, variant: str
) -> Iterator[tuple[Score, dict[str, float]]]:
    """Score of each run held against its model's run of a variant, and counts of cases moved."""
    runs = find_runs({"": table})
    before = {run.condition.model: run for run in runs if run.condition.variant == variant}
    pairs = [(before[run.condition.model], run) for run in runs if run not in before.values()]
    for run in compare_runs(pairs, scoring):
        right = [one.after_is_right for one in run.changed]
        yield run.scores[1], {"newly_wrong": right.count(False), "newly_right": right.count(True)}


def summary(found: Mapping[str, Sequence[Figure]]) -> str:
    """Table of the works: how many figures they published, and how many are equal."""
    lines = ["| work | published figures | recomputed, equal |", "|---|---:|---:|"]
    for name, figures in found.items():
        lines.append(f"| {name} | {len(figures)} | {sum(figure.is_equal for figure in figures)} |")
    return "\n".join(lines)


def section(name: str, figures: Sequence[Figure]) -> Iterator[str]:
    """A work's terms, and a line for each of its figures."""
    work = load(name)
    yield f"\n## {name}\n"
    named = ("title", "citation", "address", "licence", "terms", "left_out", "differs")
    yield from (f"{one}: {work[one]}" for one in named if one in work)
    yield "\n| source | run | figure | published | recomputed | equal within |"
    yield "|---|---|---|---:|---:|---:|"
    for figure in figures:
        equal = f"{figure.tolerance:g}" if figure.is_equal else "no"
        values = f"{figure.published} | {figure.recomputed:.7g}"
        yield f"| {figure.source} | {figure.row} | {figure.name} | {values} | {equal} |"


def main() -> None:
    """Print the figures of each work whose files are there, and name the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the works' files")
    folder = parser.parse_args().folder
    figures, absent = {}, []
    for name in works():
        try:
            figures[name] = recompute(name, folder)
        except FileNotFoundError as error:
            absent.append(f"{folder}, {name}: {error}")
    print(*absent, sep="\n", file=sys.stderr)
    if not figures:
        raise SystemExit(1)
    print(summary(figures))
    for name, lines in figures.items():
        print(*section(name, lines), sep="\n")


if __name__ == "__main__":
    main()
