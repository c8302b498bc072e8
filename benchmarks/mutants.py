"""Faults put into the code by chance, and which of them the default tests notice.

    python benchmarks/mutants.py FOLDER --draw SEED  adds fifty, drawn by a seed, and judges all
    python benchmarks/mutants.py FOLDER              judges those of benchmarks/mutants.json again

Mutants are drawn over functions of code that is to stay: a comparison, an operator or a bound is
another, a call is dropped, two arguments are swapped. In a later tree they are found again by file,
function and text; those that are gone are counted. One run of the tests over a copy of the tree
with probes at their places tells which tests touch each. Each mutant then meets those alone, the
quickest first, until one fails. What was judged at a commit is kept, so that a stopped run goes on.
Copies, with ``shared`` beside each, are made in FOLDER.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "benchmarks/mutants.json"
MUTANTS = 50
LIMIT_S = 900
"""A mutant whose tests take longer than this hangs, which somebody notices."""
PROBE = "_mutant_probe"
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: a piece of a file, and what stands there in its place."""

    file: str
    function: str
    line: int
    kind: str
    start: int
    """Offset in the file's bytes."""
    end: int
    before: str
    after: str


FIELDS = ("file", "function", "line", "kind", "before", "after")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A mutant, how many tests touch it, and the first that noticed it."""

    mutant: Mutant
    tests: int
    killed_by: str | None
    """Id of a test, ``time``, or None where it survives."""


def candidates(path: Path) -> Iterator[Mutant]:
    """Mutants of each place in a file's functions."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function, node in _places(ast.parse(source)):
        for kind, after in _mutations(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            yield Mutant(
                str(path.relative_to(ROOT)), function, node.lineno, kind, start, end,
                source[start:end].decode(), after,
            )  # fmt: skip


def _places(tree: ast.AST, function: str = "", inside: bool = False) -> Iterator[tuple[str, Any]]:
    """Expressions of functions' bodies: no annotations, decorators, defaults, formatted text."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{function}.{child.name}".lstrip(".")
            body = ast.Module(child.body, [])
            yield from _places(body, name, inside or not isinstance(child, ast.ClassDef))
        elif isinstance(child, ast.AnnAssign):
            if inside and child.value is not None:
                yield from _places(ast.Module([child.value], []), function, inside)
        # Places in formatted text are known from Python 3.12 on only; patterns hold no expressions.
        elif not isinstance(child, ast.JoinedStr | ast.pattern):
            if inside:
                yield function, child
            yield from _places(child, function, inside)


def _mutations(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Compare(left, [operator], [right]):
            other = SWAPPED[type(operator)]()
            yield "comparison", f"({ast.unparse(ast.Compare(left, [other], [right]))})"
        case ast.BinOp(left, operator, right) if type(operator) in SWAPPED:
            yield "operator", f"({ast.unparse(ast.BinOp(left, SWAPPED[type(operator)](), right))})"
        case ast.BoolOp(operator, values):
            yield "operator", f"({ast.unparse(ast.BoolOp(SWAPPED[type(operator)](), values))})"
        case ast.UnaryOp(ast.Not(), operand):
            yield "operator", f"bool({ast.unparse(operand)})"
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            yield "bound", repr(number + 1 if isinstance(number, int) else number * 1.1)
        case ast.Expr(ast.Call()):
            yield "dropped call", "None"
        case ast.Call(function, [first, second, *others], keywords) if not any(
            isinstance(one, ast.Starred) for one in (first, second)
        ) and ast.dump(first) != ast.dump(second):
            swapped = ast.Call(function, [second, first, *others], keywords)
            yield "swapped arguments", f"({ast.unparse(swapped)})"


def draw(seed: str, known: list[Mutant]) -> list[Mutant]:
    """Draw mutants: a kind by chance, then a place of that kind; none overlaps another."""
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for root in ("src/casewise", "study/src/casewise_study"):
        for path in sorted((ROOT / root).rglob("*.py")):
            for mutant in candidates(path):
                kinds[mutant.kind].append(mutant)
    chance = random.Random(seed)
    drawn: list[Mutant] = []
    while len(drawn) < MUTANTS:
        mutant = chance.choice(kinds[chance.choice(sorted(kinds))])
        apart = (
            m.file != mutant.file or m.end <= mutant.start or mutant.end <= m.start
            for m in (*known, *drawn)
        )
        if all(apart):
            drawn.append(mutant)
    return drawn


def copy_of_tree(folder: Path) -> Path:
    """Make a copy of what is committed, with an environment in which it is installed."""
    tree = folder / "main"
    if not tree.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "shared").symlink_to(ROOT.parent / "shared")
        subprocess.run(["git", "clone", "-q", "--local", ROOT, tree], check=True)
        shutil.copytree(ROOT / ".venv", tree / ".venv", symlinks=True, copy_function=os.link)
        for command in (tree / ".venv/bin").glob("casewise*"):
            command.unlink()
        install = [
            "pip",
            "install",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-e",
            ".",
            "-e",
            "study",
        ]
        subprocess.run([tree / ".venv/bin/python", "-m", *install], cwd=tree, check=True)
    return tree


def touching(mutants: list[Mutant], folder: Path) -> list[list[str]]:
    """Ids of the tests that touch each mutant, the quickest first, by a run with probes."""
    tree = copy_of_tree(folder)
    touched, durations = folder / "touched.txt", folder / "durations.xml"
    if not durations.exists():
        (tree / f"src/{PROBE}.py").write_text(
            "import os\n"
            "recorded = set()\n"
            "def touch(number):\n"
            "    test = os.environ.get('PYTEST_CURRENT_TEST', '').rpartition(' (')[0]\n"
            "    if (number, test) not in recorded:\n"
            "        recorded.add((number, test))\n"
            f"        with open({str(touched)!r}, 'a') as file:\n"
            "            file.write(f'{number}\\t{test}\\n')\n"
        )
        numbered: dict[str, list[tuple[int, Mutant]]] = defaultdict(list)
        for number, mutant in enumerate(mutants):
            numbered[mutant.file].append((number, mutant))
        for file, places in numbered.items():
            source = (tree / file).read_bytes()
            for number, mutant in sorted(places, key=lambda place: -place[1].start):
                probe = f"(__import__('{PROBE}').touch({number}) or ({mutant.before}))"
                source = source[: mutant.start] + probe.encode() + source[mutant.end :]
            (tree / file).write_bytes(source)
        arguments = (
            "-n",
            "2",
            "--dist",
            "loadfile",
            f"--junitxml={durations}",
            "-o",
            "junit_family=xunit1",
        )
        run_tests(tree, *arguments)
    seconds = {}
    for case in ElementTree.parse(durations).iter("testcase"):
        seconds[f"{case.get('file')}::{case.get('name')}"] = float(case.get("time", 0))
    tests: list[list[str]] = [[] for _ in mutants]
    for line in sorted(set(touched.read_text("utf-8").splitlines())):
        number, _, test = line.partition("\t")
        if test:
            tests[int(number)].append(test)
    # A test's id is its file, a class where there is any, and its name.
    return [sorted(ids, key=lambda one: seconds.get(one, 1.0)) for ids in tests]


def run_tests(tree: Path, *arguments: str, limit_s: float | None = None) -> str | None:
    """Run default tests, and return what failed first: an id, ``time``, or None.

    Raises:
        SystemExit: The tests could not be run.
    """
    command = [
        ".venv/bin/python",
        "-m",
        "pytest",
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    try:
        done = subprocess.run(
            command, cwd=tree, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return "time"
    lines = [line.split(" - ")[0] for line in done.stdout.splitlines()]
    failed = [line.split(" ", 1)[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    if not failed and done.returncode in (2, 3, 4):
        # A mutant that ends the collection is noticed, too.
        return "collection"
    return failed[0] if failed else None


def judge(mutant: Mutant, tests: list[str], tree: Path) -> Judgement:
    """Let a mutant meet its tests."""
    path = tree / mutant.file
    source = path.read_bytes()
    path.write_bytes(source[: mutant.start] + mutant.after.encode() + source[mutant.end :])
    try:
        killed_by = run_tests(tree, "-x", *tests, limit_s=LIMIT_S) if tests else None
    finally:
        path.write_bytes(source)
    return Judgement(mutant, len(tests), killed_by)


def again(rows: list[dict[str, Any]]) -> list[Mutant | None]:
    """Find mutants in this tree; None is gone."""
    found: list[Mutant | None] = []
    for row in rows:
        path = ROOT / row["file"]
        same = [
            mutant
            for mutant in (candidates(path) if path.exists() else ())
            if all(row[key] == getattr(mutant, key) for key in ("function", "before", "after"))
        ]
        found.append(min(same, key=lambda one: abs(one.line - row["line"]), default=None))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draw", metavar="SEED", help="draw fifty more, by any text")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    kept = json.loads(OUTPUT.read_text("utf-8"))
    known = kept["mutants"]
    if options.draw is not None:
        there = [mutant for mutant in again(known) if mutant is not None]
        fresh = draw(options.draw, there)
        known += [asdict(mutant) | {"drawn": options.draw} for mutant in fresh]
    mutants = again(known)
    judged = kept["commit"] == commit
    rows = [
        {name: row[name] for name in (*FIELDS, "drawn")}
        | {key: row.get(key) for key in ("tests", "killed_by", "state") if judged}
        | ({"state": "gone"} if mutant is None else {})
        for row, mutant in zip(known, mutants, strict=True)
    ]
    folder = options.folder.resolve()
    there = [mutant for mutant in mutants if mutant is not None]
    touched = dict(zip(there, touching(there, folder / "probe"), strict=True))
    trees: SimpleQueue[Path] = SimpleQueue()
    for number in range(options.jobs):
        trees.put(copy_of_tree(folder / str(number)))

    def judge_row(number: int) -> None:
        mutant, row = mutants[number], rows[number]
        if mutant is not None and row.get("state") is None:
            tree = trees.get()
            judgement = judge(mutant, touched[mutant], tree)
            trees.put(tree)
            state = "survived" if judgement.killed_by is None else "killed"
            row |= {"tests": judgement.tests, "killed_by": judgement.killed_by, "state": state}
        counts = Counter(f"{one['drawn']}: {one.get('state') or 'open'}" for one in rows)
        record = {"commit": commit, "counts": counts, "mutants": rows}
        OUTPUT.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        print(dict(counts), file=sys.stderr)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(judge_row, range(len(mutants))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
