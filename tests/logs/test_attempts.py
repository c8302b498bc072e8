"""Which attempt at a case counts, over logs that Inspect itself writes."""

from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalResults,
    EvalSample,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.scorer import Score

import casewise as cw


def sample_of(name: str, answer: str | None, log: str) -> EvalSample:
    said = {"status": "ok", "verdict": "safe", "cut": False}
    if answer is None:
        error = EvalError(message=f"{log}: 500", traceback="", traceback_ansi="")
        return EvalSample(id=name, epoch=1, input="?", target="", error=error)
    scores = {"read_answers": Score(value={"read": 1.0}, answer=answer, metadata=said)}
    return EvalSample(id=name, epoch=1, input="?", target="", scores=scores)


def write_log(
    path: Path,
    made: int,
    answers: dict[str, str | None],
    status: Literal["started", "success", "cancelled"] = "success",
    *,
    part: bool = False,
) -> None:
    """A log of three cases with these answers; None is an error. A part has no other cases."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = list(answers) if part else ["a", "b", "c"]
    metadata: dict[str, Any] = {"casewise": "1", "protocol": "binary", "delivery": "judge"}
    if part:
        places = ["abc".index(id_) for id_ in ids]
        metadata["shard"] = {"run": "task", "epoch": 1, "places": places, "of": 3}
    spec = EvalSpec(
        created=f"2026-11-22T05:00:{made:02}+00:00",
        task="casewise/judge",
        task_id="task",
        dataset=EvalDataset(name="cases", samples=len(ids), sample_ids=list[str | int](ids)),
        model="m",
        config=EvalConfig(epochs=1),
        metadata=metadata,
    )
    judged = sum(answer is not None for answer in answers.values())
    results = EvalResults(total_samples=len(ids), completed_samples=judged)
    samples = [sample_of(name, answer, path.stem) for name, answer in answers.items()]
    log = EvalLog(status=status, eval=spec, results=results, samples=samples)
    write_eval_log(log, str(path))


def answers_of(rows: pl.DataFrame) -> dict[str, str | None]:
    return {row["case_id"]: row["answer"] or row["error"] for row in rows.iter_rows(named=True)}


def test_attempts_that_were_never_ended_count_together(tmp_path: Path) -> None:
    """A later attempt that was killed early hides nothing of what an earlier one judged."""
    write_log(tmp_path / "1.eval", 1, {"a": "first", "b": "first"}, "started")
    write_log(tmp_path / "2.eval", 2, {"a": "second", "c": None}, "started")
    with pytest.warns(UserWarning, match="ended early"):
        rows = cw.judgements(tmp_path)
    assert answers_of(rows) == {"a": "first", "b": "first", "c": "2: 500"}
    assert set(rows["planned"]) == {3}


def test_shards_go_on_from_a_whole_log(tmp_path: Path) -> None:
    write_log(tmp_path / "1.eval", 1, {"a": "first", "b": None}, "cancelled")
    write_log(tmp_path / "2.eval", 2, {"b": "second"}, part=True)
    write_log(tmp_path / "shards/s/3.eval", 3, {"b": "third", "c": None}, part=True)
    rows = cw.judgements(tmp_path)
    assert answers_of(rows) == {"a": "first", "b": "second", "c": "3: 500"}
    assert set(rows["run_id"]) == {"task"}


def test_a_log_that_holds_every_case_was_not_stopped(tmp_path: Path) -> None:
    """A process that is told to end after its last answer, and before its log is closed."""
    write_log(tmp_path / "1.eval", 1, dict.fromkeys("abc", "first"), "cancelled")
    assert cw.judgements(tmp_path)["stopped"].to_list() == [None] * 3
