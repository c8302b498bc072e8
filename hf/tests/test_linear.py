"""Linear layers by oneDNN: the same numbers, or the model as it was loaded."""

from collections.abc import Callable
from typing import Any

import pytest
from support.tiny import Late

torch, transformers = Late("torch"), Late("transformers")
hf_load = Late("casewise_hf._load")


def tokens() -> Any:
    return torch.arange(2, 60).reshape(2, 29)


pytestmark = pytest.mark.slow

SIZES: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.2,
}


@pytest.fixture(autouse=True)
def quick_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the processor: how quick the layers are is tested apart."""
    monkeypatch.setattr("casewise_hf._load.QUICKER", 0.0)


def loader(config: Any, dtype: str = "float32") -> Callable[[], Any]:
    """Loads one model, as often as it is called."""

    def load() -> Any:
        torch.manual_seed(11)
        return (
            transformers.AutoModelForCausalLM.from_config(config).to(getattr(torch, dtype)).eval()
        )

    return load


def replaced(model: Any) -> int:
    return sum(type(one).__name__ == "_Linear" for one in model.modules())


def said(model: Any) -> Any:
    with torch.inference_mode():
        return model(input_ids=tokens()).logits.log_softmax(-1)


@pytest.mark.parametrize("tied", [False, True])
def test_the_same_numbers(tied: bool) -> None:
    """Qwen's layers of queries, keys and values have biases; a head may share its weights."""
    load = loader(transformers.Qwen2Config(**SIZES, tie_word_embeddings=tied))
    fast = hf_load.with_fast_layers(load)
    # Seven of each of the two layers, and the head.
    assert replaced(fast) == 15
    assert (said(fast) - said(load())).abs().max() < 1e-5
    written = [
        model.generate(tokens()[:1], max_new_tokens=6, do_sample=False, pad_token_id=0).tolist()
        for model in (fast, load())
    ]
    assert written[0] == written[1]


def test_narrow_numbers_are_left_alone() -> None:
    load = loader(transformers.LlamaConfig(**SIZES), "bfloat16")
    assert replaced(hf_load.with_fast_layers(load)) == 0


def test_a_model_that_reads_its_layers_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its layer is no more than a place of weights, which it multiplies itself."""
    layer = transformers.models.llama.modeling_llama.LlamaMLP

    def forward(self: Any, rows: Any) -> Any:
        return torch.nn.functional.linear(rows, self.down_proj.weight.T[: rows.shape[-1]])

    monkeypatch.setattr(layer, "forward", forward)
    load = loader(transformers.LlamaConfig(**SIZES | {"intermediate_size": 32}))
    model = hf_load.with_fast_layers(load)
    assert replaced(model) == 0
    assert torch.equal(said(model), said(load()))


def test_layers_that_would_say_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another PyTorch may lay weights out in its own way."""
    monkeypatch.setattr(
        torch.ops.mkldnn, "_reorder_linear_weight", lambda weight, _: (2 * weight).to_mkldnn()
    )
    load = loader(transformers.LlamaConfig(**SIZES))
    model = hf_load.with_fast_layers(load)
    assert replaced(model) == 0
    assert torch.equal(said(model), said(load()))
