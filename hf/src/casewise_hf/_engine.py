"""One loaded Hugging Face model: the line of its requests, and passes that share a prefix."""

import inspect
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import transformers
from transformers import DynamicCache

from casewise.models import Replied, TokenPlace
from casewise_hf._line import Batch, TextOrder, Ticket, common_prefix
from casewise_hf._load import Loaded, Options, Tokens, load


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A request, in tokens."""

    tokens: tuple[int, ...]
    max_tokens: int
    temperature: float = 0.0
    """0 is the most probable token, always."""
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    candidates: int = 0
    """Tokens whose log-probabilities are wanted at each place of the answer; 0 for none."""

    @property
    def is_one_pass(self) -> bool:
        """Tell whether the next token's distribution is all that is asked for."""
        return self.max_tokens == 1 and self.temperature == 0 and self.candidates > 0


class CachedPrefix:
    """Keys and values of the last prompt.

    In text order each prompt begins as its neighbour does. What they share is kept, and only the
    rest goes through the model: where all prompts wait, every token of their tree goes once.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._lean = takes_places(model)
        self.cache: Any = DynamicCache(config=model.config)
        self._tokens: tuple[int, ...] = ()
        self._logits: torch.Tensor | None = None

    def logits(self, tokens: tuple[int, ...]) -> tuple[torch.Tensor, int]:
        """The next token's logits, of shape (vocabulary,), and how many tokens were reused."""
        if tokens == self._tokens and self._logits is not None:
            return self._logits, len(tokens)
        reused = self.keep(tokens)
        rest = torch.tensor([tokens[reused:]], device=self._model.device)
        lean = {"logits_to_keep": 1} if self._lean else {}
        try:
            output = self._model(input_ids=rest, past_key_values=self.cache, use_cache=True, **lean)
        except BaseException:
            # Some layers may hold the new tokens, and others not.
            self.clear()
            raise
        self.cache = output.past_key_values
        self._tokens, self._logits = tokens, output.logits[0, -1]
        return self._logits, reused

    def keep(self, tokens: tuple[int, ...]) -> int:
        """Cut the cache to the beginning that it shares with a prompt, less the last token.

        Returns:
            Number of tokens that are left.
        """
        shared = min(common_prefix(tokens, self._tokens), len(tokens) - 1)
        if shared < len(self._tokens):
            # Layers that look back over a window, or keep a state, have lost what came before.
            if all(type(layer).__name__ == "DynamicLayer" for layer in self.cache.layers):
                self.cache.crop(shared - len(self._tokens))
            else:
                self.clear()
                shared = 0
        self._tokens, self._logits = tokens[:shared], None
        return shared

    def take(self, cache: Any, tokens: Sequence[int]) -> None:
        """Replace the cache by one that holds a prompt and its answer, or fewer of their tokens."""
        self.cache, self._logits = cache, None
        self._tokens = tuple(tokens[: cache.get_seq_length()])

    def clear(self) -> None:
        """Forget everything."""
        self.cache = DynamicCache(config=self._model.config)
        self._tokens, self._logits = (), None


def takes_places(model: Any) -> bool:
    """Tell whether a model can compute the logits of some places alone."""
    return "logits_to_keep" in inspect.signature(model.forward).parameters


def batch_logits(model: Any, prompts: Sequence[tuple[int, ...]]) -> torch.Tensor:
    """The next token's logits of several prompts in one pass: (prompts, vocabulary).

    Short prompts are filled up at their ends, which no token before can see.
    """
    ends = [len(prompt) - 1 for prompt in prompts]
    ids = torch.zeros((len(prompts), max(ends) + 1), dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, : len(prompt)] = torch.tensor(prompt)
    lean = {}
    if takes_places(model):
        wanted = sorted(set(ends))
        lean = {"logits_to_keep": torch.tensor(wanted, device=model.device)}
        ends = [wanted.index(end) for end in ends]
    logits = model(input_ids=ids.to(model.device), use_cache=False, **lean).logits
    return logits[torch.arange(len(prompts)), torch.tensor(ends)]


BATCH = 32
"""Prompts of a forward pass on a GPU."""

BATCH_TOKENS = 32_768
"""Tokens of a forward pass on a GPU, the filling included."""

Waiting = Ticket[TokenRequest, Replied]

WORKER = ThreadPoolExecutor(1, thread_name_prefix="casewise-hf")
"""The one thread in which torch computes, for all models. Each thread that has computed keeps its
own threads of OpenMP; where these are more than the processors, all of them go to sleep after each
operation, and a pass takes half as long again."""


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
        self._ends = _ends(loaded.tokenizer) | _ends(loaded.model.generation_config)
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
        """An answer of one token."""
        token = int(logits.argmax())
        ended = token in self._ends
        return Replied(
            text="" if ended else self.tokens.answer([token]),
            places=(self._place(logits, token, asked.candidates),),
            written=1,
            computed=len(asked.tokens) - reused,
            reused=reused,
            stop="stop" if ended else "max_tokens",
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
                    past_key_values=self._prefix.cache,
                    generation_config=self._settings(asked),
                    stopping_criteria=[lambda ids, *_, **__: _given_up(ticket, ids)],
                    tokenizer=self.tokens.raw if asked.stop else None,
                )
        except BaseException:
            self._prefix.clear()
            raise
        sequence = output.sequences[0].tolist()
        self._prefix.take(output.past_key_values, sequence)
        written = sequence[len(asked.tokens) :]
        ended = bool(written) and written[-1] in self._ends
        text = self.tokens.answer(written)
        stops = [place for ending in asked.stop if (place := text.find(ending)) >= 0]
        return Replied(
            text=text[: min(stops, default=None)],
            places=tuple(
                self._place(logits[0], token, asked.candidates)
                for logits, token in zip(output.logits or (), written, strict=False)
            ),
            written=len(written),
            computed=len(asked.tokens) - reused,
            reused=reused,
            stop="stop" if ended or stops else "max_tokens",
            seconds=time.perf_counter() - started,
        )

    def _settings(self, asked: TokenRequest) -> transformers.GenerationConfig:
        """Settings that were asked for, and the model's own ends of a text."""
        draws = asked.temperature > 0
        return transformers.GenerationConfig(
            max_new_tokens=asked.max_tokens,
            do_sample=draws,
            temperature=asked.temperature if draws else None,
            top_p=asked.top_p if draws else None,
            # Without a bound, transformers takes the 50 most probable.
            top_k=(asked.top_k or 0) if draws else None,
            stop_strings=list(asked.stop) or None,
            eos_token_id=sorted(self._ends) or None,
            pad_token_id=min(self._ends, default=0),
            output_logits=asked.candidates > 0,
            return_dict_in_generate=True,
            use_cache=True,
        )


def _ends(named_by: Any) -> frozenset[int]:
    """Ends of a text that a tokenizer or a model's settings name."""
    ends = getattr(named_by, "eos_token_id", None)
    if ends is None:
        return frozenset()
    return frozenset(ends if isinstance(ends, list | tuple) else [ends])


def _given_up(ticket: Waiting, ids: torch.Tensor) -> torch.Tensor:
    """Tell whether to stop writing, as nobody waits for the answer any more."""
    return torch.full((ids.shape[0],), ticket.given_up, device=ids.device, dtype=torch.bool)
