"""A study's server under half-sent requests, few descriptors, and odd options: real sockets."""

import os
import resource
import socket
import stat
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from conftest import Cli
from support.serving import Guest, Serving
from support.studies import write_study

HALF = b"GET / HTTP/1.1\r\nHost: study\r\nX-Slow: "
DESCRIPTORS = 64
SOCKETS = 80

# As ``ulimit -n`` does, in the server's process.
FEW = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))"

HEADER_SECONDS = 10
"""After which a connection ends whose headers don't come, as the page on running a study says."""


def half_sent(origin: str, sent: bytes = HALF) -> socket.socket:
    host, port = origin.removeprefix("http://").split(":")
    one = socket.create_connection((host, int(port)), timeout=20)
    one.sendall(sent)
    return one


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [HALF, b"POST /consent HTTP/1.1\r\nHost: study\r\nContent-Length: 9\r\n\r\nagree"],
    ids=["half of the headers", "half of the body"],
)
def test_more_half_sent_requests_than_descriptors_leave_room(tmp_path: Path, sent: bytes) -> None:
    with Serving(write_study(tmp_path), first=FEW) as server, ExitStack() as held:
        for _ in range(SOCKETS):
            held.callback(half_sent(server.origin, sent).close)
        began = time.monotonic()
        for path in ("/health", "/consent", "/static/study.css", "/health"):
            assert httpx.get(server.origin + path, timeout=10).status_code in (200, 303), path
        # Long before the deadline for headers or bodies would have helped.
        assert time.monotonic() - began < HEADER_SECONDS / 2
        # A person judges to the end meanwhile.
        with Guest(server) as ada:
            assert ada.begin().finish().code == "COMPLETED"
        assert server.process.poll() is None
        assert "Too many open files" not in server.process.stderr


@pytest.mark.slow
def test_headers_that_do_not_come_end_the_connection(tmp_path: Path) -> None:
    with Serving(write_study(tmp_path)) as server, half_sent(server.origin) as one:
        one.settimeout(2 * HEADER_SECONDS)
        began = time.monotonic()
        with suppress(ConnectionResetError):
            assert one.recv(100) == b""
        assert time.monotonic() - began > HEADER_SECONDS / 2


PUBLIC = "others reach the server itself, which speaks no HTTPS"
PLAIN = "without HTTPS others can read"
INVENTED = "ids can be made up, so places are provisional until casewise annotate reconcile"


def test_an_open_address_is_warned_of(tmp_path: Path, cli_inside: Cli) -> None:
    codes = {"completed": "C0FFEE", "screened_out": "5C0DE", "withdrawn": "60BACC"}
    platform = {"platform": "prolific", "return_url": "https://x/{code}", **codes}
    write_study(tmp_path, recruitment=platform)
    for options, warned in (
        ((), (PUBLIC, INVENTED)),
        (("--behind-proxy", "--public-url", "https://study.example"), (INVENTED,)),
        (("--public-url", "http://study.example"), (PUBLIC, PLAIN, INVENTED)),
    ):
        # None of this computer's addresses: the server ends after its warnings.
        done = cli_inside("annotate", "serve", "study.yaml", "--host", "203.0.113.1", *options)
        said = " ".join(done.stderr.split())
        for words in (PUBLIC, PLAIN, INVENTED):
            assert (words in said) == (words in warned), said


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        (tmp_path / "study.db").touch()
        with Serving(write_study(tmp_path)) as server, Guest(server) as ada:
            ada.begin()
            written = list(tmp_path.glob("study.db*"))
            assert len(written) == 3
            for one in written:
                assert stat.S_IMODE(one.stat().st_mode) == 0o600, one
    finally:
        os.umask(before)


@pytest.mark.slow
def test_a_full_disk_is_told_with_its_place(tmp_path: Path) -> None:
    with Serving(write_study(tmp_path)) as server, Guest(server) as ada:
        ada.begin()
        whole = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        # What it writes elsewhere is smaller.
        size = tmp_path.joinpath("study.db-wal").stat().st_size
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, whole[1]))
        server.clock.turn(seconds=3)
        full = ada.client.post("/page/1", data={"form": ada.form, "verdict": "safe"}, timeout=120)
        assert full.status_code == 503
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, whole)
        assert f"{server.database}: the database does not answer (" in server.process.stderr
        assert "; free some room on its disk" in server.process.stderr
        ada.answer()
        assert ada.at == "/page/2"
