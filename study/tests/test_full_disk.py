"""A study's server on a full disk: one line for what is wrong, and no traceback."""

import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from support.serving import Guest, Origin
from support.studies import KEYS, write_study

from casewise_study import app_base
from casewise_study.app_study.study_app import serve
from casewise_study.app_study.study_guard import Settings
from casewise_study.store.database import StoreUnavailableError
from casewise_study.store.study_store import Store
from casewise_study.study.study_file import load_study


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process grows meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def until(true: Callable[[], object]) -> None:
    latest = time.monotonic() + 30
    while not true():
        assert time.monotonic() < latest
        time.sleep(0.01)


def test_a_full_disk_at_shutdown_is_two_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    servers: list[uvicorn.Server] = []
    make = app_base.make_server

    def make_server(app: app_base.App) -> uvicorn.Server:
        servers.append(make(app))
        return servers[-1]

    monkeypatch.setattr(app_base, "make_server", make_server)
    monkeypatch.setattr(app_base, "_STOP_SECONDS", 0)
    study, log = load_study(write_study(tmp_path)), tmp_path / "requests.log"
    with Store(study, f"sqlite:///{tmp_path / 'study.db'}", KEYS) as store:
        listening = app_base.listen("127.0.0.1", 0)
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        serving = threading.Thread(target=serve, args=(store, Settings(origin, log=log), listening))
        serving.start()
        with Guest(Origin(origin)) as ada:
            logged = log.read_bytes()
            with full_disk():
                waiting = threading.Thread(target=ada.agree)
                waiting.start()
                until(lambda: store.trouble)
                servers[0].should_exit = True
                serving.join()
            waiting.join()
            assert ada.page.status_code == 500
    assert log.read_bytes() == logged
    unlogged, unanswered = capsys.readouterr().err.splitlines()
    assert unlogged.startswith(f"casewise: {log}: File too large: requests are not logged until")
    start = "casewise: 1 request had no answer when the server stopped: "
    place = f"{tmp_path / 'study.db'}: the database does not answer ("
    assert unanswered.startswith(start + place)
    assert "free some room on its disk" in unanswered


def test_a_full_disk_is_told_with_its_place(tmp_path: Path) -> None:
    study, file = load_study(write_study(tmp_path)), tmp_path / "study.db"
    with Store(study, f"sqlite:///{file}", KEYS, patience=0.1) as store:
        with full_disk(), pytest.raises(StoreUnavailableError) as told:
            store.pause(True)
        assert str(told.value).startswith(f"{file}: the database does not answer (")
        assert str(told.value).endswith("; free some room on its disk")
        store.pause(True)
        assert store.trouble is None
