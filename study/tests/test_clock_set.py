"""The computer's clock is set while people judge: nobody who is at work is refused.

A server process of its own, by the command line, whose system clock is shifted by what a file says.
"""

import signal
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
from conftest import clean_env
from support.serving import Guest, Origin, rows
from support.starts import Start
from support.studies import ADMIN, KEYS, write_study

pytestmark = pytest.mark.slow

HOUR = 3600

# Everything that asks for the time of day in the process: time.time and datetime.now.
SHIFTED = """
import datetime, os, sys, time
real = time.time
def wall():
    return real() + float(open(os.environ["SHIFT"]).read())
class Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(wall(), tz)
time.time = wall
for name, module in [*sys.modules.items()]:
    if name.startswith("casewise") and vars(module).get("datetime") is datetime.datetime:
        module.datetime = Shifted
"""


class ShiftedServer:
    """``casewise annotate serve`` on a computer whose clock can be set."""

    def __init__(self, study: Path) -> None:
        self._study = study
        self._shift = study.with_name("shift")
        self.set_clock(0)
        self._start()

    def _start(self, port: int = 0) -> None:
        command = ["annotate", "serve", str(self._study), "--port", str(port)]
        env = clean_env() | KEYS | {"SHIFT": str(self._shift)}
        self._process = Start(command, self._study.parent, env, first=SHIFTED)
        self.origin = self._process.line().split()[1].rstrip("/")

    def set_clock(self, seconds: float) -> None:
        new = self._shift.with_suffix(".new")
        new.write_text(str(seconds), "utf-8")
        new.replace(self._shift)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)

    def start_again(self) -> None:
        self.stop()
        self._start(int(self.origin.rsplit(":", 1)[1]))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ShiftedServer]:
    timing = {"least_seconds": 0.3, "lease_minutes": 30}
    one = ShiftedServer(write_study(tmp_path, blocks=1, timing=timing))
    yield one
    one.stop()


def come(server: ShiftedServer) -> Guest:
    guest = Guest(Origin(server.origin))
    guest.agree().check()
    return guest


def answer(guest: Guest) -> None:
    time.sleep(0.4)
    number = guest.at.rsplit("/", 1)[1]
    guest.send(f"/page/{number}", verdict="safe")
    assert guest.at != f"/page/{number}", guest.page.text


@pytest.mark.parametrize("shift", [-HOUR, HOUR], ids=["set back", "set forwards"])
def test_who_is_at_work_goes_on(server: ShiftedServer, shift: float, tmp_path: Path) -> None:
    with httpx.Client(base_url=server.origin, follow_redirects=True) as admin, come(server) as ada:
        assert admin.get(f"/admin/enter/{ADMIN}").status_code == 200
        assert ada.at == "/page/1"
        answer(ada)
        server.set_clock(shift)
        # Not too soon, known by the cookie, and nobody takes the place.
        answer(ada)
        assert ada.at == "/page/3"
        with Guest(Origin(server.origin)) as bob:
            assert "Every place is taken at the moment" in bob.page.text
        assert admin.get("/admin").status_code == 200
        server.set_clock(0)
        answer(ada)
        answer(ada)
        assert (ada.at, ada.code) == ("/done", "COMPLETED")
    found = rows(
        tmp_path / "study.db",
        "SELECT seconds, time FROM answer WHERE place IS NOT NULL ORDER BY position",
    )
    # Times are those that passed, and the votes are in their order.
    assert all(0.3 <= seconds < 30 for seconds, _ in found)
    times = [datetime.fromisoformat(time) for _, time in found]
    assert times == sorted(times)
    assert times[-1] - times[0] < timedelta(minutes=5)


def test_a_server_that_is_started_again_after_the_clock_was_set_back(
    server: ShiftedServer, tmp_path: Path
) -> None:
    with come(server) as ada:
        answer(ada)
        server.set_clock(-HOUR)
        server.start_again()
        ada.get("/page/2")
        answer(ada)
        assert ada.at == "/page/3"
        answer(ada)
        answer(ada)
        assert (ada.at, ada.code) == ("/done", "COMPLETED")
