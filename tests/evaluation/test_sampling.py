"""How models are sampled: greedily, or as the published scripts."""

import pytest

from casewise.choices import Sampling
from casewise.evaluation.plan._sampling import make_draw, resolve_sampling
from casewise.protocols import find_protocol


@pytest.mark.parametrize(
    ("model", "settled"),
    [
        ("openai/gpt-4o", Sampling.REFERENCE_API),
        ("openai-api/fake/m", Sampling.REFERENCE_API),
        ("hf/meta-llama/Meta-Llama-3-70B-Instruct", Sampling.REFERENCE_OPEN),
        ("vllm/x", Sampling.REFERENCE_OPEN),
        ("casewise/smollm2", Sampling.REFERENCE_OPEN),
    ],
)
def test_reference_is_settled_by_provider(model: str, settled: Sampling) -> None:
    assert resolve_sampling(Sampling.REFERENCE, model) is settled
    assert resolve_sampling(Sampling.GREEDY, model) is Sampling.GREEDY


def test_reference_of_open_models() -> None:
    draw = make_draw(find_protocol("score"), Sampling.REFERENCE_OPEN, model="hf/llama")
    config = draw.config
    assert (config.temperature, config.top_p, config.max_tokens) == (0.6, 0.9, 512)
    assert (draw.samples, draw.system) == (1, "You are a helpful assistant.")
    mixtral = make_draw(
        find_protocol("binary"), Sampling.REFERENCE_OPEN, model="hf/Mixtral-8x7B"
    ).config
    assert (mixtral.temperature, mixtral.top_p, mixtral.top_k) == (1.0, None, 50)


@pytest.mark.parametrize("sampling", [Sampling.GREEDY, Sampling.REFERENCE_OPEN])
def test_probability_is_greedy_always(sampling: Sampling) -> None:
    config = make_draw(find_protocol("probability"), sampling).config
    assert (config.temperature, config.max_tokens, config.logprobs) == (0.0, 1, True)
