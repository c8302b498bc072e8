"""A tiny language model, made of a seed: two layers, random weights, a tokenizer of its own."""

import asyncio
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import GenerateConfig, Logprob, ModelOutput, get_model

TEMPLATE = (
    "{% for one in messages %}<{{ one.role }}>{{ one.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
WINDOW = 1024

ONE_PASS = GenerateConfig(max_tokens=1, temperature=0, logprobs=True, top_logprobs=200)
"""The next token's distribution is all that is asked for."""


class Late:
    """A module that is imported when a test first uses it: torch takes seconds of every worker.

    Where it is not installed, the file that names it is skipped.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        if find_spec(name.split(".")[0]) is None:
            pytest.skip(f"{name} is not installed (make hf)", allow_module_level=True)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


def make_tiny(
    folder: Path, texts: list[str], *, template: str | None = TEMPLATE, seed: int = 7
) -> Path:
    """A Llama of 0.1 million parameters, saved as ``save_pretrained`` does.

    Its weights are wide, so that its probabilities are far from alike.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words = " ".join(("safe unsafe Safe SAFE",) * 50)
    raw.train_from_iterator([*texts, words], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="</s>")
    tokenizer.chat_template = template
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=WINDOW,
        initializer_range=0.2,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def answers(
    path: Path, prompts: Sequence[Any], config: GenerateConfig = ONE_PASS, **options: Any
) -> list[ModelOutput]:
    """What Inspect's model of this name says to prompts that wait together."""

    async def main() -> list[ModelOutput]:
        model = get_model(f"casewise-hf/{path}", **options)
        asked = (model.generate(prompt, config=config) for prompt in prompts)
        return await asyncio.gather(*asked)

    return asyncio.run(main())


def places(output: ModelOutput) -> list[Logprob]:
    """What an answer says of each of its tokens."""
    found = output.choices[0].logprobs
    assert found is not None
    return found.content


class Plain:
    """A model as transformers loads it, whose passes use no cache."""

    def __init__(self, path: Path) -> None:
        import transformers

        self.model = transformers.AutoModelForCausalLM.from_pretrained(path).float()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(path)

    def tokens(self, *turns: str | tuple[str, str]) -> tuple[int, ...]:
        """A conversation in tokens; a text alone is a user's."""
        pairs = [("user", turn) if isinstance(turn, str) else turn for turn in turns]
        said = [{"role": role, "content": text} for role, text in pairs]
        shown = {"tokenize": False, "add_generation_prompt": True}
        text = self.tokenizer.apply_chat_template(said, **shown)
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def logprobs(self, tokens: Sequence[int]) -> Any:
        """Log-probabilities of the next token."""
        import torch

        with torch.inference_mode():
            logits = self.model(input_ids=torch.tensor([list(tokens)]), use_cache=False).logits
        return logits[0, -1].float().log_softmax(-1)

    def text(self, token: int) -> str:
        return str(self.tokenizer.decode([token]))

    def furthest(self, tokens: Sequence[int], output: ModelOutput) -> float:
        """The largest distance of an answer's log-probabilities from those of a pass."""
        expected = self.logprobs(tokens)
        texts = [self.text(one) for one in range(len(expected))]
        # Pieces of letters beyond ASCII have one text.
        known = {text: number for number, text in enumerate(texts) if texts.count(text) == 1}
        (place,) = places(output)
        found = [logprob for logprob in place.top_logprobs or [] if logprob.token in known]
        assert len(found) > 100
        return max(
            abs(logprob.logprob - float(expected[known[logprob.token]])) for logprob in found
        )
