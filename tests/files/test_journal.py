"""A journal: what was added is there after a kill, a torn line harms no other."""

import errno
import resource
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.files import Journal, journal_lines

LINES = st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b"")), max_size=6)


def whole(path: Path) -> list[bytes]:
    return [line.data for line in journal_lines(path) if line.whole]


@given(LINES, LINES, st.integers(0, 60), st.booleans())
def test_lines_come_back_and_a_cut_costs_one_line(
    first: list[bytes], then: list[bytes], cut: int, sync: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.jsonl"
        with closing(Journal(path, sync=sync)) as journal:
            for line in first:
                journal.append(line)
            assert journal.is_ours()
            assert journal.size == path.stat().st_size
        assert whole(path) == first
        data = path.read_bytes()
        for one in journal_lines(path):
            assert data[one.start : one.start + len(one.data)] == one.data
        data = data[:cut]
        path.write_bytes(data)
        *kept, torn = data.split(b"\n")
        assert [line.data for line in journal_lines(path)] == kept + [torn] * bool(torn)
        with closing(Journal(path, sync=sync)) as journal:
            for line in then:
                journal.append(line)
        assert whole(path) == kept + [torn] * bool(torn) + then


def test_a_disk_that_takes_no_more_says_so_and_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "j"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(Journal(path)) as journal:
        journal.append(b"first")
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
        try:
            with pytest.raises(OSError, match="large") as caught:
                journal.append(b"x" * 200)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
        assert path.read_bytes() == b"first\n"
        assert journal.is_ours()
        journal.append(b"third")
    assert path.read_bytes() == b"first\nthird\n"
