"""Hugging Face models in this process: a tiny one, against plain forward passes."""

import asyncio
import json
import math
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import cli_in
from inspect_ai.log import EvalSample, read_eval_log, write_eval_log
from support.fake_openai import FakeServer
from support.scores import model_rows
from support.tiny import WINDOW, Late, make_tiny

if TYPE_CHECKING:
    from casewise.evaluation import Replied
    from casewise_hf._engine import Engine, TokenRequest

torch, transformers = Late("torch"), Late("transformers")
hf_engine, hf_load = Late("casewise_hf._engine"), Late("casewise_hf._load")

Flows = dict[str, subprocess.CompletedProcess[str]]

EXACT = 1e-4
CASES = 6
ABLATIONS = (None, "recipient", "transmission_principle")


WRONG = (
    ("/no/such/model", (), "no such folder or file"),
    ("no.gguf", (), "no such file"),
    ("empty", (), "holds no config.json"),
    ("cut.gguf", (), "can't be loaded"),
    ("", ("-M", "dtype=float3"), "choose from auto, float32"),
    ("", ("-M", "device=cuda:99"), "device 'cuda:99' can't be used"),
    ("", ("-M", "batch_size=0"), "batch_size=0 can't be used"),
    ("", ("-M", "dtpye=float32"), "unknown argument 'dtpye'"),
)
"""Models and options that are refused, and what is said; no name is the tiny model's."""


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a model is asked under the three conditions."""
    asked = []
    with FakeServer(lambda _: {"safe": -0.1, "unsafe": -2.4}) as server:
        for ablation in ABLATIONS:
            command = ["run", "-m", "openai-api/fake/m", "--limit", str(CASES)]
            command += ["--ablate", ablation] if ablation else []
            done = cli_in(tmp_path_factory.mktemp("asked"))(*command, env=server.env)
            assert done.returncode == 0, done.stderr
            asked += sorted(server.prompts)
            server.requests.clear()
    return asked


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory, prompts: list[str]) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny") / "model", prompts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flows")


@pytest.fixture(scope="module")
def flows(folder: Path, tiny: Path, engine: "Engine") -> Flows:
    """What every command of this file ended with; the engine, which they share, begins anew."""
    engine._prefix.clear()
    sweep = {
        "model": [f"casewise-hf/{tiny}"],
        "protocol": ["probability"],
        "ablate": [one or "none" for one in ABLATIONS],
        "limit": CASES,
    }
    (folder / "sweep.yaml").write_text(json.dumps([sweep]), "utf-8")
    cases = [
        {"query": "word " * WINDOW, "context": {"sender": {}}, "intended": "safe"},
        {"query": "word", "context": {"sender": {}}, "intended": "safe"},
    ]
    (folder / "c.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    (folder / "empty").mkdir()
    (folder / "cut.gguf").write_bytes(b"GGUF, and then nothing")
    run = ["run", "-m", f"casewise-hf/{tiny}", "--limit", "2", "--max-tokens", "4"]
    commands = {
        "sweep": ["run", "sweep.yaml", "--log-dir", "sweep"],
        "again": ["run", "sweep.yaml", "--log-dir", "sweep"],
        "card": ["report", "sweep", "--out", "card.md"],
        "write": [*run, "--protocol", "binary,score,respond", "--samples", "2", "--log-dir", "w"],
        "score": ["score", "w", "--format", "json"],
        "window": [*run[:3], "--cases", "c.jsonl", "--log-dir", "window"],
        "window score": ["score", "window", "--format", "json"],
    } | {
        f"{model} {options}": ["run", "-m", f"casewise-hf/{model or tiny}", *options]
        for model, options, _ in WRONG
    }
    call = cli_in(folder)
    return {name: call(*command) for name, command in commands.items()}


@pytest.fixture(scope="module")
def engine(tiny: Path) -> "Engine":
    found: Engine = hf_engine.open_engine(str(tiny), hf_load.Options())
    return found


@pytest.fixture(scope="module")
def plain(tiny: Path) -> Any:
    """The model as transformers loads it."""
    return transformers.AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)


@pytest.fixture(scope="module")
def asked(engine: "Engine", prompts: list[str]) -> list[tuple[int, ...]]:
    """Every prompt of three conditions, in tokens."""
    return [engine.tokens.prompt([{"role": "user", "content": text}]) for text in prompts]


def plain_pass(plain: Any, tokens: Sequence[int]) -> Any:
    """Log-probabilities of the next token by one forward pass without any cache."""
    with torch.inference_mode():
        logits = plain(input_ids=torch.tensor([list(tokens)]), use_cache=False).logits
    return logits[0, -1].float().log_softmax(-1)


def tree_size(texts: Iterable[tuple[int, ...]]) -> int:
    return len({text[:end] for text in texts for end in range(1, len(text) + 1)})


def request(tokens: tuple[int, ...], *given: Any, **more: Any) -> "TokenRequest":
    made: TokenRequest = hf_engine.TokenRequest(tokens, *given, **more)
    return made


def one_pass(tokens: tuple[int, ...]) -> "TokenRequest":
    return request(tokens, max_tokens=1, candidates=200)


def answers(engine: "Engine", requests: Sequence["TokenRequest"]) -> list["Replied"]:
    async def main() -> list["Replied"]:
        return await asyncio.gather(*(engine.line.ask(one.tokens, one, 1) for one in requests))

    return asyncio.run(main())


def furthest(engine: "Engine", plain: Any, tokens: tuple[int, ...], replied: "Replied") -> float:
    """The largest difference of a log-probability from the plain pass."""
    expected = plain_pass(plain, tokens)
    (place,) = replied.places
    texts = [engine.tokens.text(one) for one in range(len(expected))]
    # Pieces of letters beyond ASCII have one text.
    known = {text: number for number, text in enumerate(texts) if texts.count(text) == 1}
    assert len(known) > 400
    return max(
        abs(logprob - float(expected[known[text]]))
        for text, logprob in place.candidates
        if text in known
    )


def test_each_token_of_the_tree_is_computed_once(
    engine: "Engine", plain: Any, asked: list[tuple[int, ...]]
) -> None:
    engine._prefix.clear()
    replies = answers(engine, [one_pass(tokens) for tokens in reversed(asked)])
    assert sum(one.computed for one in replies) == tree_size(asked)
    assert sum(one.computed + one.reused for one in replies) == sum(map(len, asked))
    for tokens, replied in zip(reversed(asked), replies, strict=True):
        assert furthest(engine, plain, tokens, replied) < EXACT


def test_a_prompt_again_and_its_beginning(
    engine: "Engine", plain: Any, asked: list[tuple[int, ...]]
) -> None:
    """By hand: the whole prompt; nothing; the last token of a beginning; the two cut off."""
    tokens, engine_prefix = asked[0], engine._prefix
    engine_prefix.clear()
    found = []
    for one in (tokens, tokens, tokens[:-2], tokens):
        (replied,) = answers(engine, [one_pass(one)])
        assert furthest(engine, plain, one, replied) < EXACT
        found.append(replied.computed)
    assert found == [len(tokens), 0, 1, 2]


def test_batches_say_the_same(
    tiny: Path, engine: "Engine", plain: Any, asked: list[tuple[int, ...]]
) -> None:
    """What a GPU does, here on a CPU."""
    batched = hf_engine.open_engine(str(tiny), hf_load.Options(batch_size=4))
    assert batched.is_batched
    assert not engine.is_batched
    replies = answers(batched, [one_pass(one) for one in asked])
    # One that is left over alone takes what the cache has.
    assert sum(one.reused == 0 for one in replies) >= len(asked) - 2
    for tokens, replied in zip(asked, replies, strict=True):
        assert furthest(engine, plain, tokens, replied) < EXACT


def test_writing(engine: "Engine", plain: Any, asked: list[tuple[int, ...]]) -> None:
    """Greedy answers are the most probable tokens, one after the other, whatever was cached."""
    tokens = asked[3]
    written: list[int] = []
    for _ in range(5):
        written.append(int(plain_pass(plain, [*tokens, *written]).argmax()))
    (replied,) = answers(engine, [request(tokens, max_tokens=5, candidates=3)])
    assert replied.text == engine.tokens.answer(written)
    assert (replied.written, replied.stop, len(replied.places)) == (5, "max_tokens", 5)
    assert math.isclose(
        replied.places[0].logprob, float(plain_pass(plain, tokens).max()), abs_tol=EXACT
    )
    # What was written stays in the cache for the next turn of a conversation.
    longer = (*tokens, *written, *asked[4][-3:])
    (after,) = answers(engine, [one_pass(longer)])
    assert after.reused >= len(tokens) + 3
    assert furthest(engine, plain, longer, after) < EXACT


def test_stops_and_seeds(engine: "Engine", asked: list[tuple[int, ...]]) -> None:
    drawn = request(asked[0], max_tokens=12, temperature=1.0, top_p=0.95, seed=5)
    (first,), (again,) = answers(engine, [drawn]), answers(engine, [drawn])
    assert first.text == again.text
    stop = first.text[4:6]
    (cut,) = answers(engine, [request(asked[0], 12, 1.0, top_p=0.95, seed=5, stop=(stop,))])
    assert cut.text == first.text[: first.text.index(stop)]
    assert cut.stop == "stop"


def samples_in(folder: Path) -> list[tuple[dict[str, Any], EvalSample]]:
    """Each sample of a folder's logs, with what its log says of the run."""
    logs = [read_eval_log(str(path)) for path in sorted(folder.glob("*.eval"))]
    return [(log.eval.metadata or {}, one) for log in logs for one in log.samples or []]


