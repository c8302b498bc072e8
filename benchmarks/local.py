"""How fast casewise judges with a model in its own process, beside the limit and the usual way.

    python benchmarks/local.py                  # about a quarter of an hour; writes local.json
    python benchmarks/local.py --pairs 8        # a first look

The weights of the embedded model (SmolLM2, 135 million parameters) are loaded in PyTorch, in fp32
on a CPU, and judge pairs of cases under ``probability``; then the same pairs with the whole context
and with seven ablations of it: every choice of the groups sender, recipient and transmission
principle. ``casewise`` is the function that ``casewise run`` calls, from its plan to its logs,
loading left out. ``reference`` is the published scripts' way: ``generate(max_new_tokens=8)``,
prompt by prompt in the order of the file, on the same weights; of its prompts every n-th is asked,
before and after casewise, and stands for the others.

The limit is the trie of all prompts: a token that several prompts share from their beginnings on
needs computing once. What was computed is what the logs say that was used. Results are held against
plain forward passes without a cache. The embedded engine (xllamacpp) judges a part of the same
prompts, and its tokens are counted, too. On a CUDA device bf16 in batches is timed as well.
"""

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from inspect_ai.log import read_eval_log
from remote import HERE, Row, find_cases, print_rows, record, table_row

from casewise.cases import STARTER, open_cases
from casewise.evaluation import SMOLLM2, RunRequest, fetch_weights, make_plan, run
from casewise.evaluation._condition import make_condition
from casewise.evaluation.local.hf._engine import Engine, open_engine
from casewise.evaluation.local.hf._types import Options
from casewise.protocols import Protocol, derive_token_sets, read_probability

GROUPS = ("sender", "recipient", "transmission_principle")
ABLATIONS = (None, *(",".join(some) for n in (1, 2, 3) for some in combinations(GROUPS, n)))
WRITTEN = 8
"""Tokens that the reference writes."""
OTHERS = 16
"""Prompts held against plain passes."""

Prompt = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a run left in its logs."""

    seconds: float
    cpu_seconds: float
    computed: int
    """Prompt tokens that went through the model."""
    told: int
    """All prompt tokens."""
    answers: dict[str, tuple[float, dict[str, float]]]
    """By prompt: P(safe), and the log-probabilities of the first token."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds a prompt, on the wall and of the processor."""

    seconds: float
    cpu_seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--reference", type=int, default=24, help="prompts, each time it is timed")
    parser.add_argument("--embedded", type=int, default=8, help="pairs, by the embedded engine")
    parser.add_argument("--cases", type=Path, help="a file of cases; default: CASE-Bench's")
    parser.add_argument("--json", type=Path, default=HERE / "local.json")
    options = parser.parse_args()
    cases, told = find_cases(options.cases, 2 * options.pairs)
    limit = 2 * options.pairs
    if not cases:
        # The same case twice would be computed once.
        cases, limit = STARTER, min(limit, len(open_cases(STARTER).cases))
        told = f"{limit} starter cases (no CASE-Bench here)"
    print(f"{told}; {torch.get_num_threads()} threads of torch {torch.__version__}", flush=True)
    weights = str(fetch_weights())
    engine = open_engine(weights, Options(device="cpu"))
    measured = measure(engine, weights, cases, limit, options)
    rows = list(make_rows(measured))
    print_rows(rows)
    options.protocol, options.repeats = "probability", 1
    found = record(told, options, rows, measured) | {
        "made_with": engine.made_with,
        "threads": torch.get_num_threads(),
    }
    if not torch.cuda.is_available():
        print("\non a GPU: skipped, there is no CUDA device")
    options.json.write_text(json.dumps(found, indent=1, default=str) + "\n")
    print(f"\nwritten to {options.json}")


