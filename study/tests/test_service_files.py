"""Files for containers, a proxy and systemd: what they name is there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import Cli
from support.serving import Serving
from support.studies import write_study

NAMES = {"Caddyfile", "Containerfile", "casewise-study.service", "compose.yaml"}


@pytest.fixture
def service(tmp_path: Path, cli_inside: Cli) -> Path:
    write_study(tmp_path, timing={"least_seconds": 0})
    call = ("annotate", "serve", "study.yaml", "--write-service", "service")
    done = cli_inside(*call)
    assert done.returncode == 0, done.stderr
    assert {Path(line).name for line in done.stdout.splitlines()} == NAMES
    again = cli_inside(*call)
    assert again.returncode == 2
    assert "name a new or an empty folder" in again.stderr
    return tmp_path / "service"


def test_every_file_starts_what_the_program_has(service: Path, cli_inside: Cli) -> None:
    """The container, the unit and the compose file name options that there are."""
    text = (service / "Containerfile").read_text("utf-8")
    entry, usual = (
        yaml.safe_load(line.split(" ", 1)[1])
        for line in text.splitlines()
        if line.startswith(("ENTRYPOINT", "CMD"))
    )
    assert (entry, usual[0]) == (["casewise", "annotate"], "serve")
    assert re.search(r"^USER study$", text, re.MULTILINE)
    unit = (service / "casewise-study.service").read_text("utf-8")
    found = re.search(r"^ExecStart=\S+ annotate serve (.+)$", unit, re.MULTILINE)
    assert found is not None
    parts = yaml.safe_load((service / "compose.yaml").read_text("utf-8"))["services"]
    shown = cli_inside("annotate", "serve", "--help").stdout
    words = [*usual, *shlex.split(found[1]), *parts["study"]["command"]]
    for option in {word.split("=")[0] for word in words if word.startswith("--")}:
        assert option in shown
    # Only the proxy can be reached from outside.
    assert [name for name, part in parts.items() if "ports" in part] == ["proxy"]


@pytest.mark.slow
def test_caddy_reads_the_file_of_the_proxy(service: Path) -> None:
    command = shutil.which("caddy") or pytest.skip("Caddy is not installed")
    call = [command, "validate", "--adapter", "caddyfile", "--config", "Caddyfile"]
    subprocess.run(
        call, cwd=service, env=os.environ | {"STUDY_DOMAIN": "study.example"}, check=True
    )


def test_the_health_check_of_the_compose_file(service: Path) -> None:
    parts = yaml.safe_load((service / "compose.yaml").read_text("utf-8"))["services"]
    test = parts["study"]["healthcheck"]["test"]
    with Serving(service.parent / "study.yaml") as server:
        port = server.origin.rsplit(":", 1)[1]
        ask = [sys.executable, *(word.replace("8080", port) for word in test[2:])]
        subprocess.run(ask, check=True)
    assert subprocess.run(ask, capture_output=True).returncode != 0
