"""Fit the weights of the offline reader of replies (``src/casewise/data/reader.npz``).

    python benchmarks/fit_reader.py            # fit, write the weights and the error (5 min)
    python benchmarks/fit_reader.py --check    # print the error, and write nothing

Fitted to real replies (XSTest's completions of two models, in ``../shared/data/xstest``; political
speech, protein design and harmful prompts, in ``../shared/data/replies``), each also cut at several
lengths; to the written-from half of tests/data/replies.jsonl, to tests/data/short_replies.jsonl and
tests/data/plain_replies_fit.jsonl; and to replies put together from tests/data/reply_pieces.yaml
and tests/data/register_replies.yaml. The held-out half, tests/data/plain_replies_test.jsonl and
everyday replies are never fitted to. How far the reader agrees is counted on whole sources, and on
models, that a fit has not seen; the error on sources ships
(``src/casewise/data/reader_error.json``).
"""

import argparse
import csv
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_matrix, diags
from sklearn.linear_model import LogisticRegression

from casewise.choices import Rulings
from casewise.protocols import READER_VERSION, ResponseClass, string_match
from casewise.protocols.replies import (
    CLASSES,
    COLUMNS,
    DECLINES,
    FILE,
    HEAD,
    Fitted,
    count_columns,
    decide,
    digest_of,
    grade_by_rule,
    prepare,
    soften,
    spelt_out,
)
from casewise.replies import REFUSING, load_labelled
from casewise.sheets import number

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "src/casewise/data"
SHARED = ROOT.parent / "shared/data"
sys.path.insert(0, str(ROOT / "tests"))

from support.replies import PLAIN, WRITTEN_FROM, half, load_replies  # noqa: E402

XSTEST_MODELS = ("llama2orig", "mistralguard")
SIDES = {"speechmap": "safe", "refusalbench": "safe", "harmful_prompts": "unsafe"}
"""Sources of ``../shared/data/replies``: whether their queries are mostly to be answered."""
WEIGHT = {
    "xstest": 1000, "speechmap": 1500, "refusalbench": 400, "harmful_prompts": 900,
    "labelled": 500, "short": 500, "plain": 250, "pieces": 400, "registers": 1500,
}  # fmt: skip
"""Weight of all replies of a source together, so that none dominates."""
MADE = {"reply_pieces": 1500, "register_replies": 3500}
"""Replies that are put together from each file."""
CUTS = (500, 1500)
"""Lengths at which copies of longer replies are cut."""
CUT_WEIGHT = 0.4
OPEN_WEIGHT = 0.3
"""Weight of a reply that does neither: words alone seldom tell what is off the topic."""
LONG, PARTS, LEAST_PART = 1200, 4, 80
"""Least characters and paragraphs of a reply of which a part is taken, and characters of each."""
PART = -1
"""Mark of a part, in place of the length of a cut."""
PENALTY = 1 / 6
"""The ridge: what an error costs less than a jagged fit."""
LEAST_QUERIES, LEAST_SOURCES, LEAST_IN_SOURCE = 5, 2, 3
"""A run of words stands in replies to so many queries and of so many sources, often in each."""
TEMPERATURES = (0.3, 3.0)
SEED = 7
_MORAL = re.compile(r"\b(?:unethical|illegal|harmful|not appropriate|against the law)\b")


@dataclass(frozen=True, slots=True)
class Example:
    """One reply to fit to, or to count on."""

    query: str
    reply: str
    label: ResponseClass
    source: str
    model: str = ""
    side: str = "safe"
    cut: int = 0
    """Length at which the reply was cut; 0: whole."""
    published: str = ""
    """A model grader's published label, as the source writes it."""


# --- what is fitted to ----------------------------------------------------------------------------


def load_real() -> list[Example]:
    """Labelled replies of models, whole."""
    found = []
    for model in XSTEST_MODELS:
        file = SHARED / f"xstest/xstest_v2_completions_{model}.csv"
        rows = {row["id"]: row for row in _rows(file.with_stem(f"{file.stem}_gpteval"))}
        found += [
            Example(
                one.query or "", one.reply, one.label, "xstest", model,
                "unsafe" if rows[one.id]["type"].startswith("contrast") else "safe",
                published=rows[one.id]["gpt4_label"],
            )
            for one in load_labelled([file])
        ]  # fmt: skip
    for source, side in SIDES.items():
        lines = (SHARED / f"replies/{source}.jsonl").read_text("utf-8").splitlines()
        for one in map(json.loads, lines):
            # There, help with less detail is "partial"; nothing of it is declined.
            less = source == "refusalbench" and one["label"] == "partial"
            label = ResponseClass("compliance" if less else one["label"])
            found.append(Example(one["query"], one["reply"], label, source, one["model"], side))
    return found


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def load_everyday() -> list[Example]:
    """Replies to everyday instructions, which nobody labelled: nearly all comply."""
    lines = (SHARED / "replies/everyday.jsonl").read_text("utf-8").splitlines()
    return [
        Example(one["query"], one["reply"], ResponseClass.COMPLIANCE, "everyday", one["model"])
        for one in map(json.loads, lines)
    ]


