"""Tables of published outputs on the first pages, between ``<!-- published: NAME -->`` marks.

    make published

Figures alone: no text of a case is written.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import casewise as cw
from casewise.statistics import wilson_interval

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared/data"
OUTPUTS = "casebench/exp"
"""CASE-Bench's published outputs, a folder a model."""
PAGES = ("README.md", "docs/index.md", "docs/start/research.md")


def verdicts(data: Path) -> str:
    """Table in short of ``casewise score``: a row a run."""
    markdown = cw.score(cw.judgements(data / OUTPUTS)).to_markdown()
    lines = markdown.split("### In short")[1].split("\n\n")[1].strip().splitlines()
    rows = [line.split("|") for line in lines]
    return "\n".join("|".join([*row[:2], *row[3:]]) for row in rows if row[2].strip())


def binary(data: Path) -> str:
    """Rows of the protocol ``binary`` alone."""
    head, line, *rows = verdicts(data).splitlines()
    return "\n".join([head, line, *(row for row in rows if "(binary)" in row)])


def finding(data: Path) -> str:
    """Cases that most people allow, by what Llama 3 70B says: how many GPT-4o calls unsafe."""
    said: dict[tuple[str, str, str | None], dict[str, str]] = defaultdict(dict)
    columns = ("model", "protocol", "ablation", "case_id", "verdict", "votes_safe", "votes_unsafe")
    table = cw.judgements(data / OUTPUTS).select(columns)
    for *run, case, verdict, safe, unsafe in table.iter_rows():
        if safe > unsafe:
            said[tuple(run)][case] = verdict
    gpt = said["gpt-4o", "binary", None]
    judged, whole = (said["llama370B", name, None] for name in ("binary", "probability"))
    lines = ["| Llama 3 70B | cases | GPT-4o calls unsafe | 95 % |", "|---|---:|---:|---|"]
    groups = {f"calls {side}": _said(judged, side) for side in ("unsafe", "safe")}
    for part in ("recipient", "transmission_principle"):
        without = said["llama370B", "probability", part]
        for verb, side in (("turns unsafe", "unsafe"), ("stays safe", "safe")):
            name = f"{verb} without the {part.replace('_', ' ')}"
            groups[name] = _said(whole, "safe") & _said(without, side)
    for name, cases in groups.items():
        hits = len(cases & _said(gpt, "unsafe"))
        low, high = wilson_interval(hits / len(cases), len(cases))
        ends = f"{100 * low:.0f} to {100 * high:.0f} %"
        lines.append(f"| {name} | {len(cases)} | {hits} ({hits / len(cases):.0%}) | {ends} |")
    return "\n".join(lines).replace("%)", " %)")


def _said(verdicts: Mapping[str, str], side: str) -> set[str]:
    return {case for case, verdict in verdicts.items() if verdict == side}


@cache
def reproduced(data: Path) -> str:
    """Works of ``benchmarks/reproduce``, with their figures that were recomputed and are equal."""
    sys.path.insert(0, str(ROOT / "benchmarks/reproduce"))
    import reproduce

    return reproduce.summary({name: reproduce.recompute(name, data) for name in reproduce.works()})


TABLES: Mapping[str, Callable[[Path], str]] = {
    "verdicts": verdicts,
    "binary": binary,
    "finding": finding,
    "reproduced": reproduced,
}


def with_tables(text: str, data: Path) -> str:
    """Make the tables of a page anew.

    Args:
        text: The page.
        data: Folder of what others published.
    """
    return re.sub(
        r"(<!-- published: (\w+) -->\n).*?(?=<!-- end -->)",
        lambda found: f"{found[1]}\n{TABLES[found[2]](data)}\n\n",
        text,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    for name in PAGES:
        page = ROOT / name
        page.write_text(with_tables(page.read_text("utf-8"), Path(*sys.argv[1:] or [DATA])))
