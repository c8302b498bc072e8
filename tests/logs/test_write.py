"""Logs that casewise writes, opened by Inspect's own readers."""

import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalPlan,
    EvalResults,
    EvalSample,
    EvalSpec,
    EvalStats,
    read_eval_log,
    read_eval_log_sample_summaries,
)
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage
from inspect_ai.scorer import Score
from isal import isal_zlib

from casewise.logs import LogWriter, _write
from casewise.logs._write import BUFFER

SPEC = EvalSpec(
    created="2026-11-22T05:00:00+00:00",
    task="casewise/judge",
    dataset=EvalDataset(name="cases", samples=3),
    model="openai-api/fake/m",
    config=EvalConfig(epochs=1),
)


def sample_of(number: int, text: str = "safe") -> EvalSample:
    return EvalSample(
        id=f"case-{number}",
        epoch=1,
        input=[ChatMessageUser(content=f"question {number}")],
        target="safe",
        messages=[
            ChatMessageUser(content=f"question {number}"),
            ChatMessageAssistant(content=text),
        ],
        output=ModelOutput.from_content("m", text),
        scores={"read_answers": Score(value={"read": 1.0, "p_safe": float("nan")}, answer=text)},
        metadata={"query": text},
        model_usage={"m": ModelUsage(input_tokens=100, output_tokens=5, total_tokens=105)},
    )


@pytest.fixture
def worker() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def write(writer: LogWriter, count: int) -> None:
    for number in range(count):
        waiting = writer.add(sample_of(number))
        if waiting is not None:
            waiting.result()


@pytest.mark.parametrize("library", [isal_zlib, zlib])
@pytest.mark.parametrize("count", [0, 3, BUFFER, 2 * BUFFER + 7])
def test_inspect_reads_a_log(
    tmp_path: Path,
    worker: ThreadPoolExecutor,
    count: int,
    library: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_write, "zlib", library)
    path = str(tmp_path / "one.eval")
    writer = LogWriter(path, SPEC, EvalPlan(), worker)
    write(writer, count)
    writer.finish("success", EvalResults(total_samples=count), EvalStats())
    log = read_eval_log(path)
    assert log.status == "success"
    assert log.eval.task == "casewise/judge"
    assert {one.id for one in log.samples or []} == {f"case-{n}" for n in range(count)}
    summaries = read_eval_log_sample_summaries(path)
    assert [one.id for one in summaries] == [f"case-{number}" for number in range(count)]
    for one in (log.samples or [])[:3]:
        again = sample_of(int(str(one.id).split("-")[1]))
        assert [message.text for message in one.messages] == [
            message.text for message in again.messages
        ]
        assert one.scores is not None
        assert str(one.scores["read_answers"].value) == "{'read': 1.0, 'p_safe': nan}"
        assert one.model_usage == again.model_usage


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_no_moment_leaves_a_broken_log(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int]
) -> None:
    """Each piece reaches the disk in one write, before and after which the file is whole."""
    path = tmp_path_factory.mktemp("logs") / "one.eval"
    seen: list[bytes] = []
    with ThreadPoolExecutor(1) as worker:
        writer = LogWriter(str(path), SPEC, EvalPlan(), worker)
        written = 0
        for size in pieces:
            for number in range(written, written + size):
                writer.add(sample_of(number))
            writer._submit().result()
            written += size
            seen.append(path.read_bytes())
        writer.finish("success", None, EvalStats())
    for number, content in enumerate(seen):
        copy = path.with_name("copy.eval")
        copy.write_bytes(content)
        assert len(read_eval_log(str(copy)).samples or []) == sum(pieces[: number + 1])


def test_numbers_that_need_more_room(
    tmp_path: Path, worker: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than 65,534 files, and places and sizes of 4 GB and more, stand in records apart."""
    monkeypatch.setattr(_write, "_LARGE", 3_000)
    monkeypatch.setattr(_write, "_MANY", 10)
    path = tmp_path / "one.eval"
    writer = LogWriter(str(path), SPEC, EvalPlan(), worker)
    write(writer, BUFFER)
    writer.add(sample_of(BUFFER, "safe " * 1_000))
    writer.finish("success", None, EvalStats())
    with ZipFile(path) as log:
        assert log.testzip() is None
        assert max(one.file_size for one in log.infolist()) > 3_000
        assert max(one.header_offset for one in log.infolist()) > 3_000
    assert len(read_eval_log(str(path)).samples or []) == BUFFER + 1


def test_no_piece_comes_after_one_that_was_lost(
    tmp_path: Path, worker: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places are counted from the first piece on: a later one would stand behind a hole."""
    path = tmp_path / "one.eval"
    writer = LogWriter(str(path), SPEC, EvalPlan(), worker)
    write(writer, BUFFER)
    worker.submit(int).result()
    whole = path.read_bytes()
    with monkeypatch.context() as fault:
        fault.setattr(Path, "open", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
        for number in range(BUFFER):
            writer.add(sample_of(BUFFER + number))
        worker.submit(int).result()
    with pytest.raises(OSError, match="full"):
        writer.finish("cancelled", None, EvalStats())
    writer.add(sample_of(0))
    with pytest.raises(OSError, match="an earlier part could not be written"):
        writer._submit().result()
    assert path.read_bytes() == whole
