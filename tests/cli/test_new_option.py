"""A new option of a run is one line, with its help."""

import json
import subprocess
import sys
from pathlib import Path

from conftest import clean_env

LINE = """
    tone: Annotated[str | None, Input("Tone of the prompts.", SAMPLING, "WORD", axis=True)] = None
"""
PROGRAM = f"""
import importlib.util, sys
spec = importlib.util.find_spec("casewise.options")
text = spec.loader.get_source("casewise.options")
place = text.index("    withhold: bool")
module = importlib.util.module_from_spec(spec)
sys.modules[module.__name__] = module
exec(compile(text[:place].rstrip() + {LINE!r} + text[place:], "options.py", "exec"), vars(module))
"""
USES = """
import inspect
import casewise as cw
from casewise.cli import main
assert "tone: Tone of the prompts." in inspect.getdoc(cw.plan)
assert len(cw.plan("starter", "openai-api/fake/m", tone=["kind", "curt"], limit=2).estimates) == 2
sys.argv = ["casewise", "run", "sweep.yaml", "--dry-run"]
main()
"""


def test_a_new_option_is_one_line_and_its_help(tmp_path: Path) -> None:
    """Python and a sweep have it, and it tells runs apart."""
    record = {"model": "openai-api/fake/m", "tone": ["none", "kind"], "limit": 2}
    (tmp_path / "sweep.yaml").write_text(json.dumps([record]), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + USES],
        cwd=tmp_path,
        env=clean_env() | {"FAKE_API_KEY": "none", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "4 requests; nothing was sent" in done.stdout, done.stderr