def load_own() -> list[Example]:
    """Replies that the project wrote."""
    found = [
        Example(one.query, one.reply, ResponseClass(one.label), "labelled")
        for one in load_replies()
        if half(one.id) == WRITTEN_FROM
    ]
    lines = (ROOT / "tests/data/short_replies.jsonl").read_text("utf-8").splitlines()
    found += [
        Example(one["query"], one["reply"], ResponseClass(one["label"]), "short")
        for one in map(json.loads, lines)
    ]
    found += [
        Example(one.query or "", one.reply, one.label, "plain")
        for one in load_labelled([PLAIN["fit"]])
    ]
    for file, source in (("reply_pieces", "pieces"), ("register_replies", "registers")):
        found += [
            Example(query, reply, ResponseClass(label), source)
            for query, reply, label in put_together(file)
        ]
    return found


def load_all() -> list[Example]:
    """All that is fitted to."""
    whole = load_real() + load_own()
    return cut(whole) + parts(whole)


def put_together(file: str) -> Iterator[tuple[str, str, str]]:
    """Query, reply and label, drawn with a fixed seed from the pieces of a file."""
    pieces = yaml.safe_load((ROOT / f"tests/data/{file}.yaml").read_text("utf-8"))
    kinds, pools = pieces["kinds"], pieces["pools"]
    draw = random.Random(SEED)
    for _ in range(MADE[file]):
        kind = draw.choices(kinds, [one["share"] for one in kinds])[0]
        slots: dict[str, str | list[str]] = {}
        for name in kind["slots"]:
            drawn = draw.choice(pools[name])
            slots |= drawn if isinstance(drawn, dict) else {name: drawn}
        parts = []
        for chance, names, *ends in kind["reply"]:
            if draw.random() < chance:
                parts += _sentences(draw, draw.choice(names.split()), pools, slots, *ends)
        named = {key: value for key, value in slots.items() if isinstance(value, str)}
        named |= {key.capitalize(): value[:1].upper() + value[1:] for key, value in named.items()}
        reply = "".join(f"{part}{draw.choice((' ', ' ', ' ', chr(10) * 2))}" for part in parts)
        query = draw.choice(kind["queries"])
        yield query.format(**named), reply.strip().format(**named), kind["label"]


def _sentences(
    draw: random.Random,
    name: str,
    pools: dict[str, list[str]],
    slots: dict[str, str | list[str]],
    least: int = 1,
    most: int = 1,
) -> list[str]:
    """Some sentences of a pool; resources and the steps of a topic often make a list."""
    if name not in ("steps", "resources"):
        return draw.sample(pools[name], draw.randint(least, most))
    lines = list(slots["steps"] if name == "steps" else pools[name])
    lines = lines[: draw.randint(2, len(lines))]
    mark = draw.choice(("{}. ", "{}. **Step {}**: ", "- ", "", ""))
    if not mark:
        return lines
    listed = [mark.format(at, at) + line for at, line in enumerate(lines, start=1)]
    return ["\n" + "\n".join(listed) + "\n"]


def cut(examples: Sequence[Example]) -> list[Example]:
    """The replies, and copies of the longer ones that are cut, as a limit of tokens cuts them."""
    copies = [
        replace(one, reply=one.reply[:length], cut=length)
        for one in examples
        for length in CUTS
        if len(one.reply) > 1.1 * length
    ]
    return [*examples, *copies]


def parts(examples: Sequence[Example]) -> list[Example]:
    """Some paragraphs from the middle of long replies that comply: answers open in any way."""
    draw, found = random.Random(SEED), []
    for one in examples:
        if one.label is not ResponseClass.COMPLIANCE or len(one.reply) < LONG:
            continue
        told = [part for part in re.split(r"\n\s*\n", one.reply) if len(part) > LEAST_PART]
        if len(told) >= PARTS:
            first = draw.randrange(1, len(told) - 1)
            text = "\n\n".join(told[first : first + draw.choice((1, 2, 4))])
            found.append(replace(one, reply=text, cut=PART))
    return found


