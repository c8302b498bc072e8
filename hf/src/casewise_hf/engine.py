"""One loaded Hugging Face model: the line of its requests, and passes that share a prefix."""

import asyncio
import inspect
import threading
import time
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import Any

import torch
from inspect_ai.model import Logprob, TopLogprob
from transformers import DynamicCache, GenerationConfig

from casewise.models import GeneratedText
from casewise_hf.weights import Options, Tokens, describe, load

BATCH = 32
"""Prompts of a forward pass on a GPU."""

BATCH_TOKENS = 32_768
"""Tokens of a forward pass on a GPU, the filling included."""

GATHER_S = 0.1
"""Seconds that the first requests of an empty line wait for more."""

WORKER = ThreadPoolExecutor(1, thread_name_prefix="casewise-hf")
"""The one thread in which torch computes, for all models. Each thread that has computed keeps its
own threads of OpenMP; where these are more than the processors, all of them go to sleep after each
operation, and a pass takes half as long again."""


@dataclass(slots=True, eq=False)
class Request:
    """A request in tokens, and its answer to come."""

    tokens: tuple[int, ...]
    max_tokens: int
    temperature: float = 0.0
    """0 is the most probable token, always."""
    top_p: float | None = None
    seed: int | None = None
    candidates: int = 0
    """Tokens whose log-probabilities are wanted at each place of the answer; 0 for none."""
    answer: "Future[GeneratedText]" = field(default_factory=Future)
    given_up: bool = False
    """True if nobody waits for the answer any more."""

    @property
    def is_one_pass(self) -> bool:
        """Tell whether the next token's distribution is all that is asked for."""
        return self.max_tokens == 1 and self.temperature == 0 and self.candidates > 0


def open_engine(name: str, options: Options) -> "Engine":
    """The engine of a model; it is loaded once a process.

    Raises:
        ModelError: It can't be loaded.
    """
    return WORKER.submit(_opened, name, options).result()


@cache
def _opened(name: str, options: Options) -> "Engine":
    return Engine(*load(name, options), options.batch_size)


