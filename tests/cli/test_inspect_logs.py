"""Logs of ``inspect eval casewise/judge``, as the documents show it, in every form it writes."""

from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import Cli, clean_env
from support.fake_openai import FakeServer
from support.scores import model_rows
from support.starts import inspect_eval

pytestmark = pytest.mark.slow


CASES = 6


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder a form: ``eval`` and ``json``, each of a model that always says safe."""
    folder = tmp_path_factory.mktemp("inspect")
    with FakeServer(lambda _: '{"judgement": "safe"}') as server:
        env = clean_env() | server.env
        for form, level in (("eval", "info"), ("json", "debug")):
            inspect_eval(
                [
                    *("casewise/judge", "-T", "protocol=binary", "-T", "cases=starter"),
                    *("-T", f"limit={CASES}", "--epochs", "2", "--model", "openai-api/fake/m"),
                    *("--log-dir", form, "--log-format", form, "--log-level", level),
                    *("--display", "none"),
                ],
                folder,
                env,
            )
    return folder


def test_they_are_scored(cli: Cli, logs: Path) -> None:
    """Three of six starter cases are meant to be safe, and each is asked twice."""
    for form in ("eval", "json"):
        (score,) = model_rows(cli("score", logs / form, "--format", "json").stdout)
        assert (score["n"], score["safe_recall"], score["unsafe_recall"]) == (2 * CASES, 1.0, 0.0)


def test_a_stopped_log_is_scored(cli: Cli, logs: Path, tmp_path: Path) -> None:
    """A killed process of Inspect's leaves no header and no summaries but those in pieces."""
    (log,) = (logs / "eval").iterdir()
    with ZipFile(log) as whole, ZipFile(tmp_path / "stopped.eval", "w") as stopped:
        for file in whole.infolist():
            if file.filename not in ("header.json", "summaries.json", "reductions.json"):
                stopped.writestr(file, whole.read(file))
    done = cli.ok("score", "stopped.eval", "--format", "json")
    assert model_rows(done.stdout)[0]["n"] == 2 * CASES


def test_a_log_that_was_altered_is_named(cli: Cli, logs: Path, tmp_path: Path) -> None:
    """The checksum is another, where what is packed can still be unpacked."""
    (log,) = (logs / "eval").iterdir()
    with ZipFile(log) as archive:
        checksum = archive.getinfo("summaries.json").CRC.to_bytes(4, "little")
    data = bytearray(log.read_bytes())
    # It stands in the list of files, at the archive's end.
    data[data.rindex(checksum)] ^= 255
    (tmp_path / log.name).write_bytes(data)
    done = cli("score", log.name)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert log.name in done.stderr
