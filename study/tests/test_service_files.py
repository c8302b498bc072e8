"""Files for containers, a proxy and systemd: their commands start here, by hand.

Containers can't be had where tests run, so the study's server, PostgreSQL and Caddy are started as
the compose file starts them; without Caddy, a request comes as the proxy hands it on.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from conftest import Cli, clean_env
from support.postgres import Postgres
from support.starts import Start
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


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[tuple[str, Start]]:
    """The command of a file, with the port and paths of this computer."""
    port = next(place for place, word in enumerate(command) if word.startswith("--port"))
    process = Start(["annotate", *command[:port], "--port=0", *command[port + 1 :]], folder, ENV)
    try:
        line = process.line()
        assert line.startswith("study"), process.stderr
        yield line.split()[1], process
    finally:
        process.kill()
        process.wait(30)


ENV = clean_env()


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


def port_of(process: Start) -> int:
    """The port that a process listens at, whatever address it shows."""
    tell = shutil.which("ss") or pytest.skip("ss (iproute2) tells the port of a server")
    said = subprocess.run([tell, "-ltnpH"], capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in said.splitlines() if f"pid={process.pid}," in line)
    return int(line.split()[3].rsplit(":", 1)[1])


@pytest.mark.slow
def test_the_compose_files_parts_work_together(service: Path, postgres: Postgres) -> None:
    compose: dict[str, Any] = yaml.safe_load((service / "compose.yaml").read_text("utf-8"))
    parts = compose["services"]
    # The database is reached from nowhere but the study.
    assert parts["database"]["networks"] == ["inside"]
    assert compose["networks"]["inside"]["internal"]
    address = postgres.database()
    filled = [
        word.replace("/study/", f"{service.parent}/")
        .replace("${STUDY_DOMAIN}", "study.example")
        .replace("postgresql://study:${STUDY_PASSWORD}@database/study", address)
        for word in parts["study"]["command"]
    ]
    assert not [word for word in filled if "$" in word]
    with started(filled, service.parent) as (shown, process):
        assert shown == "https://study.example/"
        assert "warning: --host" not in process.stderr
        port = port_of(process)
        # What the file asks for health, with the port of this computer.
        test = parts["study"]["healthcheck"]["test"]
        ask = [sys.executable, *(word.replace("8080", str(port)) for word in test[2:])]
        subprocess.run(ask, check=True, timeout=30)
        # As the proxy hands a request on.
        page = httpx.get(
            f"http://127.0.0.1:{port}/",
            headers={"host": "study.example", "x-forwarded-for": "203.0.113.7"},
            follow_redirects=False,
        )
        assert page.status_code == 303
        assert "secure" in page.headers["set-cookie"].lower()
        assert "max-age" in page.headers["strict-transport-security"]
        assert " GET /health 200 " in process.stderr
        assert "203.0.113.7" not in process.stderr


@pytest.mark.slow
def test_caddy_reads_the_file_of_the_proxy(service: Path) -> None:
    command = shutil.which("caddy") or pytest.skip("Caddy is not installed (apt-get install caddy)")
    call = [command, "validate", "--adapter", "caddyfile", "--config", "Caddyfile"]
    subprocess.run(call, cwd=service, env=ENV | {"STUDY_DOMAIN": "study.example"}, check=True)
