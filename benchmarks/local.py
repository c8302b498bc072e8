"""How fast casewise judges with a model in its own process, beside the limit and the usual way.

    python benchmarks/local.py                  # about a quarter of an hour; writes local.json
    python benchmarks/local.py --pairs 9        # a first look

The weights of the embedded model (SmolLM2, 135 million parameters) are loaded in PyTorch, in fp32
on a CPU, and judge pairs of cases under ``probability``; then the same pairs with the whole context
and with seven ablations of it: every choice of the groups sender, recipient and transmission
principle. ``casewise`` is the function that ``casewise run`` calls, from its plan to its logs,
loading left out. ``reference`` is the published scripts' way: ``generate(max_new_tokens=8)``,
prompt by prompt in the order of the file, on the same weights as transformers loads them. The pairs
are judged in turns; in each, every n-th prompt is asked in that way, before and after casewise, and
stands for the others; then once more with the layers that casewise puts in, which tells what
sharing gives without them. The limit is all tokens over those that must be computed, times what
the reference takes over one forward pass of the same prompts. Other work on the machine may slow
either side: bounds are judged by the median turn.

What must be computed is the trie of all prompts: a token that several prompts share from their
beginnings on needs computing once. What was computed is what the logs say that was used. Results
are held against plain forward passes without a cache, of the model as transformers loads it. The
embedded engine (xllamacpp) judges a part of the same prompts, and its tokens are counted, too. On a
CUDA device bf16 in batches is timed as well.
"""

import argparse
import itertools
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import torch
import transformers
from inspect_ai.log import read_eval_log
from remote import HERE, Row, find_cases, print_method, print_rows, record, table_row

from casewise.cases import STARTER, open_cases
from casewise.models import SMOLLM2
from casewise.models.embedded import fetch_weights
from casewise.options import ConditionOptions
from casewise.protocols import derive_token_sets, read_probability
from casewise.runs import make_plan, run_cells
from casewise.runs.condition import make_condition
from casewise_hf._engine import WORKER, Engine, open_engine
from casewise_hf._load import Options

GROUPS = ("sender", "recipient", "transmission_principle")
ABLATIONS = (None, *(",".join(some) for n in (1, 2, 3) for some in combinations(GROUPS, n)))
WRITTEN = 8
"""Tokens that the reference writes."""
OTHERS = 16
"""Prompts held against plain passes."""

Prompt = tuple[int, ...]
Found = TypeVar("Found")


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
    parser.add_argument("--turns", type=int, default=5, help="parts in which the pairs are judged")
    parser.add_argument("--reference", type=int, default=8, help="prompts, each time it is timed")
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
    usual = in_thread(load_usual, Path(weights))
    with tempfile.TemporaryDirectory() as folder:
        parts = write_parts(cases, limit, options.turns, Path(folder))
        measured = measure(engine, usual, weights, parts, options)
    rows = list(make_rows(measured))
    print_rows(rows, "prompts")
    if "gpu" not in measured:
        print("\non a GPU: skipped, there is no CUDA device")
    options.protocol, options.repeats = "probability", options.turns
    found = record(told, options, rows, measured) | {
        "made_with": engine.made_with,
        "threads": torch.get_num_threads(),
    }
    options.json.write_text(json.dumps(found, indent=1) + "\n")
    print_method(__doc__)
    print(f"\nwritten to {options.json}")


def in_thread(work: Callable[..., Found], *given: Any) -> Found:
    """Do it where casewise computes: PyTorch is slower in a process with two such threads."""
    return WORKER.submit(work, *given).result()


def load_usual(weights: Path) -> Any:
    """The model as transformers loads it."""
    return transformers.AutoModelForCausalLM.from_pretrained(
        weights.parent, gguf_file=weights.name, dtype=torch.float32
    ).eval()


def write_parts(cases: str, limit: int, turns: int, folder: Path) -> list[str]:
    """Files of pairs, one a turn; twins stay together."""
    found = open_cases(cases).cases[:limit]
    pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
    paths = []
    for turn in range(min(turns, len(pairs))):
        path = folder / f"part-{turn}.jsonl"
        lines = [one.model_dump_json() for pair in pairs[turn::turns] for one in pair]
        path.write_text("\n".join(lines), "utf-8")
        paths.append(str(path))
    return paths