def is_of_form(example: Example) -> bool:
    """Tell whether the label can be about the reply's form, and so be learned from it.

    Judges of harm call much a refusal that declines nothing: a harmless text on what was asked.
    """
    if (example.source, example.label) != ("harmful_prompts", ResponseClass.REFUSAL):
        return True
    text = spelt_out(prepare(example.reply))[:HEAD]
    return bool(_MORAL.search(text) or DECLINES.search(text))


# --- the fit ------------------------------------------------------------------------------------


def matrix(examples: Sequence[Example]) -> csr_matrix:
    """The replies' counts of columns, (n, COLUMNS), as 1 + log."""
    counts = [count_columns(one.reply, one.query) for one in examples]
    columns = np.array([column for one in counts for column in sorted(one)], np.int32)
    often = np.array([one[column] for one in counts for column in sorted(one)], float)
    ends = np.concatenate([[0], np.cumsum([len(one) for one in counts])])
    return csr_matrix((1 + np.log(often), columns, ends), (len(counts), COLUMNS))


def fit(examples: Sequence[Example], counts: csr_matrix) -> Fitted:
    """Logistic regression on the columns that several sources and queries have."""
    present = (counts > 0).astype(np.float32)
    seen = _sums(present, [one.source for one in examples]) >= LEAST_IN_SOURCE
    asked = _sums(present, [one.query for one in examples]) > 0
    columns = np.flatnonzero((_down(seen) >= LEAST_SOURCES) & (_down(asked) >= LEAST_QUERIES))
    n = len(examples)
    rarity = 1 + np.log((1 + n) / (1 + _down(present)))
    rarest = rarity.max()
    often = np.full(COLUMNS, rarest)
    often[columns] = rarity[columns]
    row = counts @ diags(often)
    length = np.sqrt(_down(row.multiply(row).T))
    row = (diags(1 / np.maximum(length, 1e-9)) @ row).tocsc()[:, columns].tocsr()
    sizes = Counter(one.source for one in examples)
    weights = np.array([_weight(one) / sizes[one.source] for one in examples])
    model = LogisticRegression(C=1 / PENALTY, max_iter=1000, tol=1e-4)
    labels = np.array([CLASSES.index(one.label) for one in examples])
    model.fit(row, labels, sample_weight=weights / weights.mean())
    return Fitted(
        columns.astype(np.uint32),
        rarity[columns].astype(np.float16),
        np.float32(rarest),
        model.coef_.T.astype(np.float16),
        model.intercept_.astype(np.float32),
        np.float32(1),
        np.array(sorted({digest_of(one.reply) for one in examples if not one.cut}), np.uint32),
    )


def _weight(one: Example) -> float:
    told = OPEN_WEIGHT if one.label is ResponseClass.UNDETERMINED else 1.0
    return WEIGHT[one.source] * told * (CUT_WEIGHT if one.cut in CUTS else 1.0)


def _sums(present: csr_matrix, groups: Sequence[str]) -> csr_matrix:
    """Number of rows of each group that have a column, (groups, columns)."""
    places = {name: at for at, name in enumerate(dict.fromkeys(groups))}
    rows = [places[one] for one in groups]
    ones = np.ones(len(groups), np.float32)
    return csr_matrix((ones, (rows, range(len(groups))))) @ present


def _down(values: Any) -> np.ndarray:
    return np.asarray(values.sum(0)).ravel()


def sums_of(fitted: Fitted, counts: csr_matrix) -> np.ndarray:
    """Sums of weights, (n, classes), as ``chances`` has them before they are softened."""
    often = np.full(COLUMNS, float(fitted.rarest))
    often[fitted.columns] = fitted.rarity
    row = counts @ diags(often)
    length = np.sqrt(_down(row.multiply(row).T))
    known = row.tocsc()[:, fitted.columns]
    return fitted.prior + diags(1 / np.maximum(length, 1e-9)) @ known @ fitted.weights.astype(float)


# --- what is left out -----------------------------------------------------------------------------

Leave = Callable[[Example], bool]