def measure(
    engine: Engine, weights: str, cases: str, limit: int, options: argparse.Namespace
) -> dict[str, Any]:
    model = f"casewise-hf/{weights}"
    alone = [prompt for _, prompt in prompts_of(engine, cases, limit, ABLATIONS[:1])]
    named = prompts_of(engine, cases, limit, ABLATIONS)
    every = [prompt for _, prompt in named]
    with torch.inference_mode():
        engine._model(input_ids=torch.tensor([alone[0]]))
    args = {"device": "cpu"}
    before = reference(engine, alone, options.reference)
    pairs = judge(model, cases, limit, ABLATIONS[:1], args)
    between = [reference(engine, chosen, options.reference) for chosen in (alone, every)]
    sweep = judge(model, cases, limit, ABLATIONS, args)
    after = reference(engine, every, options.reference)
    found: dict[str, Any] = {
        "pairs": versus([before, between[0]], pairs, alone),
        "sweep": versus([between[1], after], sweep, every),
        "results": differences(engine, dict(named), sweep),
    }
    some = 2 * options.embedded
    if some:
        part = prompts_of(engine, cases, some, ABLATIONS)
        embedded = judge(SMOLLM2, cases, some, ABLATIONS, {})
        found["embedded"] = {
            "computed": embedded.computed,
            "told": embedded.told,
            "trie": tree_size([prompt for _, prompt in part]),
            "seconds": embedded.seconds,
            # Its own numbers are 4 bits wide; PyTorch computes with the same, widened.
            "p_safe_apart": max(
                abs(p - sweep.answers[text][0])
                for text, (p, _) in embedded.answers.items()
                if text in sweep.answers
            ),
        }
    if torch.cuda.is_available():
        found["gpu"] = on_a_gpu(weights, cases, limit, every, options, sweep)
    return found


def prompts_of(
    engine: Engine, cases: str, limit: int, ablations: Sequence[str | None]
) -> list[tuple[str, Prompt]]:
    """Every prompt, as text and in tokens, condition by condition in the order of the file."""
    found = []
    for one in ablations:
        condition = make_condition(cases, protocol=Protocol.PROBABILITY, ablate=one, limit=limit)
        places = {case.id: place for place, case in enumerate(condition.data.cases)}
        for case in sorted(condition.cases, key=lambda case: places[case.id]):
            text = condition.prompts.render(case)
            found.append((text, engine.tokens.prompt([{"role": "user", "content": text}])))
    return found


def tree_size(prompts: Sequence[Prompt]) -> int:
    """Tokens of the prompts' trie: sorted, each adds what it does not share with its neighbour."""
    total, last = 0, ()
    for one in sorted(prompts):
        shared = next(
            (at for at, pair in enumerate(zip(one, last, strict=False)) if pair[0] != pair[1]),
            min(len(one), len(last)),
        )
        total, last = total + len(one) - shared, one
    return total


