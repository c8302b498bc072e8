"""How models are sampled: greedily, or as the published scripts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import GenerateConfig

from casewise.choices import Sampling
from casewise.evaluation.models import _Settings
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


def test_greedy() -> None:
    draw = make_draw(find_protocol("score"), Sampling.GREEDY)
    assert (draw.config.temperature, draw.samples, draw.system) == (0.0, 3, None)
    assert make_draw(find_protocol("score"), Sampling.GREEDY, samples=5).samples == 5
    assert make_draw(find_protocol("binary"), Sampling.GREEDY).samples == 1


def test_reference_of_apis() -> None:
    draw = make_draw(find_protocol("score"), Sampling.REFERENCE_API)
    assert (draw.config.temperature, draw.config.max_tokens) == (1.0, 1024)
    assert (draw.samples, draw.system) == (3, None)


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


GIVEN = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.floats(0, 2),
        "max_tokens": st.integers(1, 9),
        "logprobs": st.booleans(),
        "stop_seqs": st.lists(st.text(max_size=3), max_size=2),
        "extra_body": st.dictionaries(st.text(max_size=3), st.lists(st.integers()), max_size=2),
        "reasoning_effort": st.sampled_from(["low", "high"]),
    },
).map(lambda given: GenerateConfig(**given))


@given(GIVEN, GIVEN)
def test_settings_are_merged_as_inspect_merges_them(
    own: GenerateConfig, more: GenerateConfig
) -> None:
    settings = _Settings.model_construct(**dict(own))
    merged = settings.merge(more)
    assert merged.model_dump() == own.merge(more).model_dump()
    assert settings.merge({"seed": 7}).seed == 7
    for name in ("stop_seqs", "extra_body"):
        # What a provider adds for one request is not sent with the next.
        mine = getattr(merged, name)
        assert mine is None or mine is not getattr(settings, name)
        assert mine is None or mine is not getattr(more, name)
