"""Fit the weights of the offline reader of replies (``src/casewise/data/reader.npz``).

    python benchmarks/fit_reader.py            # fit, write the weights and the error (2 min)
    python benchmarks/fit_reader.py --check    # print the error, and write nothing

Fitted to real replies (XSTest's completions of two models, in ``../shared/data/xstest``), to the
written-from half of tests/data/replies.jsonl, to tests/data/short_replies.jsonl, to
tests/data/plain_replies_fit.jsonl, and to replies put together from tests/data/reply_pieces.yaml.
The held-out half and tests/data/plain_replies_test.jsonl are never read. How far the reader
agrees with people is counted on the real replies, each read by a fit that has seen neither its
model nor its prompt; the counts ship (``src/casewise/data/reader_error.json``).
"""

import argparse
import csv
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import yaml
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix, diags
from sklearn.model_selection import GroupKFold

from casewise.choices import Rulings
from casewise.protocols import ResponseClass, string_match
from casewise.protocols.replies._features import (
    CLASSES,
    FILE,
    ITSELF_SHARE,
    PLACES,
    PRIOR,
    WORDS_SHARE,
    Fitted,
    Model,
    digest_of,
    measure_rows,
    measures,
)
from casewise.protocols.replies._read_reply import READER_VERSION, TakenApart, decide, take_apart
from casewise.scores._labelled_replies import load_labelled

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "src/casewise/data"
XSTEST = ROOT.parent / "shared/data/xstest"
sys.path.insert(0, str(ROOT / "tests"))

from support.replies import PLAIN, WRITTEN_FROM, half, load_replies  # noqa: E402

MODELS = ("llama2orig", "mistralguard")
MADE = 1500
"""So many replies are put together from pieces."""
PENALTY = 0.3
"""The ridge: what an error costs less than a jagged fit."""
WEIGHT = defaultdict(lambda: 1.0, labelled=3.0)
"""What a reply of each origin counts in the fit."""
LEAST_SPREAD = 0.05
"""Added to a measure's spread, so that a rare one isn't blown up."""
LEAST_QUERIES = 8
"""A run of words must stand in replies to this many queries."""
FOLDS = 3
SEED = 7


@dataclass(frozen=True, slots=True)
class Example:
    query: str
    label: ResponseClass
    origin: str
    """The model, or where the project wrote it."""
    taken: TakenApart | str
    reply: str
    unsafe: bool = False
    """Of real ones: whether XSTest's authors mean the prompt to be refused."""


def load(real: bool = True) -> list[Example]:
    """All that is fitted to."""
    found = [
        _example(one.query, one.reply, one.label, "labelled")
        for one in load_replies()
        if half(one.id) == WRITTEN_FROM
    ]
    lines = (ROOT / "tests/data/short_replies.jsonl").read_text("utf-8").splitlines()
    found += [_example(**json.loads(line)) for line in lines]
    found += [
        _example(one.query or "", one.reply, one.label, "plain")
        for one in load_labelled(PLAIN["fit"])
    ]
    found += [_example(*one, "made") for one in put_together()]
    return found + [one for name in MODELS for one in load_real(name)] if real else found


def load_real(model: str) -> list[Example]:
    """A model's replies to XSTest, with the label that two people settled on."""
    file = XSTEST / f"xstest_v2_completions_{model}.csv"
    with file.open(encoding="utf-8", newline="") as lines:
        unsafe = {row["id"]: row["type"].startswith("contrast") for row in csv.DictReader(lines)}
    return [
        _example(one.query or "", one.reply, one.label, model, unsafe[one.id])
        for one in load_labelled(file)
    ]


def _example(query: str, reply: str, label: str, origin: str, unsafe: bool = False) -> Example:
    taken = take_apart(reply, query)
    return Example(query, ResponseClass(label), origin, taken, reply, unsafe)


# --- replies put together from pieces -----------------------------------------------------------


def put_together() -> Iterator[tuple[str, str, str]]:
    """Query, reply and label, drawn with a fixed seed."""
    pieces = yaml.safe_load((ROOT / "tests/data/reply_pieces.yaml").read_text("utf-8"))
    kinds, pools = pieces["kinds"], pieces["pools"]
    draw = random.Random(SEED)
    for _ in range(MADE):
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


# --- the fit ------------------------------------------------------------------------------------


def fit(examples: Sequence[Example]) -> Fitted:
    """What the labelled replies say of each word and measure, by ridge regression.

    Solved for the replies, of which there are fewer than words; the weights follow from them.
    """
    read = [one for one in examples if isinstance(one.taken, TakenApart)]
    features = [one.taken.features for one in read if isinstance(one.taken, TakenApart)]
    shape, declining = (np.array(sorted(one)) for one in (features[0].shape, features[0].declining))
    numbers = np.array([measures(one, shape, declining) for one in features])
    centre, scale = numbers.mean(0).round(PLACES), (numbers.std(0) + LEAST_SPREAD).round(PLACES)
    rows = measure_rows(numbers, len(shape), centre, scale)
    words = _words(read)
    at = {name: place for place, name in enumerate(words)}
    spoken = [sorted(at[name] for name in one.words if name in at) for one in features]
    sizes = np.array([len(one) for one in spoken])
    ends = np.concatenate([[0], sizes.cumsum()])
    has = csr_matrix((np.ones(sizes.sum()), np.concatenate(spoken), ends), (len(read), len(words)))
    has = diags(np.sqrt(WORDS_SHARE / np.maximum(1, sizes))) @ has
    alike = rows @ rows.T + (has @ has.T).toarray()
    weights = np.array([WEIGHT[one.origin] for one in read])
    alike += ITSELF_SHARE + np.diag(PENALTY / weights)
    meant = np.eye(len(CLASSES))[[CLASSES.index(one.label) for one in read]] - PRIOR
    says = cho_solve(cho_factor(alike, overwrite_a=True), meant)
    return Fitted(
        shape,
        declining,
        centre,
        scale,
        np.array(words),
        (rows.T @ says).astype(np.float32),
        (has.T @ says).astype(np.float16),
        (ITSELF_SHARE * says.sum(0)).astype(np.float32),
        np.array([digest_of(one.reply) for one in examples], np.uint32),
    )


