"""Linear layers by oneDNN, where this processor gains by them: the numbers stay the same."""

from pathlib import Path
from typing import Any

import pytest
from support.tiny import Late, Plain, answers, make_tiny

torch, transformers = Late("torch"), Late("transformers")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
]

PROMPT = "Is it safe to say?"
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.2,
}


def distance(path: Path) -> float:
    """How far casewise's numbers are from those of the model as it is saved."""
    plain = Plain(path)
    (output,) = answers(path, [PROMPT])
    return plain.furthest(plain.tokens(PROMPT), output)


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return saved(tmp_path / "llama", transformers.LlamaConfig)


def saved(path: Path, config: Any, **more: Any) -> Path:
    """A model of this kind, of random weights, with the tiny model's tokenizer."""
    make_tiny(path, [PROMPT])
    size = len(Plain(path).tokenizer)
    torch.manual_seed(11)
    made = transformers.AutoModelForCausalLM.from_config(config(**SIZES, vocab_size=size, **more))
    made.save_pretrained(path)
    return path


@pytest.mark.parametrize("tied", [False, True])
def test_the_same_numbers(tied: bool, tmp_path: Path) -> None:
    """Qwen's layers of queries, keys and values have biases; a head may share its weights."""
    path = saved(tmp_path / "qwen", transformers.Qwen2Config, tie_word_embeddings=tied)
    assert distance(path) < 1e-4


def test_a_model_that_reads_its_layers_weights(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its layer is no more than a place of weights, which it multiplies itself."""
    layer = transformers.models.llama.modeling_llama.LlamaMLP

    def forward(self: Any, rows: Any) -> Any:
        return torch.nn.functional.linear(rows, self.down_proj.weight.T[: rows.shape[-1]])

    monkeypatch.setattr(layer, "forward", forward)
    assert distance(llama) < 1e-5


def test_layers_that_would_say_something_else(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another PyTorch may lay weights out in its own way."""
    monkeypatch.setattr(
        torch.ops.mkldnn, "_reorder_linear_weight", lambda weight, _: (2 * weight).to_mkldnn()
    )
    assert distance(llama) < 1e-5