class Engine:
    """Answers requests with one model, one after the other or in batches.

    Requests of all tasks wait in one line, in the order of their texts. Each prompt begins as its
    neighbour does: keys and values of what they share are kept, and only the rest goes through the
    model. On a GPU, prompts of like length go through it together.
    """

    def __init__(self, model: Any, tokenizer: Any, batch_size: int | None = None) -> None:
        self.tokens = Tokens(tokenizer)
        window = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.window: int | None = window
        """Longest prompt, in tokens; None where the model sets no bound."""
        self.made_with = describe(model)
        self._model = model
        self._batch = batch_size or (1 if model.device.type == "cpu" else BATCH)
        self._ends = sorted(_ends(tokenizer) | _ends(model.generation_config))
        self._openings = self.tokens.openings()
        # Models that can compute the logits of some places alone.
        self._lean = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._lock = threading.Lock()
        self._line: list[Request] = []
        self._works = False
        self._cache: Any
        """Keys and values of the last prompt."""
        self._held: tuple[int, ...]
        """Tokens that the cache holds."""
        self._forget()

    async def ask(self, request: Request) -> GeneratedText:
        """Wait for the request's turn, and for its answer."""
        with self._lock:
            insort(self._line, request, key=self._place)
            starts, self._works = not self._works, True
        if starts:
            WORKER.submit(self._work)
        try:
            return await asyncio.wrap_future(request.answer)
        finally:
            request.given_up = True

    def _place(self, request: Request) -> tuple[int, tuple[int, ...]]:
        """Place in the line: prompts of like length in a batch need little filling."""
        return len(request.tokens) if self._batch > 1 else 0, request.tokens

    def _work(self) -> None:
        waiting = 0
        while waiting < len(self._line):
            waiting = len(self._line)
            time.sleep(GATHER_S)
        while (requests := self._next()) is not None:
            try:
                with torch.inference_mode():
                    for request, reply in zip(requests, self._replies(requests), strict=True):
                        request.answer.set_result(reply)
            except BaseException as error:  # each asker is to see it, and none to wait for ever
                self._forget()
                for request in requests:
                    if not request.answer.done():
                        request.answer.set_exception(error)

    def _next(self) -> list[Request] | None:
        """Requests to answer now, those behind the last ones; None, which ends the worker."""
        with self._lock:
            self._works = bool(self._line)
            if not self._line:
                return None
            start = bisect_left(self._line, (0, self._held), key=self._place) % len(self._line)
            batch = self._line[start : start + self._batch]
            # In a batch, the last one is the longest.
            batch = batch[: max(1, BATCH_TOKENS // len(batch[-1].tokens))]
            del self._line[start : start + len(batch)]
        return [request for request in batch if request.answer.set_running_or_notify_cancel()]

    def _replies(self, requests: Sequence[Request]) -> Iterable[GeneratedText]:
        if len(requests) > 1 and all(request.is_one_pass for request in requests):
            return self._pass_over(requests)
        return map(self._reply, requests)

    def _reply(self, request: Request) -> GeneratedText:
        started = time.perf_counter()
        reused = self._keep(request.tokens)
        ids = torch.tensor([request.tokens], device=self._model.device)
        if not request.is_one_pass:
            return self._write(request, ids, reused, started)
        output = self._model(
            input_ids=ids[:, reused:],
            past_key_values=self._cache,
            use_cache=True,
            **({"logits_to_keep": 1} if self._lean else {}),
        )
        self._hold(output.past_key_values, request.tokens)
        return self._replied(request, None, output.logits[0], reused, time.perf_counter() - started)

    def _pass_over(self, requests: Sequence[Request]) -> list[GeneratedText]:
        """Answers of one token each by one pass.

        Short prompts are filled up at their ends, which no token before can see.
        """
        started = time.perf_counter()
        ends = [len(request.tokens) - 1 for request in requests]
        ids = torch.zeros((len(requests), max(ends) + 1), dtype=torch.long)
        for row, request in zip(ids, requests, strict=True):
            row[: len(request.tokens)] = torch.tensor(request.tokens)
        wanted, lean = sorted(set(ends)), {}
        if self._lean:
            lean = {"logits_to_keep": torch.tensor(wanted, device=self._model.device)}
            ends = [wanted.index(end) for end in ends]
        logits = self._model(input_ids=ids.to(self._model.device), use_cache=False, **lean).logits
        rows = logits[torch.arange(len(requests)), torch.tensor(ends)]
        seconds = (time.perf_counter() - started) / len(requests)
        return [
            self._replied(request, None, row[None], 0, seconds)
            for request, row in zip(requests, rows, strict=True)
        ]

    def _write(
        self, request: Request, ids: torch.Tensor, reused: int, started: float
    ) -> GeneratedText:
        """An answer of several tokens, from the same cache."""
        draws = request.temperature > 0
        with torch.random.fork_rng(enabled=draws):
            if request.seed is not None:
                torch.manual_seed(request.seed)
            output = self._model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                past_key_values=self._cache,
                generation_config=GenerationConfig(
                    max_new_tokens=request.max_tokens,
                    do_sample=draws,
                    temperature=request.temperature if draws else None,
                    top_p=request.top_p if draws else None,
                    # Without a bound, transformers takes the 50 most probable.
                    top_k=0 if draws else None,
                    eos_token_id=self._ends or None,
                    pad_token_id=min(self._ends, default=0),
                    output_logits=request.candidates > 0,
                    return_dict_in_generate=True,
                    use_cache=True,
                ),
                stopping_criteria=[
                    lambda ids, *_, **__: torch.full(
                        ids.shape[:1], request.given_up, device=ids.device
                    )
                ],
            )
        sequence = output.sequences[0].tolist()
        self._hold(output.past_key_values, sequence)
        logits = [row[0] for row in output.logits or ()]
        seconds = time.perf_counter() - started
        return self._replied(request, sequence[len(request.tokens) :], logits, reused, seconds)

    def _replied(
        self,
        request: Request,
        written: list[int] | None,
        logits: Sequence[torch.Tensor] | torch.Tensor,
        reused: int,
        seconds: float,
    ) -> GeneratedText:
        """The answer that was written; None is the most probable token of the last logits."""
        if written is None:
            logits = logits[-1:]
            written = [int(logits[0].argmax())]
        return GeneratedText(
            text=self.tokens.answer(written),
            places=[
                self._distribution(row, token, request.candidates)
                for row, token in zip(logits, written, strict=False)
            ],
            written=len(written),
            computed=len(request.tokens) - reused,
            reused=reused,
            stop="stop" if written and written[-1] in self._ends else "max_tokens",
            seconds=seconds,
        )

    def _distribution(self, logits: torch.Tensor, token: int, candidates: int) -> Logprob:
        """The distribution at one place: the most probable tokens, and those of verdicts."""
        logprobs = logits.float().log_softmax(-1).cpu()
        top = logprobs.topk(min(candidates, len(logprobs))).indices.tolist()
        listed = list(dict.fromkeys([token, *top, *self._openings]))
        values = logprobs[listed].tolist()
        texts = [self.tokens.text(token) for token in listed]
        tops = [TopLogprob(token=t, logprob=p) for t, p in zip(texts, values, strict=True)]
        return Logprob(token=texts[0], logprob=values[0], top_logprobs=tops)

    def _keep(self, tokens: tuple[int, ...]) -> int:
        """Cut the cache to the beginning that it shares with a prompt, less the last token.

        Returns:
            Number of tokens that are left.
        """
        alike = takewhile(lambda pair: pair[0] == pair[1], zip(tokens, self._held, strict=False))
        shared = min(sum(1 for _ in alike), len(tokens) - 1)
        if shared < len(self._held):
            # Layers that look back over a window, or keep a state, have lost what came before.
            if all(type(layer).__name__ == "DynamicLayer" for layer in self._cache.layers):
                self._cache.crop(shared - len(self._held))
            else:
                self._forget()
        self._held = self._held[:shared]
        return len(self._held)

    def _hold(self, cache: Any, tokens: Sequence[int]) -> None:
        """Keep a cache that holds a prompt and its answer, or fewer of their tokens."""
        self._cache, self._held = cache, tuple(tokens[: cache.get_seq_length()])

    def _forget(self) -> None:
        self._cache, self._held = DynamicCache(config=self._model.config), ()


def _ends(named_by: Any) -> set[int]:
    """Ends of a text that a tokenizer or a model's settings name."""
    ends = getattr(named_by, "eos_token_id", None)
    return set(ends if isinstance(ends, list | tuple) else [ends]) - {None}