def test_a_run_with_ablations(
    flows: Flows, folder: Path, engine: "Engine", plain: Any, asked: list[tuple[int, ...]]
) -> None:
    """The whole way: each token of the tree once, and P(safe) as of plain passes."""
    assert flows["sweep"].returncode == 0, flows["sweep"].stderr
    samples = samples_in(folder / "sweep")
    assert len(samples) == len(asked)
    usages = [usage for _, one in samples for usage in one.model_usage.values()]
    assert sum(one.input_tokens for one in usages) == tree_size(asked)
    cached = sum(one.input_tokens_cache_read or 0 for one in usages)
    assert cached == sum(map(len, asked)) - tree_size(asked)
    for said, sample in samples:
        # The choice that was made stands in the table's variant, and more of it in the log.
        assert said["variant"] == "greedy;dtype=float32"
        assert said["made_with"]["torch"] == torch.__version__
        tokens = engine.tokens.prompt([{"role": "user", "content": sample.input[0].text}])  # type: ignore[union-attr]
        likely = plain_pass(plain, tokens).exp().tolist()
        mass = {"safe": 0.0, "unsafe": 0.0}
        for token, one in enumerate(likely):
            word = engine.tokens.text(token).strip().casefold()
            mass[word] = mass.get(word, 0.0) + one
        (score,) = (one.value for one in (sample.scores or {}).values())
        assert isinstance(score, dict)
        assert score["p_safe"] == pytest.approx(
            mass["safe"] / (mass["safe"] + mass["unsafe"]), abs=EXACT
        )
        assert score["mass"] == pytest.approx(mass["safe"] + mass["unsafe"], abs=EXACT)
    assert "going on: 18 of 18 were judged before" in flows["again"].stderr
    card = (folder / "card.md").read_text("utf-8")
    assert f"float32 on cpu ({platform.machine()}), torch {torch.__version__}" in card