def reference(engine: Engine, prompts: Sequence[Prompt], most: int) -> Timed:
    """The published scripts' way, with every n-th prompt."""
    asked = prompts[:: max(1, len(prompts) // most)][:most]
    started, used = time.perf_counter(), time.process_time()
    for one in asked:
        ids = torch.tensor([one], device=engine._model.device)
        found = engine._model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=WRITTEN,
            do_sample=False,
            output_scores=True,
            return_dict_in_generate=True,
            pad_token_id=0,
        )
        found.scores[0][0].float().log_softmax(-1).topk(200).values.tolist()
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    tokens = sum(map(len, asked)) / len(asked) / (sum(map(len, prompts)) / len(prompts))
    told = Timed(seconds / len(asked) / tokens, cpu / len(asked) / tokens)
    print(f"  reference: {told.seconds:.2f} s a prompt, {len(asked)} prompts", flush=True)
    return told


def judge(
    model: str, cases: str, limit: int, ablations: Sequence[str | None], args: dict[str, Any]
) -> Judged:
    """A run as of the command line, and what its logs hold."""
    request = RunRequest(
        models=(model,), cases=cases, ablations=tuple(ablations), limit=limit, model_args=args
    )
    plan = make_plan(request)
    with tempfile.TemporaryDirectory() as folder:
        started, used = time.perf_counter(), time.process_time()
        result = run(plan, Path(folder))
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
        assert result.complete, result.failures
        computed, told = 0, 0
        answers: dict[str, tuple[float, dict[str, float]]] = {}
        for path in result.logs:
            for sample in read_eval_log(str(path)).samples or []:
                (usage,) = sample.model_usage.values()
                computed += usage.input_tokens
                told += usage.input_tokens + (usage.input_tokens_cache_read or 0)
                (score,) = (sample.scores or {}).values()
                (first,) = sample.output.choices[0].logprobs.content  # type: ignore[union-attr]
                listed = {one.token: one.logprob for one in first.top_logprobs or []}
                answers[sample.input[0].text] = (score.value["p_safe"], listed)  # type: ignore[index,union-attr]
    name = model if model == SMOLLM2 else "casewise"
    count = limit * len(ablations)
    print(f"  {name}: {seconds / count:.2f} s a prompt, {count} prompts", flush=True)
    return Judged(seconds, cpu, computed, told, answers)


def versus(times: Sequence[Timed], judged: Judged, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """casewise beside the reference, each time that this was timed."""
    count = len(prompts)
    assert judged.told == sum(map(len, prompts))
    return {
        "prompts": count,
        "tokens": judged.told,
        "computed": judged.computed,
        "trie": tree_size(prompts),
        "casewise_s": judged.seconds / count,
        "reference_s": [one.seconds for one in times],
        "ratios": [one.seconds * count / judged.seconds for one in times],
        "cpu_ratios": [one.cpu_seconds * count / judged.cpu_seconds for one in times],
    }


def differences(engine: Engine, prompts: dict[str, Prompt], judged: Judged) -> dict[str, float]:
    """The largest differences from plain forward passes without a cache."""
    sets = derive_token_sets(engine.tokens.first_piece)
    step = max(1, len(prompts) // OTHERS)
    apart = {"p_safe": 0.0, "logprob": 0.0, "prompts": 0}
    for text, tokens in list(prompts.items())[::step]:
        with torch.inference_mode():
            logits = engine._model(input_ids=torch.tensor([tokens]), use_cache=False).logits
        plain = logits[0, -1].float().log_softmax(-1).tolist()
        listed: dict[str, list[float]] = {}
        for token, logprob in enumerate(plain):
            listed.setdefault(engine.tokens.text(token), []).append(logprob)
        summed = {one: math.log(sum(map(math.exp, some))) for one, some in listed.items()}
        p_safe, found = judged.answers[text]
        expected = read_probability(summed, sets).p_safe
        assert expected is not None
        apart["p_safe"] = max(apart["p_safe"], abs(p_safe - expected))
        single = {one: some[0] for one, some in listed.items() if len(some) == 1}
        near = [abs(logprob - single[one]) for one, logprob in found.items() if one in single]
        apart["logprob"] = max(apart["logprob"], *near)
        apart["prompts"] += 1
    return apart


def on_a_gpu(
    weights: str,
    cases: str,
    limit: int,
    prompts: Sequence[Prompt],
    options: argparse.Namespace,
    exact: Judged,
) -> dict[str, Any]:
    """bf16 in batches, beside the reference's way in bf16 on the same device."""
    engine = open_engine(weights, Options(device="cuda"))
    time_one = reference(engine, prompts, options.reference)
    judged = judge(f"casewise-hf/{weights}", cases, limit, ABLATIONS, {"device": "cuda"})
    apart = [abs(p - exact.answers[text][0]) for text, (p, _) in judged.answers.items()]
    return {
        "made_with": engine.made_with,
        "ratios": [time_one.seconds * len(prompts) / judged.seconds],
        "p_safe_apart": max(apart),
        "p_safe_apart_median": statistics.median(apart),
    }


def make_rows(found: dict[str, Any]) -> Iterator[Row]:
    pairs, sweep = found["pairs"], found["sweep"]
    for name, part in (("alone", pairs), ("and 7 ablations", sweep)):
        setting = f"{part['prompts']} prompts {name}"
        ratio = part["computed"] / part["trie"]
        yield table_row("tokens / trie", setting, [ratio], 1.05, must=True)
    alone, seven = (f"{part['prompts']} prompts" for part in (pairs, sweep))
    told = "reference / casewise"
    yield table_row(told, alone, pairs["ratios"], 1.8, at_least=True)
    yield table_row(told, f"{seven}, sweep", sweep["ratios"], 3.0, must=True, at_least=True)
    yield table_row(f"CPU: {told}", alone, pairs["cpu_ratios"], at_least=True)
    yield table_row(f"CPU: {told}", f"{seven}, sweep", sweep["cpu_ratios"], at_least=True)
    yield table_row("shared by the trie", alone, [pairs["tokens"] / pairs["trie"]])
    yield table_row("shared by the trie", f"{seven}, sweep", [sweep["tokens"] / sweep["trie"]])
    results = found["results"]
    for name in ("p_safe", "logprob"):
        scaled = [1e4 * results[name]]
        setting = f"{results['prompts']:g} prompts"
        yield table_row(f"{name} off plain pass", setting, scaled, 1.0, must=True, unit="e-4")
    if embedded := found.get("embedded"):
        ratio = embedded["computed"] / embedded["trie"]
        yield table_row("tokens / trie", "embedded, sweep", [ratio], 1.05, must=True)
    if gpu := found.get("gpu"):
        yield table_row(told, "GPU, bf16, sweep", gpu["ratios"], at_least=True)


if __name__ == "__main__":
    main()
