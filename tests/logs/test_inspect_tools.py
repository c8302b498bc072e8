"""Inspect's own tools open what casewise writes: readers, data frames, ``log`` and ``score``."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import forget_models
from inspect_ai._cli.main import inspect
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from support.fake_openai import FakeServer
from support.inspected import CASES, EPOCHS, PROTOCOLS, serving

import casewise as cw

pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")
"""Inspect's tools use what pandas and others call deprecated."""


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[FakeServer, dict[str, str]]]:
    with serving() as one:
        yield one


@pytest.fixture(scope="module")
def logs(every_protocol: Path) -> dict[str, Path]:
    """The log of each protocol."""
    found = {}
    for path in every_protocol.glob("*.eval"):
        (protocol,) = set(cw.judgements(path)["protocol"])
        found[protocol] = path
    return found


def by_case(log: EvalLog) -> dict[tuple[str, int], EvalSample]:
    return {(str(sample.id), sample.epoch): sample for sample in log.samples or []}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_its_reader_and_ours_agree(logs: dict[str, Path], protocol: str) -> None:
    log = read_eval_log(str(logs[protocol]))
    assert log.status == "success"
    theirs, ours = by_case(log), cw.judgements(logs[protocol])
    assert len(theirs) == len(ours) == CASES * EPOCHS
    for row in ours.iter_rows(named=True):
        sample = theirs.pop((row["case_id"], row["epoch"]))
        (score,) = (sample.scores or {}).values()
        known = score.metadata or {}
        for name in known.keys() & row.keys():
            assert row[name] == known[name], name
        assert {"status", "cut"} <= known.keys()
        usage = [sample.model_usage[model] for model in sample.model_usage if "plain" in model]
        assert row["input_tokens"] == sum(
            one.input_tokens
            + (one.input_tokens_cache_read or 0)
            + (one.input_tokens_cache_write or 0)
            for one in usage
        )
        assert row["output_tokens"] == sum(one.output_tokens for one in usage)


def said(arguments: list[str]) -> str:
    """What a command of Inspect's prints, run in this process."""
    done = CliRunner().invoke(inspect, arguments, catch_exceptions=False)
    forget_models()
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_log_is_scored_again(
    logs: dict[str, Path],
    served: tuple[FakeServer, dict[str, str]],
    protocol: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A log holds all that its scorer needs: the same answers come to the same scores."""
    server, env = served
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    again = tmp_path / "again.eval"
    before = len(server.requests)
    said(["score", str(logs[protocol]), "--action", "overwrite", *_to(again)])
    asked = server.requests[before:]
    assert {request["model"] for request in asked} == (
        {"grader"} if protocol == "respond" else set()
    )
    was, now = by_case(read_eval_log(str(logs[protocol]))), by_case(read_eval_log(str(again)))
    assert scores_of(now) == scores_of(was)


def _to(path: Path) -> list[str]:
    return ["--output-file", str(path), "--overwrite"]


def scores_of(samples: dict[tuple[str, int], EvalSample]) -> dict[Any, Any]:
    return {
        (asked, name): (repr(score.value), score.answer, score.explanation, score.metadata)
        for asked, sample in samples.items()
        for name, score in (sample.scores or {}).items()
    }


def test_logs_are_read_without_inspect(logs: dict[str, Path], tmp_path: Path) -> None:
    """Its import would take more than all the rest."""
    paths = [str(logs["binary"]), str(logs["score"])]
    code = (
        f"import runpy, sys; sys.argv = {['casewise', 'compare', *paths]!r}\n"
        "try: runpy.run_module('casewise', run_name='__main__')\n"
        "except SystemExit as stopped: assert not stopped.code\n"
        "assert not {'inspect_ai', 'openai'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
