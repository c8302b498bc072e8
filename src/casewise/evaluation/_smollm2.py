"""The embedded model: SmolLM2-135M-Instruct, in process, through xllamacpp.

A real model that makes a first run work offline within a minute. It judges at chance.
"""

import json
import os
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import anyio.to_thread
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    StopReason,
    TopLogprob,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from casewise.errors import ModelError, install_hint
from casewise.evaluation._assets import fetch_weights, fetch_weights_again
from casewise.evaluation.local import InProcess, TextOrder, Ticket

SMOLLM2 = "casewise/smollm2"
"""The embedded model's name, as models are named in Inspect."""

CONTEXT_TOKENS = 8192
"""The model's window, in tokens."""

MAX_TOKENS = 256
"""The longest answer, in tokens: without a bound, the model rambles."""

TOP_LOGPROBS = 200
"""Candidates read for the first token. The window into the distribution is wide because a small
model leaves much of its mass on other words."""

MAX_TEXT = 30
"""The longest text within a structured answer, in letters: all of it must close in time."""

_lock = threading.Lock()


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
        path = fetch_weights_again()
        if path is None:
            raise ModelError(f"{SMOLLM2}: its weights can't be loaded ({error})") from None
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
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _cores()
    return params


def _cores() -> int:
    """Cores that this process may use: more threads than these wait for each other, and spin."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def prepare() -> None:
    """Fetch and load the model now, so that what is missing is said before a run starts."""
    with _lock:
        _server()


class SmolLM2(InProcess):
    """Inspect's provider ``casewise``; its only model is ``smollm2``."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, config)
        if model_name != SMOLLM2.split("/")[1]:
            raise ModelError(f"casewise/{model_name}: the only embedded model is {SMOLLM2}")
        if model_args:
            raise ModelError(f"{SMOLLM2} takes no model arguments: {', '.join(model_args)}")

    @property
    def line(self) -> TextOrder[dict[str, Any], ModelOutput]:
        """Where requests wait: neighbours share what the one slot has computed."""
        return _line

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Answer, off the event loop: other models' requests go on meanwhile."""
        text = "\n".join(f"{one.role}: {one.text}" for one in input)
        return await _line.ask(text, _request(input, config), self.asker)

    async def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text under the model's tokenizer, and whether it is the only one."""
        pieces = await anyio.to_thread.run_sync(_pieces, text)
        return pieces[0], len(pieces) == 1


def _request(messages: list[ChatMessage], config: GenerateConfig) -> dict[str, Any]:
    request: dict[str, Any] = {
        "messages": [{"role": one.role, "content": one.text} for one in messages],
        "cache_prompt": True,
    }
    options = {
        "max_tokens": min(config.max_tokens or MAX_TOKENS, MAX_TOKENS),
        "temperature": config.temperature,
        "top_p": config.top_p,
        "top_k": config.top_k,
        "seed": config.seed,
        "stop": config.stop_seqs,
    }
    request |= {name: value for name, value in options.items() if value is not None}
    if config.response_schema is not None:
        schema = config.response_schema.json_schema.model_dump(exclude_none=True)
        request["grammar"] = f"root ::= {_rule(schema)}\n{_TEXT}"
    if config.logprobs:
        request |= {"logprobs": True, "top_logprobs": max(config.top_logprobs or 1, TOP_LOGPROBS)}
    return request


_TEXT = rf"""text ::= "\"" [A-Z] [a-zA-Z ,.'-]{{3,{MAX_TEXT}}} "\"" """


def _rule(schema: Mapping[str, Any]) -> str:
    """A grammar for objects and texts without a space to spare: each token takes its time.

    Raises:
        ModelError: The schema has other types.
    """
    if schema.get("type") == "string":
        return "text"
    if schema.get("type") != "object":
        raise ModelError(f"{SMOLLM2} takes schemas of objects and texts alone")
    fields = [
        f"{json.dumps(json.dumps(name) + ':')} {_rule(inner)}"
        for name, inner in schema["properties"].items()
    ]
    return " ".join(['"{"', ' "," '.join(fields), '"}"'])


def _answer(request: dict[str, Any]) -> ModelOutput:
    with _lock:
        server = _server()
    response = server.handle_chat_completions(request)
    error = response.get("error")
    if error and error.get("type") == "exceed_context_size_error":
        message = (
            f"the prompt has {error['n_prompt_tokens']} tokens; {SMOLLM2} takes {CONTEXT_TOKENS}"
        )
        return ModelOutput(
            model=SMOLLM2,
            choices=[
                ChatCompletionChoice(
                    message=ChatMessageAssistant(content=""), stop_reason="model_length"
                )
            ],
            error=message,
        )
    if error:
        raise RuntimeError(f"{SMOLLM2}: {error.get('message', error)}")
    return _output(response)


def _answer_all(
    tickets: Sequence[Ticket[dict[str, Any], ModelOutput]],
) -> list[ModelOutput]:
    return [_answer(ticket.request) for ticket in tickets]


_line: TextOrder[dict[str, Any], ModelOutput] = TextOrder(
    ThreadPoolExecutor(1, thread_name_prefix="casewise-smollm2"), _answer_all
)


def _output(response: dict[str, Any]) -> ModelOutput:
    choice = response["choices"][0]
    usage, timings = response["usage"], response["timings"]
    stop: StopReason = "max_tokens" if choice["finish_reason"] == "length" else "stop"
    cached = timings["cache_n"]
    return ModelOutput(
        model=SMOLLM2,
        choices=[
            ChatCompletionChoice(
                message=ChatMessageAssistant(
                    content=choice["message"].get("content") or "", model=SMOLLM2, source="generate"
                ),
                stop_reason=stop,
                logprobs=_logprobs(choice.get("logprobs")),
            )
        ],
        usage=ModelUsage(
            input_tokens=usage["prompt_tokens"] - cached,
            input_tokens_cache_read=cached,
            output_tokens=usage["completion_tokens"],
            total_tokens=usage["total_tokens"],
        ),
        time=(timings["prompt_ms"] + timings["predicted_ms"]) / 1000,
    )


def _logprobs(found: dict[str, Any] | None) -> Logprobs | None:
    if not found:
        return None
    return Logprobs(
        content=[
            Logprob(
                token=token["token"],
                logprob=token["logprob"],
                top_logprobs=[
                    TopLogprob(token=top["token"], logprob=top["logprob"])
                    for top in token["top_logprobs"]
                ],
            )
            for token in found["content"]
        ]
    )


@cache
def _pieces(text: str) -> list[str]:
    """Split a text into tokens through the server's own loopback address."""
    # Not under the lock: tokenizing needs no turn at the model.
    address = _server().listening_address
    body = json.dumps({"content": text, "with_pieces": True}).encode()
    request = urllib.request.Request(
        f"{address}/tokenize", data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        tokens = json.loads(response.read())["tokens"]
    return [_text(token["piece"]) for token in tokens]


def _text(piece: str | list[int]) -> str:
    """A piece that is no valid UTF-8 by itself comes as a list of bytes."""
    return piece if isinstance(piece, str) else bytes(piece).decode(errors="replace")
