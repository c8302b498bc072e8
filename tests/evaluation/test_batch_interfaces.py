"""Batches of Anthropic, Google, Grok and Together: created once under every answer."""

import signal
import time
from collections.abc import Callable
from itertools import starmap
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli, clean_env
from support.batch_interfaces import PROVIDERS, Anthropic, Google, Grok, Provider
from support.fake_openai import Raw
from support.fault_runs import write_questions
from support.sdks import of_sdk
from support.secret import KEY
from support.starts import PATIENCE_S, Start

from casewise.evaluation.models._batches import TICK
from casewise.scores import read_paths

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = 6
JSON = {"Content-Type": "application/json"}
WRONG: dict[str, Raw] = {
    "400": Raw(400, b'{"error": {"message": "no", "code": 400}}', JSON),
    "429": Raw(429, b'{"error": {"message": "no", "code": 429}}', JSON),
    "500": Raw(500, b"<html>", {}),
    "503": Raw(503, b'{"error": {"message": "no", "code": 503}}', JSON),
    "page": Raw(200, b"<html>busy</html>", {"Content-Type": "text/html"}),
    "empty": Raw(200, b"", JSON),
    "cut": Raw(None),
}
"""Answers to the creation of a batch that was taken."""

Made = Callable[..., Provider]
each_provider = pytest.mark.parametrize("made", [*starmap(of_sdk, PROVIDERS.items())])


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch, soon_again: None) -> None:
    monkeypatch.setenv(TICK, "0.05")


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "cases.jsonl", CASES)


def arguments(provider: Provider, cases: Path, *more: str) -> list[str]:
    options = ["--protocol", "binary", "--batch", "--log-dir", "logs", *more]
    if isinstance(provider, Grok):
        options += ["-M", "use_insecure_channel=true"]
    return ["run", "-m", provider.model, "--cases", str(cases), *options]  # type: ignore[attr-defined]


def environment(provider: Provider) -> dict[str, str]:
    keys = ("ANTHROPIC", "GOOGLE", "XAI", "TOGETHER")
    return {f"{one}_API_KEY": KEY for one in keys} | provider.environment() | {TICK: "0.05"}


def table(cases: Path) -> pl.DataFrame:
    return read_paths([cases.parent / "logs"]).table


@each_provider
def test_all_cases(cli_inside: Cli, cases: Path, made: Made) -> None:
    with made() as provider:
        done = cli_inside(*arguments(provider, cases), env=environment(provider))
        assert done.returncode == 0, done.stderr
        assert provider.creations == 1
        assert provider.sent == CASES
    assert table(cases)["verdict"].to_list() == ["safe"] * CASES


@pytest.mark.parametrize("answered", WRONG)
@each_provider
def test_a_batch_is_created_once(cli_inside: Cli, cases: Path, made: Made, answered: str) -> None:
    with made(wrong=WRONG[answered]) as provider:
        done = cli_inside(*arguments(provider, cases), env=environment(provider))
        assert done.returncode == 0, done.stderr
        assert provider.creations == len(provider.jobs) == 1
        assert provider.sent == CASES
        assert "other" not in done.stderr
    assert set(table(cases)["status"]) == {"ok"}


@each_provider
def test_a_cancelled_batch(cli_inside: Cli, cases: Path, made: Made) -> None:
    """It is told, and not sent again until somebody asks for it; what it answered is kept."""
    # Google gives no results of a cancelled batch.
    kept = 0 if made is Google else CASES // 2
    with made(ends=["cancelled"]) as provider:
        for _ in range(2):
            done = cli_inside(*arguments(provider, cases), env=environment(provider))
            said = " ".join(done.stderr.split())
            assert done.returncode in {1, 2}, said
            assert "batch cancelled: somebody cancelled the batch" in said
            assert provider.sent == CASES
        again = cli_inside(
            *arguments(provider, cases, "--resume-cancelled"), env=environment(provider)
        )
        assert again.returncode == 0, again.stderr
        assert provider.sent == 2 * CASES - kept
    assert set(table(cases)["status"]) == {"ok"}


def start(provider: Provider, cases: Path) -> Start:
    first = "import casewise.evaluation.models._standing as standing\nstanding.FIRST_S = 0.1\n"
    env = clean_env() | environment(provider)
    return Start(arguments(provider, cases), cases.parent, env, first=first)


@pytest.mark.parametrize("when", ["created", "looked at"])
@each_provider
def test_a_killed_run_collects_its_batch(cases: Path, made: Made, when: str) -> None:
    """Whether or not it knew the name of the batch; the next start pays nothing again."""
    wrong = None if when == "looked at" else Raw(503, b"{}", JSON)
    with made(wrong=wrong) as provider:
        provider.open.clear()
        process = start(provider, cases)
        latest = time.monotonic() + PATIENCE_S

        def is_far() -> bool:
            looked = [call for call in provider.calls if call == "get" or "batch_1" in call]
            return provider.sent == CASES and (when == "created" or bool(looked))

        while not is_far() and time.monotonic() < latest:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        provider.wrong = None
        provider.open.set()
        again = start(provider, cases)
        _, err = again.communicate()
        assert again.returncode == 0, err
        assert f"{CASES} answers were collected from batches sent before" in " ".join(err.split())
        assert provider.creations == 1
        assert provider.sent == CASES
    assert set(table(cases)["status"]) == {"ok"}


@pytest.mark.sdk("xai_sdk")
def test_a_request_that_was_added_is_not_added_again(cli_inside: Cli, cases: Path) -> None:
    """Grok's requests go out one by one, and an answer to one of them is lost."""
    with Grok(adds_wrong=2) as provider:
        done = cli_inside(*arguments(provider, cases), env=environment(provider))
        assert done.returncode == 0, done.stderr
        assert provider.calls.count("add") == provider.sent == CASES


@each_provider
def test_a_batch_that_is_not_taken_is_sent_again(cli_inside: Cli, cases: Path, made: Made) -> None:
    """The provider has no batch of it, three looks later."""
    with made(wrong=WRONG["503"], refuses=2) as provider:
        done = cli_inside(*arguments(provider, cases), env=environment(provider))
        assert done.returncode == 0, done.stderr
        # Its requests come back one by one, so several batches may follow.
        assert len(provider.jobs) == provider.creations - 2
        assert provider.sent == CASES


@pytest.mark.sdk("anthropic")
def test_batches_of_one_size_that_began_together(cli_inside: Cli, cases: Path) -> None:
    """Anthropic names no batch: one of somebody else's is waited for too, and its results left."""
    with Anthropic(wrong=WRONG["cut"]) as provider:
        provider.create("", [f"other-{number}" for number in range(CASES)])
        provider.creations = 0
        done = cli_inside(*arguments(provider, cases), env=environment(provider))
        said = " ".join(done.stderr.split())
        assert done.returncode == 0, said
        assert provider.creations == 1
        assert "no answer named a batch that was sent; batch_2, batch_1 of the same size" in said
    assert set(table(cases)["status"]) == {"ok"}
