"""A study's server under half-sent requests, few descriptors, and odd options: real sockets."""

import os
import resource
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from conftest import Cli, clean_env
from support.serving import Guest, Origin, Serving
from support.starts import Start
from support.studies import KEYS, write_study

from casewise_study import app_base
from casewise_study.store.database import StoreUnavailableError
from casewise_study.store.study_store import Store
from casewise_study.study.study_file import load_study

HALF = b"GET / HTTP/1.1\r\nHost: study\r\nX-Slow: "
DESCRIPTORS = 64
SOCKETS = 80

# As ``ulimit -n`` does, in the server's process.
FEW = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))"


def half_sent(origin: str, sent: bytes = HALF) -> socket.socket:
    host, port = origin.removeprefix("http://").split(":")
    one = socket.create_connection((host, int(port)), timeout=20)
    one.sendall(sent)
    return one


@contextmanager
def served(tmp_path: Path, *options: str, first: str = "") -> Iterator[tuple[str, Start]]:
    write_study(tmp_path, timing={"least_seconds": 0})
    keys = {"CASEWISE_STUDY_SECRET": KEYS.secret, "CASEWISE_ADMIN_TOKEN": KEYS.admin}
    call = ["annotate", "serve", "study.yaml", "--port", "0", *options]
    process = Start(call, tmp_path, clean_env() | keys, first=first)
    try:
        yield process.line().split()[1].rstrip("/"), process
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent",
    [HALF, b"POST /consent HTTP/1.1\r\nHost: study\r\nContent-Length: 9\r\n\r\nagree"],
    ids=["half of the headers", "half of the body"],
)
def test_more_half_sent_requests_than_descriptors_leave_room(tmp_path: Path, sent: bytes) -> None:
    with served(tmp_path, first=FEW) as (origin, process), ExitStack() as held:
        for _ in range(SOCKETS):
            held.callback(half_sent(origin, sent).close)
        began = time.monotonic()
        for path in ("/health", "/consent", "/static/study.css", "/health"):
            assert httpx.get(origin + path, timeout=10).status_code in (200, 303), path
        # Long before the deadline for headers or bodies would have helped.
        assert time.monotonic() - began < app_base.HEADER_SECONDS / 2
        # A person judges to the end meanwhile.
        with Guest(Origin(origin)) as ada:
            ada.begin()
            while ada.at.startswith("/page/"):
                ada.send(ada.at, verdict="safe")
            assert ada.code == "COMPLETED"
        assert process.poll() is None
        assert "Too many open files" not in process.stderr


@pytest.mark.slow
def test_headers_that_do_not_come_end_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_base, "HEADER_SECONDS", 0.5)
    with Serving(write_study(tmp_path)) as server:
        began = time.monotonic()
        with half_sent(server.origin) as one:
            assert ended(one)
            assert 0.4 < time.monotonic() - began < 10
        # A connection that is kept has no less time, and no more, for its second request.
        whole = b"GET /health HTTP/1.1\r\nHost: study\r\n\r\n"
        with half_sent(server.origin, whole) as two:
            assert answer(two).startswith(b"HTTP/1.1 200 OK")
            time.sleep(1)
            two.sendall(whole)
            assert answer(two).startswith(b"HTTP/1.1 200 OK")
            two.sendall(HALF)
            assert ended(two)


def answer(one: socket.socket) -> bytes:
    """Of ``/health``: headers and body may come apart."""
    said = b""
    while not said.endswith(b"\r\n\r\nok"):
        said += one.recv(4096)
    return said


def ended(one: socket.socket) -> bool:
    try:
        return one.recv(100) == b""
    except ConnectionResetError:
        return True


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


def test_a_full_disk_is_told_with_its_place(tmp_path: Path) -> None:
    study, file = load_study(write_study(tmp_path)), tmp_path / "study.db"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(study, f"sqlite:///{file}", KEYS, patience=0.1) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            with pytest.raises(StoreUnavailableError) as told:
                store.pause(True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert str(told.value).startswith(f"{file}: the database does not answer (")
        assert str(told.value).endswith("; free some room on its disk")
        store.pause(True)
        assert store.trouble is None