def groups(examples: Sequence[Example]) -> dict[str, Leave]:
    """Replies that are left out together, by name: whole sources, then models of a source."""
    newer = set(sorted({one.model for one in examples if one.source == "speechmap"})[::2])
    left: dict[str, Leave] = {
        source: lambda one, source=source: one.source == source for source in ("xstest", *SIDES)
    }
    for source, model in (
        *(("xstest", model) for model in XSTEST_MODELS),
        *(("harmful_prompts", model) for model in sorted(
            {one.model for one in examples if one.source == "harmful_prompts"}
        )),
    ):  # fmt: skip
        left[f"{source}, {model}"] = lambda one, model=model: one.model == model
    left["speechmap, every other model"] = lambda one: one.model in newer
    return left


PREDICTED = ("xstest, llama2orig", "xstest, mistralguard", "speechmap, every other model",
             "refusalbench", "harmful_prompts, Qwen_Qwen2.5_7B_Instruct")  # fmt: skip
"""Groups by which chances are calibrated: another model of a known source, and a new source."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Replies that were left out, and the sums of weights by a fit without them."""

    examples: list[Example]
    sums: np.ndarray


def leave_out(examples: Sequence[Example], counts: csr_matrix) -> dict[str, LeftOut]:
    """Each group, read by a fit to all others."""
    found = {}
    for name, leave in groups(examples).items():
        out = np.array([leave(one) for one in examples])
        fitted = fit_to(examples, counts, ~out)
        held = [one for one, is_out in zip(examples, out, strict=True) if is_out]
        found[name] = LeftOut(held, sums_of(fitted, counts[out]))
    return found


def fit_to(examples: Sequence[Example], counts: csr_matrix, kept: np.ndarray) -> Fitted:
    """The fit to those that are kept and whose labels can be about their form."""
    chosen = np.flatnonzero(kept & np.array([is_of_form(one) for one in examples]))
    return fit([examples[at] for at in chosen], counts[chosen])


def temperature(found: dict[str, LeftOut]) -> float:
    """The divisor under which chances of declining fit best what was left out."""
    parts = [(one.examples, one.sums) for name, one in found.items() if name in PREDICTED]
    sums = np.concatenate([part for _, part in parts])
    refused = np.array([_refuses(one.label) for held, _ in parts for one in held])

    def loss(divisor: float) -> float:
        chances = soften(sums, divisor)
        declines, complies = chances[:, 1] + chances[:, 2], chances[:, 0]
        right = np.where(refused, declines, complies) / (declines + complies)
        return float(-np.log(np.maximum(right, 1e-9)).mean())

    return round(float(minimize_scalar(loss, bounds=TEMPERATURES, method="bounded").x), 2)


def _refuses(label: ResponseClass) -> bool:
    return label in (ResponseClass.PARTIAL, ResponseClass.REFUSAL)


Counts = dict[str, dict[str, dict[str, int]]]


def count(examples: Sequence[Example], said: Sequence[ResponseClass]) -> Counts:
    """Number of replies by side, by label, and by what is said."""
    found = Counter((one.side, one.label, what) for one, what in zip(examples, said, strict=True))
    return {
        side: {
            str(label): {str(what): found[side, label, what] for what in CLASSES}
            for label in CLASSES[:3]
        }
        for side in sorted({one.side for one in examples})
    }


def said_of(one: LeftOut, divisor: float) -> list[ResponseClass]:
    """The class of each reply by the chances of a fit."""
    found = []
    for example, chances in zip(one.examples, soften(one.sums, divisor), strict=True):
        rulings = Rulings.XSTEST if example.source == "xstest" else Rulings.CASEWISE
        of_class = dict(zip(CLASSES, chances.tolist(), strict=True))
        graded = grade_by_rule(example.reply, example.query) or decide(of_class, rulings)
        assert graded.response_class is not None
        found.append(graded.response_class)
    return found


PUBLISHED = {"1_full_compliance": "compliance", "2_full_refusal": "refusal",
             "3_partial_refusal": "partial"}  # fmt: skip


def record_of(one: LeftOut, divisor: float) -> dict[str, Any]:
    """Counts of a group: the reader's, string match's, a model's, and the reader's on cut ones."""
    said = said_of(one, divisor)
    pairs = list(zip(one.examples, said, strict=True))
    whole = [(example, what) for example, what in pairs if not example.cut]
    record: dict[str, Any] = {
        "counts": count(*zip(*whole, strict=True)),
        "string_match": count([a for a, _ in whole], [string_match(a.reply) for a, _ in whole]),
    }
    judged = [example for example, _ in whole if example.published in PUBLISHED]
    if judged:
        labels = [ResponseClass(PUBLISHED[example.published]) for example in judged]
        record["model_grader"] = count(judged, labels)
    record["cut"] = {
        str(length): count(*zip(*some, strict=True))
        for length in CUTS
        if (some := [pair for pair in pairs if pair[0].cut == length])
    }
    return record


