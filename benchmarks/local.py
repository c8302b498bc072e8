"""How fast casewise judges with a model in its own process, beside the usual way.

    python benchmarks/local.py                  # about ten minutes
    python benchmarks/local.py --pairs 9 --turns 3

SmolLM2's weights (135 million parameters), loaded in PyTorch, judge pairs of cases under
``probability``, with the whole context and with seven ablations of it. The usual way is
``generate(max_new_tokens=8)``, prompt by prompt, on every n-th prompt before and after; it stands
for the others. Tokens that several prompts share from their beginnings on are a trie: each needs
computing once. What was computed is what the logs hold, and P(safe) is held against plain forward
passes without a cache.
"""

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
import transformers
from inspect_ai.log import read_eval_log

from casewise.cases import STARTER, open_cases
from casewise.models.embedded import fetch_weights
from casewise.protocols import derive_token_sets, read_probability
from casewise.runs import make_plan, run_cells
from casewise_hf.engine import WORKER, Engine, open_engine
from casewise_hf.weights import Options

GROUPS = ("sender", "recipient", "transmission_principle")
ABLATIONS = (None, *(",".join(some) for n in (1, 2, 3) for some in combinations(GROUPS, n)))
TIMED, CHECKED = 8, 4
"""Prompts of a turn that the usual way is timed with, and that plain passes are made of."""

Prompt = tuple[int, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--turns", type=int, default=5, help="parts in which the pairs are judged")
    parser.add_argument("--cases", type=Path, help="a file of cases; default: the starter cases")
    options = parser.parse_args()
    threads = torch.get_num_threads()
    print(f"{2 * options.pairs} cases; {threads} threads of torch {torch.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as weights:
        compare(Path(weights), options)


def compare(weights: Path, options: argparse.Namespace) -> None:
    """Measure turn by turn."""
    usual = WORKER.submit(load_usual, weights).result()
    engine = open_engine(str(weights), Options(device="cpu"))
    found = open_cases(options.cases or STARTER).cases[: 2 * options.pairs]
    turns = []
    for turn in range(options.turns):
        part = [case for at, case in enumerate(found) if at // 2 % options.turns == turn]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "part.jsonl")
            path.write_text("\n".join(case.model_dump_json() for case in part), "utf-8")
            turns.append(measure(engine, usual, f"casewise-hf/{weights}", path, Path(folder)))
        print("  ".join(f"{name} {value:.3g}" for name, value in turns[-1].items()), flush=True)
    for name in turns[0]:
        values = sorted(turn[name] for turn in turns)
        print(f"{name}: {values[0]:.3g} to {values[-1]:.3g}, median {values[len(values) // 2]:.3g}")


def load_usual(folder: Path) -> Any:
    """The embedded model as transformers loads it, and saves it in a folder."""
    weights = fetch_weights()
    source = {"pretrained_model_name_or_path": weights.parent, "gguf_file": weights.name}
    model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32).eval()
    # Its weights were widened, and are plain numbers now.
    model.hf_quantizer = None
    del model.config.quantization_config
    model.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
    return model


def measure(engine: Engine, usual: Any, model: str, cases: Path, folder: Path) -> dict[str, float]:
    """One turn: tokens computed, distance from plain passes, and the usual way's time."""
    plan = make_plan(
        {"model": model, "cases": str(cases), "protocol": "probability", "ablate": ABLATIONS}
    )
    started = time.perf_counter()
    result = run_cells(plan.cells, folder / "logs")
    seconds = time.perf_counter() - started
    assert result.complete, result.failures
    computed, answers = 0, dict[Prompt, float]()
    for path in result.logs:
        for sample in read_eval_log(str(path)).samples or []:
            (usage,) = sample.model_usage.values()
            computed += usage.input_tokens
            turns = [{"role": one.role, "content": one.text} for one in sample.input]  # type: ignore[union-attr]
            (score,) = (sample.scores or {}).values()
            answers[engine.tokens.prompt(turns)] = score.value["p_safe"]  # type: ignore[index,assignment,call-overload]
    prompts = list(answers)
    some = prompts[:: max(1, len(prompts) // TIMED)][:TIMED]
    each = WORKER.submit(seconds_of, usual, some).result()
    apart = [abs(answers[one] - plain_p_safe(engine, usual, one)) for one in prompts[:CHECKED]]
    return {
        "computed / trie": computed / tree_size(prompts),
        "P(safe) off": max(apart),
        "usual / casewise": each * len(prompts) / seconds,
    }


def tree_size(prompts: Sequence[Prompt]) -> int:
    """Tokens of the prompts' trie: sorted, each adds what it does not share with its neighbour."""
    total, last = 0, Prompt()
    for one in sorted(prompts):
        shared = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, last, strict=False))
        total, last = total + len(one) - len(list(shared)), one
    return total


def seconds_of(model: Any, prompts: Sequence[Prompt]) -> float:
    """Seconds a prompt of the published scripts' way."""
    started = time.perf_counter()
    for prompt in prompts:
        ids = torch.tensor([prompt])
        mask = torch.ones_like(ids)
        model.generate(ids, attention_mask=mask, max_new_tokens=8, do_sample=False, pad_token_id=0)
    return (time.perf_counter() - started) / len(prompts)


def plain_p_safe(engine: Engine, model: Any, prompt: Prompt) -> float:
    """P(safe) by one forward pass without a cache."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([prompt]), use_cache=False).logits[0, -1]
    listed: dict[str, float] = {}
    for token, logprob in enumerate(logits.float().log_softmax(-1).tolist()):
        text = engine.tokens.text(token)
        listed[text] = math.log(math.exp(listed.get(text, -math.inf)) + math.exp(logprob))
    p_safe = read_probability(listed, derive_token_sets(engine.tokens.first_piece)).p_safe
    assert p_safe is not None
    return p_safe


if __name__ == "__main__":
    main()
