"""The suite itself: it finds a key that is printed, and a command leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

from conftest import ROOT, Cli


def pytest_in(folder: Path, *arguments: str | Path) -> str:
    """What pytest prints over other tests under this project's settings."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", "--rootdir", folder, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_command_leaves_no_module_of_its_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "left_behind.py").write_text("def answer(messages):\n    return 'No.'\n", "utf-8")
    path = list(sys.path)
    assert cli("target", "check", "left_behind:answer").returncode == 0
    assert "left_behind" not in sys.modules
    assert sys.path == path


def test_a_test_that_prints_a_key_fails(tmp_path: Path) -> None:
    path = tmp_path / "test_prints.py"
    path.write_text(
        "from support.secret import KEY\n\n\ndef test_prints():\n    print(KEY)\n", "utf-8"
    )
    assert "the planted key was printed or logged" in pytest_in(tmp_path, "-p", "conftest", path)
