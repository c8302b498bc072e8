"""One holder at a time, and the second is told who it is."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import clean_env
from filelock import BaseFileLock

from casewise.errors import UsageError
from casewise.files import HeldError, hold

HOLDS = """
import sys
from pathlib import Path
from casewise.files import hold
with hold(Path(sys.argv[1]), command="casewise run -m fake"):
    print(flush=True)
    input()
"""


def test_the_second_is_told_who_was_first_and_a_kill_lets_go(tmp_path: Path) -> None:
    lock = tmp_path / "logs/lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, lock],
        env=clean_env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(UsageError) as caught, hold(lock):
            pytest.fail("both hold it")
        message = str(caught.value)
        assert message.startswith(f"{lock.parent}: another casewise is at work there (process ")
        assert f"process {other.pid} on " in message
        assert message.endswith(": casewise run -m fake); wait for it, or stop it")
        other.kill()
        other.wait()
    assert sorted(one.name for one in lock.parent.iterdir()) == ["lock", "lock.holder"]
    with hold(lock):
        pass
    assert not list(lock.parent.iterdir())


def test_one_process_holds_it_once(tmp_path: Path) -> None:
    lock, shown = tmp_path / "lock", tmp_path / "cases.jsonl"
    with hold(lock):
        with pytest.raises(HeldError, match=f"^{shown}: "), hold(lock, what=shown):
            pytest.fail("both hold it")
        (tmp_path / "lock.holder").write_text("not a note")
        with pytest.raises(HeldError, match="it left no note"), hold(lock):
            pytest.fail("both hold it")
    with hold(lock), pytest.raises(ZeroDivisionError), hold(tmp_path / "other"):
        print(1 / 0)
    assert not list(tmp_path.iterdir())


def test_many_threads_hold_it_in_turn(tmp_path: Path) -> None:
    lock, inside, most, turns = tmp_path / "lock", 0, 0, 0

    def work() -> None:
        nonlocal inside, most, turns
        while turns < 40:
            try:
                with hold(lock):
                    inside += 1
                    most, turns = max(most, inside), turns + 1
                    time.sleep(0.001)
                    inside -= 1
            except HeldError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert turns >= 40
    assert most == 1


def test_where_there_are_no_locks_the_note_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(*_: object, **__: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(BaseFileLock, "acquire", without)
    for _ in range(2):
        with hold(tmp_path / "lock"), pytest.raises(HeldError), hold(tmp_path / "lock"):
            pytest.fail("both hold it")


def test_a_folder_that_can_not_be_made_is_no_holder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"exists|directory"), hold(tmp_path / "file/lock"):
        pytest.fail("there is no folder to hold")
