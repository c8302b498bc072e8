"""A protocol that another distribution adds: installed, asked, read and scored."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, clean_env
from support.fake_openai import FakeServer

pytestmark = pytest.mark.slow
EXAMPLE = ROOT / "examples/yes-no"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, as an installer puts it there."""
    folder = tmp_path_factory.mktemp("site")
    source = shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("source") / "yes-no")
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run(build, cwd=source, check=True, capture_output=True, text=True)
    (wheel,) = folder.glob("*.whl")
    shutil.unpack_archive(wheel, folder, "zip")
    return folder


def casewise(installed: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        (sys.executable, "-m", "casewise", *arguments),
        cwd=installed,
        env=clean_env() | more | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_forty_lines_are_a_protocol(installed: Path) -> None:
    assert len((EXAMPLE / "casewise_yes_no.py").read_text().splitlines()) <= 40

    def answer(request: dict[str, Any]) -> str:
        prompt = str(request["messages"][-1]["content"])
        assert "Reply with one word, yes or no." in prompt
        return "Yes." if "clinic" in prompt.lower() else "No."

    with FakeServer(answer) as server:
        address = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
        run = ("run", "-m", "openai-api/fake/m", "--protocol", "yes-no", "--log-dir", "logs")
        done = casewise(installed, *run, **address)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 56
    done = casewise(installed, "score", "logs", "--format", "json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)[0]
    assert (record["protocol"], record["n"], record["coverage"]) == ("yes-no", 56, 1.0)
    assert 0 < record["accuracy"] < 1


def test_one_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (broken / "entry_points.txt").write_text("[casewise.protocols]\nbroken = no_such:protocol\n")
    done = casewise(tmp_path, "run", "--protocol", "broken", "--dry-run")
    assert done.returncode == 2
    assert "protocol broken: no_such:protocol can't be loaded" in done.stderr
