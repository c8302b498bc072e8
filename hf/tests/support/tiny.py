"""A tiny language model, made of a seed: two layers, random weights, a tokenizer of its own."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

TEMPLATE = (
    "{% for one in messages %}<{{ one.role }}>{{ one.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
WINDOW = 1024


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


def make_tiny(folder: Path, texts: list[str], *, template: bool = True, seed: int = 7) -> Path:
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
    if template:
        tokenizer.chat_template = TEMPLATE
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
