"""Which attempt at a case counts, and how often a folder's headers are read."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalPlan,
    EvalResults,
    EvalSample,
    EvalSpec,
    EvalStats,
)
from inspect_ai.scorer import Score

from casewise.logs import (
    Attempts,
    LogFolder,
    LogStatus,
    LogWriter,
    Part,
    counting,
    runs_of,
)
from casewise.scores._log_rows import choose_logs, read_judgements

ASKED = st.sets(st.tuples(st.sampled_from("abcd"), st.integers(1, 2)))


@given(st.lists(st.tuples(ASKED, ASKED, ASKED), max_size=4))
def test_of_each_case_one_attempt_counts(drawn: list[tuple[set[tuple[str, int]], ...]]) -> None:
    logs = [
        Attempts(judged, stayed - judged, open_ - judged - stayed)
        for judged, stayed, open_ in drawn
    ]
    counted = counting(logs)
    for asked in {("a", 1), ("b", 2)}.union(*(part for log in drawn for part in log)):
        places = [
            (rank, number)
            for number, log in enumerate(logs)
            for rank, found in enumerate((log.judged, log.stayed, log.open))
            if asked in found
        ]
        taken = [
            (rank, number)
            for number, log in enumerate(counted)
            for rank, found in enumerate((log.judged, log.stayed, log.open))
            if asked in found
        ]
        assert taken == ([min(places)] if places else [])


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
    *,
    status: LogStatus | None = "success",
    part: bool = False,
) -> Path:
    """A log of three cases with these answers; None is an error, no status a log not ended."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = list(answers) if part else ["a", "b", "c"]
    places = tuple("abc".index(one) for one in ids)
    said = {"casewise": "1", "protocol": "binary", "delivery": "judge"}
    spec = EvalSpec(
        created=f"2026-11-22T05:00:{made:02}+00:00",
        task="casewise/judge",
        task_id="task",
        dataset=EvalDataset(name="cases", samples=len(ids), sample_ids=list[str | int](ids)),
        model="m",
        config=EvalConfig(epochs=1),
        metadata=said | (Part("task", 1, places, 3).as_metadata() if part else {}),
    )
    writer = LogWriter(str(path), spec, EvalPlan())
    for name, answer in answers.items():
        writer.add(sample_of(name, answer, path.stem))
    if status is not None:
        judged = sum(answer is not None for answer in answers.values())
        results = EvalResults(total_samples=len(ids), completed_samples=judged)
        writer.finish(status, results, EvalStats())
    return path


def answers_of(folder: Path) -> dict[str, str | None]:
    runs, _ = choose_logs(LogFolder(folder).headers())
    (table,) = (read_judgements(run) for run in runs)
    return {row["case_id"]: row["answer"] or row["error"] for row in table.iter_rows(named=True)}


def test_attempts_that_were_never_ended_count_together(tmp_path: Path) -> None:
    """A later attempt that was killed early hides nothing of what an earlier one judged."""
    write_log(tmp_path / "1.eval", 1, {"a": "first", "b": "first"}, status=None)
    write_log(tmp_path / "2.eval", 2, {"a": "second", "c": None}, status=None)
    assert answers_of(tmp_path) == {"a": "first", "b": "first", "c": "2: 500"}
    (run,) = runs_of(LogFolder(tmp_path).headers())
    assert (run.complete, run.planned) == (False, 3)


def test_shards_go_on_from_a_whole_log(tmp_path: Path) -> None:
    write_log(tmp_path / "1.eval", 1, {"a": "first", "b": None}, status="cancelled")
    write_log(tmp_path / "2.eval", 2, {"b": "second"}, part=True)
    write_log(tmp_path / "shards/s/3.eval", 3, {"b": "third", "c": None}, part=True)
    assert answers_of(tmp_path) == {"a": "first", "b": "second", "c": "3: 500"}
    (run,) = runs_of(LogFolder(tmp_path).headers())
    assert (run.complete, run.run_id) == (True, "task")
