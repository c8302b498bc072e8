"""What casewise uses of Inspect that Inspect keeps to itself; each test says what changed."""

import inspect
from pathlib import Path

import pytest
from inspect_ai.model import Model, get_model

from casewise.evaluation.models import _seam as seam
from casewise.evaluation.models._batches import PROVIDERS


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("FAKE_API_KEY", "k")
    monkeypatch.setenv("FAKE_BASE_URL", "http://127.0.0.1:9/v1")
    return get_model("openai-api/fake/m", memoize=False)


def test_none_of_them_has_moved() -> None:
    assert seam.moved_note() is None


def test_the_provider_of_openai_compatible_servers(model: Model) -> None:
    assert type(model.api) is seam.openai_compatible(), (
        "openai-api/... models are no longer of the class OpenAICompatibleAPI: "
        "the lean client would not be used"
    )
    send = getattr(model.api, seam.SENDS, None)
    assert inspect.iscoroutinefunction(send), (
        f"OpenAICompatibleAPI.{seam.SENDS} is gone: the lean client can't take its place"
    )
    names = list(inspect.signature(send).parameters)
    assert names == ["request", "config"], f"OpenAICompatibleAPI.{seam.SENDS} takes {names} now"


def test_what_writes_tools(model: Model) -> None:
    write = getattr(model.api, seam.TOOLS, None)
    assert callable(write), f"OpenAICompatibleAPI.{seam.TOOLS} is gone: tools would be rewritten"
    names = list(inspect.signature(write).parameters)
    assert names == ["tools"], f"OpenAICompatibleAPI.{seam.TOOLS} takes {names} now"


def test_the_hooks_that_follow_attempts(model: Model) -> None:
    assert seam.hooks_of(model.api) is not None, "the provider's hooks are others"


def test_batches_are_followed() -> None:
    """What replaces these in a run; without it Inspect prints, and one failed batch ends all."""
    for name in ("emit_batch_status", "log_batch", "run_in_background"):
        assert callable(getattr(seam.batcher, name, None)), f"batch.{name} is gone"
    worker = inspect.getsource(seam.batcher.Batcher)
    assert "run_in_background(self._batch_worker)" in worker, "workers are started otherwise"
    assert "emit_batch_status(status)" in worker, "batches are told of otherwise"


def test_providers_with_a_batch_interface() -> None:
    """A provider that is not listed would be asked live; one too many too."""
    folder = Path(inspect.getfile(seam.batcher)).parent.parent
    found = {path.stem.split("_")[1] for path in folder.glob("_*_batch.py")}
    assert found == PROVIDERS, f"Inspect knows the batch interfaces of {sorted(found)} now"
