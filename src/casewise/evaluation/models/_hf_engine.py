"""One loaded Hugging Face model: the line of its requests, and passes that share a prefix."""

import inspect
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import torch
import transformers
from transformers import DynamicCache

from casewise.evaluation.models._hf_load import Loaded, Tokens, load
from casewise.evaluation.models._hf_provider import Options
from casewise.evaluation.models._in_process import (
    Batch,
    Replied,
    TextOrder,
    Ticket,
    TokenPlace,
    TokenRequest,
    common_prefix,
)


class CachedPrefix:
    """The keys and values of one prompt, the last.

    In text order each prompt begins as its neighbour does. What they share is kept, and only the
    rest goes through the model: of prompts that all wait, every token of their common tree once.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._lean = takes_places(model)
        self._cache: Any = None
        self._tokens: tuple[int, ...] = ()
        self._logits: torch.Tensor | None = None
        self.clear()

    def logits(self, tokens: tuple[int, ...]) -> tuple[torch.Tensor, int]:
        """The next token's logits, of shape (vocabulary,), and how many tokens were reused."""
        if tokens == self._tokens and self._logits is not None:
            return self._logits, len(tokens)
        reused = self.keep(tokens)
        rest = torch.tensor([tokens[reused:]], device=self._model.device)
        lean = {"logits_to_keep": 1} if self._lean else {}
        try:
            output = self._model(
                input_ids=rest, past_key_values=self._cache, use_cache=True, **lean
            )
        except BaseException:
            # Some layers may hold the new tokens, and others not.
            self.clear()
            raise
        self._cache = output.past_key_values
        self._tokens, self._logits = tokens, output.logits[0, -1]
        return self._logits, reused

    def keep(self, tokens: tuple[int, ...]) -> int:
        """Cut the cache to what a prompt shares with it, less its last token; how many are left."""
        shared = min(common_prefix(tokens, self._tokens), len(tokens) - 1)
        if shared < len(self._tokens):
            if self._can_be_cut(self._cache):
                self._cache.crop(shared - len(self._tokens))
            else:
                self.clear()
                shared = 0
        self._tokens, self._logits = tokens[:shared], None
        return shared

    def lend(self) -> Any:
        """The cache, for who writes on from it; to be given back."""
        return self._cache

    def take_back(self, cache: Any, tokens: Sequence[int]) -> None:
        """A cache that was lent, with the tokens of prompt and answer; it may hold fewer."""
        held = cache.get_seq_length()
        self._cache, self._tokens, self._logits = cache, tuple(tokens[:held]), None

    def clear(self) -> None:
        """Forget everything."""
        self._cache = DynamicCache(config=self._model.config)
        self._tokens, self._logits = (), None

    @staticmethod
    def _can_be_cut(cache: Any) -> bool:
        # Layers that look back over a window, or keep a state, have lost what came before.
        return all(type(layer).__name__ == "DynamicLayer" for layer in cache.layers)


def takes_places(model: Any) -> bool:
    """Tell whether a model can leave out the logits of places that nobody asks for."""
    return "logits_to_keep" in inspect.signature(model.forward).parameters


def batch_logits(model: Any, prompts: Sequence[tuple[int, ...]]) -> torch.Tensor:
    """The next token's logits of several prompts in one pass: (prompts, vocabulary).

    Short prompts are filled up at their ends, which no token before can see.
    """
    ends = [len(prompt) - 1 for prompt in prompts]
    ids = torch.zeros((len(prompts), max(ends) + 1), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, : len(prompt)] = torch.tensor(prompt)
    ids = ids.to(model.device)
    if not takes_places(model):
        logits = model(input_ids=ids, use_cache=False).logits
        return logits[torch.arange(len(prompts)), torch.tensor(ends)]
    wanted = sorted(set(ends))
    places = torch.tensor(wanted, device=model.device)
    logits = model(input_ids=ids, use_cache=False, logits_to_keep=places).logits
    return logits[torch.arange(len(prompts)), torch.tensor([wanted.index(end) for end in ends])]


BATCH = 32
"""Prompts of a forward pass on a GPU."""

BATCH_TOKENS = 32_768
"""Tokens of a forward pass on a GPU, the filling included."""

Waiting = Ticket[TokenRequest, Replied]

WORKER = ThreadPoolExecutor(1, thread_name_prefix="casewise-hf")
"""The one thread for all that torch computes, whichever the model. Each thread that has computed
keeps OpenMP's threads of its own; where they are more than the processors, all of them go to sleep
after each operation, and a pass takes half as long again."""


def open_engine(name: str, options: Options) -> "Engine":
    """The engine of a model; it is loaded once a process.

    Raises:
        ModelError: It can't be loaded.
    """
    return WORKER.submit(_opened, name, options).result()


@cache
def _opened(name: str, options: Options) -> "Engine":
    return Engine(load(name, options), options.batch_size)


