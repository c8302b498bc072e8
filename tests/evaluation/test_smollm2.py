"""The embedded model itself: real weights, in process."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Cli, clean_env
from support.scores import model_rows
from support.starts import Start

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def one_core() -> Iterator[None]:
    """Leave the other worker its core: threads that share one wait for each other, and spin."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    yield
    os.sched_setaffinity(0, cores)


def test_the_first_run_of_two_cases_twice(cli: Cli, tmp_path: Path) -> None:
    """From two starts: within one, the second run finds prefixes that the first has computed."""
    tables = []
    for name in ("logs", "again"):
        start = Start(["run", "--limit", "2", "--log-dir", name], tmp_path, clean_env())
        out, err = start.communicate()
        assert start.returncode == 0, err
        assert "first judgement after" in err
        assert "no better than chance" in " ".join(out.split())
        (score,) = model_rows(cli("score", name, "--format", "json").stdout)
        assert (score["model"], score["protocol"]) == ("casewise/smollm2", "probability")
        assert (score["n"], score["coverage"], score["labels"]) == (2, 1.0, "intended")
        tables.append((score["bce"], score["mass"]))
    # Our prompt asks for one word; the model puts a fair part of its mass on the two.
    assert tables[0][1] > 0.05
    assert tables[0] == pytest.approx(tables[1], abs=1e-3)


def test_weights_are_checked(tmp_path: Path) -> None:
    other = "import casewise.models.embedded as one; one.GGUF_SHA256 = '0' * 64"
    env = clean_env() | {"CASEWISE_CACHE": str(tmp_path / "cache")}
    start = Start(["run", "--limit", "1"], tmp_path, env, first=other)
    _, err = start.communicate()
    assert start.returncode == 2
    assert "sha256 differs" in err
    assert not list((tmp_path / "cache").rglob("*.gguf"))
