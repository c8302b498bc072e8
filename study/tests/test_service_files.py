"""Files for containers, a proxy and systemd: their commands start here, by hand.

Containers can't be had where tests run, so the study's server, PostgreSQL and Caddy are started as
the compose file starts them; without Caddy, a request comes as the proxy hands it on.
"""

import re
import shlex
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from conftest import Cli, clean_env
from support.postgres import Postgres
from support.serving import Guest, Origin
from support.starts import Start, free_port
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


def port_of(process: Start) -> int:
    """The port that a process listens at, whatever address it shows."""
    tell = shutil.which("ss") or pytest.skip("ss (iproute2) tells the port of a server")
    said = subprocess.run([tell, "-ltnpH"], capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in said.splitlines() if f"pid={process.pid}," in line)
    return int(line.split()[3].rsplit(":", 1)[1])


def test_the_compose_files_parts_work_together(service: Path, postgres: Postgres) -> None:
    compose: dict[str, Any] = yaml.safe_load((service / "compose.yaml").read_text("utf-8"))
    parts = compose["services"]
    assert set(parts) == {"study", "database", "proxy"}
    # Only the proxy can be reached from outside, and the database from nowhere but the study.
    assert [name for name, part in parts.items() if "ports" in part] == ["proxy"]
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
    healthy = shlex.split(" ".join(parts["database"]["healthcheck"]["test"][1:]))
    assert healthy[0] == "pg_isready"


def test_people_come_by_https_through_the_proxy(
    service: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caddy reads the file as it is, but for the study's port; here it signs for itself."""
    command = shutil.which("caddy") or pytest.skip("Caddy is not installed (apt-get install caddy)")
    domain = f"localhost:{free_port()}"
    here = [f"--public-url=https://{domain}", "--behind-proxy", "--port=0"]
    with started(["serve", "study.yaml", *here], tmp_path) as (shown, process):
        assert shown == f"https://{domain}/"
        text = (service / "Caddyfile").read_text("utf-8")
        asked = text.replace("study:8080", f"127.0.0.1:{port_of(process)}")
        assert asked != text
        alone = "admin off\nskip_install_trust\nauto_https disable_redirects"
        (tmp_path / "Caddyfile").write_text(f"{{\n{alone}\n}}\n{asked}", "utf-8")
        places = dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(tmp_path))
        with (tmp_path / "caddy.log").open("wb") as log:
            caddy = subprocess.Popen(
                [command, "run", "--adapter", "caddyfile", "--config", "Caddyfile"],
                cwd=tmp_path,
                env=ENV | places | {"STUDY_DOMAIN": domain},
                stderr=log,
            )
        try:
            root = tmp_path / "caddy/pki/authorities/local/root.crt"
            wait_for(lambda: root.is_file() and answers(domain, root))
            monkeypatch.setenv("SSL_CERT_FILE", str(root))
            with Guest(Origin(f"https://{domain}")) as ada:
                assert ada.client.cookies
                assert all(one.secure for one in ada.client.cookies.jar)
                ada.begin()
                while ada.at.startswith("/page/"):
                    ada.send(ada.at, verdict="safe")
                assert ada.code == "COMPLETED"
                # Caddy and the study both refuse what is too long; who is first tells it its way.
                with suppress(httpx.RemoteProtocolError):
                    too_long = ada.client.post("/consent", content=b"x" * 70_000)
                    assert too_long.status_code in (413, 502)
                assert ada.client.get("/health").text == "ok"
        finally:
            caddy.terminate()
            caddy.wait(30)


def answers(domain: str, root: Path) -> bool:
    try:
        trusted = ssl.create_default_context(cafile=root)
        return httpx.get(f"https://{domain}/health", verify=trusted).text == "ok"
    except httpx.TransportError:
        return False


def wait_for(ready: Callable[[], bool]) -> None:
    latest = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < latest
        time.sleep(0.05)


def test_the_container_starts_what_the_program_has(service: Path, cli_inside: Cli) -> None:
    text = (service / "Containerfile").read_text("utf-8")
    entry, usual = (
        yaml.safe_load(line.split(" ", 1)[1])
        for line in text.splitlines()
        if line.startswith(("ENTRYPOINT", "CMD"))
    )
    assert entry == ["casewise", "annotate"]
    said = cli_inside(*entry[1:], usual[0], "--help").stdout
    for option in (word for word in usual if word.startswith("--")):
        assert option in said
    assert re.search(r"^USER study$", text, re.MULTILINE)


def test_the_unit_is_one_and_its_command_starts(service: Path, tmp_path: Path) -> None:
    unit = (service / "casewise-study.service").read_text("utf-8")
    found = re.search(r"^ExecStart=(\S+) annotate (.+)$", unit, re.MULTILINE)
    assert found is not None
    command = found[2].replace("/srv/study/", f"{tmp_path}/")
    with started(joined(shlex.split(command)), tmp_path) as (shown, process):
        assert shown == "https://study.example/"
        assert "warning: --host" not in process.stderr
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed")
    here = tmp_path / "casewise-study.service"
    here.write_text(unit.replace(found[1], sys.executable).replace("User=study\n", ""), "utf-8")
    done = subprocess.run([verify, "verify", here], capture_output=True, text=True)
    assert not [line for line in done.stderr.splitlines() if here.name in line], done.stderr


def joined(words: list[str]) -> list[str]:
    """``--port 8080`` as one word."""
    place = words.index("--port")
    return [*words[:place], f"--port={words[place + 1]}", *words[place + 2 :]]
