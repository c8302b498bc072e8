"""The computer's clock is set while people judge: nobody who is at work is refused."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from support.serving import Guest, Serving, rows
from support.studies import ADMIN, write_study

pytestmark = pytest.mark.slow

# Everything that asks for the time of day in the process: time.time and datetime.now.
SHIFTED = """
import datetime, os, sys, time
real = time.time
def wall():
    return real() + float(open(os.environ["CLOCK"]).read())
class Shifted(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(wall(), tz)
time.time = wall
for name, module in [*sys.modules.items()]:
    if name.startswith("casewise") and vars(module).get("datetime") is datetime.datetime:
        module.datetime = Shifted
"""


def test_who_is_at_work_goes_on_also_after_a_new_start(tmp_path: Path) -> None:
    study = write_study(tmp_path, blocks=1, timing={"least_seconds": 0})
    with Serving(study, clock=SHIFTED) as server, Guest(server) as ada:
        with Guest(server, f"/admin/enter/{ADMIN}") as admin:
            ada.begin().send("/page/1", verdict="safe")
            for minutes in (-60, 120):
                # Known by the cookie, and nobody takes the place.
                server.clock.turn(minutes=minutes)
                ada.send(ada.at, verdict="safe")
                with Guest(server) as bob:
                    assert "Every place is taken at the moment" in bob.page.text
                assert admin.get("/admin").status_code == 200
        assert ada.at == "/page/4"
        own = ada.own_address.removeprefix(server.origin)
    back = SHIFTED.replace("real()", "real() - 7200")
    with Serving(study, clock=back) as server, Guest(server, own) as ada:
        assert ada.send("/page/4", verdict="safe").url.path == "/done"
    votes = "SELECT seconds, time FROM answer ORDER BY position"
    found = rows(study.with_suffix(".db"), votes)
    # Times are those that passed, and the answers are in their order.
    assert all(0 <= seconds < 60 for seconds, _ in found)
    times = [datetime.fromisoformat(time) for _, time in found]
    assert times == sorted(times)
    assert times[-1] - times[0] < timedelta(minutes=5)
