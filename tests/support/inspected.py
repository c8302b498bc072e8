"""Logs of every protocol, for Inspect's own tools."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from conftest import clean_env
from support.fake_openai import FakeServer
from support.golden import ENVIRONMENT, answers
from support.starts import Start

PROTOCOLS = ("binary", "score", "probability", "guard", "respond")
CASES, EPOCHS = 3, 2
GRADER = "openai-api/fake/grader"

_RUN = ("run", "-m", "openai-api/fake/plain", "--cases")
_EVERY = (
    *("starter", "--limit", str(CASES), "--epochs", str(EPOCHS)),
    *("--protocol", ",".join(PROTOCOLS), "--grader", GRADER),
)


@contextmanager
def serving() -> Iterator[tuple[FakeServer, dict[str, str]]]:
    """A server of models and a grader, and the environment of a process that asks it."""
    with FakeServer(answers()) as server:
        yield server, environment(server)


def environment(server: FakeServer) -> dict[str, str]:
    return clean_env() | ENVIRONMENT | {"FAKE_BASE_URL": server.url}


def run_every_protocol(folder: Path, env: Mapping[str, str]) -> Path:
    """Judge cases under every protocol, twice each; ``score`` asks thrice, replies are graded."""
    start = Start([*_RUN, *_EVERY, "--log-dir", folder], Path.cwd(), env)
    _, err = start.communicate()
    assert start.returncode == 0, err
    return folder
