"""Files for containers, a proxy and systemd: what they name is there."""

import re
import shlex
from pathlib import Path

import yaml
from conftest import Cli
from support.studies import write_study

NAMES = {"Caddyfile", "Containerfile", "casewise-study.service", "compose.yaml"}


def test_every_file_starts_what_the_program_has(tmp_path: Path, cli_inside: Cli) -> None:
    """The container, the unit and the compose file name options that there are."""
    write_study(tmp_path)
    call = ("annotate", "serve", "study.yaml", "--write-service", "service")
    done = cli_inside(*call)
    assert done.returncode == 0, done.stderr
    assert {Path(line).name for line in done.stdout.splitlines()} == NAMES
    again = cli_inside(*call)
    assert again.returncode == 2
    assert "name a new or an empty folder" in again.stderr
    service = tmp_path / "service"
    text = (service / "Containerfile").read_text("utf-8")
    entry, usual = (
        yaml.safe_load(line.split(" ", 1)[1])
        for line in text.splitlines()
        if line.startswith(("ENTRYPOINT", "CMD"))
    )
    assert (entry, usual[0]) == (["casewise", "annotate"], "serve")
    assert re.search(r"^USER study$", text, re.MULTILINE)
    unit = (service / "casewise-study.service").read_text("utf-8")
    match = re.search(r"^ExecStart=\S+ annotate serve (.+)$", unit, re.MULTILINE)
    assert match is not None
    parts = yaml.safe_load((service / "compose.yaml").read_text("utf-8"))["services"]
    shown = cli_inside("annotate", "serve", "--help").stdout
    words = [*usual, *shlex.split(match[1]), *parts["study"]["command"]]
    for option in {word.split("=")[0] for word in words if word.startswith("--")}:
        assert option in shown
    # Only the proxy can be reached from outside.
    assert [name for name, part in parts.items() if "ports" in part] == ["proxy"]
