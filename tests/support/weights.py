"""The embedded model's file, as a first run fetches it."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import platformdirs


def weights() -> Path:
    """The file; where it isn't there, a run fetches it."""
    cache = os.environ.get("CASEWISE_CACHE") or platformdirs.user_cache_dir("casewise", False)
    path = Path(cache, "models/SmolLM2-135M-Instruct.Q4_1.gguf")
    if not path.is_file():
        command = [sys.executable, "-m", "casewise", "run", "--limit", "1", "--log-dir", "logs"]
        with TemporaryDirectory() as folder:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return path
