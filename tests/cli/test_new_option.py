"""A new option of a run is one line, with its help."""

import json
import os
import subprocess
import sys
from pathlib import Path

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
COMMAND = """
from casewise.cli import main
sys.argv[0] = "casewise"
main()
"""
FRONT_DOOR = """
import inspect
import casewise as cw
assert "tone" in inspect.signature(cw.plan).parameters
assert "tone: Tone of the prompts." in inspect.getdoc(cw.plan)
print(len(cw.plan("starter", "openai-api/fake/m", tone=["kind", "curt"], limit=2).estimates))
"""


def python(folder: Path, code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code, *arguments],
        cwd=folder,
        env=os.environ | {"FAKE_API_KEY": "none", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_new_option_is_one_line_and_its_help(tmp_path: Path) -> None:
    """The command, Python and a sweep have it, and it tells runs apart."""
    assert "--tone " in python(tmp_path, COMMAND, "run", "--help")
    assert python(tmp_path, FRONT_DOOR) == "2\n"
    record = {"model": "openai-api/fake/m", "tone": ["none", "kind"], "limit": 2}
    (tmp_path / "sweep.yaml").write_text(json.dumps([record]), "utf-8")
    shown = python(tmp_path, COMMAND, "run", "sweep.yaml", "--dry-run")
    assert "4 requests; nothing was sent" in shown