class Engine:
    """Answers requests with one model."""

    def __init__(self, loaded: Loaded, batch_size: int | None = None) -> None:
        self.tokens = Tokens(loaded.tokenizer)
        self.window = loaded.window
        self.made_with = loaded.made_with
        self.is_batched = (batch_size or (1 if loaded.device.type == "cpu" else BATCH)) > 1
        self._model = loaded.model
        self._ends = self.tokens.ends | _ends(loaded.model.generation_config)
        self._openings = self.tokens.openings()
        self._prefix = CachedPrefix(loaded.model)
        batch = Batch(batch_size or BATCH, BATCH_TOKENS) if self.is_batched else Batch()
        self.line: TextOrder[TokenRequest, Replied] = TextOrder(WORKER, self._answer, batch)

    def _answer(self, tickets: Sequence[Waiting]) -> Iterable[Replied]:
        if len(tickets) > 1 and all(ticket.request.is_one_pass for ticket in tickets):
            with torch.inference_mode():
                return self._pass_over([ticket.request for ticket in tickets])
        return map(self._reply, tickets)

    def _reply(self, ticket: Waiting) -> Replied:
        started = time.perf_counter()
        asked = ticket.request
        with torch.inference_mode():
            if asked.is_one_pass:
                logits, reused = self._prefix.logits(asked.tokens)
                return self._from_logits(asked, logits, reused, time.perf_counter() - started)
            return self._write(ticket, started)

    def _pass_over(self, asked: Sequence[TokenRequest]) -> list[Replied]:
        started = time.perf_counter()
        rows = batch_logits(self._model, [request.tokens for request in asked])
        seconds = (time.perf_counter() - started) / len(asked)
        return [
            self._from_logits(request, row, 0, seconds)
            for request, row in zip(asked, rows, strict=True)
        ]

    def _from_logits(
        self, asked: TokenRequest, logits: torch.Tensor, reused: int, seconds: float
    ) -> Replied:
        token = int(logits.argmax())
        text = "" if token in self._ends else self.tokens.answer([token])
        return Replied(
            text=text,
            places=(self._place(logits, token, asked.candidates),),
            written=1,
            computed=len(asked.tokens) - reused,
            reused=reused,
            stop="stop" if token in self._ends else "max_tokens",
            seconds=seconds,
        )

    def _place(self, logits: torch.Tensor, token: int, candidates: int) -> TokenPlace:
        """The distribution at one place: the most probable tokens, and those of verdicts."""
        logprobs = logits.float().log_softmax(-1).cpu()
        top = logprobs.topk(min(candidates, len(logprobs))).indices.tolist()
        listed = list(dict.fromkeys([token, *top, *self._openings]))
        values = logprobs[listed].tolist()
        texts = [self.tokens.text(token) for token in listed]
        return TokenPlace(texts[0], values[0], tuple(zip(texts, values, strict=True)))

    def _write(self, ticket: Waiting, started: float) -> Replied:
        """An answer of several tokens, from the same cache."""
        asked = ticket.request
        reused = self._prefix.keep(asked.tokens)
        ids = torch.tensor([asked.tokens], device=self._model.device)
        try:
            with torch.random.fork_rng(enabled=asked.temperature > 0):
                if asked.seed is not None:
                    torch.manual_seed(asked.seed)
                output = self._model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    past_key_values=self._prefix.lend(),
                    generation_config=self._settings(asked),
                    stopping_criteria=[lambda ids, *_, **__: _given_up(ticket, ids)],
                    tokenizer=self.tokens.raw if asked.stop else None,
                )
        except BaseException:
            self._prefix.clear()
            raise
        sequence = output.sequences[0].tolist()
        self._prefix.take_back(output.past_key_values, sequence)
        written = sequence[len(asked.tokens) :]
        ended = bool(written) and written[-1] in self._ends
        text, stopped = _cut(self.tokens.answer(written), asked.stop)
        return Replied(
            text=text,
            places=tuple(
                self._place(logits[0], token, asked.candidates)
                for logits, token in zip(output.logits or (), written, strict=False)
            ),
            written=len(written),
            computed=len(asked.tokens) - reused,
            reused=reused,
            stop="stop" if ended or stopped else "max_tokens",
            seconds=time.perf_counter() - started,
        )

    def _settings(self, asked: TokenRequest) -> transformers.GenerationConfig:
        """Settings that were asked for, and the model's own ends of a text."""
        draws = asked.temperature > 0
        pad = min(self._ends, default=0)
        return transformers.GenerationConfig(
            max_new_tokens=asked.max_tokens,
            do_sample=draws,
            temperature=asked.temperature if draws else None,
            top_p=asked.top_p if draws else None,
            # Without a bound of its own, transformers takes the 50 most probable.
            top_k=(asked.top_k or 0) if draws else None,
            stop_strings=list(asked.stop) or None,
            eos_token_id=sorted(self._ends) or None,
            pad_token_id=pad,
            output_logits=asked.candidates > 0,
            return_dict_in_generate=True,
            use_cache=True,
        )


def _ends(config: Any) -> frozenset[int]:
    ends = getattr(config, "eos_token_id", None)
    if ends is None:
        return frozenset()
    return frozenset(ends if isinstance(ends, list | tuple) else [ends])


def _given_up(ticket: Waiting, ids: torch.Tensor) -> torch.Tensor:
    """Tell whether to stop writing, as nobody waits for the answer any more."""
    return torch.full((ids.shape[0],), ticket.given_up, device=ids.device, dtype=torch.bool)


def _cut(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """A text up to the first of the stops, and whether there was one."""
    places = [place for ending in stop if (place := text.find(ending)) >= 0]
    return (text[: min(places)], True) if places else (text, False)
