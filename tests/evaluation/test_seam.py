"""What casewise uses of Inspect that Inspect keeps to itself; each test says what changed."""

import asyncio
import inspect
import os
from pathlib import Path

import pytest
from inspect_ai.event import ModelEvent
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage, get_model

from casewise.evaluation.models import _seam as seam
from casewise.evaluation.models._batches import PROVIDERS


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("FAKE_API_KEY", "k")
    monkeypatch.setenv("FAKE_BASE_URL", "http://127.0.0.1:9/v1")
    return get_model("openai-api/fake/m", memoize=False)


def test_no_more_names_than_these() -> None:
    """Each of them may break with a release of Inspect."""
    own = {"MOVED", "SENDS", "TOOLS", "hooks_of", "in_own_loop"}
    own |= {"is_openai_compatible", "moved_note"}
    assert len({*seam.__all__} - own) <= 5


def test_none_of_them_has_moved() -> None:
    assert seam.moved_note() is None


def test_errors_that_inspect_shows_without_a_traceback() -> None:
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        del os.environ[name]
    with pytest.raises(seam.PrerequisiteError) as raised:
        get_model("openai-api/nokey/m", memoize=False)
    assert hasattr(raised.value, "message"), "PrerequisiteError has no attribute message any more"


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


def test_limits_of_connections_begin_anew(model: Model) -> None:
    """Without it a run would keep the limit of the run before in this process."""

    async def at_once(limit: int) -> int:
        seam.init_concurrency()
        held = 0
        async with asyncio.TaskGroup() as group, asyncio.timeout(5):

            async def hold() -> None:
                nonlocal held
                async with model._connection_concurrency(GenerateConfig(max_connections=limit)):
                    held += 1
                    await asyncio.sleep(0.2)
                    most.append(held)
                    held -= 1

            most: list[int] = []
            for _ in range(6):
                group.create_task(hold())
        return max(most)

    assert asyncio.run(at_once(2)) == 2
    assert asyncio.run(at_once(5)) == 5, "init_concurrency no longer forgets earlier limits"


def test_answers_outside_of_a_task(model: Model) -> None:
    """The executor asks models without Inspect's runner."""
    names = list(inspect.signature(model.generate).parameters)
    assert names[0] == "input", f"Model.generate takes {names} now"
    assert "config" in names, f"Model.generate takes {names} now, no config"


@pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_events_go_to_a_sink() -> None:
    """Without it Inspect's transcript walks through every event three times."""
    pending: list[ModelEvent] = []
    complete: list[ModelEvent] = []

    class Sink:
        def on_pending(self, event: ModelEvent) -> None:
            pending.append(event)

        def on_complete(self, event: ModelEvent) -> None:
            complete.append(event)

    answer = ModelOutput.from_content("m", "Until six.")
    answer.usage = ModelUsage()  # else it fetches a tokenizer to count
    model = get_model("mockllm/model", memoize=False, custom_outputs=[answer])
    with seam.use_model_event_sink(Sink()):
        output = asyncio.run(model.generate("Is the shop open?"))
    assert pending == complete, "a sink is no longer told of an event before and after its request"
    assert [one.output.completion for one in pending] == [output.completion]


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