Cells = Counter[tuple[str, str]]
"""Number of replies by label and by what is said."""


def cells_of(counts: Counts, side: str | None = None) -> Cells:
    """Counts of one side, or of both."""
    return Counter(
        {
            (label, said): sum(
                rows[label][said] for name, rows in counts.items() if side in (None, name)
            )
            for label in CLASSES[:3]
            for said in CLASSES
        }
    )


def figures_of(cells: Cells) -> dict[str, float]:
    """Figures of one classification: the share with a class, and of these what agrees."""

    def share(of: Callable[[bool, bool, bool], bool], among: Callable[[bool, bool], bool]) -> float:
        told = [
            (of(label in REFUSING, said in REFUSING, label == said), n)
            for (label, said), n in cells.items()
            if said != ResponseClass.UNDETERMINED and among(label in REFUSING, said in REFUSING)
        ]
        total = sum(n for _, n in told)
        return sum(n for one, n in told if one) / total if total else math.nan

    def always(_refused: bool, _said: bool) -> bool:
        return True

    n = cells.total()
    left = sum(one for (_, said), one in cells.items() if said == ResponseClass.UNDETERMINED)
    return {
        "n": n,
        "decided": 1 - left / n,
        "accuracy": share(lambda _a, _b, same: same, always),
        "refusal_or_not": share(lambda a, b, _: a == b, always),
        "precision": share(lambda a, _b, _: a, lambda _a, b: b),
        "recall": share(lambda _a, b, _: b, lambda a, _b: a),
        "bias": share(lambda _a, b, _: b, always) - share(lambda a, _b, _: a, always),
    }


def off(counts: Counts, side: str) -> float:
    """Error of the refusal rate of a side's replies, 0..1; 0 where there are none.

    A partial reply is half a refusal; what the reader can't tell is left out, as in scores.
    """
    if side not in counts:
        return 0.0

    def refused(place: int) -> float:
        classes = Counter[str]()
        for pair, n in cells_of(counts, side).items():
            classes[pair[place]] += n
        told = classes.total() - classes[ResponseClass.UNDETERMINED]
        return (classes[ResponseClass.REFUSAL] + classes[ResponseClass.PARTIAL] / 2) / told

    return abs(refused(1) - refused(0))


def error_record(records: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The reader's error on whole sources that were left out, as the note under rates tells it."""
    return {
        "edition": READER_VERSION.partition("-")[0],
        "reader_version": READER_VERSION,
        "sources": {
            name: {key: figures_of(cells_of(one["counts"]))[key] for key in ("n", "refusal_or_not")}
            | {"over_refusal": off(one["counts"], "safe")}
            | {"under_refusal": off(one["counts"], "unsafe")}
            for name, one in records.items()
            if "," not in name
        },
    }


def show(records: dict[str, dict[str, Any]]) -> None:
    """Print the table of what was left out; benchmarks/results/reader.md."""
    for name, one in records.items():
        cut = {f"reader, cut at {n}": counts for n, counts in one["cut"].items()}
        model = {"GPT-4": one["model_grader"]} if "model_grader" in one else {}
        plain = {"string match": one["string_match"]}
        for reading, counts in ({"reader": one["counts"]} | cut | plain | model).items():
            n, *shares, bias = figures_of(cells_of(counts)).values()
            cells = [f"{n:,}", *map(number, shares), f"{bias:+.3f}".replace("0.", ".")]
            print(f"| {name} | {reading} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the offline reader of replies.")
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    examples = load_all()
    counts = matrix(examples)
    found = leave_out(examples, counts)
    divisor = temperature(found)
    fitted = replace(
        fit_to(examples, counts, np.ones(len(examples), bool)), temperature=np.float32(divisor)
    )
    everyday = cut(load_everyday())
    found["everyday"] = LeftOut(everyday, sums_of(fitted, matrix(everyday)))
    records = {name: record_of(one, divisor) for name, one in found.items()}
    show(records)
    if not check:
        np.savez_compressed(DATA / FILE, **asdict(fitted))
        text = json.dumps(error_record(records), indent=2, ensure_ascii=False)
        # The figures of a source, the innermost braces, stand on one line.
        text = re.sub(r"\{[^{}]*\}", lambda row: " ".join(row[0].split()), text) + "\n"
        (DATA / "reader_error.json").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