def test_a_folder_is_not_completed_in_other_numbers(flows: Flows, folder: Path) -> None:
    """Logs of a machine with a GPU, taken to one without."""
    assert flows["write"].returncode == 0
    for path in (folder / "w").glob("*.eval"):
        log = read_eval_log(str(path))
        assert log.eval.metadata is not None
        log.eval.metadata["made_with"]["dtype"] = "bfloat16"
        write_eval_log(log, str(path))
    done = cli_in(folder)(*flows["write"].args)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert re.search(r"judged here in bfloat16 on cpu .* go on in float32", said)


def test_protocols_that_write(flows: Flows) -> None:
    rows = {row["protocol"]: row for row in model_rows(flows["score"].stdout)}
    assert flows["write"].returncode == 0, flows["write"].stderr
    for protocol in ("binary", "score", "respond"):
        assert sum(rows[protocol]["statuses"].values()) == 2
        assert "error" not in rows[protocol]["statuses"]


def test_a_prompt_longer_than_the_window(flows: Flows) -> None:
    assert flows["window"].returncode == 0, flows["window"].stderr
    (score,) = model_rows(flows["window score"].stdout)
    assert score["statuses"] == {"ok": 1, "unparsed": 1}


def test_models_that_are_none(flows: Flows) -> None:
    for model, options, said in WRONG:
        done = flows[f"{model} {options}"]
        assert done.returncode == 2, done.stderr
        assert said in " ".join(done.stderr.split())
        assert f"error: casewise-hf/{model}".strip("/") in done.stderr


def test_without_a_chat_template(tmp_path: Path) -> None:
    folder = make_tiny(tmp_path / "plain", ["be brief"], template=False)
    found = hf_engine.open_engine(str(folder), hf_load.Options())
    turns = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "safe?"}]
    said = found.tokens.answer(found.tokens.prompt(turns))
    assert said == "system: be brief\n\nuser: safe?\n\nassistant:"


def test_a_template_that_takes_no_system_message(tmp_path: Path, tiny: Path) -> None:
    found = hf_engine.open_engine(str(tiny), hf_load.Options(batch_size=2)).tokens
    found.raw.chat_template = (
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "{% for one in messages %}[{{ one.content }}]{% endfor %}"
    )
    turns = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "safe?"}]
    assert found.answer(found.prompt(turns)) == "[be brief\n\nsafe?]"