def _words(examples: Sequence[Example]) -> list[str]:
    queries = defaultdict(set)
    for one in examples:
        if isinstance(one.taken, TakenApart):
            for name in one.taken.features.words:
                queries[name].add(one.query)
    return sorted(name for name, of in queries.items() if len(of) >= LEAST_QUERIES)


# --- what is left out -----------------------------------------------------------------------------


def read(fitted: Fitted, example: Example, rulings: Rulings) -> ResponseClass:
    """What ``read_reply`` says by this fit."""
    if isinstance(example.taken, str):
        return ResponseClass.UNDETERMINED
    chances = Model(fitted).chances(example.taken.features)
    found = decide(example.taken, chances, rulings).response_class
    assert found is not None
    return found


def left_out(
    examples: Sequence[Example],
) -> list[tuple[Example, dict[Rulings, ResponseClass]]]:
    """Each real reply, with what a fit says that has seen neither its model nor its prompt."""
    found = []
    for model in MODELS:
        real = [one for one in examples if one.origin == model]
        others = [one for one in examples if one.origin != model]
        folds = GroupKFold(FOLDS, shuffle=True, random_state=0)
        groups = [one.query for one in real]
        for _, places in folds.split(real, groups=groups):
            held = [real[at] for at in places]
            prompts = {one.query for one in held}
            fitted = fit([one for one in others if one.query not in prompts])
            found += [(one, {of: read(fitted, one, of) for of in Rulings}) for one in held]
    return found


def counts(
    read: Sequence[tuple[Example, ResponseClass]],
) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """How often a grader says what of each of people's labels, by model and side."""
    tables: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for one, said in read:
        tables[one.origin, "unsafe" if one.unsafe else "safe", one.label][said] += 1
    labels = [one for one in CLASSES if one is not ResponseClass.UNDETERMINED]
    return {
        model: {
            side: {
                str(label): {str(said): tables[model, side, label][said] for said in CLASSES}
                for label in labels
            }
            for side in ("safe", "unsafe")
        }
        for model in MODELS
    }


def show(read: Sequence[tuple[Example, dict[Rulings, ResponseClass]]]) -> None:
    """Print accuracy and rates, the reader's beside string match's and people's."""
    for model in MODELS:
        mine = [(one, said) for one, said in read if one.origin == model]
        people = [one.label for one, _ in mine]
        rows = {str(of): [said[of] for _, said in mine] for of in Rulings}
        rows |= {"string match": [string_match(one.reply) for one, _ in mine], "people": people}
        for name, said in rows.items():
            print(f"{model:14}{name:14}{_figures(people, said)}")


def _figures(people: list[ResponseClass], said: list[ResponseClass]) -> str:
    refusing = (ResponseClass.REFUSAL, ResponseClass.PARTIAL)
    pairs = list(zip(people, said, strict=True))
    shares = {
        "accuracy": [a is b for a, b in pairs],
        "refusal or not": [(a in refusing) == (b in refusing) for a, b in pairs],
        "refusals": [b is ResponseClass.REFUSAL for _, b in pairs],
        "in whole or part": [b in refusing for _, b in pairs],
        "undetermined": [b is ResponseClass.UNDETERMINED for _, b in pairs],
    }
    return "  ".join(f"{name} {sum(one) / len(one):.3f}" for name, one in shares.items())


def error_record(read: Sequence[tuple[Example, dict[Rulings, ResponseClass]]]) -> str:
    """The file of the reader's measured error, one row of counts a line."""
    record = {
        "reader_version": READER_VERSION,
        "replies": "models' replies to XSTest, second version; the label that two people settled on"
        " (Röttger et al., NAACL 2024, arXiv 2308.01263)",
        "left_out": "each reply was read by a fit that has seen neither its model nor its prompt",
        "rulings": str(Rulings.XSTEST),
        # Counted on other replies; tests/scores/test_real_reply_figures.py holds them.
        "elsewhere": json.loads((DATA / "reader_error.json").read_text("utf-8"))["elsewhere"],
        "counts": counts([(one, said[Rulings.XSTEST]) for one, said in read]),
        "string_match": counts([(one, string_match(one.reply)) for one, _ in read]),
    }
    text = json.dumps(record, indent=2, ensure_ascii=False)
    # A row of counts, the innermost braces, stands on one line.
    return re.sub(r"\{[^{}]*\}", lambda row: " ".join(row[0].split()), text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the offline reader of replies.")
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    examples = load()
    if not check:
        np.savez_compressed(DATA / FILE, **asdict(fit(examples)))
    read = left_out(examples)
    show(read)
    if not check:
        (DATA / "reader_error.json").write_text(error_record(read), "utf-8")


if __name__ == "__main__":
    main()
