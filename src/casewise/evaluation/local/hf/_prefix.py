"""Forward passes that begin where the last one's prompt and the next one part."""

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache

from casewise.evaluation.local._line import common_prefix


class Prefix:
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
            found = self._model(input_ids=rest, past_key_values=self._cache, use_cache=True, **lean)
        except BaseException:
            # Some layers may hold the new tokens, and others not.
            self.clear()
            raise
        self._cache = found.past_key_values
        self._tokens, self._logits = tokens, found.logits[0, -1]
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
    """Whether a model can leave out the logits of places that nobody asks for."""
    return "logits_to_keep" in inspect.signature(model.forward).parameters


def batch_logits(model: Any, prompts: Sequence[tuple[int, ...]]) -> torch.Tensor:
    """The next token's logits of several prompts in one pass: (prompts, vocabulary).

    Short prompts are filled up at their ends, which no token before can see.
    """
    ends = [len(one) - 1 for one in prompts]
    ids = torch.zeros((len(prompts), max(ends) + 1), dtype=torch.long)
    for row, one in enumerate(prompts):
        ids[row, : len(one)] = torch.tensor(one)
    ids = ids.to(model.device)
    if not takes_places(model):
        found = model(input_ids=ids, use_cache=False).logits
        return found[torch.arange(len(prompts)), torch.tensor(ends)]
    wanted = sorted(set(ends))
    places = torch.tensor(wanted, device=model.device)
    found = model(input_ids=ids, use_cache=False, logits_to_keep=places).logits
    return found[torch.arange(len(prompts)), torch.tensor([wanted.index(end) for end in ends])]
