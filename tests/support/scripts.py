"""Scripts of the repository that no package holds, loaded as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def load_script(path: Path) -> ModuleType:
    """Module of a script; the test is skipped where the source distribution lacks the script."""
    if not path.exists():
        pytest.skip(f"{path.name} isn't part of the source distribution")
    name = f"script_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
