"""Hugging Face models in this process: a tiny one, against plain forward passes."""

import json
import math
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import cli_in
from inspect_ai.log import EvalSample, read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
)
from support.fake_openai import FakeServer
from support.scores import model_rows
from support.tiny import WINDOW, Late, Plain, answers, make_tiny, places

torch = Late("torch")

# Inspect asks tenacity for its waits as it did in earlier versions.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")

Flows = dict[str, subprocess.CompletedProcess[str]]

EXACT = 1e-4
CASES = 6
ABLATIONS = (None, "recipient", "transmission_principle")


WRONG = (
    ("/no/such/model", (), "can't be loaded"),
    ("empty", (), "no folder with a config.json"),
    ("broken", (), "can't be loaded"),
    ("", ("-M", "dtype=float3"), "dtype: Input should be 'auto', 'float32'"),
    ("", ("-M", "device=cuda:99"), "can't be loaded"),
    ("", ("-M", "batch_size=0"), "batch_size: Input should be greater than or equal to 1"),
    ("", ("-M", "dtpye=float32"), "dtpye: Extra inputs are not permitted (arguments: dtype"),
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
def flows(folder: Path, tiny: Path) -> Flows:
    """What every command of this file ended with."""
    sweep = {
        "model": [f"casewise-hf/{tiny}"],
        "protocol": ["probability"],
        "ablate": [ablation or "none" for ablation in ABLATIONS],
        "limit": CASES,
    }
    (folder / "sweep.yaml").write_text(json.dumps([sweep]), "utf-8")
    cases = [
        {"query": "word " * WINDOW, "context": {"sender": {}}, "intended": "safe"},
        {"query": "word", "context": {"sender": {}}, "intended": "safe"},
    ]
    (folder / "c.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
    (folder / "empty").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{}", "utf-8")
    run = ["run", "-m", f"casewise-hf/{tiny}", "--limit", "2", "--max-tokens", "4"]
    commands = {
        "sweep": ["run", "sweep.yaml", "--log-dir", "sweep"],
        "again": ["run", "sweep.yaml", "--log-dir", "sweep"],
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
def plain(tiny: Path) -> Plain:
    """The model as transformers loads it."""
    return Plain(tiny)


@pytest.fixture
def copy(tiny: Path, tmp_path: Path) -> Path:
    """The model under a path of its own, which nobody has asked before."""
    return Path(shutil.copytree(tiny, tmp_path / "copy"))


def counts(output: ModelOutput) -> tuple[int, int]:
    """Tokens of the prompt that were computed, and that the cache held."""
    assert output.usage is not None
    return output.usage.input_tokens, output.usage.input_tokens_cache_read or 0


def tree_size(texts: Iterable[tuple[int, ...]]) -> int:
    return len({text[:end] for text in texts for end in range(1, len(text) + 1)})


def test_each_token_of_the_tree_is_computed_once(
    copy: Path, plain: Plain, prompts: list[str]
) -> None:
    replies = answers(copy, prompts[::-1])
    asked = [plain.tokens(text) for text in prompts[::-1]]
    # A prompt that joins the line late finds that its branch was left.
    assert tree_size(asked) <= sum(counts(reply)[0] for reply in replies) < 1.2 * tree_size(asked)
    assert sum(sum(counts(reply)) for reply in replies) == sum(map(len, asked))
    for tokens, output in zip(asked, replies, strict=True):
        assert plain.furthest(tokens, output) < EXACT
    # Again, and all but the last token is there.
    for _ in range(2):
        (again,) = answers(copy, [prompts[-1]])
    assert counts(again) == (1, len(asked[0]) - 1)
    assert plain.furthest(asked[0], again) < EXACT


def test_batches_say_the_same(copy: Path, plain: Plain, prompts: list[str]) -> None:
    """What a GPU does, here on a CPU."""
    replies = answers(copy, prompts, batch_size=4)
    # One that is left over alone takes what the cache has.
    assert sum(counts(reply)[1] == 0 for reply in replies) >= len(prompts) - 2
    for text, output in zip(prompts, replies, strict=True):
        assert plain.furthest(plain.tokens(text), output) < EXACT


def test_writing(copy: Path, plain: Plain, prompts: list[str]) -> None:
    """Greedy answers are the most probable tokens, one after the other, whatever was cached."""
    tokens = plain.tokens(prompts[3])
    written: list[int] = []
    for _ in range(5):
        written.append(int(plain.logprobs([*tokens, *written]).argmax()))
    config = GenerateConfig(max_tokens=5, temperature=0, logprobs=True, top_logprobs=3)
    (output,) = answers(copy, [prompts[3]], config)
    assert output.completion == plain.tokenizer.decode(written, skip_special_tokens=True)
    assert output.usage is not None
    assert (output.usage.output_tokens, output.stop_reason) == (5, "max_tokens")
    (first, *more) = places(output)
    assert len(more) == 4
    assert math.isclose(first.logprob, float(plain.logprobs(tokens).max()), abs_tol=EXACT)
    # It stays in the cache for the next turn of a conversation.
    turns = [("user", prompts[3]), ("assistant", output.completion), ("user", "And now?")]
    roles = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}
    (after,) = answers(copy, [[roles[role](content=text) for role, text in turns]])
    assert counts(after)[1] >= len(tokens)
    assert plain.furthest(plain.tokens(*turns), after) < EXACT


def test_seeds(copy: Path, prompts: list[str]) -> None:
    drawn = GenerateConfig(max_tokens=12, temperature=1.0, top_p=0.95, seed=5)
    (first,), (again,) = (answers(copy, prompts[:1], drawn) for _ in range(2))
    assert first.completion == again.completion


@pytest.mark.parametrize(
    ("template", "read"),
    [
        (None, "system: be brief\n\nuser: safe?\n\nassistant:"),
        # It takes no system message.
        (
            "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
            "{% for one in messages %}[{{ one.content }}]{% endfor %}",
            "[be brief\n\nsafe?]",
        ),
    ],
    ids=["none", "without system"],
)
def test_what_a_model_reads_by_its_template(
    tmp_path: Path, template: str | None, read: str
) -> None:
    path = make_tiny(tmp_path / "model", ["be brief"], template=template)
    turns = [ChatMessageSystem(content="be brief"), ChatMessageUser(content="safe?")]
    (output,) = answers(path, [turns])
    plain = Plain(path)
    tokens = tuple(plain.tokenizer.encode(read))
    assert sum(counts(output)) == len(tokens)
    assert plain.furthest(tokens, output) < EXACT


def samples_in(folder: Path) -> list[tuple[dict[str, Any], EvalSample]]:
    """Each sample of a folder's logs, with what its log says of the run."""
    logs = [read_eval_log(str(path)) for path in sorted(folder.glob("*.eval"))]
    return [(log.eval.metadata or {}, sample) for log in logs for sample in log.samples or []]


def test_a_run_with_ablations(flows: Flows, folder: Path, plain: Plain, prompts: list[str]) -> None:
    """The whole way: each token of the tree once, and P(safe) as of plain passes."""
    assert flows["sweep"].returncode == 0, flows["sweep"].stderr
    samples = samples_in(folder / "sweep")
    asked = [plain.tokens(text) for text in prompts]
    assert len(samples) == len(asked)
    usages = [usage for _, one in samples for usage in one.model_usage.values()]
    computed = sum(usage.input_tokens for usage in usages)
    assert tree_size(asked) <= computed < 1.5 * tree_size(asked)
    cached = sum(usage.input_tokens_cache_read or 0 for usage in usages)
    assert computed + cached == sum(map(len, asked))
    for said, sample in samples:
        # The choice that was made stands in the table's variant, and more of it in the log.
        assert said["variant"] == "greedy;dtype=float32"
        assert said["made_with"]["torch"] == torch.__version__
        assert said["made_with"]["device"] == f"cpu ({platform.machine()})"
        tokens = plain.tokens(sample.input[0].text)  # type: ignore[union-attr]
        likely = plain.logprobs(tokens).exp().tolist()
        mass = {"safe": 0.0, "unsafe": 0.0}
        for token, one in enumerate(likely):
            word = plain.text(token).strip().casefold()
            mass[word] = mass.get(word, 0.0) + one
        (score,) = (one.value for one in (sample.scores or {}).values())
        assert isinstance(score, dict)
        assert score["p_safe"] == pytest.approx(
            mass["safe"] / (mass["safe"] + mass["unsafe"]), abs=1e-6
        )
        assert score["mass"] == pytest.approx(mass["safe"] + mass["unsafe"], abs=EXACT)
    assert "going on: 18 of 18 were judged before" in flows["again"].stderr


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