def measure(
    engine: Engine, usual: Any, weights: str, parts: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    model = f"casewise-hf/{weights}"
    found: dict[str, Any] = {"pairs": [], "sweep": [], "results": []}
    for part in parts:
        named = prompts_of(engine, part, ABLATIONS)
        for one in (engine._model, usual):
            in_thread(logits_of, one, named[0][1])
        for name, ablations in (("pairs", ABLATIONS[:1]), ("sweep", ABLATIONS)):
            prompts = [prompt for _, prompt in prompts_of(engine, part, ablations)]
            most = options.reference
            before = in_thread(timed, reference, usual, prompts, most)
            engine._prefix.clear()
            judged = judge(model, part, ablations, {"device": "cpu"})
            after = in_thread(timed, reference, usual, prompts, most)
            alone = in_thread(timed, one_pass, usual, prompts, most)
            layers = in_thread(timed, reference, engine._model, prompts, most)
            found[name].append(versus([before, after], judged, prompts, layers, alone))
        # The sweep's answers, which hold those of the pairs.
        found["results"].append(
            differences(engine, usual, dict(named), judged, OTHERS // len(parts))
        )
        if torch.cuda.is_available():
            gpu = on_a_gpu(weights, part, [prompt for _, prompt in named], options, judged)
            found.setdefault("gpu", []).append(gpu)
    if options.embedded:
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(parts[0]).read_text("utf-8").splitlines()[: 2 * options.embedded]
            some = Path(folder) / "some.jsonl"
            some.write_text("\n".join(lines), "utf-8")
            found["embedded"] = embedded(engine, model, str(some))
    return found


def embedded(engine: Engine, model: str, cases: str) -> dict[str, Any]:
    """The other engine on the same weights: 4 bits wide there, widened in PyTorch."""
    own = judge(SMOLLM2, cases, ABLATIONS, {})
    wide = judge(model, cases, ABLATIONS, {"device": "cpu"})
    return {
        "computed": own.computed,
        "told": own.told,
        "trie": tree_size([prompt for _, prompt in prompts_of(engine, cases, ABLATIONS)]),
        "seconds": own.seconds,
        "p_safe_apart": max(abs(p - wide.answers[text][0]) for text, (p, _) in own.answers.items()),
    }


def prompts_of(
    engine: Engine, cases: str, ablations: Sequence[str | None]
) -> list[tuple[str, Prompt]]:
    """Every prompt, as text and in tokens, condition by condition in the order of the file."""
    found = []
    for one in ablations:
        condition = make_condition(
            ConditionOptions(cases=cases, protocol="probability", ablate=one)
        )
        places = {case.id: place for place, case in enumerate(condition.data.cases)}
        for (case,) in sorted(condition.units, key=lambda unit: places[unit[0].id]):
            text = condition.prompts.render(case)
            found.append((text, engine.tokens.prompt([{"role": "user", "content": text}])))
    return found


def tree_size(prompts: Sequence[Prompt]) -> int:
    """Tokens of the prompts' trie: sorted, each adds what it does not share with its neighbour."""
    total, last = 0, ()
    for one in sorted(prompts):
        shared = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, last, strict=False))
        total, last = total + len(one) - len(list(shared)), one
    return total


def logits_of(model: Any, prompt: Prompt) -> torch.Tensor:
    """What comes next after a prompt, by one plain forward pass."""
    with torch.inference_mode():
        found: torch.Tensor = model(input_ids=torch.tensor([prompt]), use_cache=False).logits
    return found[0, -1]


def one_pass(model: Any, prompt: Prompt) -> None:
    """The least that a prompt takes which shares nothing: one forward pass."""
    logits_of(model, prompt).float().log_softmax(-1).topk(200).values.tolist()


def reference(model: Any, prompt: Prompt) -> None:
    """The published scripts' way."""
    ids = torch.tensor([prompt], device=model.device)
    found = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=WRITTEN,
        do_sample=False,
        output_scores=True,
        return_dict_in_generate=True,
        pad_token_id=0,
    )
    found.scores[0][0].float().log_softmax(-1).topk(200).values.tolist()


