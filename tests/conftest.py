"""What tests share: the real data where it is at hand, the command line, a fake server."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CASEBENCH = Path(os.environ.get("CASEWISE_CASEBENCH", ROOT.parent / "shared/data/casebench"))

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def casebench() -> Path:
    """The folder of the published data; its content is never printed whole."""
    if not (CASEBENCH / "CASEBench_data.json").is_file():
        pytest.skip(f"CASE-Bench's data is not at {CASEBENCH} (set CASEWISE_CASEBENCH)")
    return CASEBENCH


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run the command line as a person does, in a folder of its own."""

    def call(
        *arguments: str | Path, env: dict[str, str] | None = None, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "casewise", *map(str, arguments)],
            cwd=tmp_path,
            env=clean_env() | (env or {}),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return call


def clean_env() -> dict[str, str]:
    """The environment without keys and settings of the person who runs the tests."""
    secret = ("_API_KEY", "_BASE_URL")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(secret) and not name.startswith("INSPECT_")
    }
    return kept | {"NO_COLOR": "1", "TERM": "dumb"}
