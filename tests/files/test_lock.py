"""One holder at a time, and the second is told who it is."""

from pathlib import Path

import pytest
from filelock import BaseFileLock

from casewise.files import HeldError, hold


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


def test_where_there_are_no_locks_the_note_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(*_: object, **__: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(BaseFileLock, "acquire", without)
    for _ in range(2):
        with hold(tmp_path / "lock"), pytest.raises(HeldError), hold(tmp_path / "lock"):
            pytest.fail("both hold it")