def timed(
    way: Callable[[Any, Prompt], None], model: Any, prompts: Sequence[Prompt], most: int
) -> Timed:
    """A way to ask, timed with every n-th prompt."""
    asked = prompts[:: max(1, len(prompts) // most)][:most]
    started, used = time.perf_counter(), time.process_time()
    for one in asked:
        way(model, one)
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    tokens = sum(map(len, asked)) / len(asked) / (sum(map(len, prompts)) / len(prompts))
    told = Timed(seconds / len(asked) / tokens, cpu / len(asked) / tokens)
    print(f"  {way.__name__}: {told.seconds:.2f} s a prompt, {len(asked)} prompts", flush=True)
    return told


def judge(model: str, cases: str, ablations: Sequence[str | None], args: dict[str, Any]) -> Judged:
    """A run as of the command line, and what its logs hold."""
    plan = make_plan({"model": model, "cases": cases, "ablate": ablations, "model_arg": args})
    with tempfile.TemporaryDirectory() as folder:
        started, used = time.perf_counter(), time.process_time()
        result = run_cells(plan.cells, Path(folder))
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
    count = plan.judgements
    print(f"  {name}: {seconds / count:.2f} s a prompt, {count} prompts", flush=True)
    return Judged(seconds, cpu, computed, told, answers)


def versus(
    times: Sequence[Timed],
    judged: Judged,
    prompts: Sequence[Prompt],
    layers: Timed | None = None,
    alone: Timed | None = None,
) -> dict[str, Any]:
    """casewise beside the reference, each time that this was timed, and on casewise's layers.

    The limit is all tokens over the trie's, times what the reference takes over one pass.
    """
    count, trie = len(prompts), tree_size(prompts)
    assert judged.told == sum(map(len, prompts))
    usual = statistics.mean(one.seconds for one in times)
    return {
        "prompts": count,
        "tokens": judged.told,
        "computed": judged.computed,
        "trie": trie,
        "limit": alone and judged.told / trie * usual / alone.seconds,
        "casewise_s": judged.seconds / count,
        "reference_s": [one.seconds for one in times],
        "ratio": usual * count / judged.seconds,
        "ratio_by_sharing": layers and layers.seconds * count / judged.seconds,
        "cpu_ratio": statistics.mean(one.cpu_seconds for one in times) * count / judged.cpu_seconds,
    }


def differences(
    engine: Engine, usual: Any, prompts: dict[str, Prompt], judged: Judged, most: int
) -> dict[str, float]:
    """The largest differences from plain forward passes without a cache."""
    sets = derive_token_sets(engine.tokens.first_piece)
    step = max(1, len(prompts) // max(1, most))
    apart = {"p_safe": 0.0, "logprob": 0.0, "prompts": 0}
    for text, tokens in list(prompts.items())[::step]:
        logits = in_thread(logits_of, usual, tokens)
        plain = logits.float().log_softmax(-1).tolist()
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
    weights: str, cases: str, prompts: Sequence[Prompt], options: argparse.Namespace, exact: Judged
) -> dict[str, Any]:
    """bf16 in batches, beside the reference's way in bf16 on the same device."""
    engine = open_engine(weights, Options(device="cuda"))
    before = in_thread(timed, reference, engine._model, prompts, options.reference)
    judged = judge(f"casewise-hf/{weights}", cases, ABLATIONS, {"device": "cuda"})
    after = in_thread(timed, reference, engine._model, prompts, options.reference)
    apart = [abs(p - exact.answers[text][0]) for text, (p, _) in judged.answers.items()]
    return versus([before, after], judged, prompts) | {
        "made_with": engine.made_with,
        "p_safe_apart": max(apart),
        "p_safe_apart_median": statistics.median(apart),
    }


def make_rows(found: dict[str, Any]) -> Iterator[Row]:
    for name, told, bound in (("pairs", "alone", 1.8), ("sweep", "7 ablations too", 3.0)):
        turns = found[name]
        setting = f"{sum(one['prompts'] for one in turns)}, {told}"
        computed = [one["computed"] / one["trie"] for one in turns]
        yield table_row("tokens / trie", setting, computed, 1.05, by_median=True)
        ratios = [one["ratio"] for one in turns]
        options: dict[str, Any] = {"at_least": True, "by_median": True}
        yield table_row("reference / casewise", setting, ratios, bound, **options)
        sharing = [one["ratio_by_sharing"] for one in turns]
        yield table_row("the same on its layers", setting, sharing)
        yield table_row("the same in CPU time", setting, [one["cpu_ratio"] for one in turns])
        yield table_row(
            "all tokens / trie", setting, [one["tokens"] / one["trie"] for one in turns]
        )
        yield table_row("the limit", setting, [one["limit"] for one in turns])
        shares = [one["ratio"] / one["limit"] for one in turns]
        yield table_row("casewise / the limit", setting, shares, 0.85, **options)
    setting = f"{sum(one['prompts'] for one in found['results'])} of them"
    for name in ("p_safe", "logprob"):
        apart = [1e4 * max(one[name] for one in found["results"])]
        yield table_row(f"{name} off plain pass", setting, apart, 1.0, unit="e-4")
    if own := found.get("embedded"):
        ratio = own["computed"] / own["trie"]
        yield table_row("tokens / trie", "embedded engine", [ratio], 1.05)
        yield table_row("p_safe off PyTorch", "embedded engine", [own["p_safe_apart"]], unit="")
    if gpu := found.get("gpu"):
        ratios = [one["ratio"] for one in gpu]
        yield table_row("reference / casewise", "GPU, bf16, ablations", ratios)


if __name__ == "__main__":
    main()
